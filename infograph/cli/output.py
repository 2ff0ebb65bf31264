"""What verbs print: results to standard output, everything else to standard error, errors too."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infograph.errors import InfoGraphError, UnknownCategoryWarning
from infograph.progress import WRONG, say

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.evaluate.evaluation import Row
    from infograph.learn.training import ErrorRow

LISTED = 20  # rejected graphs and failed shards; files list all of them
DEFECT, MISTAKE, INTERRUPTED = 1, 2, 130
OTHERWISE = {"y": "target", "random_state": "seed", "id": "id_column", "energies": "units"}  # as options
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer's own click, or the package of that name
Output = tuple[Any, Sequence[str | Table]]
"""The result of a verb: for programs, as JSON, and for people."""


def show(as_json: bool, content: Any, lines: Iterable[str | Table]) -> None:
    """A result as JSON, in which a number that is none is null, or as people read it."""
    if as_json:
        from infograph.io import without_nan

        print(json.dumps(without_nan(content), indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False, emoji=False)  # a SMILES may hold :o:
    for line in lines:
        if isinstance(line, str):
            console.print(line, markup=False, soft_wrap=True)
        else:
            console.print(line)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: Collection[int] = (),
    bold: int | None = None,
) -> Table:
    """Names and figures; columns `texts` may wrap on a narrow terminal, one row may be bold."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(head))
    for place, name in enumerate(head):
        if place in texts:
            made.add_column(Text(name), overflow="fold")
        else:
            made.add_column(Text(name), justify="right" if place else "left", no_wrap=True)
    for place, row in enumerate(rows):
        made.add_row(*map(Text, row), style="bold" if place == bold else "")
    return made


def score_table(head: str, rows: Iterable[Row], scoring: str = "accuracy") -> Table:
    """Accuracies in per cent, or other figures."""
    from infograph.evaluate.judges import SCORINGS

    unit, digits = (" %", 1) if SCORINGS[scoring].percent else ("", 3)
    lines = []
    for row in rows:
        deviation = "" if math.isnan(row.std) else f" ± {row.std:.{digits}f}"
        lines.append((row.method, f"{row.mean:.{digits}f}{unit}{deviation}", row.note))
    return table((head, scoring, ""), lines, texts=(2,))


def error_table(rows: Sequence[ErrorRow]) -> Table:
    """Figures of methods, the first of which is the model; of many columns of classes only their mean."""
    from infograph.learn.judging import PRECISION, deciding, in_digits
    from infograph.learn.training import overview

    rows = overview(rows)
    figures = list(rows[0].test)
    chosen = deciding(figures)

    def number(value: float, name: str) -> str:
        return f"{100 * value:.1f}" if name == WRONG and value == value else in_digits(value, name)

    several = len({row.target for row in rows}) > 1
    head = [*(["target"] * several), "method" if several else rows[0].title]
    lines = [
        [
            *([row.title] * several),
            row.method,
            *(number(row.test[name], name) for name in figures),
            number(row.validation[chosen], chosen),
        ]
        for row in rows
    ]
    short = [{PRECISION: "AP"}.get(name, name) for name in figures]
    return table(
        [*head, f"test {short[0]}", *short[1:], f"valid. {chosen}"], lines, texts=(int(several),), bold=0
    )


def say_rejected(graphs: GraphSet) -> None:
    """List what was left out while reading."""
    if graphs.rejected:
        total = len(graphs) + len(graphs.rejected)
        say(f"{len(graphs.rejected)} of {total} graphs could not be used:")
    for rejected in graphs.rejected[:LISTED]:
        say(f"  graph {rejected.index} (id {rejected.graph_id!r}): {rejected.problem}")
    if len(graphs.rejected) > LISTED:
        say(f"  ... and {len(graphs.rejected) - LISTED:,} more")


class Interrupted(Exception):
    """Ctrl-C where there is something to say about it; Typer turns a KeyboardInterrupt into a silent one."""


def explain(error: BaseException) -> int:
    """Print what happened in one sentence and give the exit code; INFOGRAPH_DEBUG=1 adds the traceback."""
    if os.environ.get("INFOGRAPH_DEBUG"):
        traceback.print_exception(error)
    code = MISTAKE
    if isinstance(error, KeyboardInterrupt | typer.Abort | Interrupted):
        sentence, code = str(error) or "Interrupted.", INTERRUPTED
    elif isinstance(error, BrokenPipeError):  # whoever read our output has left
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return DEFECT
    elif isinstance(error, USAGE_ERROR):
        message: str = error.format_message()  # type: ignore[attr-defined]
        sentence = f"Error: {message.rstrip('.')}. --help shows what is possible."
    elif isinstance(error, InfoGraphError):
        sentence = f"Error: {in_options(str(error))}"
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        sentence = f"Error: {where}{error.strerror or error}"
    else:
        kind, code = type(error).__name__, DEFECT
        sentence = f"Failed: {kind}: {error} (INFOGRAPH_DEBUG=1 shows where; please report it)"
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


def flag(name: str) -> str:
    """The option of a parameter."""
    return f"--{OTHERWISE.get(name, name).replace('_', '-')}"


def in_options(text: str) -> str:
    """What the library says of its parameters as options: unlabelled=-1 is --unlabelled -1."""

    def option(found: re.Match[str]) -> str:
        value = found[2].strip("'")
        return f"{flag(found[1])} {shlex.quote(value)}"

    refused = re.fullmatch(r"The '(\w+)' parameter of \w+ must be (.+)\. Got (.+) instead\.", text)
    if refused:
        return f"{flag(refused[1])} must be {refused[2]}, not {refused[3]}"
    unknown = re.fullmatch(r"'(\w+)' is no parameter of (.+)", text)
    if unknown:
        return f"{flag(unknown[1])} says nothing here: it is no parameter of {unknown[2]}"
    flags = {"stereo=True": "--stereo", "stereo=False": "--no-stereo", " id= ": " --id-column "}
    for spelled, typed in flags.items():
        text = text.replace(spelled, typed)
    text = re.sub(r"units=\{'(.+?)': '(.+?)'\}", r"--unit '\1=\2'", text)
    names = (
        "unlabelled|labelled|validation|test|label|y|id|energies|objective|n_models|n_splits|task|interval|"
        "duplicates|errors"
    )
    # a word of its own, and no folder such as runs/test=1/
    return re.sub(rf"(?<![^\s(])({names})=((?>'[^']*'|[-\w.]*\w))(?![/\\])", option, text)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings as a line each, without the file they come from."""

    def line(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"Warning: {in_options(' '.join(str(message).split()))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UnknownCategoryWarning)
        warnings.showwarning = line
        yield

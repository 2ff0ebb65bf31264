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
from rich.markup import escape
from rich.table import Table

from infograph.errors import InfoGraphError, UnknownCategoryWarning
from infograph.progress import WRONG, say

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.evaluate.evaluation import Row
    from infograph.learn.training import ErrorRow

LISTED = 20  # rejected graphs; files list all of them
MISTAKE, DEFECT, INTERRUPTED = 2, 1, 130
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer's own click, or the package of that name


def show(text: str) -> None:
    """A line on standard output, as it is."""
    Console(highlight=False).print(text, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """JSON to standard output; a number that is none becomes null."""
    from infograph.io import json_ready

    plain = json.loads(json.dumps(json_ready(content)), parse_constant=lambda _: None)
    print(json.dumps(plain, indent=1, ensure_ascii=False))


def finish(as_json: bool, content: Any, *lines: str) -> None:
    """The end of a verb: its result as JSON, or in words."""
    if as_json:
        print_json(content)
        return
    for line in lines:
        show(line)


def print_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: Collection[int] = (),
    bold: int | None = None,
) -> None:
    """A table of names and figures; columns `texts` may wrap on a narrow terminal, one row may be bold."""
    console = Console(highlight=False)
    space = 2 if console.width >= 70 else 1
    table = Table(box=None, pad_edge=False, padding=(0, space, 0, 0), header_style="bold")
    for place, name in enumerate(head):
        text = place in texts
        table.add_column(
            escape(name),
            justify="left" if text or place == 0 else "right",
            no_wrap=not text,
            overflow="fold" if text else "ellipsis",
        )
    for place, row in enumerate(rows):
        table.add_row(*map(escape, row), style="bold" if place == bold else "")
    console.print(table)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and what they are, one per line."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(name, escape(text))
    Console(highlight=False).print(table)


def print_scores(head: str, rows: Iterable[Row]) -> None:
    """A table of accuracies in per cent."""
    lines = []
    for row in rows:
        deviation = "" if math.isnan(row.std) else f" ± {row.std:.1f}"
        lines.append((row.method, f"{row.mean:.1f} %{deviation}", row.note))
    print_table((head, "accuracy", ""), lines, texts=(2,))


def print_errors(rows: Sequence[ErrorRow]) -> None:
    """A table of errors, with the unit in its head where there is one target only."""

    def number(value: float, unit: str) -> str:
        return "" if math.isnan(value) else f"{100 * value:.1f}" if unit == WRONG else f"{value:.4g}"

    lines = [
        [row.target, row.method, number(row.validation, row.unit), number(row.test, row.unit), row.unit]
        for row in rows
    ]
    if len({(row.target, row.unit) for row in rows}) > 1:
        print_table(("target", "method", "validation", "test", "unit"), lines, texts=(1, 4))
        return
    unit = f", {rows[0].unit}" if rows[0].unit else ""
    head = (f"error of {rows[0].target}", f"validation{unit}", f"test{unit}")
    print_table(head, [line[1:4] for line in lines])


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
    """Ctrl-C where there is something to say about it, such as how to go on."""


def explain(error: BaseException) -> int:
    """Print what happened in one sentence and give the exit code; INFOGRAPH_DEBUG=1 adds the traceback."""
    if os.environ.get("INFOGRAPH_DEBUG"):
        traceback.print_exception(error)
    sentence, code = _sentence(error)
    if sentence:
        print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, Interrupted):
        return str(error), INTERRUPTED
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "Interrupted.", INTERRUPTED
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - whoever read our output has left
        return "", DEFECT
    if isinstance(error, USAGE_ERROR):
        message: str = error.format_message()  # type: ignore[attr-defined]
        return f"Error: {message.rstrip('.')}. --help shows what is possible.", MISTAKE
    if isinstance(error, InfoGraphError):
        return f"Error: {in_options(str(error))}", MISTAKE
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"Error: {where}{error.strerror or error}", MISTAKE
    kind = type(error).__name__
    return f"Failed: {kind}: {error} (INFOGRAPH_DEBUG=1 shows where; please report it)", DEFECT


def in_options(text: str) -> str:
    """What the library says of its parameters as options: unlabelled=-1 is --unlabelled -1."""

    def option(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2].strip("'")
        return f"--{'target' if name == 'y' else name} {shlex.quote(value)}"

    text = re.sub(r"units=\{'(.+?)': '(.+?)'\}", r"--unit '\1=\2'", text)
    refused = re.fullmatch(r"The '(\w+)' parameter of \w+ must be (.+)\. Got (.+) instead\.", text)
    unknown = re.fullmatch(r"'(\w+)' is no parameter of (.+)", text)
    if unknown:
        return f"--{unknown[1].replace('_', '-')} says nothing here: it is no parameter of {unknown[2]}"
    if refused:
        return f"--{refused[1].replace('_', '-')} must be {refused[2]}, not {refused[3]}"
    names = "unlabelled|labelled|validation|test|label|y|n_models"
    return re.sub(rf"\b({names})=('[^']*'|[-\w.]*\w)", option, text)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings as a line each, without the file they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UnknownCategoryWarning)
        warnings.showwarning = show
        yield

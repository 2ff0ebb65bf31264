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
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infograph.errors import InfoGraphError, UnknownCategoryWarning
from infograph.progress import say

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.evaluate.evaluation import Row
    from infograph.learn.predictions import Predictions
    from infograph.learn.training import ErrorRow
    from infograph.learn.tune import Trial

LISTED = 20  # rejected graphs; files list all of them
SHOWN = 50  # predictions
PROBLEM, NARROWEST = "problem", 12  # the column that may wrap, and how narrow it may be
MISTAKE, DEFECT, INTERRUPTED = 2, 1, 130
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer's own click, or the package of that name


def out() -> Console:
    """Standard output, made anew so that it follows a redirected stream."""
    return Console(highlight=False)


def show(text: str) -> None:
    """A line on standard output, as it is."""
    out().print(text, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """JSON to standard output; a number that is none becomes null."""
    print(json.dumps(_plain(content), indent=1, ensure_ascii=False))


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Collection[int], bold: int | None = None
) -> None:
    """A table of names and figures; columns `texts` may wrap on a narrow terminal, one row may be bold."""
    console = out()
    space = 2 if console.width >= 70 else 1
    table = Table(box=None, pad_edge=False, padding=(0, space, 0, 0), header_style="bold")
    for place, name in enumerate(head):
        text = place in texts
        justify: Literal["left", "right"] = "left" if text or place == 0 else "right"
        table.add_column(
            escape(name), justify=justify, no_wrap=not text, overflow="fold" if text else "ellipsis"
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
    out().print(table)


def print_scores(head: str, rows: Iterable[Row]) -> None:
    """A table of accuracies."""
    print_table(
        (head, "accuracy", ""),
        [(row.method, percent(row.mean, row.std), row.note) for row in rows],
        texts=(2,),
    )


def print_errors(rows: Sequence[ErrorRow]) -> None:
    """A table of errors, with the unit in its head where there is one target only."""
    from infograph.progress import WRONG

    def number(value: float, unit: str) -> str:
        return "" if math.isnan(value) else f"{100 * value:.1f}" if unit == WRONG else f"{value:.4g}"

    kinds = {(row.target, row.unit) for row in rows}
    if len(kinds) == 1:
        target, unit = next(iter(kinds))
        unit = f", {unit}" if unit else ""
        head = [f"error of {target}", f"validation{unit}", f"test{unit}"]
        lines = [[row.method, number(row.validation, row.unit), number(row.test, row.unit)] for row in rows]
        print_table(head, lines, texts=())
        return
    lines = [
        [row.target, row.method, number(row.validation, row.unit), number(row.test, row.unit), row.unit]
        for row in rows
    ]
    print_table(("target", "method", "validation", "test", "unit"), lines, texts=(1, 4))


def print_trials(trials: Sequence[Trial]) -> None:
    """A table of the settings of a search and their errors, the best one marked."""
    if not trials:
        return
    best = min(range(len(trials)), key=lambda n: (math.isnan(trials[n].error), trials[n].error))
    rows = [
        [
            *(f"{value:g}" for value in trial.settings.values()),
            f"{trial.error:.4g}",
            "chosen" * (place == best),
        ]
        for place, trial in enumerate(trials)
    ]
    print_table((*trials[0].settings, "validation", ""), rows, texts=())


def print_predictions(predictions: Predictions) -> None:
    """The first predictions as a table."""
    columns = {
        predictions.header(name): [_cell(value) for value in values[:SHOWN].tolist()]
        for name, values in predictions.columns.items()
    }
    left_out = _too_wide(columns, out().width)
    shown = {name: cells for name, cells in columns.items() if name not in left_out}
    texts = [place for place, name in enumerate(shown) if name == PROBLEM]
    print_table(list(shown), zip(*shown.values(), strict=True), texts=texts)
    say_left_out(left_out, "FILE")
    if len(predictions) > SHOWN:
        say(f"... and {len(predictions) - SHOWN:,} more; --out FILE writes all of them.")


def say_left_out(names: Sequence[str], file: str) -> None:
    """Name the columns that a narrow terminal has no place for, and where they are."""
    if names:
        listed = ", ".join(map(repr, names))
        say(f"Too narrow for: {listed}; a wider terminal or --out {file} has all columns.")


def _too_wide(columns: dict[str, list[str]], width: int) -> list[str]:
    """The columns to leave out, from the right, for the id and the first prediction to be seen whole."""
    wide = {
        name: NARROWEST if name == PROBLEM else max(map(len, [name, *cells]))
        for name, cells in columns.items()
    }
    left_out: list[str] = []
    for name in reversed([name for name in list(columns)[2:] if name != PROBLEM]):
        kept = [size for other, size in wide.items() if other not in left_out]
        if sum(kept) + 2 * (len(kept) - 1) <= width:
            break
        left_out.append(name)
    return left_out[::-1]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def percent(mean: float, deviation: float = math.nan) -> str:
    """ "87.2 % ± 0.8", of a figure in per cent."""
    return f"{mean:.1f} %" + ("" if deviation != deviation else f" ± {deviation:.1f}")


def say_rejected(graphs: GraphSet) -> None:
    """List what was left out while reading."""
    if graphs.rejected:
        total = len(graphs) + len(graphs.rejected)
        say(f"{len(graphs.rejected)} of {total} graphs could not be used:")
    for rejected in graphs.rejected[:LISTED]:
        say(f"  graph {rejected.index} (id {rejected.graph_id!r}): {rejected.problem}")
    if len(graphs.rejected) > LISTED:
        say(f"  ... and {len(graphs.rejected) - LISTED:,} more")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


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

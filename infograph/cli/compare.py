"""`infograph compare`: any methods on any graphs, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import (
    JUDGING,
    AsJson,
    ColumnOptions,
    Errors,
    Folds,
    InnerFolds,
    ReadingOptions,
    Repeats,
    Source,
    names,
    source_name,
)
from infograph.cli.output import print_json, print_table, say, say_rejected, show
from infograph.cli.progress import Stages
from infograph.cli.quantities import parse_duration, parse_size
from infograph.cli.team_options import WHERE

if TYPE_CHECKING:
    from infograph.report.compare import Estimated


@grouped
def compare(
    source: Source,
    columns: ColumnOptions,
    reading: ReadingOptions,
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="All, or some of rw, sp, gk, wl, dgk, mlg, node2vec, sub2vec, graph2vec, infograph, "
            "untrained, labels and degrees.",
        ),
    ] = "all",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for the table and the results per method. [default: runs/compare-SOURCE]",
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="What a method may take, such as 90s, 30m or 2h.")
    ] = "30m",
    memory: Annotated[str, typer.Option(metavar="SIZE", help="The same in memory, such as 8G.")] = "8G",
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Methods at a time; each is then slower than alone.")
    ] = 1,
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE)] = "local",
    repeats: Repeats = 5,
    folds: Folds = 10,
    inner_folds: InnerFolds = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first repeat.", rich_help_panel=JUDGING)] = 0,
    errors: Errors = "raise",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what the methods would take.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare InfoGraph with kernels, embeddings and plain references on your graphs.

    Every method runs in a process of its own and is judged by the same nested cross-validation. One that
    takes more than the budget is stopped, and its line says so. What was computed before is not computed
    again.

    Examples:

    [bold]infograph compare MUTAG --methods all[/bold]

    [bold]infograph compare mine.csv --label class --methods wl,graph2vec,infograph --budget 5m[/bold]
    """
    from infograph.data.storage import check_outputs
    from infograph.report.compare import Comparison, estimates
    from infograph.report.comparison import FILES, HEAD, best_line, cells
    from infograph.reproduce.compare import Protocol
    from infograph.reproduce.isolated import Limits

    out = out or Path("runs") / f"compare-{source_name(source)}"
    check_outputs([source], *(out / each for each in FILES))
    graphs = reading.read(source, errors=errors, columns=columns)
    say_rejected(graphs)
    job = Comparison(
        graphs, names(methods) or [], source_name(source), Protocol(repeats, folds, inner_folds, seed)
    )
    found = list(estimates(job))
    for each in found:
        if each.warning:
            say(each.warning)
    if estimate:
        _show(found, as_json)
        return
    limits = Limits(parse_duration(budget), parse_size(memory))
    with Stages() as watch:
        rows = job.run(out, limits, watch, workers=workers, on=on)
    if as_json:
        print_json({"out": str(out), "table": [vars(row) for row in rows]})
        return
    best = best_line(rows)
    print_table(HEAD, [cells(row) for row in rows], texts=(5,), bold=best)
    for note in job.notes:
        show(note)
    show(f"Table: {out / 'comparison.html'}")


def _show(found: Sequence[Estimated], as_json: bool) -> None:
    """What the methods would take, classifier excluded."""
    if as_json:
        print_json([vars(each) for each in found])
        return
    rows = [
        [
            each.method,
            each.setting,
            str(each.times),
            "not known" if each.seconds is None else f"{each.seconds:,.1f}",
            "" if each.megabytes is None else f"{each.megabytes:,.0f}",
        ]
        for each in found
    ]
    print_table(["method", "setting", "times", "seconds each", "MB"], rows, texts=(1,))

"""`infograph reproduce`: the paper's tables, cell by cell."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli.options import WHERE, AsJson, grouped, names, parse_duration
from infograph.cli.output import print_json, print_table, show
from infograph.progress import err, say

if TYPE_CHECKING:
    from infograph.cells import Cell, Result
    from infograph.evaluate.evaluation import Score
    from infograph.evaluate.published import Figure
    from infograph.paper.run import Done, Status

reproduce = typer.Typer(
    help="The paper's tables, cell by cell: one small result file each, and none is computed twice.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Results = Annotated[Path, typer.Option(metavar="DIR", help="Where result files are kept.")]
RESULTS = Path("results")


def status(results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Show how many cells of each table are done, and how long the others will take.

    Times are those of equal cells that are done, one after the other. --json has every method on its own.

    Example: [bold]infograph reproduce status[/bold]
    """
    from infograph.paper.run import total, whole_status

    found = whole_status(results)
    if as_json:
        keys = ("table", "column", "row")
        print_json([dict(zip(keys, place, strict=True)) | vars(state) for place, state in found.items()])
        return
    rows: list[tuple[str, ...]] = []
    for table in dict.fromkeys(table for table, _, _ in found):
        mine = {place[1:]: state for place, state in found.items() if place[0] == table}
        whole = total(mine.values())
        rows.append((table, f"{whole.done}/{whole.cells}", str(whole), ""))
        for column in dict.fromkeys(column for column, _ in mine):
            part = {row: state for (where, row), state in mine.items() if where == column}
            state = total(part.values())
            rows.append((f"  {column}", f"{state.done}/{state.cells}", str(state), _missing(part)))
    print_table(("", "done", "time left", "of it"), rows, texts=(2, 3))
    show("Times are for one cell after the other.")


reproduce.command()(status)


def report(
    results: Results = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for report.html and tables.md.",
            show_default="DIR/report of --results",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write both tables beside the paper's, from the results that are there; nothing is computed.

    Leaves report.html and tables.md in DIR. What was not run stays empty.

    Example: [bold]infograph reproduce report --out runs/report[/bold]
    """
    from infograph.paper.report import write_report

    written = write_report(results, results / "report" if out is None else out)
    if as_json:
        print_json({"page": written.page, "tables": written.tables, "summary": written.summary})
        return
    for sentence in written.summary:
        show(sentence)
    show(f"Report: {written.page}")


reproduce.command()(report)


@dataclass(frozen=True)
class RunOptions:
    """Which cells, how many at a time, for how long, and where their results are."""

    cells: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only cells whose name is like this: 'MUTAG wl * 0'.")
    ] = "*"
    workers: Annotated[
        int, typer.Option(min=1, help="Processes of one thread each; 1 uses all threads here.")
    ] = 1
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE)] = "local"
    budget: Annotated[str, typer.Option(metavar="TIME", help="Stop after so long: 90s, 30m or 2h.")] = ""
    results: Results = RESULTS

    def run(self, stages: Iterable[Sequence[Cell]]) -> list[Result]:
        """Compute the cells of all stages, and say how far it is; the last stage's results."""
        until = time.time() + parse_duration(self.budget) if self.budget else None
        done: list[Done] = []
        for stage in stages:
            chosen = [cell for cell in stage if fnmatch(cell.name.casefold(), self.cells.casefold())]
            done = self._run_stage(chosen, until)
            if any(each.result is None for each in done):
                break
        return [each.result for each in done if each.result is not None]

    def _run_stage(self, cells: Sequence[Cell], until: float | None) -> list[Done]:
        from infograph.paper.run import Durations, run_grid
        from infograph.progress import ProgressReport

        known = Durations(self.results, cells)
        left = known.status(cells, self.workers)
        if left.done < left.cells:
            say(f"{left.done} of {left.cells} cells are there; left: {left}")
        done = []
        for each in run_grid(
            cells,
            self.results,
            workers=self.workers,
            on=self.on,
            budget=None if until is None else until - time.time(),
            begin=lambda cell: say(cell.name),
            watch=lambda cell: ProgressReport(err()),
        ):
            done.append(each)
            if each.outcome == "read":
                continue
            what = each.reason
            if each.result is not None:
                known.add(each.cell, each.result["measured"]["seconds"])
                reason = each.result.get("empty") or each.result.get("lacking")
                what = reason or f"{each.result['measured']['seconds']:.1f} s"
            left = known.status(cells, self.workers)
            say(f"{each.cell.name}: {what} ({left.done} of {left.cells} cells; left: {left})")
        return done


@reproduce.command()
@grouped
def table1(
    running: RunOptions,
    data: Annotated[
        str, typer.Option(metavar="A,B", help="Data sets: small for the four small ones, all for six.")
    ] = "small",
    method: Annotated[str, typer.Option(metavar="A,B", help="Methods, as in compare; all for all.")] = "all",
    repeats: Annotated[int, typer.Option(min=1, max=5, help="Repeats; 5 in the paper.")] = 5,
    protocol: Annotated[
        Literal["both", "leak-free", "paper"],
        typer.Option(help="Figures to show: all chosen on inner folds, or the best setting on test folds."),
    ] = "both",
    as_json: AsJson = False,
) -> None:
    """Table 1: accuracy of unsupervised methods. A run that was stopped goes on where it was.

    Example: [bold]infograph reproduce table1 --data MUTAG --method wl,infograph --budget 10m[/bold]
    """
    from infograph.cells import pick_names
    from infograph.evaluate.compare import METHODS
    from infograph.evaluate.published import paper_table1
    from infograph.paper.table1 import SMALL, table1_cells

    columns = SMALL if data == "small" else pick_names("data set", names(data) or [], paper_table1().datasets)
    rows = pick_names("method", names(method) or [], METHODS)
    found = running.run([table1_cells(columns, rows, range(repeats))])
    _show_table1(found, {name: each.title for name, each in METHODS.items()}, protocol, as_json=as_json)


@reproduce.command()
@grouped
def variants(
    running: RunOptions,
    data: Annotated[str, typer.Option(metavar="A,B", help="Data sets, of the four small ones.")] = "all",
    variant: Annotated[str, typer.Option(metavar="A,B", help="Variants; all for all.")] = "all",
    repeats: Annotated[int, typer.Option(min=1, max=5, help="Repeats; 5 in Table 1.")] = 5,
    as_json: AsJson = False,
) -> None:
    """InfoGraph and others with one thing changed at a time, in a table of its own.

    Example: [bold]infograph reproduce variants --data MUTAG --variant unscaled,mean --repeats 1[/bold]
    """
    from infograph.cells import pick_names
    from infograph.paper.table1 import SMALL, VARIANTS, variant_cells

    columns = pick_names("data set", names(data) or [], SMALL)
    rows = pick_names("variant", names(variant) or [], VARIANTS)
    found = running.run([variant_cells(columns, rows, range(repeats))])
    _show_table1(found, {name: each.title for name, each in VARIANTS.items()}, as_json=as_json)


@reproduce.command()
@grouped
def table2(
    running: RunOptions,
    target: Annotated[str, typer.Option(metavar="A,B", help="QM9's targets; all for all twelve.")] = "all",
    objective: Annotated[
        str, typer.Option(metavar="A,B", help="Rows of the table; all for objectives and references.")
    ] = "all",
    epochs: Annotated[int, typer.Option(help="Epochs of training; 500 in the paper.")] = 10,
    lam: Annotated[
        float | None, typer.Option(help="Lambda of InfoGraph and InfoGraph*. [default: chosen on alpha]")
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="Adam's L2 penalty. [default: chosen on alpha]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the weights.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Table 2: errors on QM9 with 5,000 labels. A run that was stopped goes on where it was.

    Lambda and weight decay are those with the least validation error on alpha, whose cells come first.

    Example: [bold]infograph reproduce table2 --target U0,alpha --objective supervised,infograph*[/bold]
    """
    from infograph.paper.table2 import table2_stages

    stages = table2_stages(
        running.results,
        names(target) or [],
        names(objective) or [],
        lam=lam,
        weight_decay=weight_decay,
        epochs=epochs,
        seed=seed,
    )
    found = running.run(stages)
    if as_json:
        print_json([{key: value for key, value in r.items() if key != "test_errors"} for r in found])
        return
    rows = [
        (
            r["settings"]["target"],
            r["settings"]["objective"],
            r.get("empty") or f"{r['scores']['test_mae']:.4g}",
            r["unit"],
        )
        for r in found
    ]
    print_table(("target", "method", "test error", "unit"), rows, texts=(1, 3))


def _show_table1(
    found: Sequence[Result], titles: Mapping[str, str], protocol: str = "both", *, as_json: bool = False
) -> None:
    """Figures by one protocol or both, and the paper's."""
    from infograph.evaluate.published import paper_score
    from infograph.paper.table1 import collect, group

    shown = ("leak-free", "paper") if protocol == "both" else (protocol,)
    rows = []
    for (data, method), results in group(found).items():
        evaluation = collect(results)
        row: dict[str, Any] = {"data": data, "method": titles[method], "empty": results[0]["empty"]}
        row["cells"] = [result["cell"] for result in results]
        if evaluation is not None:
            scores = {"leak-free": evaluation.leak_free, "paper": evaluation.paper}
            row |= {name: _percent(scores[name]()) for name in shown}
            row |= {"settings": len(evaluation.candidates), "repeats": len(evaluation.seeds), "empty": ""}
        rows.append({**row, "published": paper_score(titles[method], data)})
    if as_json:
        print_json(rows)
        return
    heads = {"leak-free": "leak-free, %", "paper": "best on test, %"}
    lines = [
        (
            row["data"],
            row["method"],
            *(_figure(row.get(name)) for name in shown),
            _figure(row["published"]),
            row["empty"] or f"{row['settings']} x {row['repeats']}",
        )
        for row in rows
    ]
    head = ("data", "method", *(heads[name] for name in shown), "paper, %", "runs")
    print_table(head, lines, texts=(1, len(head) - 1))
    show(
        "Leak-free: all chosen on inner folds. Best on test: the paper's protocol. Runs: settings x repeats."
    )


def _percent(score: Score) -> Figure:
    return 100 * score.mean, 100 * score.std


def _figure(value: Figure | None) -> str:
    if value is None:
        return ""
    mean, deviation = value
    return f"{mean:.2f}" if math.isnan(deviation) else f"{mean:.2f} ± {deviation:.2f}"


def _missing(part: Mapping[str, Status]) -> str:
    """The methods that are not done, with their cells; those with nothing at all just by name."""
    texts = []
    for row, state in part.items():
        if state.done < state.cells:
            texts.append(f"{row} {state.done}/{state.cells}" if state.done else row)
    return ", ".join(texts) if len(texts) < len(part) or any("/" in each for each in texts) else "all"

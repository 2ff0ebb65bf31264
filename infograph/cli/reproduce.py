"""`infograph reproduce`: the paper's tables, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli import options as opt
from infograph.cli.output import Output, table
from infograph.progress import ProgressReport, say

if TYPE_CHECKING:
    from infograph.cells import Cell, Result

reproduce = typer.Typer(
    help="The paper's tables, cell by cell: one small result file each, and none is computed twice.",
    rich_markup_mode="rich",
)
Results = Annotated[Path, opt.option("Where result files are kept.", "DIR")]
RESULTS = Path("results")
PROTOCOLS = {"leak-free": "leak-free, %", "paper": "best on test, %"}
LEGEND = "Leak-free: all chosen on inner folds. Best on test: the paper's protocol. Runs: settings x repeats."
SHOWN = "Figures to show: all chosen on inner folds, or the best setting on test folds."
CHOSEN, OWN = "[default: chosen on alpha]", "[default: by target]"


@reproduce.callback(invoke_without_command=True)
def tables(context: typer.Context) -> None:
    """Show the help where no table is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit()


@reproduce.command()
@opt.verb
def status(results: Results = RESULTS) -> Output:
    """Show how many cells of each table are done, and how long the others will take.

    Times are those of equal cells that are done, one after the other. --json has every method on its own.

    Examples:
        infograph reproduce status
    """
    from infograph.paper.run import total, whole_status

    found = whole_status(results)
    lines = []
    for name, column in dict.fromkeys(place for key in found for place in ((key[0], ""), key[:2])):
        part = {key: state for key, state in found.items() if key[0] == name and column in ("", key[1])}
        state = total(part.values())
        missing = [
            f"{key[2]} {each.done}/{each.cells}" for key, each in part.items() if each.done < each.cells
        ]
        of_it = ", ".join(missing) if column and state.done else ""
        lines.append((f"  {column}" if column else name, f"{state.done}/{state.cells}", str(state), of_it))
    keys = ("table", "column", "row")
    content = [dict(zip(keys, place, strict=True)) | vars(state) for place, state in found.items()]
    shown = table(("", "done", "time left", "of it"), lines, texts=(2, 3))
    return content, [shown, "Times are for one cell after the other."]


@reproduce.command()
@opt.verb
def report(
    results: Results = RESULTS,
    out: Annotated[
        Path | None, opt.option("The folder to write to.", "DIR", "DIR/report of --results")
    ] = None,
) -> Output:
    """Write both tables beside the paper's, from the results that are there; nothing is computed.

    Leaves report.html and tables.md in DIR. What was not run stays empty.

    Examples:
        infograph reproduce report --out runs/report
    """
    from infograph.paper.report import write_report

    written = write_report(results, out or results / "report")
    head, *rows = written.agreement.head, *([each.lines for each in row] for row in written.agreement.rows)
    counts = [dict(zip(head, row, strict=True)) for row in rows]
    content = {"page": written.page, "tables": written.tables, "agreement": counts}
    lines = [line for row in rows for line in zip_longest(*row, fillvalue="")]
    return content, [table(head, lines, texts=range(len(head))), f"Report: {written.page}"]


@dataclass(frozen=True)
class RunOptions:
    """Which cells, how many at a time, for how long, and where their results are."""

    cells: Annotated[str, opt.option("Only cells whose name is like this: 'MUTAG wl * 0'.", "PATTERN")] = "*"
    workers: Annotated[int, opt.option("Processes of one thread; 1 uses all here.", "N", min=1)] = 1
    on: Annotated[str, opt.option(opt.WHERE, "WHERE")] = "local"
    budget: Annotated[str, opt.option("Stop after so long: 90s, 30m or 2h.", "TIME")] = ""
    results: Results = RESULTS

    def run(self, stages: Iterable[Sequence[Cell]]) -> list[Result]:
        """Compute the cells of all stages, and say how far it is; the last stage's results."""
        until = time.time() + opt.seconds(self.budget) if self.budget else None
        results: list[Result | None] = []
        for stage in stages:
            chosen = [cell for cell in stage if fnmatch(cell.name.casefold(), self.cells.casefold())]
            results = self._run_stage(chosen, until)
            if None in results:
                break
        return [each for each in results if each is not None]

    def _run_stage(self, cells: Sequence[Cell], until: float | None) -> list[Result | None]:
        from infograph.paper.run import Durations, run_grid

        known = Durations(self.results, cells)
        left = known.status(cells, self.workers)
        if left.done < left.cells:
            say(f"{left.done} of {left.cells} cells are there; left: {left}")
        results = []
        for each in run_grid(
            cells,
            self.results,
            workers=self.workers,
            on=self.on,
            budget=None if until is None else until - time.time(),
            begin=lambda cell: say(cell.name),
            watch=lambda cell: ProgressReport(),
        ):
            results.append(each.result)
            if each.outcome == "read":
                continue
            what = each.reason
            if each.result is not None:
                seconds = each.result["measured"]["seconds"]
                known.add(each.cell, seconds)
                what = each.result.get("empty") or each.result.get("lacking") or f"{seconds:.1f} s"
            left = known.status(cells, self.workers)
            say(f"{each.cell.name}: {what} ({left.done} of {left.cells} cells; left: {left})")
        return results


@reproduce.command()
@opt.verb
def table1(
    running: RunOptions,
    data: Annotated[str, opt.option("Data sets: small for four, all for six.", "A,B")] = "small",
    method: Annotated[str, opt.option("Methods, as in compare; all for all.", "A,B")] = "all",
    repeats: Annotated[int, opt.option("Repeats; 5 in the paper.", min=1, max=5)] = 5,
    protocol: Annotated[Literal["both", "leak-free", "paper"], opt.option(SHOWN)] = "both",
) -> Output:
    """Table 1: accuracy of unsupervised methods. A run that was stopped goes on where it was.

    Examples:
        infograph reproduce table1 --data MUTAG --method wl,infograph --budget 10m
    """
    from infograph.evaluate.published import paper_table1
    from infograph.paper.table1 import METHODS, SMALL, row_titles, table1_cells

    columns = SMALL if data == "small" else _pick("data set", data, dict.fromkeys(paper_table1().datasets))
    rows = _pick("method", method, METHODS)
    found = running.run([table1_cells(columns, rows, range(repeats))])
    shown = tuple(PROTOCOLS) if protocol == "both" else (protocol,)
    return _accuracies(found, row_titles(), shown)


@reproduce.command()
@opt.verb
def variants(
    running: RunOptions,
    data: Annotated[str, opt.option("Data sets, of the four small ones.", "A,B")] = "all",
    variant: Annotated[str, opt.option("Variants; all for all.", "A,B")] = "all",
    repeats: Annotated[int, opt.option("Repeats; 5 in Table 1.", min=1, max=5)] = 5,
) -> Output:
    """InfoGraph and others with one thing changed at a time, in a table of its own.

    Examples:
        infograph reproduce variants --data MUTAG --variant unscaled,mean --repeats 1
    """
    from infograph.paper.table1 import SMALL, VARIANTS, variant_cells

    columns, rows = _pick("data set", data, dict.fromkeys(SMALL)), _pick("variant", variant, VARIANTS)
    found = running.run([variant_cells(columns, rows, range(repeats))])
    return _accuracies(found, {name: each.title for name, each in VARIANTS.items()}, tuple(PROTOCOLS))


def _accuracies(found: Sequence[Result], titles: Mapping[str, str], shown: Sequence[str]) -> Output:
    """Figures by some protocols, and the paper's."""
    from infograph.evaluate.published import figure_text, paper_score
    from infograph.paper.table1 import collect, group

    rows, lines = [], []
    for (data, method), results in group(found).items():
        evaluation, title = collect(results), titles[method]
        row: dict[str, Any] = {"data": data, "method": title, "empty": results[0]["empty"]}
        row |= {"cells": [result["cell"] for result in results], "published": paper_score(title, data)}
        if evaluation is not None:
            scores = {"leak-free": evaluation.leak_free(), "paper": evaluation.paper()}
            row |= {name: (100 * scores[name].mean, 100 * scores[name].std) for name in shown}
            row |= {"settings": len(evaluation.candidates), "repeats": len(evaluation.seeds), "empty": ""}
        rows.append(row)
        figures = (figure_text(row.get(name)) for name in (*shown, "published"))
        lines.append((data, title, *figures, row["empty"] or f"{row['settings']} x {row['repeats']}"))
    head = ("data", "method", *(PROTOCOLS[name] for name in shown), "paper, %", "runs")
    return rows, [table(head, lines, texts=(1, len(head) - 1)), LEGEND]


@reproduce.command()
@opt.verb
def table2(
    running: RunOptions,
    target: Annotated[str, opt.option("QM9's targets; all for all twelve.", "A,B")] = "all",
    objective: Annotated[str, opt.option("Objectives and references; all for all.", "A,B")] = "all",
    epochs: Annotated[int | None, opt.option(f"Epochs of training; 500 in the paper. {OWN}")] = None,
    lam: Annotated[float | None, opt.option(f"Lambda of InfoGraph and InfoGraph*. {CHOSEN}")] = None,
    weight_decay: Annotated[float | None, opt.option(f"Adam's L2 penalty. {CHOSEN}")] = None,
    seeds: Annotated[str, opt.option(f"Seeds of the split and of the weights. {OWN}", "A-B")] = "",
) -> Output:
    """Table 2: errors on QM9 with 5,000 labels. A run that was stopped goes on where it was.

    Lambda and weight decay are those with the least validation error on alpha, whose cells come first. alpha
    and U0 have 50 epochs and three seeds, the other targets 30 and one.

    Examples:
        infograph reproduce table2 --target U0,alpha --objective supervised,infograph*
    """
    from infograph.paper.table2 import table2_stages

    chosen = opt.names(target) or [], opt.names(objective) or []
    settings: dict[str, Any] = {"lam": lam, "weight_decay": weight_decay, "epochs": epochs}
    settings["seeds"] = _seeds(seeds) if seeds else None
    found = running.run(table2_stages(running.results, *chosen, **settings))
    lines = []
    for each in found:
        error = each.get("empty") or f"{each['scores']['test_mae']:.4g}"
        of = each["settings"]
        lines.append((of["target"], of["objective"], str(of["seed"]), error, each["unit"]))
    content = [{key: value for key, value in each.items() if key != "test_errors"} for each in found]
    return content, [table(("target", "method", "seed", "test error", "unit"), lines, texts=(1, 4))]


@reproduce.command()
@opt.verb
def vectors(
    running: RunOptions,
    data: Annotated[str, opt.option("Development sets, or one role: choosing, unseen, finalists.", "A,B")],
    method: Annotated[str, opt.option("Methods; all for all.", "A,B")] = "all",
    seeds: Annotated[str, opt.option("The first and the last seed.", "A-B")] = "0-9",
) -> Output:
    """What vectors are worth on the development sets of docs/choosing_defaults.md.

    Examples:
        infograph reproduce vectors --data MUTAG --method untrained,paper --seeds 0-1
    """
    from infograph.evaluate import Evaluation, merge
    from infograph.paper.vectors import METHODS, SETS, vector_cells

    columns, rows = _pick("data set", data, SETS), _pick("method", method, METHODS)
    found = running.run([vector_cells(columns, rows, _seeds(seeds))])
    lines, content = [], []
    for (name, of), results in _by_method(found):
        known = [Evaluation.from_dict(each["evaluation"]) for each in results if "evaluation" in each]
        score = merge(known).leak_free() if known else None
        content.append({"data": name, "method": of, "score": None if score is None else score.in_table[:2]})
        lines.append((name, of, results[0].get("empty", "") if score is None else str(score)))
    return content, [table(("data", "method", "score"), lines, texts=(1, 2))]


@reproduce.command()
@opt.verb
def predictions(
    running: RunOptions,
    data: Annotated[str, opt.option("Sets, or one role: choosing, unseen, finalists.", "A,B")],
    method: Annotated[str, opt.option("Methods; all for all.", "A,B")] = "all",
    seeds: Annotated[str, opt.option("The first and the last seed.", "A-B")] = "5-9",
) -> Output:
    """What predictions are worth on the sets of docs/choosing_predictions.md.

    Examples:
        infograph reproduce predictions --data ESOL --method auto,forest --seeds 0-1
    """
    import numpy as np

    from infograph.data.qm9 import HEADERS
    from infograph.paper.predictions import METHODS, SETS, prediction_cells

    columns, rows = _pick("set", data, SETS), _pick("method", method, METHODS)
    found = running.run([prediction_cells(columns, rows, _seeds(seeds))])
    lines, content = [], []
    for (name, of), results in _by_method(found):
        figures = {name: [each["test"] for each in results]}
        if SETS[name].labels:  # columns in units of their own have no mean
            figures = {f"{name} {c}": [each["scores"][n] for each in results] for n, c in enumerate(HEADERS)}
        for title, scores in figures.items():
            content.append({"data": title, "method": of, "figure": SETS[name].figure, "scores": scores})
            spread = f" ± {np.std(scores, ddof=1):.3g}" if len(scores) > 1 else ""
            lines.append((title, of, f"{np.mean(scores):.4g}{spread}", SETS[name].figure))
    return content, [table(("data", "method", "test", "figure"), lines, texts=(1, 3))]


def _pick(what: str, given: str, known: Mapping[str, Any]) -> list[str]:
    """Names as they were typed, "all" written out, or those of one role."""
    from infograph.cells import pick_names

    role = [name for name, each in known.items() if getattr(each, "role", None) == given]
    return role or pick_names(what, opt.names(given) or [], known)


def _seeds(text: str) -> range:
    """`0-9` or `3`."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) < int(first):
        raise opt.refused(f"{text!r}, expected such as 0-9", "seeds")
    return range(int(first), int(last or first) + 1)


def _by_method(found: Sequence[Result]) -> list[tuple[tuple[str, str], list[Result]]]:
    """Results by data set and method, in the order of their names."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for each in found:
        groups.setdefault((each["settings"]["data"], each["settings"]["method"]), []).append(each)
    return sorted(groups.items())

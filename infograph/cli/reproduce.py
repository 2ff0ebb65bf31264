"""`infograph reproduce`: the paper's tables, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, names
from infograph.cli.output import print_json, print_table, show
from infograph.cli.reproduce_report import report
from infograph.cli.reproduce_running import RunOptions
from infograph.cli.reproduce_status import status

if TYPE_CHECKING:
    from infograph.evaluate.score import Score
    from infograph.reproduce.cells import Result
    from infograph.reproduce.paper import Figure

reproduce = typer.Typer(
    help="The paper's tables, cell by cell: one small result file each, and none is computed twice.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


reproduce.command()(status)
reproduce.command()(report)


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
    from infograph.reproduce.cells import pick_names
    from infograph.reproduce.methods import METHODS
    from infograph.reproduce.paper import paper_table1
    from infograph.reproduce.table1 import SMALL, table1_cells

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
    from infograph.reproduce.cells import pick_names
    from infograph.reproduce.table1 import SMALL
    from infograph.reproduce.variants import VARIANTS, variant_cells

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
    from infograph.reproduce.table2 import table2_stages

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
    from infograph.reproduce.paper import paper_score
    from infograph.reproduce.table1 import collect, group

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

"""`infograph reproduce`: the paper's tables, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, names
from infograph.cli.output import print_json, print_table, show
from infograph.cli.reproduce_report import report
from infograph.cli.reproduce_running import RunOptions
from infograph.cli.reproduce_status import status

if TYPE_CHECKING:
    from infograph.reproduce.cells import Result

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
    if as_json:
        print_json([{"cell": r["cell"], "empty": r["empty"]} for r in found])
        return
    _show_table1(found, {name: each.title for name, each in METHODS.items()})


@reproduce.command()
@grouped
def variants(
    running: RunOptions,
    data: Annotated[str, typer.Option(metavar="A,B", help="Data sets, of the four small ones.")] = "all",
    variant: Annotated[str, typer.Option(metavar="A,B", help="Variants; all for all.")] = "all",
    repeats: Annotated[int, typer.Option(min=1, max=5, help="Repeats; 5 in Table 1.")] = 5,
    as_json: AsJson = False,
) -> None:
    """InfoGraph on the data sets of Table 1 with one thing changed at a time, in a table of its own.

    Example: [bold]infograph reproduce variants --data MUTAG --variant base,unscaled --repeats 1[/bold]
    """
    from infograph.reproduce.cells import pick_names
    from infograph.reproduce.table1 import SMALL
    from infograph.reproduce.variants import VARIANTS, variant_cells

    columns = pick_names("data set", names(data) or [], SMALL)
    rows = pick_names("variant", names(variant) or [], VARIANTS)
    found = running.run([variant_cells(columns, rows, range(repeats))])
    if as_json:
        print_json([{"cell": r["cell"], "empty": r["empty"]} for r in found])
        return
    _show_table1(found, {name: each.title for name, each in VARIANTS.items()})


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
        (r["settings"]["target"], r["settings"]["objective"], f"{r['scores']['test_mae']:.4g}", r["unit"])
        for r in found
    ]
    print_table(("target", "method", "test error", "unit"), rows, texts=(1, 3))


def _show_table1(found: Sequence[Result], titles: Mapping[str, str]) -> None:
    """Both protocols, and the paper's figure."""
    from infograph.reproduce.paper import paper_score
    from infograph.reproduce.table1 import collect, group

    rows = []
    for (data, method), results in group(found).items():
        title, evaluation = titles[method], collect(results)
        if evaluation is None:
            rows.append((data, title, "", "", "", results[0]["empty"]))
            continue
        published = paper_score(title, data)
        ours = [(100 * score.mean, 100 * score.std) for score in (evaluation.leak_free(), evaluation.paper())]
        shown = ["" if each is None else _figure(*each) for each in (*ours, published)]
        extent = f"{len(evaluation.candidates)} x {len(evaluation.seeds)}"
        rows.append((data, title, shown[0], shown[1], shown[2], extent))
    head = ("data", "method", "leak-free, %", "best on test, %", "paper, %", "runs")
    print_table(head, rows, texts=(1, 5))
    show(
        "Leak-free: all chosen on inner folds. Best on test: the paper's protocol. Runs: settings x repeats."
    )


def _figure(mean: float, deviation: float) -> str:
    return f"{mean:.2f}" if math.isnan(deviation) else f"{mean:.2f} ± {deviation:.2f}"

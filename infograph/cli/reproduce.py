"""`infograph reproduce`: the paper's tables, cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.options import AsJson, names
from infograph.cli.output import err, print_json, print_table, say


def reproduce(
    table: Annotated[Literal["table2"], typer.Argument(help="table2: QM9 with 5,000 labels.")],
    target: Annotated[str, typer.Option(metavar="A,B", help="QM9's targets; all for all twelve.")] = "all",
    objective: Annotated[
        str, typer.Option(metavar="A,B", help="Rows of the table; all for objectives and references.")
    ] = "all",
    epochs: Annotated[int, typer.Option(help="Epochs of training; 500 in the paper.")] = 10,
    lam: Annotated[float, typer.Option(help="Lambda of InfoGraph and InfoGraph*.")] = 1e-3,
    weight_decay: Annotated[float, typer.Option(help="Adam's L2 penalty.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the weights.")] = 0,
    results: Annotated[Path, typer.Option(metavar="DIR", help="Where result files are kept.")] = Path(
        "results"
    ),
    as_json: AsJson = False,
) -> None:
    """Compute cells of the paper's Table 2; one small result file each, and none is computed twice.

    A run that was stopped goes on where it was.

    Example: [bold]infograph reproduce table2 --target U0,alpha --objective supervised,infograph*[/bold]
    """
    from infograph.reproduce.cells import run_cell
    from infograph.reproduce.table2 import choose_cells, compute_table2
    from infograph.train.progress import ProgressReport

    cells = choose_cells(
        names(target) or [],
        names(objective) or [],
        seed=seed,
        epochs=epochs,
        lam=lam,
        weight_decay=weight_decay,
    )
    found = []
    for number, cell in enumerate(cells, start=1):
        say(f"{cell.name} ({number} of {len(cells)})")
        with ProgressReport(err()) as report:
            found.append(
                run_cell(cell, lambda c, work, r=report: compute_table2(c, work, watchers=[r]), results)  # type: ignore[misc]
            )
    if as_json:
        print_json(
            [{key: value for key, value in result.items() if key != "test_errors"} for result in found]
        )
        return
    rows = [
        (r["settings"]["target"], r["settings"]["objective"], f"{r['scores']['test_mae']:.4g}", r["unit"])
        for r in found
    ]
    print_table(("target", "method", "test error", "unit"), rows, texts=(1, 3))

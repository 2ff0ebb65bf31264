"""`infograph history`: how a model's training went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.options import AsJson
from infograph.cli.output import out as stdout
from infograph.cli.output import print_json, print_table, say_left_out, show


def history(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model folder, or the result file of a table's cell.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .png, .svg or .csv file.", show_default="the terminal"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw the convergence of a training run: every loss term over the epochs, and the validation error.

    Dotted lines are epochs at which the learning rate fell, a ring or a star is the epoch that was kept.

    Examples:

    [bold]infograph history model --out history.png[/bold]

    [bold]infograph history model[/bold]
    """
    from infograph.data.storage import check_outputs
    from infograph.report.history import draw_history
    from infograph.report.history_table import best_rows, history_of, history_table, write_history

    check_outputs([model], out)
    records, unit = history_of(model)
    if out is not None and out.suffix == ".csv":
        write_history(records, out)
    elif out is not None:
        draw_history(records, out, unit=unit)
    if as_json:
        best = [records[row] for row in best_rows(records)]
        file = None if out is None else str(out)
        print_json({"file": file, "unit": unit, "best": best, "history": records})
        return
    if out is None:
        head, rows = history_table(records, unit, width=stdout().width)
        print_table(head, rows, texts=())
        left_out = [name for name in history_table(records, unit)[0] if name not in head]
        say_left_out(left_out, "FILE.csv")
        return
    show(f"{out}: {len(records):,} epochs")

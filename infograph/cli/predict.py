"""`infograph predict`: a model and graphs to a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import READING, AsJson, ReadingOptions, Source, names
from infograph.cli.output import print_json, print_predictions, say, say_rejected, show


@grouped
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of a model that predicts.")],
    source: Source,
    reading: ReadingOptions,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .parquet, .csv or .json file.", show_default="the terminal"),
    ] = None,
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="Graph columns to put beside the predictions; all for all.")
    ] = "",
    probabilities: Annotated[bool, typer.Option("--probabilities", help="A column for every class.")] = False,
    std: Annotated[bool, typer.Option("--std", help="The spread of an ensemble.")] = False,
    errors: Annotated[
        Literal["raise", "skip", "nan"],
        typer.Option(
            help="At a graph that cannot be used: stop, leave it out, or keep its row with NaN.",
            rich_help_panel=READING,
        ),
    ] = "raise",
    as_json: AsJson = False,
) -> None:
    """Predict graphs, keyed by your ids; errors are shown where the graphs have the target.

    Predictions are columns with the names of their targets. Units are metadata in Parquet, and in the header
    of CSV and JSON lines. Classes come with their probability.

    Examples:

    [bold]infograph predict model new.smi --out predictions.parquet[/bold]

    [bold]infograph predict model new.csv --columns all --errors nan --out predictions.csv[/bold]
    """
    from infograph.contract import load
    from infograph.data.storage import check_outputs
    from infograph.learn.prediction_files import check_place, rows_of, write_predictions
    from infograph.learn.predictions import check_predicts, predict_table

    if out is not None:
        check_outputs([model, source], out)
        check_place(out)
    fitted = load(model)
    check_predicts(fitted, probabilities=probabilities)
    graphs = reading.read(source, errors="raise" if errors == "raise" else "skip", schema=fitted.schema_)
    chosen = [column.name for column in graphs.schema.graph] if columns == "all" else names(columns)
    table = predict_table(
        fitted,
        graphs,
        columns=chosen or (),
        probabilities=probabilities,
        std=std,
        keep_places=errors == "nan",
    )
    say_rejected(graphs)
    for note in table.notes:
        say(note)
    if out is not None:
        write_predictions(table, out)
    if as_json:
        rows = {"rows": len(table)} if out else {"predictions": rows_of(table)}
        scores = [vars(score) for score in table.scores]
        rejected = [vars(each) for each in graphs.rejected]
        units = {"units": table.units, "scores": scores, "rejected": rejected}
        print_json({"file": None if out is None else str(out), **rows, **units})
        return
    if out is None:
        print_predictions(table)
    else:
        show(f"{out}: {len(table):,} predictions of {', '.join(fitted.target_names_)}")
    for score in table.scores:
        show(str(score))

"""`infograph embed`: a model and graphs to a file of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import READING, AsJson, ReadingOptions, Source, names
from infograph.cli.output import print_json, say_rejected, show


@grouped
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Source,
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .parquet, .csv or .npz file.")],
    reading: ReadingOptions,
    columns: Annotated[
        str,
        typer.Option(metavar="A,B", help="Graph columns to write beside the vectors; all for all of them."),
    ] = "",
    errors: Annotated[
        Literal["raise", "skip", "nan"],
        typer.Option(
            help="At a graph that cannot be used: stop, leave it out, or keep its row with NaN.",
            rich_help_panel=READING,
        ),
    ] = "raise",
    as_json: AsJson = False,
) -> None:
    """Turn graphs into vectors, keyed by your ids.

    Parquet has the columns id, the graph columns you ask for, and vector. CSV has v0, v1, ... instead of
    vector, NPZ an array per column. With --errors nan the column problem says what is wrong with a row.

    Examples:

    [bold]infograph embed model MUTAG --out vectors.parquet --columns y[/bold]

    [bold]infograph embed model molecules.csv --id-column name --errors nan --out vectors.csv[/bold]
    """
    from infograph.contract import load
    from infograph.report.embed import embed_to_file
    from infograph.report.predictions import check_embeds

    fitted = load(model)
    check_embeds(fitted)
    graphs = reading.read(source, errors="raise" if errors == "raise" else "skip", schema=fitted.schema_)
    chosen = [column.name for column in graphs.schema.graph] if columns == "all" else names(columns)
    vectors = embed_to_file(fitted, graphs, out, columns=chosen or (), keep_places=errors == "nan")
    say_rejected(graphs)
    if as_json:
        rejected = [vars(each) for each in graphs.rejected]
        print_json({"file": str(out), "rows": len(vectors), "dim": vectors.dim, "rejected": rejected})
        return
    empty = f", {len(graphs.rejected)} of them NaN" if errors == "nan" and graphs.rejected else ""
    show(f"{out}: {len(vectors):,} vectors of {vectors.dim} numbers{empty}")

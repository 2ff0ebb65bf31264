"""`infograph embed`: a model and graphs to a file of vectors, or many files to a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.embed_folder import FolderOptions, embed_folder, wants_folder
from infograph.cli.groups import grouped
from infograph.cli.options import READING, AsJson, ReadingOptions, names
from infograph.cli.output import print_json, say_rejected, show


@grouped
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file or folder of graphs, a data set's name, or a pattern such as 'shards/*.parquet'.",
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="PLACE", help="A .parquet, .csv or .npz file, or a folder for many files.")
    ],
    reading: ReadingOptions,
    folder: FolderOptions,
    columns: Annotated[
        str,
        typer.Option(metavar="A,B", help="Graph columns to write beside the vectors; all for all of them."),
    ] = "",
    errors: Annotated[
        Literal["raise", "skip", "nan"] | None,
        typer.Option(
            help="At a graph that cannot be used: stop, leave it out, or keep its row with NaN.",
            show_default="raise for a file, skip for a folder",
            rich_help_panel=READING,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn graphs into vectors, keyed by your ids.

    Parquet has the columns id, the graph columns you ask for, and vector. CSV has v0, v1, ... instead of
    vector, NPZ an array per column. With --errors nan the column problem says what is wrong with a row.

    With a folder as --out, every file of SOURCE becomes a Parquet file in it, some rows at a time, in
    --workers processes or on a Ray cluster. Rows that cannot be used are listed in the folder _rejected. The
    same command again goes on where it was: finished files are skipped.

    Examples:

    [bold]infograph embed model MUTAG --out vectors.parquet --columns y[/bold]

    [bold]infograph embed model molecules.csv --id-column name --errors nan --out vectors.csv[/bold]

    [bold]infograph embed model 'shards/*.parquet' --out vectors/ --workers 8[/bold]
    """
    if wants_folder(source, out):
        embed_folder(model, source, out, reading, folder, columns, errors or "skip", as_json)
        return
    folder.refuse()
    from infograph.contract import load
    from infograph.data.storage import check_outputs
    from infograph.learn.predictions import check_embeds
    from infograph.report.embed import embed_to_file

    check_outputs([model, source], out)
    fitted = load(model)
    check_embeds(fitted)
    strict = errors in (None, "raise")
    graphs = reading.read(source, errors="raise" if strict else "skip", schema=fitted.schema_)
    chosen = [column.name for column in graphs.schema.graph] if columns == "all" else names(columns)
    vectors = embed_to_file(fitted, graphs, Path(out), columns=chosen or (), keep_places=errors == "nan")
    say_rejected(graphs)
    if as_json:
        rejected = [vars(each) for each in graphs.rejected]
        print_json({"file": str(Path(out)), "rows": len(vectors), "dim": vectors.dim, "rejected": rejected})
        return
    empty = f", {len(graphs.rejected)} of them NaN" if errors == "nan" and graphs.rejected else ""
    show(f"{Path(out)}: {len(vectors):,} vectors of {vectors.dim} numbers{empty}")

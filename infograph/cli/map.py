"""`infograph map`: vectors to a picture of all graphs in the plane."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, MaybeSource, Method, ReadingOptions
from infograph.cli.output import print_json, say, show


@grouped
def draw(
    which: Annotated[
        Path, typer.Argument(metavar="VECTORS|MODEL", help="A file of vectors, or a model folder.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The PNG file.")],
    reading: ReadingOptions,
    source: MaybeSource = None,
    colour: Annotated[
        str | None,
        typer.Option("--colour", "--color", metavar="COLUMN", help="The column that colours the points."),
    ] = None,
    method: Method = "tsne",
    title: Annotated[str, typer.Option(help="Stands above the map.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the map.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw a map on which near points are similar graphs.

    Examples:

    [bold]infograph map model MUTAG --colour y --out map.png[/bold]

    [bold]infograph map vectors.parquet molecules.csv --colour logS --out map.png[/bold]
    """
    from infograph.report.drawing import draw_embeddings
    from infograph.report.represent import represent

    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    vectors = represent(which, read)
    drawn = draw_embeddings(vectors, out, column=colour, method=method, title=title, random_state=seed)
    if as_json:
        print_json({"file": str(out), "points": drawn, "left_out": len(vectors) - drawn, "method": method})
        return
    if drawn < len(vectors):
        say(f"{len(vectors) - drawn} graphs without a vector were left out.")
    show(f"{out}: {drawn:,} graphs")

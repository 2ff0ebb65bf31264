"""`infograph map`: all graphs in the plane, as a picture, a page, or a table of points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, MapMethod, MaybeSource, ReadingOptions
from infograph.cli.output import print_json, say, show
from infograph.cli.progress import Stages

if TYPE_CHECKING:
    from infograph.report.represent import Reader


@grouped
def draw(
    which: Annotated[
        Path,
        typer.Argument(
            metavar="VECTORS|MODEL|INDEX", help="A file of vectors, a model, or what infograph index made."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="A .png picture, an .html page to look around in, or .parquet."),
    ],
    reading: ReadingOptions,
    source: MaybeSource = None,
    colour: Annotated[
        str | None,
        typer.Option("--colour", "--color", metavar="COLUMN", help="The column that colours the points."),
    ] = None,
    method: MapMethod = None,
    title: Annotated[str, typer.Option(help="Stands above the map.")] = "",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the map.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw a map on which near points are similar graphs.

    A page needs no server and no network, and can be mailed: it has drawings of the graphs, neighbours,
    clusters and columns, of very many graphs fewer. The table has x, y and neighbours of every graph.

    Examples:

    [bold]infograph map model MUTAG --colour y --out map.png[/bold]

    [bold]infograph map vectors.parquet molecules.csv --colour logS --out map.png[/bold]

    [bold]infograph map index --out map.html[/bold]
    """
    from infograph.data.storage import check_outputs

    check_outputs([which, source], out)
    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    how: dict[str, Any] = {"method": method, "title": title, "random_state": seed}
    write = _write_page if out.suffix in (".html", ".parquet") else _draw_picture
    about = write(which, read, out, colour, how)
    if as_json:
        print_json({"file": str(out), **about})
        return
    if about["left_out"]:
        say(f"{about['left_out']} graphs without a vector were left out.")
    show(f"{out}: {about['points']:,} graphs")


def _draw_picture(
    which: Path, read: Reader | None, out: Path, colour: str | None, how: dict[str, Any]
) -> dict[str, Any]:
    from infograph.report.drawing import draw_embeddings
    from infograph.report.represent import represent

    if out.suffix != ".png":
        raise typer.BadParameter(f"--out {out}: expected a name that ends in .png, .html or .parquet")
    how = {**how, "method": how["method"] or "tsne"}
    vectors = represent(which, read)
    drawn = draw_embeddings(vectors, out, column=colour, **how)
    return {"points": drawn, "left_out": len(vectors) - drawn, "method": how["method"]}


def _write_page(
    which: Path, read: Reader | None, out: Path, colour: str | None, how: dict[str, Any]
) -> dict[str, Any]:
    from infograph.data.storage import check_writable
    from infograph.explore import make_atlas, write_map, write_points
    from infograph.explore.any_index import index_of
    from infograph.index.folder import is_index
    from infograph.maps.map2d import choose_method

    check_writable(out)  # before the work
    index, left_out = index_of(which, read)
    how = {**how, "method": choose_method(len(index), how["method"]), "title": how["title"] or which.stem}
    with Stages() as watch:
        atlas = make_atlas(index, which if is_index(which) else None, colour=colour, watch=watch, **how)
        (write_points if out.suffix == ".parquet" else write_map)(index, atlas, out)
    return {"points": len(index), "left_out": left_out, "method": how["method"]}

"""`infograph index`, `infograph search`, `infograph map`, `infograph explore`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli.options import (
    AsJson,
    Errors,
    MapMethod,
    MaybeSource,
    ReadingOptions,
    Source,
    grouped,
    names,
)
from infograph.cli.output import out, print_json, print_table, say_rejected, show
from infograph.progress import Stages, say

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.data.schema import Schema
    from infograph.index import GraphIndex, Hits
    from infograph.index.graph_index import Reader

KEPT = 3  # rank, id and score are always shown
WIDEST = 40  # characters of a column
LISTED = 50  # groups of duplicates


@grouped
def index(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Source,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the index.")],
    reading: ReadingOptions,
    metric: Annotated[
        Literal["cosine", "euclidean"], typer.Option(help="What makes graphs alike: angle or distance.")
    ] = "cosine",
    approximate: Annotated[
        bool | None,
        typer.Option(
            "--approximate/--exact",
            help="Let faiss look where neighbours are likely, or compare with all vectors.",
            show_default="exact up to 100,000 graphs",
        ),
    ] = None,
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="Graph columns to keep; all for all of them.")
    ] = "all",
    errors: Errors = "raise",
    as_json: AsJson = False,
) -> None:
    """Embed graphs once, to search among them with infograph search.

    The folder holds the vectors, your ids and columns, the graphs and the model.

    Examples:

    [bold]infograph index model molecules.csv --out index[/bold]

    [bold]infograph index model QM9 --metric euclidean --approximate --out index[/bold]
    """
    from infograph.estimators.base import check_embeds, load
    from infograph.index import GraphIndex
    from infograph.index.graph_index import check_faiss
    from infograph.index.store import check_index_folder
    from infograph.io import check_outputs

    check_outputs([model, source], out)
    check_index_folder(out)
    check_faiss(approximate)
    fitted = load(model)
    check_embeds(fitted)
    graphs = reading.read(source, errors=errors, schema=fitted.schema_)
    chosen = None if columns == "all" else names(columns)
    built = GraphIndex.build(fitted, graphs, metric=metric, approximate=approximate, columns=chosen)
    built.save(out)
    say_rejected(graphs)
    about = {"graphs": len(built), "dim": built.vectors.shape[1], "metric": metric}
    if as_json:
        rejected = [vars(each) for each in graphs.rejected]
        form = {"approximate": built.is_approximate, "columns": list(built.columns), "rejected": rejected}
        print_json({"folder": str(out), **about, **form})
        return
    form_word = "approximate" if built.is_approximate else "exact"
    show(f"{out}: {len(built):,} graphs, vectors of {about['dim']} numbers, {metric}, {form_word} search")


@grouped
def search(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that infograph index made.")],
    reading: ReadingOptions,
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="An id of the index, a file of graphs, or a SMILES."),
    ] = None,
    count: Annotated[int, typer.Option("-k", help="How many graphs to find.")] = 10,
    by_id: Annotated[bool, typer.Option("--id", help="QUERY is an id, whatever else it may be.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page with drawings of the molecules found.")
    ] = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="List graphs of the index whose vectors coincide.")
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Cosine distance, or share of the length, up to which vectors coincide.",
            show_default="equal but for roundings",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the graphs of an index that are most like a given one.

    QUERY is looked for among the ids first; otherwise it is a file of graphs if there is one, or a SMILES.

    Examples:

    [bold]infograph search index "CC(=O)Oc1ccccc1" -k 5[/bold]

    [bold]infograph search index mol7 --id --html near.html[/bold]

    [bold]infograph search index --duplicates[/bold]
    """
    from infograph.index import GraphIndex
    from infograph.io import check_outputs, check_writable

    _check(query, by_id=by_id, duplicates=duplicates, html=html, tolerance=tolerance)
    if html is not None:
        check_outputs([folder, query], html)
        check_writable(html)
    opened = GraphIndex.open(folder)
    if duplicates:
        _print_duplicates(opened.near_duplicates(tolerance), len(opened), as_json=as_json)
        return
    hits, drawn = _search(opened, str(query), count, reading, by_id=by_id)
    if html is not None:
        _write_hits_page(html, f"Nearest graphs in {folder.resolve().name}", hits, drawn)
    if as_json:
        file = None if html is None else str(html)
        print_json({"index": str(folder), "metric": hits.metric, "file": file, "hits": hits.table()})
        return
    for one in hits:
        if len(hits) > 1:
            show(f"Nearest to {one.queries[0]}:")
        _print_hits(one)
    if html is not None:
        show(f"{html}: {hits.rows.size:,} graphs")


def _check(query: str | None, *, by_id: bool, duplicates: bool, html: Path | None, tolerance: Any) -> None:
    """Refuse options that exclude each other."""
    if duplicates and (query is not None or by_id or html is not None):
        raise typer.BadParameter(
            "--duplicates compares the graphs of the index with each other: leave QUERY, --id and --html out"
        )
    if not duplicates and query is None:
        raise typer.BadParameter("QUERY is missing: an id, a SMILES or a file of graphs; or use --duplicates")
    if not duplicates and tolerance is not None:
        raise typer.BadParameter("--tolerance belongs to --duplicates")


def _search(
    index: GraphIndex, query: str, count: int, reading: ReadingOptions, *, by_id: bool
) -> tuple[Hits, dict[Any, str]]:
    """What was found, and the SMILES of the queries by their ids."""
    from infograph.data.molecules import SMILES
    from infograph.index.graph_index import is_path, schema_of

    if by_id or query in index:
        hits = index.search_id(query, count)
        known = index.columns.get(SMILES.name)
        row = index.row(query)
        return hits, {} if known is None else {index.ids[row].item(): str(known[row])}
    schema = schema_of(index.model)
    graphs = reading.read(query, schema=schema) if is_path(query) else _molecule(query, schema)
    smiles = graphs.graph.get(SMILES.name)
    drawn = {} if smiles is None else dict(zip(graphs.ids.tolist(), map(str, smiles), strict=True))
    return index.search(graphs, count), drawn


def _molecule(query: str, schema: Schema | None) -> GraphSet:
    """A text that is no id and no file, as a molecule; the error says all three."""
    from infograph.errors import InvalidGraph, InvalidParameter
    from infograph.index.graph_index import as_queries

    if schema is None or schema.option("hydrogens") is None:
        raise InvalidParameter(
            f"{query!r} is no file, and no SMILES either, as this index does not hold molecules; none of its "
            f"graphs has that id"
        )
    try:
        return as_queries(query, schema, name=query)
    except InvalidGraph as error:
        raise InvalidParameter(
            f"{query!r} is no id of this index, no file, and as a molecule it cannot be used: {error.problem}"
        ) from error


def _print_hits(hits: Hits) -> None:
    """A table; on a narrow terminal columns are left out from the right."""
    from infograph.report.pages import cell_text

    rows = hits.table()
    names = [name for name in rows[0] if name != "query"] if rows else ["rank", "id", "score"]
    cells = {name: [_short(cell_text(row[name])) for row in rows] for name in names}
    wide = {name: max(map(len, [name, *column])) for name, column in cells.items()}
    shown = list(names)
    while len(shown) > KEPT and sum(wide[name] + 2 for name in shown) - 2 > out().width:
        shown.pop()
    print_table(shown, zip(*(cells[name] for name in shown), strict=True), texts=(1,))
    if len(shown) < len(names):
        left_out = ", ".join(map(repr, names[len(shown) :]))
        say(f"Too narrow for: {left_out}; a wider terminal, --json or --html has all columns.")


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _print_duplicates(groups: list[list[Any]], total: int, *, as_json: bool) -> None:
    n_graphs = sum(map(len, groups))
    if as_json:
        print_json({"graphs": total, "duplicates": n_graphs, "groups": groups})
        return
    if groups:
        rows = [
            [str(place + 1), str(len(group)), ", ".join(map(str, group))]
            for place, group in enumerate(groups)
        ]
        print_table(("group", "graphs", "ids"), rows[:LISTED], texts=(2,))
    if len(groups) > LISTED:
        say(f"... and {len(groups) - LISTED:,} more groups; --json has all of them.")
    noun = "group" if len(groups) == 1 else "groups"
    show(f"{n_graphs:,} of {total:,} graphs are in {len(groups):,} {noun} of coinciding vectors")


def _write_hits_page(path: Path, title: str, hits: Hits, drawn: dict[Any, str]) -> None:
    from infograph.io import replaced_file
    from infograph.report.pages import hits_page

    with replaced_file(path) as work:
        work.write_text(hits_page(title, hits, drawn), encoding="utf-8")


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
    from infograph.io import check_outputs

    check_outputs([which, source], out)
    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    how: dict[str, Any] = {"method": method, "title": title, "random_state": seed}
    write = _write_map_page if out.suffix in (".html", ".parquet") else _draw_picture
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
    from infograph.index.graph_index import represent
    from infograph.report.figures import draw_embeddings

    if out.suffix != ".png":
        raise typer.BadParameter(f"--out {out}: expected a name that ends in .png, .html or .parquet")
    how = {**how, "method": how["method"] or "tsne"}
    vectors = represent(which, read)
    drawn = draw_embeddings(vectors, out, column=colour, **how)
    return {"points": drawn, "left_out": len(vectors) - drawn, "method": how["method"]}


def _write_map_page(
    which: Path, read: Reader | None, out: Path, colour: str | None, how: dict[str, Any]
) -> dict[str, Any]:
    from infograph.explore import make_atlas, write_map, write_points
    from infograph.index.graph_index import index_of
    from infograph.index.store import is_index
    from infograph.io import check_writable
    from infograph.look.project import choose_method

    check_writable(out)  # before the work
    index, left_out = index_of(which, read)
    how = {**how, "method": choose_method(len(index), how["method"]), "title": how["title"] or which.stem}
    with Stages() as watch:
        atlas = make_atlas(index, which if is_index(which) else None, colour=colour, watch=watch, **how)
        (write_points if out.suffix == ".parquet" else write_map)(index, atlas, out)
    return {"points": len(index), "left_out": left_out, "method": how["method"]}


def explore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that infograph index made.")],
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.")] = 8765,
    host: Annotated[
        str, typer.Option(help="The address to listen on; other machines reach any but 127.0.0.1.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(help="What visitors must know.", show_default="made up where others can come in"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    colour: Annotated[
        str | None,
        typer.Option("--colour", "--color", metavar="COLUMN", help="The column that colours the map first."),
    ] = None,
    method: Annotated[
        Literal["umap", "tsne", "pca"] | None,
        typer.Option(help="How the map is made.", show_default="umap where it is installed"),
    ] = None,
) -> None:
    """Look at all graphs of an index on a map: search, compare, choose regions, place new graphs.

    The map is made once and kept in the folder. The server stops with Ctrl-C. Its address answers programs,
    too: /openapi.json says how. For a map as one file see infograph map.

    Example: [bold]infograph explore index --colour y[/bold]
    """
    from infograph.explore import make_atlas, serve
    from infograph.explore.guard import check_server, is_loopback, open_socket
    from infograph.index import GraphIndex

    check_server()
    index = GraphIndex.open(folder)
    open_socket(host, port).close()  # before the work
    with Stages() as watch:
        atlas = make_atlas(index, folder, colour=colour, method=method, watch=watch)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
        say(f"Others can reach {host}: they need the token in the address.")

    def tell(address: str) -> None:
        show(f"{address} (Ctrl-C stops)")

    serve(index, atlas, host=host, port=port, token=token, browser=browser, tell=tell)

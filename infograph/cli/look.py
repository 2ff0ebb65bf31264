"""`infograph index`, `infograph search`, `infograph map`, `infograph explore`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli import options as opt
from infograph.cli.output import finish, print_json, print_table, show
from infograph.progress import Report, say

if TYPE_CHECKING:
    from infograph.index import GraphIndex, Hits

LISTED = 50  # groups of duplicates
COINCIDE = "Cosine distance, or share of the length, up to which vectors coincide."
FAISS = "Let faiss look where neighbours are likely, or compare with all vectors."
MAP_DEFAULT = "tsne for a picture, else umap where it is installed"
MAPPED = "A file of vectors, a model, or what infograph index made."
REACHED = "The address to listen on; other machines reach any but 127.0.0.1."
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that infograph index made.")]
Colour = Annotated[
    str | None,
    opt.option("The column that colours the points first.", "--colour", "--color", "COLUMN"),
]


@opt.grouped
def index(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: opt.Source,
    out: Annotated[Path, opt.option("The folder of the index.", "DIR")],
    reading: opt.ReadingOptions,
    metric: Annotated[
        Literal["cosine", "euclidean"], opt.option("What makes graphs alike: angle or distance.")
    ] = "cosine",
    approximate: Annotated[
        bool | None, opt.option(FAISS, "--approximate/--exact", default="exact up to 100,000 graphs")
    ] = None,
    columns: Annotated[str, opt.option("Graph columns to keep; all for all of them.", "A,B")] = "all",
    errors: opt.Errors = "raise",
    as_json: opt.AsJson = False,
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
    chosen = None if columns == "all" else opt.names(columns)
    built = GraphIndex.build(fitted, graphs, metric=metric, approximate=approximate, columns=chosen)
    built.save(out)
    about = {
        "folder": str(out),
        "graphs": len(built),
        "dim": built.vectors.shape[1],
        "metric": metric,
        "approximate": built.is_approximate,
        "columns": list(built.columns),
        "rejected": [vars(each) for each in graphs.rejected],
    }
    how = f"{metric}, {'approximate' if built.is_approximate else 'exact'} search"
    finish(as_json, about, f"{out}: {len(built):,} graphs, vectors of {about['dim']} numbers, {how}")


@opt.grouped
def search(
    folder: Folder,
    reading: opt.ReadingOptions,
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="An id of the index, a file of graphs, or a SMILES."),
    ] = None,
    count: Annotated[int, opt.option("How many graphs to find.", "-k")] = 10,
    by_id: Annotated[bool, opt.option("QUERY is an id, whatever else it may be.", "--id")] = False,
    html: Annotated[Path | None, opt.option("A page with drawings of them.", "FILE")] = None,
    duplicates: Annotated[
        bool, opt.option("List graphs of the index whose vectors coincide.", "--duplicates")
    ] = False,
    tolerance: Annotated[float | None, opt.option(COINCIDE, default="equal but for roundings")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Find the graphs of an index that are most like a given one.

    QUERY is looked for among the ids first; otherwise it is a file of graphs if there is one, or a SMILES.

    Examples:

    [bold]infograph search index "CC(=O)Oc1ccccc1" -k 5[/bold]

    [bold]infograph search index mol7 --id --html near.html[/bold]

    [bold]infograph search index --duplicates[/bold]
    """
    from infograph.index import GraphIndex
    from infograph.io import check_outputs, check_writable, replaced_file
    from infograph.report.pages import cell_text, hits_page

    if duplicates and (query is not None or by_id or html is not None):
        raise typer.BadParameter(
            "--duplicates compares the graphs of the index with each other: leave QUERY, --id and --html out"
        )
    if not duplicates and query is None:
        raise typer.BadParameter("QUERY is missing: an id, a SMILES or a file of graphs; or use --duplicates")
    if not duplicates and tolerance is not None:
        raise typer.BadParameter("--tolerance belongs to --duplicates")
    if html is not None:
        check_outputs([folder, query], html)
        check_writable(html)
    opened = GraphIndex.open(folder)
    if duplicates:
        _print_duplicates(opened.near_duplicates(tolerance), len(opened), as_json=as_json)
        return
    hits, drawn = _search(opened, str(query), count, reading, by_id=by_id)
    if html is not None:
        with replaced_file(html) as work:
            page = hits_page(f"Nearest graphs in {folder.resolve().name}", hits, drawn)
            work.write_text(page, encoding="utf-8")
    if as_json:
        file = None if html is None else str(html)
        print_json({"index": str(folder), "metric": hits.metric, "file": file, "hits": hits.table()})
        return
    for one in hits:
        if len(hits) > 1:
            show(f"Nearest to {one.queries[0]}:")
        rows = [{name: value for name, value in row.items() if name != "query"} for row in one.table()]
        head = list(rows[0]) if rows else ["rank", "id", "score"]
        print_table(head, [[*map(cell_text, row.values())] for row in rows], texts=(1,))
    if html is not None:
        show(f"{html}: {hits.rows.size:,} graphs")


def _search(
    index: GraphIndex, query: str, count: int, reading: opt.ReadingOptions, *, by_id: bool
) -> tuple[Hits, dict[Any, str]]:
    """What was found, and the SMILES of the queries by their ids."""
    from infograph.data.molecules import SMILES
    from infograph.errors import InvalidGraph, InvalidParameter
    from infograph.index.graph_index import as_queries, is_path, schema_of

    if by_id or query in index:
        hits, known, row = index.search_id(query, count), index.columns.get(SMILES.name), index.row(query)
        return hits, {} if known is None else {index.ids[row].item(): str(known[row])}
    schema = schema_of(index.model)
    if is_path(query):
        graphs = reading.read(query, schema=schema)
    else:
        try:
            graphs = as_queries(query, schema, name=query)
        except InvalidGraph as error:
            raise InvalidParameter(
                f"{query!r} is no id of this index, no file, and no usable molecule: {error.problem}"
            ) from error
    smiles = graphs.graph.get(SMILES.name)
    drawn = {} if smiles is None else dict(zip(graphs.ids.tolist(), map(str, smiles), strict=True))
    return index.search(graphs, count), drawn


def _print_duplicates(groups: list[list[Any]], total: int, *, as_json: bool) -> None:
    n_graphs = sum(map(len, groups))
    if as_json:
        print_json({"graphs": total, "duplicates": n_graphs, "groups": groups})
        return
    if groups:
        rows = [(str(n), str(len(each)), ", ".join(map(str, each))) for n, each in enumerate(groups, 1)]
        print_table(("group", "graphs", "ids"), rows[:LISTED], texts=(2,))
    if len(groups) > LISTED:
        say(f"... and {len(groups) - LISTED:,} more groups; --json has all of them.")
    noun = "group" if len(groups) == 1 else "groups"
    show(f"{n_graphs:,} of {total:,} graphs are in {len(groups):,} {noun} of coinciding vectors")


@opt.grouped
def draw(
    which: Annotated[Path, typer.Argument(metavar="VECTORS|MODEL|INDEX", help=MAPPED)],
    out: Annotated[Path, opt.option("A .png picture, an .html page to look around in, or .parquet.", "FILE")],
    reading: opt.ReadingOptions,
    source: opt.MaybeSource = None,
    colour: Colour = None,
    method: Annotated[opt.Method | None, opt.option(opt.NEIGHBOURS, default=MAP_DEFAULT)] = None,
    title: Annotated[str, opt.option("Stands above the map.")] = "",
    seed: Annotated[int, opt.option("Seed of the map.", min=0, max=2**32 - 1)] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Draw a map on which near points are similar graphs.

    A page needs no server and no network, and can be mailed: it has drawings of the graphs, neighbours,
    clusters and columns, of very many graphs fewer. The table has x, y and neighbours of every graph.

    Examples:

    [bold]infograph map model MUTAG --colour y --out map.png[/bold]

    [bold]infograph map vectors.parquet molecules.csv --colour logS --out map.png[/bold]

    [bold]infograph map index --out map.html[/bold]
    """
    from infograph.explore import make_atlas, write_map, write_points
    from infograph.index.graph_index import index_of, represent
    from infograph.index.store import is_index
    from infograph.io import check_outputs, check_writable
    from infograph.look.project import choose_method
    from infograph.report.figures import draw_embeddings

    if out.suffix not in (".png", ".html", ".parquet"):
        raise typer.BadParameter(f"--out {out}: expected a name that ends in .png, .html or .parquet")
    check_outputs([which, source], out)
    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    how: dict[str, Any] = {"title": title, "random_state": seed}
    if out.suffix == ".png":
        how["method"] = method or "tsne"
        vectors = represent(which, read)
        points = draw_embeddings(vectors, out, column=colour, **how)
        left_out = len(vectors) - points
    else:
        check_writable(out)  # before the work
        index, left_out = index_of(which, read)
        points = len(index)
        how |= {"method": choose_method(points, method), "title": title or which.stem}
        with Report() as watch:
            atlas = make_atlas(index, which if is_index(which) else None, colour=colour, watch=watch, **how)
            (write_points if out.suffix == ".parquet" else write_map)(index, atlas, out)
    if left_out and not as_json:
        say(f"{left_out} graphs without a vector were left out.")
    about = {"file": str(out), "points": points, "left_out": left_out, "method": how["method"]}
    finish(as_json, about, f"{out}: {points:,} graphs")


def explore(
    folder: Folder,
    port: Annotated[int, opt.option("The port; 0 takes any that is free.")] = 8765,
    host: Annotated[str, opt.option(REACHED)] = "127.0.0.1",
    token: Annotated[
        str | None, opt.option("What visitors must know.", default="made up where others can come in")
    ] = None,
    browser: Annotated[bool, opt.option("Open the page.", "--browser/--no-browser")] = True,
    colour: Colour = None,
    method: Annotated[
        opt.Method | None, opt.option("How the map is made.", default="umap where it is installed")
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
    with Report() as watch:
        atlas = make_atlas(index, folder, colour=colour, method=method, watch=watch)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
        say(f"Others can reach {host}: they need the token in the address.")

    def tell(address: str) -> None:
        show(f"{address} (Ctrl-C stops)")

    serve(index, atlas, host=host, port=port, token=token, browser=browser, tell=tell)

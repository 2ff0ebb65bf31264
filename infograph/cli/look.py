"""`infograph index`, `infograph search`, `infograph map`, `infograph explore`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import infograph
from infograph.cli import options as opt
from infograph.cli.output import Output, table
from infograph.progress import Report, say

LISTED = 50  # groups of duplicates
COINCIDE = "Cosine distance, or share of the length, up to which vectors coincide."
FAISS = "Let faiss look where neighbours are likely, or compare with all vectors."
EXACT = "exact up to 100,000 graphs"
QUERY = "An id of the index, a file of graphs, or a SMILES."
MAP_DEFAULT = "tsne for a picture, else umap where it is installed"
MAPPED = "A file of vectors, a model, or what infograph index made."
REACHED = "The address to listen on; other machines reach any but 127.0.0.1."
TOKEN = "made up where others can come in"
COLOUR = "The column that colours the points first."
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that infograph index made.")]
Colour = Annotated[str | None, opt.option(COLOUR, "--colour", "--color", "COLUMN")]


@opt.verb
def index(
    model: opt.Model,
    source: opt.Source,
    out: Annotated[Path, opt.option("The folder of the index.", "DIR")],
    reading: opt.ReadingOptions,
    metric: Annotated[Literal["cosine", "euclidean"], opt.option("Angle or distance.")] = "cosine",
    approximate: Annotated[bool | None, opt.option(FAISS, "--approximate/--exact", EXACT)] = None,
    columns: Annotated[str, opt.option("Graph columns to keep; all for all of them.", "A,B")] = "all",
    errors: opt.Errors = "raise",
) -> Output:
    """Embed graphs once, to search among them with infograph search.

    The folder holds the vectors, your ids and columns, the graphs and the model.

    Examples:
        infograph index model molecules.csv --out index
        infograph index model QM9 --metric euclidean --approximate --out index
    """
    from infograph.index.store import INDEX
    from infograph.io import check_outputs, check_replaceable

    check_outputs([model, source], out)
    check_replaceable(out, INDEX)
    fitted = infograph.load(model)
    graphs = reading.read(source, errors=errors, schema=fitted.schema_)
    chosen = None if columns == "all" else opt.names(columns)
    built = infograph.GraphIndex.build(fitted, graphs, metric=metric, approximate=approximate, columns=chosen)
    built.save(out)
    about = {
        "folder": out,
        "graphs": len(built),
        "dim": built.vectors.shape[1],
        "metric": metric,
        "approximate": built.is_approximate,
        "columns": list(built.columns),
        "rejected": [vars(each) for each in graphs.rejected],
    }
    how = f"{metric}, {'approximate' if built.is_approximate else 'exact'} search"
    return about, [f"{out}: {len(built):,} graphs, vectors of {about['dim']} numbers, {how}"]


@opt.verb
def search(
    folder: Folder,
    reading: opt.ReadingOptions,
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help=QUERY)] = None,
    count: Annotated[int, opt.option("How many graphs to find.", "-k")] = 10,
    by_id: Annotated[bool, opt.option("QUERY is an id, whatever else it may be.", "--id")] = False,
    html: Annotated[Path | None, opt.option("A page with drawings of them.", "FILE")] = None,
    duplicates: Annotated[bool, opt.option("List graphs whose vectors coincide.", "--duplicates")] = False,
    tolerance: Annotated[float | None, opt.option(COINCIDE, "equal but for roundings")] = None,
) -> Output:
    """Find the graphs of an index that are most like a given one.

    QUERY is looked for among the ids first; otherwise it is a file of graphs if there is one, or a SMILES.

    Examples:
        infograph search index "CC(=O)Oc1ccccc1" -k 5
        infograph search index mol7 --id --html near.html
        infograph search index --duplicates
    """
    from infograph.io import check_outputs, check_writable, write_text
    from infograph.notebook import cell_text
    from infograph.report.pages import hits_page

    if duplicates and (query is not None or by_id or html is not None):
        raise opt.refused("all graphs are compared: leave QUERY, --id and --html out", "duplicates")
    if not duplicates and query is None:
        raise typer.BadParameter("QUERY is missing: an id, a SMILES or a file of graphs; or use --duplicates")
    if not duplicates and tolerance is not None:
        raise typer.BadParameter("--tolerance belongs to --duplicates")
    if html is not None:
        check_outputs([folder, query], html)
        check_writable(html)
    opened = infograph.GraphIndex.open(folder)
    if query is None:
        return _duplicates(opened.near_duplicates(tolerance), len(opened))
    hits, drawn = _search(opened, query, count, reading, by_id=by_id)
    content = {"index": folder, "metric": hits.metric, "file": html, "hits": hits.table()}
    lines: list[Any] = []
    for one in hits:
        lines += [f"Nearest to {one.queries[0]}:"] if len(hits) > 1 else []
        rows = [{name: value for name, value in row.items() if name != "query"} for row in one.table()]
        head = list(rows[0]) if rows else ["rank", "id", "score"]
        columns = range(head.index("score") + 1, len(head))  # which give way to ids on a narrow terminal
        lines.append(table(head, [[*map(cell_text, row.values())] for row in rows], texts=columns))
    if html is not None:
        write_text(html, hits_page(f"Nearest graphs in {folder.resolve().name}", hits, drawn))
        lines.append(f"{html}: {hits.rows.size:,} graphs")
    return content, lines


def _search(
    index: infograph.GraphIndex, query: str, count: int, reading: opt.ReadingOptions, *, by_id: bool
) -> tuple[infograph.Hits, dict[Any, str]]:
    """What was found, and the SMILES of the queries by their ids."""
    from infograph.data.molecules import SMILES
    from infograph.index.graph_index import as_queries, is_path, schema_of

    if by_id or query in index:
        hits, known, row = index.search_id(query, count), index.columns.get(SMILES.name), index.row(query)
        return hits, {} if known is None else {index.ids[row].item(): str(known[row])}
    schema = schema_of(index.model)
    if is_path(query):
        graphs = reading.read(query, errors=None, schema=schema)
    else:
        graphs = as_queries(query, schema, name=query)
    smiles = graphs.graph.get(SMILES.name)
    drawn = {} if smiles is None else dict(zip(graphs.ids.tolist(), map(str, smiles), strict=True))
    return index.search(graphs, count), drawn


def _duplicates(groups: list[list[Any]], total: int) -> Output:
    n_graphs = sum(map(len, groups))
    rows = [(str(n), str(len(each)), ", ".join(map(str, each))) for n, each in enumerate(groups, 1)]
    more = f" (--json lists more than {LISTED})" if len(groups) > LISTED else ""
    noun = "group" if len(groups) == 1 else "groups"
    return {"graphs": total, "duplicates": n_graphs, "groups": groups}, [
        table(("group", "graphs", "ids"), rows[:LISTED], texts=(2,)),
        f"{n_graphs:,} of {total:,} graphs are in {len(groups):,} {noun} of coinciding vectors{more}",
    ]


@opt.verb
def draw(
    which: Annotated[Path, typer.Argument(metavar="VECTORS|MODEL|INDEX", help=MAPPED)],
    out: Annotated[Path, opt.option("A .png picture, an .html page to look around in, or .parquet.", "FILE")],
    reading: opt.ReadingOptions,
    source: opt.MaybeSource = None,
    colour: Colour = None,
    method: Annotated[opt.Method | None, opt.option(opt.NEIGHBOURS, MAP_DEFAULT)] = None,
    title: Annotated[str, opt.option("Stands above the map.")] = "",
    seed: Annotated[int, opt.option("Seed of the map.", min=0, max=2**32 - 1)] = 0,
) -> Output:
    """Draw a map on which near points are similar graphs.

    A page needs no server and no network, and can be mailed: it has drawings of the graphs, neighbours,
    clusters and columns, of very many graphs fewer. The table has x, y and neighbours of every graph.

    Examples:
        infograph map model MUTAG --colour y --out map.png
        infograph map vectors.parquet molecules.csv --colour logS --out map.png
        infograph map index --out map.html
    """
    from infograph.explore import make_atlas, write_map, write_points
    from infograph.index.graph_index import index_of, represent
    from infograph.index.store import is_index
    from infograph.io import check_outputs, check_writable
    from infograph.look.project import choose_method
    from infograph.report.figures import draw_embeddings

    check_outputs([which, source], out)
    if out.suffix not in (".png", ".html", ".parquet"):
        raise opt.refused(f"{out}: expected a name that ends in .png, .html or .parquet", "out")
    check_writable(out)  # before the work
    how: dict[str, Any] = {"title": title, "random_state": seed}
    if out.suffix == ".png":
        how["method"] = method or "tsne"
        vectors = represent(which, reading.reader(source))
        points = draw_embeddings(vectors, out, column=colour, **how)
        left_out = len(vectors) - points
    else:
        found, left_out = index_of(which, reading.reader(source))
        points = len(found)
        how |= {"method": choose_method(points, method), "title": title or which.stem}
        with Report() as watch:
            atlas = make_atlas(found, which if is_index(which) else None, colour=colour, watch=watch, **how)
            (write_points if out.suffix == ".parquet" else write_map)(found, atlas, out)
    if left_out:
        say(f"{left_out} graphs without a vector were left out.")
    about = {"file": out, "points": points, "left_out": left_out, "method": how["method"]}
    return about, [f"{out}: {points:,} graphs"]


@opt.verb
def explore(
    folder: Folder,
    port: Annotated[int, opt.option("The port; 0 takes any that is free.")] = 8765,
    host: Annotated[str, opt.option(REACHED)] = "127.0.0.1",
    token: Annotated[str | None, opt.option("What visitors must know.", TOKEN)] = None,
    browser: Annotated[bool, opt.option("Open the page.", "--browser/--no-browser")] = True,
    colour: Colour = None,
    method: Annotated[opt.Method | None, opt.option(opt.NEIGHBOURS, "umap where it is installed")] = None,
) -> None:
    """Look at all graphs of an index on a map: search, compare, choose regions, place new graphs.

    The map is made once and kept in the folder. The server stops with Ctrl-C. Its address answers programs,
    too: /openapi.json says how. For a map as one file see infograph map.

    Examples:
        infograph explore index --colour y
    """
    from infograph.explore import make_atlas, serve
    from infograph.explore.guard import check_server, is_loopback, open_socket

    check_server()
    found = infograph.GraphIndex.open(folder)
    with open_socket(host, port) as listening:  # before the work, and not given up
        with Report() as watch:
            atlas = make_atlas(found, folder, colour=colour, method=method, watch=watch)
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(16)
            say(f"Others can reach {host}: they need the token in the address.")

        def tell(address: str) -> None:
            typer.echo(f"{address} (Ctrl-C stops)")

        serve(found, atlas, host=host, port=listening, token=token, browser=browser, tell=tell)

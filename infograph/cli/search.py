"""`infograph search`: the graphs of an index that are most like a given one, or like each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, ReadingOptions
from infograph.cli.output import out, print_json, print_table, say, show

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.data.schema import Schema
    from infograph.index import GraphIndex, Hits

KEPT = 3  # rank, id and score are always shown
WIDEST = 40  # characters of a column
LISTED = 50  # groups of duplicates


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
    from infograph.data.storage import check_outputs, check_writable
    from infograph.index import GraphIndex

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
        _write_page(html, f"Nearest graphs in {folder.resolve().name}", hits, drawn)
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
    from infograph.data.chem.atoms import SMILES
    from infograph.index.queries import is_path, schema_of

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
    from infograph.index.queries import as_queries

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
    from infograph.index.page import cell_text

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


def _write_page(path: Path, title: str, hits: Hits, drawn: dict[Any, str]) -> None:
    from infograph.data.storage import replaced_file
    from infograph.index.page import hits_body
    from infograph.report.page import page

    with replaced_file(path) as work:
        work.write_text(page(title, hits_body(hits, drawn)), encoding="utf-8")

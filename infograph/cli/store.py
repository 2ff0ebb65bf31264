"""`infograph store`: many files of graphs to one GraphSet on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, ReadingOptions, names
from infograph.cli.output import print_json, show
from infograph.cli.progress import Rows


@grouped
def store(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A pattern in quotes, such as 'shards/*.parquet', a folder, or a file."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the GraphSet.")],
    reading: ReadingOptions,
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="Columns of molecule files to keep; all for all.")
    ] = "",
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Leave rows out that are no graphs, listed in this CSV."),
    ] = None,
    block: Annotated[int, typer.Option(metavar="ROWS", min=1, help="Rows in memory at a time.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Read files of graphs, however large, into one folder that opens at once and takes no memory.

    Examples:

    [bold]infograph store 'shards/*.parquet' --columns logS --rejects bad.csv --out graphs[/bold]

    [bold]infograph train graphs --scratch scratch --workers 8 --out model[/bold]
    """
    from infograph.scale.store import store_graphs

    with Rows() as bar:
        stored = store_graphs(
            source,
            out,
            columns=None if columns == "all" else names(columns) or (),
            rejects=rejects,
            reading=reading.of_shards(),
            block=block,
            progress=bar,
        )
    if as_json:
        counts = {"rows": stored.rows, "graphs": len(stored.graphs), "rejected": stored.rejected}
        print_json({"out": str(out), **counts})
        return
    show(f"{out}: {len(stored.graphs):,} graphs; {stored.rejected:,} of {stored.rows:,} rows rejected")

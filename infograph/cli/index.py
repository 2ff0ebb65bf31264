"""`infograph index`: a model and graphs to a folder that can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, Errors, ReadingOptions, Source, names
from infograph.cli.output import print_json, say_rejected, show


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
    from infograph.contract import load
    from infograph.data.storage import check_outputs
    from infograph.index import GraphIndex
    from infograph.index.folder import check_index_folder
    from infograph.index.neighbours import check_faiss
    from infograph.index.queries import check_embeds

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

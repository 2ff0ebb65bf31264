"""`infograph info`: what a model folder, a file of vectors, or a set of graphs holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import AsJson, ColumnOptions, Errors, ReadingOptions
from infograph.cli.output import print_facts, print_json


@grouped
def info(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT", help="A model folder, a file of vectors, graphs, or a data set's name."
        ),
    ],
    columns: ColumnOptions,
    reading: ReadingOptions,
    errors: Errors = "raise",
    as_json: AsJson = False,
) -> None:
    """Say what a model, a file of vectors, or a set of graphs holds.

    Examples:

    [bold]infograph info MUTAG[/bold]

    [bold]infograph info model --json[/bold]
    """
    from infograph.data.embedding_files import holds_embeddings, read_embeddings
    from infograph.report import describe
    from infograph.report.words import in_words

    path = Path(what)
    if (path / "config.json").is_file():
        from infograph.contract import load

        content: dict[str, Any] = describe.describe_model(load(path))
    elif holds_embeddings(path):
        content = describe.describe_embeddings(read_embeddings(path))
    else:
        content = describe.describe_graphs(reading.read(what, errors=errors, columns=columns))
    if as_json:
        print_json(content)
        return
    print_facts(in_words(content))

"""`infograph datasets`: which benchmark sets there are, and where each was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.options import AsJson
from infograph.cli.output import print_json, print_table, show


def datasets(
    root: Annotated[Path | None, typer.Option(help="A folder with data sets, searched first.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the benchmark data sets, where each was found, and their statistics.

    Example: [bold]infograph datasets[/bold]
    """
    from infograph.data.sets.registry import describe_datasets

    found = describe_datasets(root=root)
    if as_json:
        print_json([vars(info) for info in found])
        return
    rows = [
        (
            info.name,
            info.where,
            _count(info.graphs),
            _count(info.classes),
            _mean(info.mean_nodes),
            _mean(info.mean_edges),
        )
        for info in found
    ]
    print_table(("name", "found", "graphs", "classes", "nodes", "edges"), rows, texts=(1,))
    show("Nodes and edges are means per graph. Any other name of the TU collection is downloaded.")


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"

"""Mistakes in a table's cells, with the line they stand on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet


@contextmanager
def naming_lines(source: str, graphs: GraphSet) -> Iterator[None]:
    """A bad cell is named with its file and line, where the graphs came from a file of lines.

    Raises:
        InvalidTarget: instead of a `BadCell`.
    """
    from infograph.errors import InvalidTarget
    from infograph.learn.task import BadCell

    try:
        yield
    except BadCell as error:
        place = _place(Path(source).expanduser(), graphs, error.row)
        raise InvalidTarget(f"{source}, {place}: {error}" if place else str(error)) from error


def _place(path: Path, graphs: GraphSet, row: int) -> str:
    """Where the row of a graph stands in its table; empty for other files and folders."""
    from infograph.data.files import TABLES
    from infograph.data.formats.cells import read_cells
    from infograph.data.formats.network_files import kind

    if not path.is_file() or kind(path) not in TABLES:
        return ""
    cells, rejected = read_cells(path, "skip"), {item.index for item in graphs.rejected}
    rows = [place for place in range(len(cells.lines)) if place not in rejected]
    return cells.place(rows[row]) if len(rows) == len(graphs) else ""

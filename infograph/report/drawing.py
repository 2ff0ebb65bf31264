"""A file of vectors as a map."""

from __future__ import annotations

from pathlib import Path

from infograph.data.embeddings import Embeddings
from infograph.data.label_columns import count_classes, is_continuous
from infograph.data.storage import check_writable
from infograph.data.units import LABEL
from infograph.errors import InvalidParameter
from infograph.maps.map2d import Method, project
from infograph.report.canvas import make_figure
from infograph.report.figures import draw_map
from infograph.report.palette import LIGHT


def draw_embeddings(
    embeddings: Embeddings,
    path: str | Path,
    *,
    column: str | None = None,
    method: Method = "tsne",
    title: str = "",
    random_state: int = 0,
) -> int:
    """Draw the map of all graphs that have a vector, and return how many those are.

    Args:
        embeddings: the vectors and columns.
        path: the PNG file.
        column: what colours the points; by default the column `y`, if there is one.
        method: of the layout, see `project`.
        title: stands above the map.
        random_state: seed of the map.

    Raises:
        SchemaMismatch: there is no such column.
        InvalidParameter: the column holds a different text for every graph, or the file is no PNG.
        MissingExtra: matplotlib is not installed.
    """
    if Path(path).suffix != ".png":
        raise InvalidParameter(f"{path}: maps are drawn to .png files")
    if column is None and LABEL in embeddings.columns:
        column = LABEL
    known = embeddings.select(embeddings.usable)
    labels = None if column is None else known.column(column)
    if labels is not None and not is_continuous(labels) and 20 < len(labels) == len(count_classes(labels)):
        raise InvalidParameter(f"the column {column!r} is different for every graph: it cannot colour a map")
    check_writable(path)
    make_figure(1, 1, LIGHT)  # before the work that only matplotlib can finish
    points = project(known.vectors, method, random_state)
    draw_map(points, labels, path, title=title, column=column or "")
    return len(known)

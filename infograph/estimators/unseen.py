"""Elements that no training molecule had: a network has learned nothing about them, and says so."""

from __future__ import annotations

import warnings

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.errors import UnknownCategoryWarning

ELEMENT = "element"  # its categories are the periodic table, so that all sets of molecules look alike


def elements_of(graphs: GraphSet) -> list[str]:
    """The elements that occur in molecules an encoder sees them of; none in other graphs."""
    column = graphs.schema.column("node", ELEMENT)
    if column is None or not column.used or column.kind != "categorical":
        return []
    found = np.unique(graphs.node[ELEMENT])
    return [str(column.categories[code]) for code in found.tolist() if code != column.unknown]


def warn_of_unseen(graphs: GraphSet, seen: list[str]) -> None:
    """One `UnknownCategoryWarning` for all elements that are not among those of the training."""
    unseen = [element for element in elements_of(graphs) if element not in seen]
    if unseen:
        warnings.warn(
            f"no training molecule has the element {', '.join(unseen)}: predictions for molecules with it "
            f"are guesses; train with some of them, labelled or not (the training had {', '.join(seen)})",
            UnknownCategoryWarning,
            stacklevel=2,
        )

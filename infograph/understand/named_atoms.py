"""Benchmark sets whose nodes are atoms under numbers: the numbers' meaning.

MUTAG and PTC_MR come as graphs with labels 0, 1, 2 ... Which element a number is stands only in the notes of
the TU collection. Nothing else is guessed: a set is recognised by all its counts, or named by the user.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infograph.data.chem.atoms import BOND, ELEMENT
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Level
from infograph.data.sets.catalogue import CATALOGUE, Counts
from infograph.errors import InvalidParameter

ATOMS = {
    "MUTAG": ("C", "N", "O", "F", "I", "Cl", "Br"),
    "PTC_MR": (
        *("In", "P", "O", "N", "Na", "C", "Cl", "S", "Br"),
        *("F", "K", "Cu", "Zn", "I", "Ba", "Sn", "Pb", "Ca"),
    ),
}
BONDS = {
    "MUTAG": ("aromatic", "single", "double", "triple"),
    "PTC_MR": ("triple", "double", "single", "aromatic"),
}


def name_atoms(graphs: GraphSet, dataset: str) -> GraphSet:
    """MUTAG or PTC_MR with columns `element` and `bond`, so that descriptions and drawings show molecules.

    Encoders do not see the new columns: models that were fitted on the set as it is take these graphs, too.

    Args:
        graphs: the set or some of its graphs.
        dataset: "MUTAG" or "PTC_MR".

    Raises:
        InvalidParameter: another name, or graphs without that set's labels.
    """
    if dataset not in ATOMS:
        raise InvalidParameter(f"dataset={dataset!r}: the atoms of {' and '.join(ATOMS)} are known")
    known: tuple[tuple[Level, tuple[str, ...]], ...] = (("node", ATOMS[dataset]), ("edge", BONDS[dataset]))
    for level, names in known:
        column = graphs.schema.column(level, "label")
        if column is None or column.categories != tuple(range(len(names))):
            raise InvalidParameter(
                f"these graphs are not of {dataset}: expected {len(names)} numbers as {level} column 'label'"
            )
    element = np.array([ELEMENT.categories.index(name) for name in ATOMS[dataset]], np.int32)
    bond = np.array([BOND.categories.index(name) for name in BONDS[dataset]], np.int32)
    graphs = graphs.with_column("node", _unused(ELEMENT), element[graphs.node["label"]])
    return graphs.with_column("edge", _unused(BOND), bond[graphs.edge["label"]])


def recognise_atoms(graphs: GraphSet) -> GraphSet:
    """The graphs with atoms named if this is all of MUTAG or PTC_MR; as they came otherwise."""
    if "element" in graphs.node or "label" not in graphs.node or "label" not in graphs.edge:
        return graphs
    counts = Counts.of(graphs)
    for entry in CATALOGUE:
        if entry.name in ATOMS and entry.counts == counts:
            return name_atoms(graphs, entry.name)
    return graphs


def _unused(column: Column) -> Column:
    return replace(column, used=False)

"""A split by scaffolds: molecules with the same ring system are all in one part.

A random split puts close relatives on both sides and flatters every model; a new project's molecules have
scaffolds that nobody has measured yet (Bemis and Murcko 1996 define them: rings and what links them).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from infograph.data.chem.duplicates import smiles_of
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.splits import Split, share_stops
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, MissingExtra


def scaffold_split(
    graphs: GraphSet, shares: Sequence[float] = (0.8, 0.1, 0.1), *, target: str | None = None, seed: int = 0
) -> Split:
    """Molecules for training, validation and test, such that no scaffold is in two parts.

    The largest scaffolds come first. One of more than half as many molecules as validation or test shall have
    goes where most room is; any other to a part that is drawn, in proportion to their room, from those where
    it fits. Single molecules come last and fill what is left, so sizes are exact where there are enough of
    them, and else about as close to the shares as whole scaffolds allow.

    A molecule without rings has no scaffold. Each such molecule is a group of its own (its repetitions with
    it), because all of them together would be one huge group of molecules that have little in common.

    With `target`, shares are those of the labelled molecules. Unlabelled molecules are `unlabelled`, unless
    their scaffold is one of validation or test: then they are in no part, because training may not see it.

    Args:
        graphs: molecules, with their column `smiles`; strip salts before, or ions with rings count.
        shares: the part of the graphs for training, validation and test; they add up to 1.
        target: the graph column whose missing values make a molecule unlabelled; None: all are labelled.
        seed: another seed is another draw.

    Raises:
        InvalidParameter: the shares are not three that add up to 1, there are too few scaffolds, or there are
            no SMILES.
        MissingExtra: RDKit is not installed.
    """
    labelled = np.ones(len(graphs), bool) if target is None else _is_labelled(graphs, target)
    if target is not None and not labelled.any():
        raise InvalidParameter(f"target={target!r}: no molecule has a value; split without a target")
    first, second = share_stops(int(labelled.sum()), shares)
    wanted = np.diff([0, first, second, int(labelled.sum())])  # (3,)
    group = scaffold_groups(graphs)  # (G,)
    sizes = np.bincount(group[labelled], minlength=int(group.max()) + 1)
    part = _assign(sizes, wanted, np.random.default_rng(seed))[group]  # (G,)
    counts = np.bincount(part[labelled], minlength=3)
    if np.any((counts == 0) & (wanted > 0)):
        raise InvalidParameter(
            f"{np.count_nonzero(sizes)} scaffolds cannot be split into {np.count_nonzero(wanted)} parts: too "
            f"many molecules share one (the largest has {sizes.max()} of {sizes.sum()}); use random_split"
        )
    train, validation, test = (np.flatnonzero(labelled & (part == number)) for number in range(3))
    return Split(train, validation, test, unlabelled=np.flatnonzero(~labelled & (part == 0)))


def scaffolds(graphs: GraphSet) -> NDArray[np.str_]:
    """The Bemis-Murcko scaffold of every molecule, as a SMILES without stereochemistry. (G,).

    It is empty for molecules without rings.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error

    def scaffold(smiles: str) -> str:
        mol = Chem.MolFromSmiles(smiles)
        return "" if mol is None else str(Chem.MolToSmiles(Chem.MurckoDecompose(mol), isomericSmiles=False))

    distinct, place = np.unique(smiles_of(graphs), return_inverse=True)
    with rdBase.BlockLogs():
        return np.array([scaffold(str(smiles)) for smiles in distinct], np.str_)[place]


def scaffold_groups(graphs: GraphSet) -> IntArray:
    """Which molecules stay together: the number of their scaffold, or their own without a ring. (G,)."""
    smiles, found = smiles_of(graphs), scaffolds(graphs)
    keys = np.where(found == "", np.char.add("acyclic ", smiles), found)
    return np.asarray(np.unique(keys, return_inverse=True)[1])


def _is_labelled(graphs: GraphSet, target: str) -> NDArray[np.bool_]:
    column = graph_column(graphs.schema, target)
    values = graphs.graph[column.name]
    if column.kind == "float":
        return np.asarray(~np.isnan(values).reshape(len(graphs), -1).all(axis=1))
    return np.asarray(values != (column.unknown if column.kind == "categorical" else ""))


def _assign(sizes: IntArray, wanted: IntArray, rng: np.random.Generator) -> IntArray:
    """The part of every group: 0, 1 or 2. Groups without labelled molecules are for training.

    Args:
        sizes: labelled molecules of every group.
        wanted: labelled molecules that each part should have.
        rng: draws the order of equally large groups, and the parts of small ones.
    """
    part = np.zeros(len(sizes), np.int64)
    room: list[int] = wanted.tolist()
    used = [number for number, count in enumerate(room) if count]
    empty = list(used)
    large = min((room[number] for number in used if number), default=0) / 2
    order = np.lexsort((rng.random(len(sizes)), -sizes))
    order = order[sizes[order] > 0]
    for place, group in enumerate(order):
        size = int(sizes[group])
        parts = empty if len(order) - place <= len(empty) else used  # no part stays without any
        fitting = [number for number in parts if room[number] >= size]
        if fitting and (size == 1 or size <= large):
            choice = _draw(fitting, room, rng)
        else:
            choice = max(parts, key=room.__getitem__)
        part[group] = choice
        room[choice] -= size
        empty = [number for number in empty if number != choice]
    return part


def _draw(parts: list[int], room: list[int], rng: np.random.Generator) -> int:
    """One of the parts, drawn in proportion to its room."""
    reach = list(accumulate(room[number] for number in parts))
    return parts[bisect_right(reach, rng.random() * reach[-1])]

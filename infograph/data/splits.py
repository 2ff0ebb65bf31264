"""Which graphs are for training, which for choosing, which for testing: at random, or by scaffold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.cleaning import smiles_of
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import missing
from infograph.data.molecules import rdkit
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of graphs by what they are used for; no graph is in two parts.

    Attributes:
        labelled: graphs whose labels are used for training.
        validation: graphs to choose settings and the best epoch on.
        test: graphs for the error that is reported.
        unlabelled: graphs that are trained on without their labels; none in a plain split into three.
    """

    labelled: IntArray
    validation: IntArray
    test: IntArray
    unlabelled: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def train(self) -> IntArray:
        """All graphs that training may see: the labelled, then the unlabelled ones."""
        return np.concatenate([self.labelled, self.unlabelled])

    def __repr__(self) -> str:
        parts = ", ".join(f"{len(values):,} {name}" for name, values in vars(self).items())
        return f"Split({parts})"


def semi_supervised_split(
    graphs: int | Sized, *, labelled: int = 5_000, validation: int = 10_000, test: int = 10_000, seed: int = 0
) -> Split:
    """The paper's split of QM9, drawn at random: labelled, validation, test; the rest is unlabelled.

    The defaults are the numbers of the paper. A seed gives the same test and validation graphs however many
    are labelled, and fewer labelled graphs are some of the more.

    Args:
        graphs: the graphs, or how many there are.
        labelled, validation, test: how many graphs each part gets; 1 or more are labelled.
        seed: another seed is another draw.
    """
    sizes = {"test": test, "validation": validation, "labelled": labelled}
    for name, size in sizes.items():
        _check_size(name, size, int(name == "labelled"))
    n_graphs = _count(graphs)
    if sum(sizes.values()) > n_graphs:
        asked = ", ".join(f"{name}={size:,}" for name, size in sizes.items())
        raise InvalidParameter(f"{asked} are {sum(sizes.values()):,} graphs, but there are {n_graphs:,}")
    order = np.random.default_rng(seed).permutation(n_graphs)
    tested, validated, trained, rest = np.split(order, np.cumsum(list(sizes.values())))
    return Split(trained, validated, tested, unlabelled=rest)


def random_split(graphs: int | Sized, shares: Sequence[float] = (0.8, 0.1, 0.1), *, seed: int = 0) -> Split:
    """Graphs drawn at random for training, validation and test.

    Args:
        graphs: the graphs, or how many there are.
        shares: the part of the graphs for each of the three; they add up to 1.
        seed: another seed is another draw.
    """
    n_graphs = _count(graphs)
    stops = share_stops(n_graphs, shares)
    trained, validated, tested = np.split(np.random.default_rng(seed).permutation(n_graphs), stops)
    return Split(trained, validated, tested)


def share_stops(n_graphs: int, shares: Sequence[float]) -> tuple[int, int]:
    """Where training and validation end among `n_graphs`; a part with a share above 0 has one at least."""
    given = np.asarray(shares, np.float64)
    if given.shape != (3,) or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9 or given[0] == 0:
        raise InvalidParameter(f"shares={shares!r}: expected three numbers that add up to 1, the first not 0")
    wanted = given > 0
    if n_graphs < wanted.sum():
        raise InvalidParameter(f"{n_graphs} graphs cannot be split into {wanted.sum()} parts: give more")
    held_out = np.maximum(np.rint(given[1:] * n_graphs).astype(int), wanted[1:])
    while held_out.sum() >= n_graphs:  # rounding left nothing to train on
        held_out[held_out.argmax()] -= 1
    first = n_graphs - int(held_out.sum())
    return first, first + int(held_out[0])


def _count(graphs: int | Sized) -> int:
    if not isinstance(graphs, int | np.integer):
        return len(graphs)
    _check_size("graphs", graphs, 1)
    return int(graphs)


def _check_size(name: str, size: object, least: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < least:
        raise InvalidParameter(f"{name}={size!r}: expected a whole number, {least} or more")


def scaffold_split(
    graphs: GraphSet, shares: Sequence[float] = (0.8, 0.1, 0.1), *, target: str | None = None, seed: int = 0
) -> Split:
    """Molecules for training, validation and test, such that no scaffold is in two parts.

    A random split puts close relatives on both sides and flatters every model; scaffolds (rings and what
    links them, Bemis and Murcko 1996) of a new project are such that nobody has measured yet.

    The largest scaffolds come first. One of more than half as many molecules as validation or test shall have
    goes where most room is; any other to a part that is drawn, in proportion to their room, from those where
    it fits. Each molecule without rings is a group of its own (its repetitions with it).

    With `target`, shares are those of the labelled molecules. Unlabelled molecules are `unlabelled`, unless
    their scaffold is one of validation or test: then they are in no part, because training may not see it.

    Args:
        graphs: molecules, with their column `smiles`; strip salts before, or ions with rings count.
        shares: the part of the graphs for training, validation and test; they add up to 1.
        target: the graph column whose missing values make a molecule unlabelled; None: all are labelled.
        seed: another seed is another draw.
    """
    labelled: NDArray[np.bool_] = np.ones(len(graphs), bool)
    if target is not None:
        known = ~missing(graphs.values("graph", graph_column(graphs.schema, target).name))
        labelled = np.asarray(known.reshape(len(graphs), -1).any(axis=1))
        if not labelled.any():
            raise InvalidParameter(f"target={target!r}: no molecule has a value; split without a target")
    return split_by_scaffold(graphs, labelled, shares, seed)


def split_by_scaffold(
    graphs: GraphSet, labelled: NDArray[np.bool_], shares: Sequence[float], seed: int
) -> Split:
    """The same by a mask of the labelled molecules. (G,)."""
    first, second = share_stops(int(labelled.sum()), shares)
    wanted = np.diff([0, first, second, int(labelled.sum())])  # (3,)
    group = scaffold_groups(graphs)
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


def scaffold_groups(graphs: GraphSet) -> IntArray:
    """A number per molecule, equal for those with one scaffold; a molecule without rings is alone. (G,)."""
    return group_by_scaffold(smiles_of(graphs))


def group_by_scaffold(smiles: NDArray[Any]) -> IntArray:
    """The same by their SMILES."""
    found = scaffolds(smiles)
    keys = np.where(found == "", np.char.add("acyclic ", smiles.astype(np.str_)), found)
    return np.asarray(np.unique(keys, return_inverse=True)[1])


def deterministic_scaffold_split(graphs: GraphSet, shares: Sequence[float] = (0.8, 0.1, 0.1)) -> Split:
    """The split that DeepChem and OGB use: the largest scaffolds for training, the rarest for testing.

    It has no seed, molecules without rings are one group, and its test set is of another kind than a balanced
    one's: figures of the two are never to be compared.
    """
    first, second = share_stops(len(graphs), shares)
    _, start, group = np.unique(scaffolds(smiles_of(graphs)), return_index=True, return_inverse=True)
    sizes = np.bincount(group)
    groups = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
    parts: list[list[int]] = [[], [], []]
    for which in np.lexsort((-start, -sizes)):  # as they do: by size, then by first molecule, both falling
        members = groups[which].tolist()
        used = len(parts[0]) + len(members)
        place = 0 if used <= first else 1 if used + len(parts[1]) <= second else 2
        parts[place] += members
    return Split(*(np.array(part, np.int64) for part in parts))


def scaffolds(smiles: NDArray[Any]) -> NDArray[np.str_]:
    """Bemis-Murcko scaffolds of molecules, as SMILES without stereochemistry; empty without rings. (G,)."""
    Chem, rdBase = rdkit("Chem"), rdkit("rdBase")

    def scaffold(smiles: str) -> str:
        mol = Chem.MolFromSmiles(smiles)
        return "" if mol is None else str(Chem.MolToSmiles(Chem.MurckoDecompose(mol), isomericSmiles=False))

    distinct, place = np.unique(smiles.astype(np.str_), return_inverse=True)
    with rdBase.BlockLogs():
        return np.array([scaffold(str(smiles)) for smiles in distinct], np.str_)[place]


def _assign(sizes: IntArray, wanted: IntArray, rng: np.random.Generator) -> IntArray:
    """The part of every group: 0, 1 or 2, by its labelled molecules; groups without any are for training."""
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
            reach = list(accumulate(room[number] for number in fitting))  # drawn in proportion to the room
            choice = fitting[bisect_right(reach, rng.random() * reach[-1])]
        else:
            choice = max(parts, key=room.__getitem__)
        part[group] = choice
        room[choice] -= size
        empty = [number for number in empty if number != choice]
    return part

"""Which graphs are for training, which for choosing, which for testing."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field

import numpy as np

from infograph.data.graphset import IntArray
from infograph.errors import InvalidParameter


def _none() -> IntArray:
    return np.zeros(0, np.int64)


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
    unlabelled: IntArray = field(default_factory=_none)

    @property
    def train(self) -> IntArray:
        """All graphs that training may see: the labelled, then the unlabelled ones."""
        return np.concatenate([self.labelled, self.unlabelled])

    def __repr__(self) -> str:
        parts = ", ".join(f"{len(values):,} {name}" for name, values in vars(self).items())
        return f"Split({parts})"


def semi_supervised_split(
    graphs: int | Sized,
    *,
    labelled: int = 5_000,
    validation: int = 10_000,
    test: int = 10_000,
    seed: int = 0,
) -> Split:
    """The paper's split of QM9, drawn at random: labelled, validation, test; the rest is unlabelled.

    The defaults are the numbers of the paper. Test and validation graphs are drawn first, so
    that a seed gives the same ones however many graphs are labelled, and fewer labelled graphs are some of
    the more.

    Args:
        graphs: the graphs, or how many there are.
        labelled, validation, test: how many graphs each part gets; 1 or more are labelled.
        seed: another seed is another draw.

    Raises:
        InvalidParameter: the parts do not fit.
    """
    sizes = {
        "labelled": _size("labelled", labelled, 1),
        "validation": _size("validation", validation, 0),
        "test": _size("test", test, 0),
    }
    n_graphs = _count(graphs)
    if sum(sizes.values()) > n_graphs:
        asked = ", ".join(f"{name}={size:,}" for name, size in sizes.items())
        raise InvalidParameter(
            f"{asked} are {sum(sizes.values()):,} graphs, but there are only {n_graphs:,}: ask for fewer"
        )
    order = np.random.default_rng(seed).permutation(n_graphs)
    tested, validated, trained, rest = np.split(
        order, np.cumsum([sizes["test"], sizes["validation"], sizes["labelled"]])
    )
    return Split(trained, validated, tested, unlabelled=rest)


def random_split(graphs: int | Sized, shares: Sequence[float] = (0.8, 0.1, 0.1), *, seed: int = 0) -> Split:
    """Graphs drawn at random for training, validation and test.

    Args:
        graphs: the graphs, or how many there are.
        shares: the part of the graphs for each of the three; they add up to 1.
        seed: another seed is another draw.

    Raises:
        InvalidParameter: the shares are not three that add up to 1, or nothing is left to train on.
    """
    n_graphs = _count(graphs)
    stops = share_stops(n_graphs, shares)
    trained, validated, tested = np.split(np.random.default_rng(seed).permutation(n_graphs), stops)
    return Split(trained, validated, tested)


def share_stops(n_graphs: int, shares: Sequence[float]) -> tuple[int, int]:
    """Where the training and the validation part of `n_graphs` graphs end, by shares that add up to 1.

    A part with a share above 0 gets a graph at least.

    Raises:
        InvalidParameter: the shares are not three that add up to 1, or there are fewer graphs than parts.
    """
    given = np.asarray(shares, np.float64)
    if given.shape != (3,) or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9 or given[0] == 0:
        raise InvalidParameter(
            f"shares={shares!r}: expected three numbers that add up to 1 for training (above 0), validation "
            f"and test, such as (0.8, 0.1, 0.1)"
        )
    wanted = given > 0
    if n_graphs < wanted.sum():
        raise InvalidParameter(
            f"{n_graphs} graphs cannot be split into {wanted.sum()} parts: give more graphs, or a share of 0"
        )
    held_out = np.maximum(np.rint(given[1:] * n_graphs).astype(int), wanted[1:])
    while held_out.sum() >= n_graphs:  # rounding left nothing to train on
        held_out[held_out.argmax()] -= 1
    first = n_graphs - int(held_out.sum())
    return first, first + int(held_out[0])


def _count(graphs: int | Sized) -> int:
    if isinstance(graphs, int | np.integer):
        return _size("graphs", graphs, 1)
    return len(graphs)


def _size(name: str, size: int, least: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < least:
        raise InvalidParameter(f"{name}={size!r}: expected a whole number, {least} or more")
    return int(size)

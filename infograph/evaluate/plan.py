"""Which graphs are judged together: the folds, and what two evaluations must share to be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from infograph.errors import InvalidParameter

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The folds of an evaluation up to their seed. Equal plans and equal seeds mean equal folds.

    Attributes:
        folds: outer folds, each judged once per repeat.
        inner_folds: folds of every outer training part, where C is chosen.
        class_sizes: (name, number of graphs) per class, in the order of the codes.
        labels: SHA-256 of the labels in their order, so that a different data set or order is noticed.
    """

    folds: int
    inner_folds: int
    class_sizes: tuple[tuple[str, int], ...]
    labels: str

    @classmethod
    def of(cls, codes: Rows, names: tuple[str, ...], folds: int, inner_folds: int) -> Plan:
        """Plan the folds for these labels.

        Raises:
            InvalidParameter: a class is too small for the folds; the message says which folds would do.
        """
        sizes = np.bincount(codes, minlength=len(names))
        for name, size in zip(names, sizes.tolist(), strict=True):
            _check_class(name, size, folds, inner_folds)
        text = json.dumps([list(names), codes.tolist()])
        class_sizes = tuple(zip(names, sizes.tolist(), strict=True))
        return cls(folds, inner_folds, class_sizes, hashlib.sha256(text.encode()).hexdigest())

    @property
    def n_graphs(self) -> int:
        """The number of graphs."""
        return sum(size for _, size in self.class_sizes)

    @property
    def majority(self) -> float:
        """The accuracy of always answering the largest class."""
        return max(size for _, size in self.class_sizes) / self.n_graphs

    def outer(self, codes: Rows, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """The outer (train, test) rows of the repeat with this seed."""
        yield from stratified(codes, self.folds, seed)


def stratified(codes: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    """Shuffled folds with the class proportions of the whole."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    yield from splitter.split(np.zeros(len(codes)), codes)


def _check_class(name: str, size: int, folds: int, inner_folds: int) -> None:
    members = f"class {name} has {size} member{'' if size == 1 else 's'}"
    if size < folds:
        remedy = f"use folds={size} or fewer, or leave the class out" if size > 1 else "leave the class out"
        raise InvalidParameter(f"{members}, fewer than folds={folds}; {remedy}")
    left = size - -(-size // folds)  # a test fold takes at most ceil(size / folds) of them
    if left < inner_folds:
        remedy = f"use inner_folds={left} or fewer" if left > 1 else "use more folds or leave the class out"
        raise InvalidParameter(
            f"{members}, of which a training part of folds={folds} keeps {left}, fewer than "
            f"inner_folds={inner_folds}; {remedy}"
        )

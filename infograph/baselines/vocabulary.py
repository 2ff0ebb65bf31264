"""The features that a kernel knows, by token, and where new ones fall among them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.products import squared_norms
from infograph.baselines.tokens import Tokens


class Vocabulary:
    """Known features in the order of their tokens.

    Args:
        tokens: (2, F) distinct tokens, in any order.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens: Tokens = np.ascontiguousarray(tokens[:, _order(tokens)])  # (2, F)

    @classmethod
    def of(cls, tokens: Tokens) -> tuple[Self, NDArray[np.int64]]:
        """The vocabulary of distinct tokens, and where each of them went. (2, F) -> (F,)."""
        order = _order(tokens)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        made = cls.__new__(cls)
        made.tokens = np.ascontiguousarray(tokens[:, order])
        return made, place

    def __len__(self) -> int:
        return int(self.tokens.shape[1])

    def find(self, tokens: Tokens) -> NDArray[np.int64]:
        """The feature of every token, -1 where it is not known. (2, T) -> (T,)."""
        if not len(self):
            return np.full(tokens.shape[1], -1, np.int64)
        first, second = self.tokens
        last = len(self) - 1
        place = np.minimum(np.searchsorted(first, tokens[0]), last)
        later = (first[place] == tokens[0]) & (second[place] < tokens[1])
        while later.any():  # equal first halves follow each other; among 10^7 tokens hardly ever
            place = np.minimum(place + later, last)
            later = (first[place] == tokens[0]) & (second[place] < tokens[1]) & (place < last)
        return np.where((first[place] == tokens[0]) & (second[place] == tokens[1]), place, -1)

    def counts(
        self, tokens: Tokens, counts: Any, place: NDArray[np.int64] | None = None
    ) -> tuple[Any, NDArray[np.float64]]:
        """Counts of features named by tokens, in the known order, and their full sums of squares.

        Args:
            tokens: (2, C) distinct tokens.
            counts: (G, C) sparse.
            place: (C,) where the tokens are, if that is known.

        Returns:
            (G, F) sparse counts of the known features, and (G,) sums over known and unknown ones.
        """
        place = (self.find(tokens) if place is None else place)[counts.indices]
        known = place >= 0
        ptr = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
        data = counts.data[known].astype(np.float64)
        matrix = csr_matrix((data, place[known], ptr), shape=(counts.shape[0], len(self)))
        matrix.sort_indices()
        return matrix, squared_norms(counts.astype(np.float64))


def _order(tokens: Tokens) -> NDArray[np.int64]:
    order = np.argsort(tokens[0])
    if (np.diff(tokens[0][order]) == 0).any():  # hardly ever
        order = np.lexsort((tokens[1], tokens[0]))
    return order

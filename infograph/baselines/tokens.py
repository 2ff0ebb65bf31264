"""128-bit tokens: what a label, a colour or a path is, as two numbers that mean the same in every data set.

A kernel's features are named by tokens made of their contents. So new graphs are counted on their own and
matched with the fitted ones by looking tokens up; nothing is refined or numbered jointly. Two different
contents among 10^7 share a token with a chance below 10^-24.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Level

Tokens = NDArray[np.uint64]  # (2, rows)
SALTS = np.array([[0x8EBC6AF09C88C6E3], [0x589965CC75374CC3]], np.uint64)  # (2, 1): one per half
FACTOR = np.uint64(0x9FB21C651E98DF25)


def mix(values: Tokens) -> Tokens:
    """Scramble both halves, each its own way, so that sums of mixed tokens are tokens of multisets."""
    values = values ^ SALTS
    values = (values ^ (values >> np.uint64(32))) * FACTOR
    values = (values ^ (values >> np.uint64(29))) * (SALTS | np.uint64(1))
    return values ^ (values >> np.uint64(32))


def join(*parts: Tokens) -> Tokens:
    """The token of a sequence of tokens, row by row; the order counts."""
    result = np.zeros((2, 1), np.uint64)
    for part in parts:
        result = mix(result * FACTOR + mix(part))
    return result


def number_tokens(values: NDArray[Any]) -> Tokens:
    """Tokens of whole numbers. (rows,) -> (2, rows)."""
    return mix(np.tile(values.astype(np.int64).view(np.uint64), (2, 1)))


def row_tokens(graphs: GraphSet, level: Level, columns: Sequence[Column]) -> Tokens:
    """The label of every node or edge: the token of its row of these columns; one and the same without any.

    Categories count by what they are, not by their codes, so that data sets with other code books agree.
    """
    rows = graphs.n_nodes if level == "node" else graphs.n_edges
    table = getattr(graphs, level)
    parts = [_column_tokens(column, table[column.name]) for column in columns]
    return np.broadcast_to(join(*parts), (2, rows)) if parts else np.zeros((2, rows), np.uint64)


def _column_tokens(column: Column, values: NDArray[Any]) -> Tokens:
    if column.kind == "categorical":
        names = [f"{type(category).__name__} {category}" for category in column.categories]
        digests = [hashlib.blake2b(name.encode(), digest_size=16).digest() for name in [*names, "missing"]]
        return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2).T[:, values]
    numbers = np.asarray(values, np.float64).reshape(len(values), column.width) + 0.0  # no minus zero
    return join(*(np.tile(part.view(np.uint64), (2, 1)) for part in np.ascontiguousarray(numbers.T)))

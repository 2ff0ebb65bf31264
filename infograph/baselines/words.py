"""Words of graphs: 128-bit tokens, vocabularies, rooted subtrees, and products of their counts.

A token is what a label, a colour or a path is, as two numbers that mean the same in every data set.
Features are named by tokens of their contents. So new graphs are counted on their own and matched with the
fitted ones by looking tokens up; nothing is refined or numbered jointly. Two different contents among 10^7
share a token with a chance below 10^-24.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from infograph.data.colours import Colouring, Round, group_rows, refine
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Level

Tokens = NDArray[np.uint64]  # (2, rows)
SALTS = np.array([[0x8EBC6AF09C88C6E3], [0x589965CC75374CC3]], np.uint64)  # (2, 1): one per half
FACTOR = np.uint64(0x9FB21C651E98DF25)
NodeFeatures = Literal["auto", "constant", "degree"]
FREQUENT = 1 / 32  # columns in more graphs than this are multiplied as dense blocks, 20x faster than sparse
BLOCK = 2**25  # numbers in a dense block: 256 MB
Floats = NDArray[np.float64]
Matrix: TypeAlias = Any  # a (G, F) numpy array or scipy CSR matrix, both float64


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


def sort_tokens(tokens: Tokens) -> tuple[Tokens, NDArray[np.int64]]:
    """Distinct tokens in order: a vocabulary; and where each of them went. (2, F) -> (2, F), (F,)."""
    order = np.argsort(tokens[0])
    if (np.diff(tokens[0][order]) == 0).any():  # hardly ever
        order = np.lexsort((tokens[1], tokens[0]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.ascontiguousarray(tokens[:, order]), place


def find_tokens(known: Tokens, tokens: Tokens) -> NDArray[np.int64]:
    """The place of every token in a vocabulary, -1 where it is not known. (2, F), (2, T) -> (T,)."""
    if not known.size:
        return np.full(tokens.shape[1], -1, np.int64)
    first, second = known
    last = len(first) - 1
    place = np.minimum(np.searchsorted(first, tokens[0]), last)
    later = (first[place] == tokens[0]) & (second[place] < tokens[1])
    while later.any():  # equal first halves follow each other; among 10^7 tokens hardly ever
        place = np.minimum(place + later, last)
        later = (first[place] == tokens[0]) & (second[place] < tokens[1]) & (place < last)
    return np.where((first[place] == tokens[0]) & (second[place] == tokens[1]), place, -1)


def count_known(known: Tokens, place: NDArray[np.int64], counts: Matrix) -> Matrix:
    """Counts of what a vocabulary has, in its order. (2, F), places (C,), sparse (G, C) -> sparse (G, F)."""
    column = place[counts.indices]
    kept = column >= 0
    ptr = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    data = counts.data[kept].astype(np.float64)
    matrix = csr_matrix((data, column[kept], ptr), shape=(counts.shape[0], known.shape[1]))
    matrix.sort_indices()
    return matrix


def count_subtrees(graphs: GraphSet, rounds: int, node_features: str) -> tuple[Tokens, Matrix]:
    """Distinct subtrees of heights 0 ... `rounds` (2, C), and how many nodes of a graph root each (G, C)."""
    colours, tokens = named_colours(graphs, rounds, node_features)
    return np.hstack(tokens), hstack(colours.graph_counts, format="csr")


def named_colours(graphs: GraphSet, rounds: int, node_features: str) -> tuple[Colouring, list[Tokens]]:
    """The colours of all rounds and their tokens, (2, C_k) each."""
    colours = refine(graphs, rounds, node_features=node_features)
    first = np.unique(colours.node_colours[0], return_index=True)[1]
    if node_features == "degree":
        degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
        tokens = [number_tokens(degree[first])]
    else:
        tokens = [row_tokens(graphs, "node", graphs.schema.features("node"))[:, first]]
    heard, columns = np.zeros((2, 1), np.uint64), graphs.schema.features("edge")
    if columns and graphs.n_edges:  # `refine` numbers edges as they appear among arcs sorted by target
        order = np.argsort(graphs.edge_index[1], kind="stable")
        distinct = group_rows([graphs.edge[column.name][order] for column in columns])[1]
        heard = row_tokens(graphs, "edge", columns)[:, order[distinct]]
    for k, made in enumerate(colours.rounds, start=1):
        tokens.append(_next_tokens(tokens[-1], heard, made, k))
    return colours, tokens


def or_degree(graphs: GraphSet, node_features: str = "auto") -> str:
    """The same, but "degree" for "auto" where there are no node columns."""
    return "degree" if node_features == "auto" and not graphs.schema.features("node") else node_features


def _next_tokens(before: Tokens, heard: Tokens, made: Round, k: int) -> Tokens:
    """Tokens of one round's colours: of the round, the colour before, and the multiset of what is heard."""
    counts = made.incoming
    occurring, place = np.unique(counts.indices, return_inverse=True)  # of C' * L pairs, which may be many
    colour, code = np.divmod(occurring, heard.shape[1])
    pairs = join(before[:, colour], heard[:, code])  # (2, P)
    sums = np.zeros((2, counts.shape[0]), np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        terms = pairs[:, place] * counts.data.astype(np.uint64)
        sums[:, filled] = np.add.reduceat(terms, counts.indptr[filled], axis=1)
    return mix(join(before[:, made.parent], sums) + np.uint64(k))


def inner_products(x: Any, y: Any) -> Floats:
    """x @ y.T as a dense array. (X, F), (Y, F) -> (X, Y).

    Columns in few rows are multiplied as sparse matrices, the others as dense blocks; columns that only one
    side has, which are most of them, are left out. Whole numbers stay exact up to 2^53.
    """
    if not isinstance(x, csr_matrix):
        return np.asarray(x @ y.T, dtype=np.float64)
    in_x, in_y = (np.bincount(side.indices, minlength=side.shape[1]) for side in (x, y))  # (F,)
    shared = (in_x > 0) & (in_y > 0)
    if x is y:
        shared = in_x > 1
    frequent = (in_x > FREQUENT * x.shape[0]) | (in_y > FREQUENT * y.shape[0])
    result = np.zeros((x.shape[0], y.shape[0]))
    rare, frequent = np.flatnonzero(shared & ~frequent), np.flatnonzero(shared & frequent)
    if len(rare):
        left, right = x[:, rare], y[:, rare].T.tocsr()
        step = max(1, BLOCK // max(1, result.shape[1]))
        for start in range(0, result.shape[0], step):
            result[start : start + step] += (left[start : start + step] @ right).toarray()
    step = max(1, BLOCK // max(result.shape))
    for start in range(0, len(frequent), step):
        chosen = frequent[start : start + step]
        dense = x[:, chosen].toarray()
        result += dense @ (dense if x is y else y[:, chosen].toarray()).T
    if x is y:
        np.fill_diagonal(result, squared_norms(x))
    return result


def squared_norms(x: Any) -> Floats:
    """The sum of squares of every row. (X, F) -> (X,)."""
    if not isinstance(x, csr_matrix):
        return np.asarray(np.einsum("gf,gf->g", x, x), dtype=np.float64)
    return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).reshape(-1)

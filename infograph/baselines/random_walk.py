"""The geometric random-walk kernel, with labels or without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, eigsh

from infograph.baselines.base import BASE_MB, Estimate, FeatureKernel, label_schema
from infograph.baselines.walks import compiled
from infograph.baselines.words import Floats, Matrix, Tokens, Vocabulary, row_tokens, squared_norms
from infograph.data.colours import group_rows, node_inputs
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.estimators.folder import State

Decay = float | Literal["auto"]
AUTO = 0.5  # of the largest decay for which the series converges
POWER = 12  # of the matrix, for the bounds on its norm
SMALL = 64  # nodes up to which a dense solver is used
PRECISION = 2.0**-53
Ints = NDArray[np.int64]
Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints]


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """G graphs, N nodes with L labels, E arcs with M labels.

    Attributes:
        node_ptr, arc_ptr: (G+1,) the nodes and the arcs of every graph.
        label: (N,) numbers of labels.
        source, target: (E,) arcs, numbered from 0 inside each graph, sorted by their label in each graph.
        arc_label: (E,) numbers of labels.
        node_tokens, arc_tokens: (2, L) and (2, M) what the labels are, in the order of their tokens.
    """

    node_ptr: Ints
    arc_ptr: Ints
    label: Ints
    source: Ints
    target: Ints
    arc_label: Ints
    node_tokens: Tokens
    arc_tokens: Tokens

    @classmethod
    def of(cls, graphs: GraphSet) -> Self:
        """Take what is needed out of graphs with the columns that count as labels."""
        label, node_tokens = _numbered(node_inputs(graphs)[0], graphs, "node")
        columns = graphs.schema.features("edge")
        codes: IntArray = np.zeros(graphs.n_edges, np.int32)
        if columns and graphs.n_edges:
            codes = group_rows([graphs.edge[column.name] for column in columns])[0]
        arc_label, arc_tokens = _numbered(codes, graphs, "edge")
        order = np.lexsort((arc_label, graphs.edge_graph))
        source, target = graphs.edges[:, order].astype(np.int64)
        node_ptr, arc_ptr = graphs.node_ptr.astype(np.int64), graphs.edge_ptr.astype(np.int64)
        return cls(node_ptr, arc_ptr, label, source, target, arc_label[order], node_tokens, arc_tokens)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` gave."""
        return cls(**{field.name: state[field.name] for field in fields(cls)})

    def state(self) -> State:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def numbered_like(self, other: LabelledGraphs) -> LabelledGraphs:
        """The same graphs with the label numbers of `other`; labels that it does not have are negative."""
        node = Vocabulary(other.node_tokens).find(self.node_tokens)
        arc = Vocabulary(other.arc_tokens).find(self.arc_tokens)
        order = np.lexsort((arc[self.arc_label], np.repeat(np.arange(len(self)), np.diff(self.arc_ptr))))
        return replace(
            self,
            label=node[self.label],
            source=self.source[order],
            target=self.target[order],
            arc_label=arc[self.arc_label][order],
            node_tokens=other.node_tokens,
            arc_tokens=other.arc_tokens,
        )

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        """What compiled code takes."""
        return self.node_ptr, self.arc_ptr, self.label, self.source, self.target, self.arc_label


class RandomWalk(FeatureKernel):
    """The kernel of Gaertner et al. (2003): walks that two graphs share, decay^t for each of t steps.

        RandomWalk(decay="auto").fit(graphs).gram()

    Without labels, k(x, y) = sum_t decay^t 1' (A_x (x) A_y)^t 1 = sum_t decay^t (1' A_x^t 1)(1' A_y^t 1), so
    there are explicit features, sqrt(decay^t) times the number of walks of t steps, and large graphs are no
    problem; `transform` gives them. The series is cut where the rest is below double precision: after T terms
    it is at most r^T / (1 - r) of the value, where r = decay s_x s_y and s is the spectral norm of A.

    With node or edge labels only walks with equal labels count, walks of no step included: k(x, y) = 1' X 1,
    where X = M + decay M o sum_l (A_l X B_l'), M says which nodes have equal labels and A_l, B_l are the arcs
    of label l. This is solved for every pair to a relative 1e-13, and `transform` gives the rows of kernel
    values against the fitted graphs.

    Walks follow the arcs of directed graphs; repeated edges are that many ways to go, and a self-loop is one
    to stay. Edge weights are not looked at. Without edges there are only walks of no step.

    Differs from GraKeL: there labelled walks of no step begin at pairs of nodes with different labels too;
    that adds the number of such pairs to every value.

    Args:
        decay: below 1 / s^2, where s is the largest spectral norm of the graphs (the largest eigenvalue, if
            they are undirected); larger values, at which the series diverges, are refused in advance, and so
            are later graphs that are too dense for it. "auto" is half of that limit: Sugiyama and Borgwardt
            (2015) show that a small decay leaves nothing but the shortest walks, and half the limit leaves
            room for new graphs whose norm is up to 1.4 times as large.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used, and []
            none.
        edge_columns: the same for edges; TU data sets mark their edge labels as not used.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.

    Attributes:
        decay_: the decay that is used.
        norm_: the largest spectral norm of the fitted graphs.
    """

    _remedy = "use node_columns=[] and edge_columns=[] for walks without labels, or a smaller decay"
    decay_: float
    norm_: float
    graphs_: LabelledGraphs | None

    def __init__(
        self,
        decay: Decay = "auto",
        *,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.decay = decay
        self.normalise = normalise
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def _check_settings(self) -> None:
        decay = self.decay
        if isinstance(decay, str) and decay == "auto":
            return
        good = isinstance(decay, int | float | np.number) and not isinstance(decay, bool)
        if not good or not (0 < decay < math.inf):
            raise InvalidParameter(f"decay={decay!r}: expected a positive number, or 'auto'")

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, self.edge_columns)

    def _learn(self, graphs: GraphSet) -> None:
        self.norm_ = largest_norm(arc_matrix(graphs), graphs.node_ptr)
        self.decay_ = _choose_decay(self.decay, self.norm_)
        self.graphs_ = LabelledGraphs.of(graphs) if _is_labelled(graphs.schema) else None
        if self.graphs_ is None:
            self.features_, self.squares_ = self._walks(graphs, self.norm_)
        else:
            self.squares_ = self._selves(self.graphs_, self.norm_)

    # ---- without labels

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        return self._walks(graphs, self._norm_of_new(graphs))

    def _walks(self, graphs: GraphSet, norm: float) -> tuple[Floats, Floats]:
        # Enough for the fitted graphs with any graph that is not refused: there the ratio is below this root.
        kept = n_terms(math.sqrt(self.decay_ * self.norm_**2))
        terms = max(kept, n_terms(self.decay_ * norm**2))
        counts = walk_counts(arc_matrix(graphs), graphs.node_ptr, self.decay_, terms)
        return np.ascontiguousarray(counts[:, :kept]), squared_norms(counts)

    def _norm_of_new(self, graphs: GraphSet) -> float:
        """The largest spectral norm of graphs, once it is known that their own series converges."""
        norm = largest_norm(arc_matrix(graphs), graphs.node_ptr)
        if self.decay_ * norm**2 >= 1:
            raise InvalidParameter(
                f"these graphs have a spectral norm of up to {norm:.6g}, and with the fitted decay of "
                f"{self.decay_:.6g} the walks of the densest do not converge: fit with decay below "
                f"{1 / norm**2:.6g}, or leave these graphs out"
            )
        return norm

    # ---- with labels

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        if self.graphs_ is None:
            return super()._compare(graphs)
        fitted = self.graphs_
        if graphs is None:
            ratio = self.decay_ * self.norm_**2
            return all_pairs(fitted.arrays, fitted.arrays, self.decay_, ratio, True), self.squares_
        norm = self._norm_of_new(graphs)
        new = LabelledGraphs.of(graphs)
        known, ratio = new.numbered_like(fitted), self.decay_ * norm * self.norm_
        return all_pairs(known.arrays, fitted.arrays, self.decay_, ratio, False), self._selves(new, norm)

    def _selves(self, graphs: LabelledGraphs, norm: float) -> Floats:
        return diagonal(graphs.arrays, self.decay_, self.decay_ * norm**2)

    def _features(self, graphs: GraphSet | None) -> Matrix:
        return super()._features(graphs) if self.graphs_ is None else self._gram(graphs)

    @property
    def _n_features_out(self) -> int:
        return super()._n_features_out if self.graphs_ is None else self.n_graphs_

    # ---- what it takes, and saving

    def estimate(self, graphs: Any) -> Estimate:
        """From the number of terms, and the sizes of all pairs of graphs where there are labels."""
        self._check_settings()
        known = as_graphset(graphs)
        ratio = AUTO
        if self.decay != "auto":
            norm = largest_norm(arc_matrix(known), known.node_ptr)
            ratio = _choose_decay(self.decay, norm) * norm**2
        size, pairs = float(known.n_nodes + known.n_edges), len(known) ** 2
        if _is_labelled(self._schema(known)):
            products = float(known.n_nodes) * (known.n_nodes + known.n_edges)  # over all pairs
            largest = float(known.sizes.max()) ** 2
            return Estimate(
                2e-9 * n_terms(ratio) * products, BASE_MB + (24 * (largest + pairs) + 60 * size) / 1e6
            )
        terms = n_terms(math.sqrt(ratio))
        seconds = 4e-9 * terms * size + 2e-6 * size + 1e-9 * terms * pairs
        return Estimate(seconds, BASE_MB + (16 * terms * len(known) + 150 * size + 24 * pairs) / 1e6)

    def _state(self) -> State:
        if self.graphs_ is None:
            return super()._state()
        return {**self.graphs_.state(), "squares": self.squares_}

    def _set_state(self, state: State) -> None:
        self.graphs_ = LabelledGraphs.from_state(state) if "label" in state else None
        if self.graphs_ is None:
            super()._set_state(state)
        self.squares_ = state["squares"]

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "decay": self.decay_, "norm": self.norm_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.decay_, self.norm_ = float(learned["decay"]), float(learned["norm"])


def _is_labelled(schema: Schema) -> bool:
    return bool(schema.features("node") or schema.features("edge"))


def _choose_decay(decay: Decay, norm: float) -> float:
    if isinstance(decay, str):
        return AUTO / max(norm, 1.0) ** 2
    if decay * norm**2 >= 1:
        raise InvalidParameter(
            f"decay={decay:g}: the number of walks grows faster than this decays, so their series diverges. "
            f"The largest spectral norm of these graphs is {norm:.6g}: pass a decay below "
            f"{1 / norm**2:.6g}, or 'auto' for {AUTO / max(norm, 1.0) ** 2:.6g}"
        )
    return float(decay)


def arc_matrix(graphs: GraphSet) -> csr_matrix:
    """All graphs as one block-diagonal matrix: how many arcs lead from one node to another. (N, N)."""
    shape = (graphs.n_nodes, graphs.n_nodes)
    matrix = csr_matrix((np.ones(graphs.n_edges), tuple(graphs.edge_index)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def largest_norm(matrix: csr_matrix, node_ptr: IntArray) -> float:
    """The largest spectral norm of the blocks, which is the largest eigenvalue where arcs go both ways.

    Bounds leave only a few blocks to be solved: 0.5 s instead of 15 s for the 2,000 graphs of REDDIT-BINARY.
    """
    kept = np.flatnonzero(_may_be_largest(matrix, node_ptr))
    matrix = matrix[kept][:, kept]
    n = matrix.shape[0]
    if n <= SMALL:
        return float(np.linalg.norm(matrix.toarray(), 2)) if n else 0.0
    start = 1.0 + 0.1 * np.sin(np.arange(n))  # not orthogonal to the answer, which has one sign
    if (matrix != matrix.T).nnz == 0:
        return float(eigsh(matrix, k=1, which="LA", v0=start, return_eigenvectors=False)[0])
    transposed = matrix.T.tocsr()
    square = LinearOperator((n, n), matvec=lambda x: transposed @ (matrix @ x), dtype=np.float64)
    return math.sqrt(float(eigsh(square, k=1, which="LA", v0=start, return_eigenvectors=False)[0]))


def _may_be_largest(matrix: csr_matrix, node_ptr: IntArray) -> NDArray[np.bool_]:
    """Nodes of blocks that may have the largest norm. (N,).

    With B = A'A and x = B^t 1, the norm of B is at most max(x)^(1/t) and at least 1'Bx / 1'x.
    """
    transposed, starts = matrix.T.tocsr(), np.asarray(node_ptr[:-1], np.int64)
    x = np.ones(matrix.shape[0])
    for _ in range(POWER):
        before, x = x, transposed @ (matrix @ x)
    highest = np.maximum.reduceat(x, starts) ** (1 / POWER)  # (G,)
    sums = np.add.reduceat(before, starts)
    lowest = np.add.reduceat(x, starts) / np.where(sums > 0, sums, 1.0)
    candidates = (highest > 0) & (highest >= (1 - 1e-9) * lowest.max())
    return np.repeat(candidates, np.diff(node_ptr))


def n_terms(ratio: float) -> int:
    """How many terms until the rest is below double precision.

    Term t of k(x, y) is at most n_x n_y ratio^t, and the first is n_x n_y: so the rest after T terms is at
    most ratio^T / (1 - ratio) of the whole, and T is the first for which this is below 2^-53.
    """
    if ratio <= 0:
        return 1
    return max(1, math.ceil(math.log(PRECISION * (1 - ratio)) / math.log(ratio)))


def walk_counts(matrix: csr_matrix, node_ptr: IntArray, decay: float, terms: int) -> NDArray[np.float64]:
    """sqrt(decay^t) 1' A^t 1 of every graph for t = 0 ... terms - 1. (G, T)."""
    starts = np.asarray(node_ptr[:-1], np.int64)
    result = np.empty((len(starts), terms))
    ends = np.ones(matrix.shape[0])  # weights of the walks of the current length from every node
    for t in range(terms):
        result[:, t] = np.add.reduceat(ends, starts)
        if t + 1 < terms:
            ends = math.sqrt(decay) * (matrix @ ends)
    return result


@compiled
def all_pairs(left: Arrays, right: Arrays, decay: float, ratio: float, symmetric: bool) -> Floats:
    """Kernel values of all pairs; of the upper half, mirrored, where both sides are the same. (X, Y)."""
    n_left, n_right = len(left[0]) - 1, len(right[0]) - 1
    values = np.zeros((n_left, n_right))
    for g in range(n_left):
        for h in range(g if symmetric else 0, n_right):
            values[g, h] = pair_value(left, g, right, h, decay, ratio)
            if symmetric:
                values[h, g] = values[g, h]
    return values


@compiled
def diagonal(graphs: Arrays, decay: float, ratio: float) -> Floats:
    """Kernel values of every graph with itself. (G,)."""
    values = np.zeros(len(graphs[0]) - 1)
    for g in range(len(values)):
        values[g] = pair_value(graphs, g, graphs, g, decay, ratio)
    return values


@compiled
def pair_value(left: Arrays, g: int, right: Arrays, h: int, decay: float, ratio: float) -> float:
    """1' X 1 for X = M + decay M o (sum over edge labels of A X B'), by its fixed point, term by term.

    M says which nodes have equal labels, A and B are the arcs of one label. A term has at most `ratio` of the
    norm of the one before, so the rest of the series is at most sqrt(|M|) |term| ratio / (1 - ratio); the sum
    ends where this is below 1e-13 of it. (Where every walk ends, the next term is zero.)
    """
    first, n = left[0][g], left[0][g + 1] - left[0][g]
    second, m = right[0][h], right[0][h + 1] - right[0][h]
    match = np.zeros((n, m))
    total = 0.0
    for i in range(n):
        for j in range(m):
            if left[2][first + i] == right[2][second + j]:
                match[i, j] = 1.0
                total += 1.0
    term, moved, following = match.copy(), np.zeros((n, m)), np.zeros((n, m))
    bound = np.sqrt(total) * ratio / (1.0 - ratio)
    while total > 0.0:
        _step(left, g, right, h, term, moved, following)
        added, square = 0.0, 0.0
        for i in range(n):
            for j in range(m):
                value = decay * match[i, j] * following[i, j]
                term[i, j] = value
                added += value
                square += value * value
        total += added
        if bound * np.sqrt(square) <= 1e-13 * total:
            break
    return total


@compiled
def _step(
    left: Arrays, g: int, right: Arrays, h: int, term: Floats, moved: Floats, following: Floats
) -> None:
    """following = sum over edge labels of A term B'; arcs are sorted by label on both sides."""
    following[:] = 0.0
    a, a_end = left[1][g], left[1][g + 1]
    b, b_end = right[1][h], right[1][h + 1]
    while a < a_end and b < b_end:
        label = left[5][a]
        if label != right[5][b]:
            if label < right[5][b]:
                a += 1
            else:
                b += 1
            continue
        moved[:] = 0.0
        while a < a_end and left[5][a] == label:
            u, v = left[3][a], left[4][a]
            for j in range(term.shape[1]):
                moved[u, j] += term[v, j]
            a += 1
        b_start = b
        while b < b_end and right[5][b] == label:
            b += 1
        for i in range(term.shape[0]):
            for arc in range(b_start, b):
                following[i, right[3][arc]] += moved[i, right[4][arc]]


def _numbered(codes: IntArray, graphs: GraphSet, level: str) -> tuple[Ints, Tokens]:
    """Numbers of labels in the order of their tokens, and these tokens."""
    if level == "node":
        tokens = row_tokens(graphs, "node", graphs.schema.features("node"))
    else:
        tokens = row_tokens(graphs, "edge", graphs.schema.features("edge"))
    first = np.unique(codes, return_index=True)[1]
    distinct = tokens[:, first]  # (2, L)
    known = Vocabulary(distinct)
    return known.find(distinct)[codes], known.tokens

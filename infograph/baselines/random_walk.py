"""The geometric random-walk kernel, with labels or without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, eigsh

from infograph.baselines import words
from infograph.baselines.base import FeatureKernel, Values, label_schema
from infograph.baselines.walks import Ints, adjacency, compiled
from infograph.baselines.words import Floats, Matrix, Tokens
from infograph.data.colours import group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Level, Schema
from infograph.errors import InvalidParameter
from infograph.estimators.folder import State

Decay = float | Literal["auto"]
AUTO = 0.5  # of the largest decay for which the series converges
POWER = 12  # of the matrix, for the bounds on its norm
SMALL = 64  # nodes up to which a dense solver is used
PRECISION = 2.0**-53
Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints]  # the first six of LabelledGraphs, for compiled code


@dataclass(eq=False, repr=False)
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

    Walks follow arcs; repeated edges are that many ways to go, and a self-loop is one to stay. Edge weights
    are not looked at. Differs from GraKeL: there labelled walks of no step begin at pairs of nodes with
    different labels too; that adds the number of such pairs to every value.

    Args:
        decay: below 1 / s^2, where s is the largest spectral norm of the graphs; larger values, at which the
            series diverges, are refused in advance, and so are later graphs that are too dense for it. "auto"
            is half of that limit: a small decay leaves nothing but the shortest walks (Sugiyama and Borgwardt
            2015), and half the limit leaves room for new graphs of up to 1.4 times the norm.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used, and []
            none.
        edge_columns: the same for edges; TU data sets mark their edge labels as not used.

    Attributes:
        decay_: the decay that is used.
        norm_: the largest spectral norm of the fitted graphs.
    """

    decay: Decay = "auto"
    _: KW_ONLY
    normalise: bool = False
    node_columns: Sequence[str] | None = None
    edge_columns: Sequence[str] | None = None

    _values: ClassVar[Values] = {
        **FeatureKernel._values,
        "decay": ("decay_", float),
        "norm": ("norm_", float),
    }

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, self.edge_columns)

    def _learn(self, graphs: GraphSet) -> None:
        self.norm_ = largest_norm(adjacency(graphs), graphs.node_ptr)
        usual = AUTO / max(self.norm_, 1.0) ** 2
        self.decay_ = usual if isinstance(self.decay, str) else float(self.decay)
        if self.decay_ * self.norm_**2 >= 1:
            raise InvalidParameter(
                f"decay={self.decay:g}: the series of walks diverges. The largest spectral norm of graphs "
                f"is {self.norm_:.6g}: pass a decay below {1 / self.norm_**2:.6g}, or 'auto' for {usual:.6g}"
            )
        self.graphs_: LabelledGraphs | None = None
        if graphs.schema.features("node") or graphs.schema.features("edge"):
            self.graphs_ = labelled_graphs(graphs)
            self.squares_ = diagonal(self.graphs_[:6], self.decay_, self.decay_ * self.norm_**2)
        else:
            self.features_, self.squares_ = self._walks(graphs, self.norm_)

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        return self._walks(graphs, self._norm_of_new(graphs))

    def _walks(self, graphs: GraphSet, norm: float) -> tuple[Floats, Floats]:
        """sqrt(decay^t) 1' A^t 1 of every graph for all t (G', T), and their sums of squares (G',)."""
        # Enough for the fitted graphs with any graph that is not refused: there the ratio is below this root.
        kept = n_terms(math.sqrt(self.decay_ * self.norm_**2))
        terms = max(kept, n_terms(self.decay_ * norm**2))
        matrix, counts = adjacency(graphs), np.empty((len(graphs), terms))
        ends = np.ones(graphs.n_nodes)  # weights of the walks of the current length from every node
        for t in range(terms):
            counts[:, t] = np.add.reduceat(ends, graphs.node_ptr[:-1])
            ends = math.sqrt(self.decay_) * (matrix @ ends)
        return np.ascontiguousarray(counts[:, :kept]), words.squared_norms(counts)

    def _norm_of_new(self, graphs: GraphSet) -> float:
        """The largest spectral norm of graphs, once it is known that their own series converges."""
        norm = largest_norm(adjacency(graphs), graphs.node_ptr)
        if self.decay_ * norm**2 >= 1:
            raise InvalidParameter(
                f"the series of walks diverges for a spectral norm of up to {norm:.6g}, and decay "
                f"{self.decay_:.6g}: fit with decay below {1 / norm**2:.6g}, or leave these graphs out"
            )
        return norm

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        fitted = self.graphs_
        if fitted is None:
            return super()._compare(graphs)
        if graphs is None:
            ratio = self.decay_ * self.norm_**2
            return all_pairs(fitted[:6], fitted[:6], self.decay_, ratio, True), self.squares_
        norm, new = self._norm_of_new(graphs), labelled_graphs(graphs)
        ratio = self.decay_ * norm * self.norm_
        values = all_pairs(_numbered_like(new, fitted)[:6], fitted[:6], self.decay_, ratio, False)
        return values, diagonal(new[:6], self.decay_, self.decay_ * norm**2)

    def _features(self, graphs: GraphSet | None) -> Matrix:
        return super()._features(graphs) if self.graphs_ is None else self._gram(graphs)

    @property
    def _n_features_out(self) -> int:
        return super()._n_features_out if self.graphs_ is None else self.n_graphs_

    def _state(self) -> State:
        if self.graphs_ is None:
            return super()._state()
        return {**self.graphs_._asdict(), "squares": self.squares_}

    def _set_state(self, state: State) -> None:
        self.graphs_ = None
        if "label" in state:
            self.graphs_ = LabelledGraphs(*(state.pop(name) for name in LabelledGraphs._fields))
        super()._set_state(state)


class LabelledGraphs(NamedTuple):
    """G graphs, N nodes with L labels, E arcs with M labels; arcs are sorted by their label in each graph."""

    node_ptr: Ints  # (G+1,)
    arc_ptr: Ints  # (G+1,)
    label: Ints  # (N,) its number
    source: Ints  # (E,) numbered from 0 inside each graph
    target: Ints  # (E,)
    arc_label: Ints  # (E,) its number
    node_tokens: Tokens  # (2, L) what the labels are, in this order
    arc_tokens: Tokens  # (2, M)


def labelled_graphs(graphs: GraphSet) -> LabelledGraphs:
    """What labelled walks need of graphs with the columns that count as labels."""
    label, node_tokens = _numbered(node_inputs(graphs)[0], graphs, "node")
    columns = graphs.schema.features("edge")
    codes: IntArray = np.zeros(graphs.n_edges, np.int32)
    if columns and graphs.n_edges:
        codes = group_rows([graphs.edge[column.name] for column in columns])[0]
    arc_label, arc_tokens = _numbered(codes, graphs, "edge")
    order = np.lexsort((arc_label, graphs.edge_graph))
    source, target = graphs.edges[:, order].astype(np.int64)
    node_ptr, arc_ptr = graphs.node_ptr.astype(np.int64), graphs.edge_ptr.astype(np.int64)
    return LabelledGraphs(node_ptr, arc_ptr, label, source, target, arc_label[order], node_tokens, arc_tokens)


def _numbered(codes: IntArray, graphs: GraphSet, level: Level) -> tuple[Ints, Tokens]:
    """Numbers of labels in the order of their tokens, and these tokens."""
    first = np.unique(codes, return_index=True)[1]
    tokens, place = words.sort_tokens(
        words.row_tokens(graphs, level, graphs.schema.features(level))[:, first]
    )  # (2, L)
    return place[codes], tokens


def _numbered_like(graphs: LabelledGraphs, other: LabelledGraphs) -> LabelledGraphs:
    """The same graphs with the label numbers of `other`; labels that it does not have are negative."""
    node = words.find_tokens(other.node_tokens, graphs.node_tokens)
    arc = words.find_tokens(other.arc_tokens, graphs.arc_tokens)[graphs.arc_label]
    graph = np.repeat(np.arange(len(graphs.arc_ptr) - 1), np.diff(graphs.arc_ptr))
    order = np.lexsort((arc, graph))
    return graphs._replace(
        label=node[graphs.label],
        source=graphs.source[order],
        target=graphs.target[order],
        arc_label=arc[order],
    )


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
    """The first T for which the rest, ratio^T / (1 - ratio) of the whole, is below double precision."""
    if ratio <= 0:
        return 1
    return max(1, math.ceil(math.log(PRECISION * (1 - ratio)) / math.log(ratio)))


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
    n_graphs = len(graphs[0]) - 1
    return np.array([pair_value(graphs, g, graphs, g, decay, ratio) for g in range(n_graphs)])


@compiled
def pair_value(left: Arrays, g: int, right: Arrays, h: int, decay: float, ratio: float) -> float:
    """1' X 1 for X = M + decay M o (sum over edge labels of A X B'), by its fixed point, term by term.

    M says which nodes have equal labels, A and B are the arcs of one label. A term has at most `ratio` of the
    norm of the one before, so the rest of the series is at most sqrt(|M|) |term| ratio / (1 - ratio); the sum
    ends where this is below 1e-13 of it.
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

"""The multi-scale Laplacian graph kernel, in its low-rank form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import splu

from infograph.baselines.bounded import Estimate, check_positive, check_whole
from infograph.baselines.kernel import Floats, GraphKernel
from infograph.baselines.neighbourhoods import Neighbourhoods, neighbourhoods
from infograph.baselines.reading import label_schema
from infograph.baselines.vocabulary import Vocabulary
from infograph.contract import State
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

CHUNK = 16_384  # neighbourhoods whose matrices are in memory at a time


class Level(NamedTuple):
    """Landmark neighbourhoods of one level: S^-1 (M, P, P), log |S| (M,), and the projection (M, rank)."""

    inverses: Floats
    logs: Floats
    projection: Floats


class MultiscaleLaplacian(GraphKernel):
    """The kernel of Kondor and Pan (NIPS 2016): Laplacians of graphs, of neighbourhoods, of theirs.

        MultiscaleLaplacian(levels=2).fit(graphs).gram()

    Two graphs with vertex features phi are compared by S = phi' (L + eta I)^-1 phi + gamma I (the FLG
    kernel): k = |(S_1^-1 + S_2^-1) / 2|^-1/2 / (|S_1|^1/4 |S_2|^1/4), so k(x, x) = 1. At level 0 a vertex's
    features are its label, one coordinate each. At level l two vertices are compared by the FLG kernel of
    their neighbourhoods of radius l with features of level l - 1. These kernels have no finite features; as
    in the paper, `n_landmarks` vertices of the fitted graphs and the `rank` largest eigenvalues of their
    kernel matrix give features for all (Nystrom). The whole graphs are compared with the features of the last
    level. Nodes without labels count by degree. There are no explicit features: `transform` gives
    `gram(graphs)`.

    Graphs are taken as simple and undirected, each edge of weight 1; edge labels are not looked at.

    Settings to search: `levels` in {1, 2, 3} and `gamma` in {0.01, 0.1}, fewer than in the paper, which
    searches `eta` and the radius too.

    Differs from the paper, so that REDDIT takes minutes: nodes of one graph with the same Weisfeiler-Lehman
    colour after levels + 1 rounds share the features of the first of them (values move by
    at most 0.01 on 150 graphs of MUTAG, PTC_MR or IMDB-BINARY; `share=False` looks at each node); a
    neighbourhood has at most `max_ego` nodes, the nearest, equally near ones in the order of their colours;
    labels beyond the `n_labels` most frequent ones have no coordinate; landmarks are drawn from the distinct
    colours, in proportion to their nodes.

    Args:
        levels: levels of neighbourhoods; 0 compares labels on whole graphs. GraKeL's default is 3; 2 takes
            half the time.
        gamma, eta: regularisation of S and of the Laplacian; 0.01 is GraKeL's default.
        rank: features per vertex from level 1 on; 10 is GraKeL's default.
        n_landmarks: 50 is GraKeL's default.
        n_labels: coordinates of level 0 at most; MUTAG has 7 labels and PTC_MR 18.
        max_ego: nodes of a neighbourhood at most; at radius 1, 94 to 100% of them have no more than 30.
        share: see above.
        normalise: without effect, values are normalised by definition.
        node_columns: the node columns that are the labels; None takes those the schema marks as used.
        random_state: seed of the landmarks.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
    """

    _remedy = "take fewer levels or landmarks, or a smaller max_ego"

    def __init__(
        self,
        levels: int = 2,
        *,
        gamma: float = 0.01,
        eta: float = 0.01,
        rank: int = 10,
        n_landmarks: int = 50,
        n_labels: int = 20,
        max_ego: int = 30,
        share: bool = True,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        random_state: int = 0,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.levels = levels
        self.gamma = gamma
        self.eta = eta
        self.rank = rank
        self.n_landmarks = n_landmarks
        self.n_labels = n_labels
        self.max_ego = max_ego
        self.share = share
        self.normalise = normalise
        self.node_columns = node_columns
        self.random_state = random_state
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def estimate(self, graphs: Any) -> Estimate:
        """Measured on the benchmark sets: per node and level, and per pair of graphs."""
        known = as_graphset(graphs)
        width = self.n_labels if known.schema.features("node") else min(self.n_labels, 20)
        per_node = self.max_ego**3 / 5e8 + self.n_landmarks * (width**3 + 600) / 4e9
        nodes = self.levels * known.n_nodes * (0.5 if self.share else 1.0)
        pairs = len(known) ** 2
        seconds = 3 + nodes * per_node + 1e-6 * (self.rank / 10) ** 3 * pairs + 1e-6 * known.n_edges
        return Estimate(seconds, 450 + (known.n_nodes * (8 * width + 100) + 8 * pairs) / 1e6)

    def _check_settings(self) -> None:
        least = {"levels": 0, "rank": 1, "n_landmarks": 1, "n_labels": 1, "max_ego": 1, "random_state": 0}
        for name, value in least.items():
            check_whole(name, getattr(self, name), value)
        check_positive("gamma", self.gamma)
        check_positive("eta", self.eta)

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, None, edges=False)

    def _learn(self, graphs: GraphSet) -> None:
        around = self._around(graphs)
        self.labels_ = Vocabulary(_most_frequent(around.labels, self.n_labels))
        features = self._label_features(around)
        landmarks = _draw_landmarks(around, self.n_landmarks, self.random_state)
        self.levels_: list[Level] = []
        for radius in range(1, self.levels + 1):
            self.levels_.append(self._landmark_level(around, landmarks, features, radius))
            features = self._next_features(around, features, radius)
        self.inverses_, self.logs_ = self._graph_matrices(around, features)

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        from infograph.baselines.ego_nets import similarities

        inverses, logs = (self.inverses_, self.logs_) if graphs is None else self._represent(graphs)
        return similarities(inverses, logs, self.inverses_, self.logs_), np.ones(len(logs))

    def _squares(self) -> Floats:
        return np.ones(self.n_graphs_)

    # ---- inside

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        around = self._around(graphs)
        features = self._label_features(around)
        for radius in range(1, len(self.levels_) + 1):
            features = self._next_features(around, features, radius)
        return self._graph_matrices(around, features)

    def _around(self, graphs: GraphSet) -> Neighbourhoods:
        around = neighbourhoods(graphs, self._made_with["levels"] + 1)
        if self._made_with["share"]:
            return around
        every = np.arange(graphs.n_nodes)
        kinds, ones = around.kinds[:, around.group], np.ones(graphs.n_nodes, np.int64)
        return Neighbourhoods(
            around.node_ptr, around.ptr, around.targets, around.labels, every, every, kinds, ones
        )

    def _label_features(self, around: Neighbourhoods) -> Floats:
        place = self.labels_.find(around.labels)  # (N,)
        return np.asarray(np.vstack([np.eye(len(self.labels_)), np.zeros(len(self.labels_))])[place])

    def _egos(
        self, around: Neighbourhoods, centres: NDArray[np.int64], features: Floats, radius: int
    ) -> tuple[Floats, Floats]:
        from infograph.baselines.ego_nets import ego_matrices

        made = self._made_with
        regular = float(made["eta"]), float(made["gamma"])
        return ego_matrices(
            centres, around.ptr, around.targets, features, radius, int(made["max_ego"]), *regular
        )

    def _landmark_level(
        self, around: Neighbourhoods, landmarks: NDArray[np.int64], features: Floats, radius: int
    ) -> Level:
        from infograph.baselines.ego_nets import similarities

        inverses, logs = self._egos(around, landmarks, features, radius)
        values, vectors = np.linalg.eigh(similarities(inverses, logs, inverses, logs))
        kept = np.flatnonzero(values > 1e-9 * values[-1])[-self.rank :]
        projection = np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))  # (M, rank)
        return Level(inverses, logs, projection)

    def _next_features(self, around: Neighbourhoods, features: Floats, radius: int) -> Floats:
        """The features of all nodes one level up, group by group. (N, P) -> (N, rank)."""
        from infograph.baselines.ego_nets import similarities

        level = self.levels_[radius - 1]
        made = np.empty((len(around.centres), level.projection.shape[1]))
        for start in range(0, len(made), CHUNK):
            rows = slice(start, start + CHUNK)
            inverses, logs = self._egos(around, around.centres[rows], features, radius)
            made[rows] = similarities(inverses, logs, level.inverses, level.logs) @ level.projection
        return np.asarray(made[around.group])

    def _graph_matrices(self, around: Neighbourhoods, features: Floats) -> tuple[Floats, Floats]:
        """S^-1 (G, P, P) and log |S| (G,) of whole graphs."""
        eta, gamma = float(self._made_with["eta"]), float(self._made_with["gamma"])
        n_graphs, width = len(around.node_ptr) - 1, features.shape[1]
        matrices = np.tile(gamma * np.eye(width), (n_graphs, 1, 1))
        for g in range(n_graphs):
            low, high = around.node_ptr[g], around.node_ptr[g + 1]
            own = features[low:high]
            matrices[g] += own.T @ _laplacian(around, low, high, eta).solve(own)
        matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
        return np.asarray(np.linalg.inv(matrices), np.float64), np.asarray(np.linalg.slogdet(matrices)[1])

    def _state(self) -> State:
        state: State = {"labels": self.labels_.tokens, "inverses": self.inverses_, "logs": self.logs_}
        for number, level in enumerate(self.levels_):
            state.update({f"level{number}.{name}": values for name, values in level._asdict().items()})
        return state

    def _set_state(self, state: State) -> None:
        self.labels_ = Vocabulary(state["labels"])
        self.inverses_, self.logs_ = state["inverses"], state["logs"]
        self.levels_ = [
            Level(*(state[f"level{number}.{name}"] for name in Level._fields))
            for number in range(self.levels)
        ]


def _laplacian(around: Neighbourhoods, low: int, high: int, eta: float) -> Any:
    """L + eta I of the graph on the nodes low ... high - 1, factorised."""
    n, ptr = high - low, around.ptr[low : high + 1]
    columns = around.targets[ptr[0] : ptr[-1]] - low
    matrix = csc_matrix((-np.ones(len(columns)), columns, ptr - ptr[0]), shape=(n, n))
    degrees = np.diff(ptr).astype(np.float64)
    matrix = matrix + csc_matrix(identity(n).multiply((degrees + eta)[:, None]))
    return splu(csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})


def _most_frequent(labels: NDArray[np.uint64], n_labels: int) -> NDArray[np.uint64]:
    """The tokens of the most frequent labels. (2, N) -> (2, n_labels or fewer)."""
    distinct, counts = np.unique(labels, axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:n_labels]
    return np.asarray(distinct[:, order])


def _draw_landmarks(around: Neighbourhoods, n_landmarks: int, random_state: int) -> NDArray[np.int64]:
    """Nodes of different colours, drawn in proportion to how many nodes have them. (M,)."""
    _, first, kind = np.unique(around.kinds, axis=1, return_index=True, return_inverse=True)
    weights = np.bincount(kind.reshape(-1), around.sizes)
    generator = np.random.default_rng(random_state)
    chosen = generator.choice(
        len(first), size=min(n_landmarks, len(first)), replace=False, p=weights / weights.sum()
    )
    return np.asarray(around.centres[first[np.sort(chosen)]])

"""Deep graph kernels: substructures that occur in the same company count as similar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from infograph.baselines import words
from infograph.baselines.base import FeatureKernel, label_schema
from infograph.baselines.graphlets import Graphlets
from infograph.baselines.shortest_path import count_shortest_paths
from infograph.baselines.skipgram import word_vectors
from infograph.baselines.walks import mix_keys, random_walks
from infograph.baselines.words import Floats, Matrix, Tokens
from infograph.data.colours import mix64
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

Structure = Literal["wl", "graphlet", "walk", "shortest-path"]
STEPS = 3  # arcs in a substructure of structure="walk"
LENGTH = 22  # nodes in a walk that such substructures are read from


@dataclass(eq=False, repr=False)
class DeepGraphKernel(FeatureKernel):
    """The kernels of Yanardag and Vishwanathan (KDD 2015): K = phi M phi', with M learned by word2vec.

        DeepGraphKernel("wl").fit(graphs).gram()
        DeepGraphKernel("shortest-path", normalise=True).fit_transform(graphs)

    phi counts substructures: Weisfeiler-Lehman subtrees, graphlets of five nodes (frequencies of a sample),
    label sequences of random walks of three arcs, or shortest paths (labels and length). Skip-gram with
    negative sampling gives every substructure a vector, from sentences of substructures that occur in the
    same graph (and, for subtrees, in the same round). M holds their cosines, so the features phi V, with V
    the unit vectors, are explicit: `transform` gives (G, dim), and nothing of the size of M is ever stored.
    Substructures that no fitted graph has are left out. Nodes without labels count by degree ("wl", "walk")
    or are all alike ("shortest-path"); graphlets look at no labels.

    Settings to search: `structure` in {"wl", "graphlet", "walk", "shortest-path"}, `epochs` in {5, 30}. The
    InfoGraph paper takes the best of the first three; the kernel's own paper has shortest paths as well.

    Differs from the paper, which has no walks, and from its code: sentences are drawn from all of a graph's
    substructures instead of from neighbouring graphlets or paths of one source; cosines instead of inner
    products; graphlets of five nodes instead of seven; negative sampling only, no hierarchical softmax.

    Args:
        structure: "wl", "graphlet", "walk" or "shortest-path".
        dim: length of the substructures' vectors; 50 is our choice.
        window: contexts to each side; 10 is our choice.
        rounds: WL rounds for structure="wl"; 2 as in the authors' code.
        draws: substructures per sentence, one sentence per graph and round; 100 keep every kind that makes up
            a twentieth of its graph with probability 0.99.
        epochs: passes over the sentences; gensim's default of 5 is for large corpora.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used.
        random_state: seed of samples and of word2vec.

    Attributes:
        tokens_: (2, C) the names of the fitted graphs' substructures.
        embedding_: (C, dim) their unit vectors.
    """

    structure: Structure = "wl"
    _: KW_ONLY
    dim: int = 50
    window: int = 10
    rounds: int = 2
    draws: int = 100
    epochs: int = 30
    normalise: bool = False
    node_columns: Sequence[str] | None = None
    random_state: int = 0

    def _schema(self, graphs: GraphSet) -> Schema:
        node = () if self.structure == "graphlet" else self.node_columns
        return label_schema(graphs, node, edges=self.structure == "wl")

    def _learn(self, graphs: GraphSet) -> None:
        tokens, counts, groups = count_substructures(graphs, self.structure, self.rounds, self.random_state)
        self.tokens_, place = words.sort_tokens(tokens)
        drawn = place[sentences(counts, groups, self.draws, self.random_state)].astype(np.int32)
        drawn = in_drawn_order(drawn, self.random_state)
        settings = {"dim": self.dim, "window": self.window, "epochs": self.epochs}
        vectors = word_vectors(drawn, len(place), **settings, random_state=self.random_state)
        self.embedding_ = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
        self.features_, self.squares_ = self._weigh(tokens, counts)

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        made = self._made
        tokens, counts, _ = count_substructures(graphs, made.structure, made.rounds, made.random_state)
        return self._weigh(tokens, counts)

    def _weigh(self, tokens: Tokens, counts: Matrix) -> tuple[Floats, Floats]:
        known = words.count_known(self.tokens_, words.find_tokens(self.tokens_, tokens), counts)  # (G, C)
        features = np.asarray(known @ self.embedding_.astype(np.float64))  # (G, dim)
        return features, words.squared_norms(features)


def count_substructures(
    graphs: GraphSet, structure: str, rounds: int, random_state: int
) -> tuple[Tokens, Matrix, list[int]]:
    """Tokens of the substructures (2, C), how often each occurs in each graph (G, C), and which can co-occur
    with which: the columns that begin a new group, and C.
    """
    if structure == "wl":
        colours, parts = words.named_colours(graphs, rounds, words.or_degree(graphs))
        groups = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        return np.hstack(parts), hstack(colours.graph_counts, format="csr"), groups
    if structure == "graphlet":
        counts = csr_matrix(Graphlets(5, random_state=random_state).fit_transform(graphs))
        tokens = words.number_tokens(np.arange(counts.shape[1]))
    elif structure == "shortest-path":
        tokens, counts = count_shortest_paths(graphs)
    else:
        tokens, counts = _walk_labels(graphs, random_state)
    return tokens, counts, [0, tokens.shape[1]]


def sentences(counts: Matrix, groups: Sequence[int], draws: int, random_state: int) -> NDArray[np.int32]:
    """Rows of `draws` substructures of one graph and one group, drawn as often as they occur. (S, draws)."""
    rows = []
    for group, (low, high) in enumerate(pairwise(groups)):
        part = csr_matrix(counts[:, low:high])
        running = np.concatenate([[0.0], np.cumsum(part.data)])
        start, total = running[part.indptr[:-1]], np.diff(running[part.indptr])  # (G,)
        filled = np.flatnonzero(total > 0)
        drawn = mix_keys(random_state, group, filled[:, None], np.arange(draws)[None, :])
        unit = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        at = np.searchsorted(running, start[filled, None] + unit * total[filled, None], side="right") - 1
        at = np.minimum(at, part.indptr[1:][filled, None] - 1)
        rows.append(part.indices[np.maximum(at, part.indptr[:-1][filled, None])] + low)
    return np.concatenate(rows).astype(np.int32)


def in_drawn_order(rows: NDArray[np.int32], random_state: int) -> NDArray[np.int32]:
    """Not in the order of graphs, often that of classes: a rare word's vector tells when it was read."""
    return rows[np.random.default_rng(random_state).permutation(len(rows))]


def _walk_labels(graphs: GraphSet, random_state: int) -> tuple[Tokens, Matrix]:
    """The labels, or degrees, of every `STEPS` + 1 consecutive nodes of one random walk per node."""
    columns = graphs.schema.features("node")
    degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
    label = words.row_tokens(graphs, "node", columns) if columns else words.number_tokens(degree)
    paths = random_walks(graphs, per_node=1, length=LENGTH, random_state=random_state)  # (N, LENGTH)
    windows = [paths[:, i : i + LENGTH - STEPS : STEPS] for i in range(STEPS + 1)]  # overlap in one node
    known = windows[0] >= 0
    end = words.number_tokens(np.array([-1]))
    parts = []
    for window in windows:
        nodes = window[known]
        parts.append(np.where(nodes >= 0, label[:, np.maximum(nodes, 0)], end))
    found = words.join(*parts)  # (2, words)
    name = mix64(found[0] ^ mix64(found[1]))
    _, first, code = np.unique(name, return_index=True, return_inverse=True)
    owner = np.broadcast_to(graphs.node_graph[:, None], known.shape)[known]
    counts = csr_matrix((np.ones(len(code)), (owner, code)), shape=(len(graphs), len(first)))
    return found[:, first], counts

"""node2vec: vectors of nodes from biased random walks, pooled per graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from infograph.baselines.base import GraphEmbedding, Values, Vectors, walk_schema
from infograph.baselines.skipgram import word_vectors
from infograph.baselines.walks import random_walks
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, fingerprint
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter


@dataclass(eq=False, repr=False)
class Node2Vec(GraphEmbedding):
    """Vectors of nodes by Grover and Leskovec (KDD 2016), averaged or added up per graph.

        vectors = Node2Vec(p=0.5, q=2).fit_transform(graphs)

    Second-order random walks are sentences, nodes are their words: one vocabulary over the nodes of all
    graphs. Skip-gram with negative sampling learns a vector per node, and a graph is the mean of its nodes.
    Node features are not looked at; walks follow arcs in proportion to their weights. A node of no arcs is a
    walk of one node and keeps its random first vector.

    Because its words are node ids, `transform` gives the vectors of exactly the fitted graphs and refuses all
    others. And because no two graphs share a word, their vectors are related by the common negatives alone:
    expect little more than chance from it.

    Settings to search: p and q in {0.25, 0.5, 1, 2, 4}, as in the paper; Table 1 here runs p = q = 1 only.

    Differs from the paper: the window's contexts share their negatives and move together (see
    `infograph.baselines.skipgram`). Large sets are cut down: walks per node, then the length of walks, are
    lowered until there are at most `max_tokens` words, and sets of more than `block_nodes` nodes are learned
    in blocks of whole graphs, drawn at random, each with negatives of its own.

    Args:
        dim: length of the vectors; 512 for every method in the InfoGraph paper.
        p, q: return and in-out parameter; 1 is the middle of the paper's grid.
        walks, length: walks from every node and nodes per walk; 10 and 80 in the paper.
        window: contexts to each side; 10 in the paper.
        epochs: passes over the walks; 1 in the paper.
        pooling: "mean" or "sum" over the nodes of a graph; the InfoGraph paper does not say.
        max_tokens: words of all walks together; 40 million take some 4 minutes.
        block_nodes: nodes learned together; 400,000 take 1.6 GB at 512 dimensions.
        random_state: seed; the same seed gives the same vectors.
    """

    dim: int = 512
    p: float = 1.0
    q: float = 1.0
    _: KW_ONLY
    walks: int = 10
    length: int = 80
    window: int = 10
    epochs: int = 1
    pooling: Literal["mean", "sum"] = "mean"
    max_tokens: int = 40_000_000
    block_nodes: int = 400_000
    random_state: int = 0

    _values: ClassVar[Values] = {**GraphEmbedding._values, "fingerprint": ("fingerprint_", str)}

    def transform(self, graphs: Any) -> Vectors:
        """The vectors that `fit` gave these graphs; other ones are refused. (G, dim)."""
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        if fingerprint(known) != self.fingerprint_:
            raise InvalidParameter(
                "node2vec has vectors for the nodes it was fitted to and cannot embed other graphs: call "
                "fit_transform on all of them, or take Graph2Vec or Sub2Vec"
            )
        return self.vectors_.copy()

    def _schema(self, graphs: GraphSet) -> Schema:
        return walk_schema(graphs)

    def _learn(self, graphs: GraphSet) -> Vectors:
        walks, length = budget(graphs.n_nodes, self.walks, self.length, self.max_tokens)
        order, low = np.arange(len(graphs)), 0
        if graphs.n_nodes > self.block_nodes:  # a block is seen in its vectors: classes must not share one
            order = np.random.default_rng(self.random_state).permutation(len(graphs))
        ptr = np.concatenate([[0], np.cumsum(graphs.sizes[order])])
        self.vectors_ = np.zeros((len(graphs), self.dim), np.float32)
        while low < len(graphs):  # blocks of whole graphs with at most `block_nodes` nodes, or of one graph
            high = max(low + 1, int(np.searchsorted(ptr, ptr[low] + self.block_nodes, side="right")) - 1)
            self.vectors_[order[low:high]] = self._block(graphs[order[low:high]], low, walks, length)
            low = high
        self.fingerprint_ = fingerprint(graphs)
        return self.vectors_

    def _block(self, graphs: GraphSet, first: int, walks: int, length: int) -> Vectors:
        """The vectors of some graphs, from a vocabulary of their own."""
        p, q, seed = float(self.p), float(self.q), self.random_state
        paths = random_walks(graphs, per_node=walks, length=length, p=p, q=q, random_state=seed)
        order = np.random.default_rng([seed, first]).permutation(len(paths))
        settings = {"dim": self.dim, "window": self.window, "epochs": self.epochs}
        nodes = word_vectors(paths[order], graphs.n_nodes, **settings, random_state=seed + first)
        filled = graphs.sizes > 0
        pooled = np.zeros((len(graphs), self.dim), np.float32)
        pooled[filled] = np.add.reduceat(nodes, graphs.node_ptr[:-1][filled], axis=0)
        if self.pooling == "mean":
            pooled /= np.maximum(graphs.sizes, 1)[:, None].astype(np.float32)
        return pooled


def budget(n_nodes: int, walks: int, length: int, max_tokens: int) -> tuple[int, int]:
    """Walks per node and their length within `max_tokens` words: fewer walks first, then shorter ones."""
    walks = max(1, min(walks, max_tokens // max(1, n_nodes * length)))
    return walks, max(2, min(length, max_tokens // max(1, n_nodes * walks)))

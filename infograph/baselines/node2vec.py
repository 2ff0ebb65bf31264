"""node2vec: vectors of nodes from biased random walks, pooled per graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from infograph.baselines.base import (
    Estimate,
    GraphEmbedding,
    Vectors,
    check_choice,
    check_positive,
    check_whole,
)
from infograph.baselines.skipgram import word_vectors
from infograph.baselines.walks import random_walks
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, fingerprint
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.estimators.folder import State

TOKENS_PER_SECOND = 160_000  # measured at dim=512 and window=10


class Node2Vec(GraphEmbedding):
    """Vectors of nodes by Grover and Leskovec (KDD 2016), averaged or added up per graph.

        vectors = Node2Vec(p=0.5, q=2).fit_transform(graphs)

    Second-order random walks are sentences, nodes are their words: one vocabulary over the nodes of all
    graphs. Skip-gram with negative sampling learns a vector per node, and a graph is the mean of its nodes.
    Node features are not looked at; walks follow arcs in proportion to their weights. A node of no arcs is a
    walk of one node and keeps its random first vector.

    Because its words are node ids, node2vec has nothing to say about other graphs: `transform` gives the
    vectors of exactly the fitted graphs and refuses all others. And because no two graphs share a word,
    their vectors are related by the common negatives alone: expect little more than chance from it.

    Settings to search: p and q in {0.25, 0.5, 1, 2, 4}, as in the paper; Table 1 here runs p = q = 1 only.

    Differs from the paper: the window's contexts share their negatives and move together (see
    `skipgram_walks`); 512 instead of 128 dimensions, as InfoGraph's comparison has it. Large sets are cut
    down by two stated rules: walks per node, then the length of walks, are lowered until there are at most
    `max_tokens` words, and sets of more than `block_nodes` nodes are learned in blocks of whole graphs, each
    with negatives of its own.

    Args:
        dim: length of the vectors; 512 for every method in the InfoGraph paper.
        p: return parameter; 1 is the middle of the paper's grid.
        q: in-out parameter; likewise.
        walks: walks from every node; 10 in the paper.
        length: nodes per walk; 80 in the paper.
        window: contexts to each side; 10 in the paper.
        epochs: passes over the walks; 1 in the paper.
        pooling: "mean" or "sum" over the nodes of a graph; the InfoGraph paper does not say.
        max_tokens: words of all walks together; 40 million take some 4 minutes.
        block_nodes: nodes learned together; 400,000 take 1.6 GB at 512 dimensions.
        random_state: seed; the same seed gives the same vectors.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
    """

    def __init__(
        self,
        dim: int = 512,
        p: float = 1.0,
        q: float = 1.0,
        *,
        walks: int = 10,
        length: int = 80,
        window: int = 10,
        epochs: int = 1,
        pooling: Literal["mean", "sum"] = "mean",
        max_tokens: int = 40_000_000,
        block_nodes: int = 400_000,
        random_state: int = 0,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.dim = dim
        self.p = p
        self.q = q
        self.walks = walks
        self.length = length
        self.window = window
        self.epochs = epochs
        self.pooling = pooling
        self.max_tokens = max_tokens
        self.block_nodes = block_nodes
        self.random_state = random_state
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def transform(self, graphs: Any) -> Vectors:
        """The vectors that `fit` gave these graphs. (G, dim).

        Raises:
            InvalidParameter: they are not the fitted graphs.
        """
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        if fingerprint(known) != self.fingerprint_:
            raise InvalidParameter(
                "node2vec has vectors for the nodes it was fitted to and cannot embed other graphs: pass "
                "exactly the fitted graphs, call fit_transform on all of them, or take Graph2Vec or Sub2Vec"
            )
        return self.vectors_.copy()

    def estimate(self, graphs: Any) -> Estimate:
        """Measured on MUTAG and REDDIT-BINARY; walks themselves take hardly any time where p = q = 1."""
        known = as_graphset(graphs)
        walks, length = budget(known.n_nodes, self.walks, self.length, self.max_tokens)
        tokens = known.n_nodes * walks * length
        cost = max(0.1, self.dim / 512) * self.window / 10
        block = min(known.n_nodes, self.block_nodes + int(known.sizes.max()))
        stored = block * (8 * self.dim + 4 * walks * length) + 4 * len(known) * self.dim
        return Estimate(2 + self.epochs * tokens * cost / TOKENS_PER_SECOND, 450 + stored / 1e6)

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("walks", "length", "window", "epochs", "max_tokens", "block_nodes"):
            check_whole(name, getattr(self, name), 1)
        check_positive("p", self.p)
        check_positive("q", self.q)
        check_choice("pooling", self.pooling, ("mean", "sum"))

    def _schema(self, graphs: GraphSet) -> Schema:
        weight = graphs.schema.weight
        return replace(graphs.schema, node=(), edge=() if weight is None else (weight,))

    def _learn(self, graphs: GraphSet) -> Vectors:
        walks, length = budget(graphs.n_nodes, self.walks, self.length, self.max_tokens)
        self.vectors_ = np.concatenate(
            [
                self._block(graphs[low:high], low, walks, length)
                for low, high in _blocks(graphs, self.block_nodes)
            ]
        )
        self.fingerprint_ = fingerprint(graphs)
        return self.vectors_

    def _block(self, graphs: GraphSet, first: int, walks: int, length: int) -> Vectors:
        """The vectors of some graphs, from a vocabulary of their own."""
        p, q, seed = float(self.p), float(self.q), self.random_state
        paths = random_walks(graphs, per_node=walks, length=length, p=p, q=q, random_state=seed)
        order = np.random.default_rng([self.random_state, first]).permutation(len(paths))
        nodes = word_vectors(
            paths[order],
            graphs.n_nodes,
            dim=self.dim,
            window=self.window,
            epochs=self.epochs,
            random_state=self.random_state + first,
        )
        filled = graphs.sizes > 0
        pooled = np.zeros((len(graphs), self.dim), np.float32)
        pooled[filled] = np.add.reduceat(nodes, graphs.node_ptr[:-1][filled], axis=0)
        if self.pooling == "mean":
            pooled /= np.maximum(graphs.sizes, 1)[:, None].astype(np.float32)
        return pooled

    def _state(self) -> State:
        return {"vectors": self.vectors_}

    def _set_state(self, state: State) -> None:
        self.vectors_ = state["vectors"]

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "fingerprint": self.fingerprint_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.fingerprint_ = str(learned["fingerprint"])


def budget(n_nodes: int, walks: int, length: int, max_tokens: int) -> tuple[int, int]:
    """Walks per node and their length within `max_tokens` words: fewer walks first, then shorter ones."""
    walks = max(1, min(walks, max_tokens // max(1, n_nodes * length)))
    return walks, max(2, min(length, max_tokens // max(1, n_nodes * walks)))


def _blocks(graphs: GraphSet, block_nodes: int) -> list[tuple[int, int]]:
    """Ranges of whole graphs with at most `block_nodes` nodes each, or of one graph."""
    ranges, low = [], 0
    while low < len(graphs):
        high = int(np.searchsorted(graphs.node_ptr, graphs.node_ptr[low] + block_nodes, side="right")) - 1
        high = max(low + 1, min(high, len(graphs)))
        ranges.append((low, high))
        low = high
    return ranges

"""sub2vec: a graph is a document, written by random walks over it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.bounded import Estimate, check_choice, check_whole
from infograph.baselines.documents import DocumentEmbedding
from infograph.baselines.kernel import Matrix
from infograph.baselines.tokens import Tokens, number_tokens
from infograph.baselines.walks import random_walks
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema

TOKENS_PER_SECOND = 800_000  # measured at dim=512; there are few words


class Sub2Vec(DocumentEmbedding):
    """Vectors of graphs by Adhikari et al. (PAKDD 2018): paragraph vectors over random walks.

        vectors = Sub2Vec().fit_transform(graphs)
        Sub2Vec(variant="neighbourhood").fit(graphs).transform(others)

    Random walks over a graph write its document. In the structural variant (Sub2Vec-S) a visited node's word
    is its degree divided by the number of nodes of its graph, in `n_bins` equal bins; words so mean the same
    in every graph. In the neighbourhood variant (Sub2Vec-N) it is the node's id: that is made for subgraphs
    of one network. Whole graphs share no nodes, so here the id is the node's number in its graph, which makes
    the vectors depend on the order of nodes; expect little from it. PV-DBOW (SV-DBON in the authors' code)
    learns a vector per graph that predicts its words. Node and edge features are not looked at; edge weights
    steer the walks. Other graphs are inferred; see `DocumentEmbedding`.

    Settings to search: `variant` in {"structural", "neighbourhood"}, as in the InfoGraph paper.

    Differs from the paper: the other of its two models, distributed memory, is not there; a document is many
    short walks, one after the other, instead of one long walk, so that every piece of an unconnected graph is
    visited; its length is `length` or twice the number of nodes, whichever is more.

    Args:
        dim: length of the vectors; 512 for every method in the InfoGraph paper.
        variant: "structural" (meaningful between graphs that share no nodes) or "neighbourhood".
        length: words per document; with 1000 independent draws a bin's share would be within 3%.
        walk: nodes per walk; 80 is node2vec's.
        n_bins: bins of the degree ratio in (0, 1]; 20 tells 5% apart.
        epochs: passes over all documents; 10 is gensim's default for paragraph vectors.
        min_count: occurrences a word needs; 5 is gensim's default.
        max_tokens: words learned in all epochs together; 100 million take some 2 minutes. Where the graphs
            have more, there are fewer epochs, at least one.
        random_state: seed; the same seed gives the same vectors.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.

    Attributes:
        epochs_: passes that were made.
    """

    def __init__(
        self,
        dim: int = 512,
        variant: Literal["structural", "neighbourhood"] = "structural",
        *,
        length: int = 1000,
        walk: int = 80,
        n_bins: int = 20,
        epochs: int = 10,
        min_count: int = 5,
        max_tokens: int = 100_000_000,
        random_state: int = 0,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.dim = dim
        self.variant = variant
        self.length = length
        self.walk = walk
        self.n_bins = n_bins
        self.epochs = epochs
        self.min_count = min_count
        self.max_tokens = max_tokens
        self.random_state = random_state
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def estimate(self, graphs: Any) -> Estimate:
        """Measured on MUTAG, IMDB-BINARY and REDDIT-BINARY."""
        known = as_graphset(graphs)
        words = int(np.maximum(2 * known.sizes, self.length).sum())
        tokens = max(words, min(words * self.epochs, self.max_tokens))
        seconds = 2 + tokens * max(0.1, self.dim / 512) / TOKENS_PER_SECOND
        return Estimate(seconds, 450 + (60 * (words + known.n_edges) + 12 * self.dim * len(known)) / 1e6)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("variant", self.variant, ("structural", "neighbourhood"))
        for name in ("length", "walk", "n_bins"):
            check_whole(name, getattr(self, name), 1)

    def _schema(self, graphs: GraphSet) -> Schema:
        weight = graphs.schema.weight
        return replace(graphs.schema, node=(), edge=() if weight is None else (weight,))

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        made = self._made_with
        owner, visits = visited(graphs, made["length"], made["walk"], made["random_state"])
        if made["variant"] == "structural":
            degree = np.bincount(graphs.edge_index[0], minlength=graphs.n_nodes)
            ratio = np.minimum(1.0, degree / graphs.sizes[graphs.node_graph])
            word = np.ceil(ratio * made["n_bins"]).astype(np.int64)  # 0: no arc leaves it
        else:
            word = np.arange(graphs.n_nodes) - np.repeat(graphs.node_ptr[:-1], graphs.sizes)
        names, code = np.unique(word, return_inverse=True)
        counts = csr_matrix((np.ones(len(visits)), (owner, code[visits])), shape=(len(graphs), len(names)))
        counts.sum_duplicates()
        return number_tokens(names), counts


def visited(
    graphs: GraphSet, length: int, walk: int, random_state: int
) -> tuple[IntArray, NDArray[np.int32]]:
    """The nodes that the walks of every graph visit, and the graph of each visit.

    A graph of n nodes gets max(length, 2 n) / walk walks, at least one and rounded up, from nodes that are as
    evenly spread over its numbering as can be.
    """
    share = -(-np.maximum(length, 2 * graphs.sizes) // walk)  # (G,) walks
    owner = np.repeat(np.arange(len(graphs)), share)
    turn = np.arange(len(owner)) - np.repeat(np.cumsum(share) - share, share)
    starts = graphs.node_ptr[owner] + (turn * graphs.sizes[owner] // share[owner]) % graphs.sizes[owner]
    paths = random_walks(
        graphs, per_node=1, length=walk, random_state=random_state, starts=starts, turns=turn
    )
    rows, places = np.nonzero(paths >= 0)
    return owner[rows], paths[rows, places]

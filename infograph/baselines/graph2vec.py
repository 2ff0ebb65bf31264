"""graph2vec and sub2vec: a graph is a document, its subtrees or its walks are the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.base import (
    Estimate,
    GraphEmbedding,
    Vectors,
    check_choice,
    check_whole,
    label_schema,
    read_like,
)
from infograph.baselines.skipgram import document_vectors, infer_documents
from infograph.baselines.walks import random_walks
from infograph.baselines.words import (
    NODE_FEATURES,
    Matrix,
    NodeFeatures,
    Tokens,
    Vocabulary,
    count_subtrees,
    join,
    number_tokens,
    or_degree,
)
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema
from infograph.estimators.folder import State

MANY = 100_000  # words; from here on their vectors do not stay in the cache
GRAPH2VEC_TOKENS_PER_SECOND = (1_000_000, 500_000)  # measured at dim=512 below and beyond that
SUB2VEC_TOKENS_PER_SECOND = 800_000  # measured at dim=512; there are few words


class DocumentEmbedding(GraphEmbedding):
    """Base of paragraph vectors (PV-DBOW, Le and Mikolov 2014) of graphs.

    Subclasses have `_count(graphs)`. Graphs with the same words the same number of times are one document
    and have one vector, whether seen in `fit` or not; so `transform` of a fitted graph gives the vector that
    `fit_transform` gave it. Any other graph's vector is inferred with the words fixed, from random numbers
    that its own words seed. Words that no fitted graph has are left out, and a graph without any known word
    gets zeros.

    Attributes:
        vocabulary_: the known words.
        vectors_: (K, dim) one per distinct document, in the order of their keys.
    """

    epochs: int
    max_tokens: int
    min_count: int
    vocabulary_: Vocabulary
    vectors_: Vectors
    _keys: Vocabulary
    _outputs: Vectors
    _counts: NDArray[np.int64]

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        """Distinct words (2, C), and how often each occurs in each graph: sparse (G, C)."""
        raise NotImplementedError

    def transform(self, graphs: Any) -> Vectors:
        """One vector per graph; it depends on no other graph of the call. (G', dim)."""
        self._check_fitted()
        words, counts = self._count(read_like(graphs, self.schema_))
        keys = document_keys(words, counts)
        place = self._keys.find(keys)
        vectors = self.vectors_[np.maximum(place, 0)]
        new = np.flatnonzero(place < 0)
        if len(new):
            vectors[new] = self._infer(self.vocabulary_.counts(words, counts[new])[0], keys[:, new])
        return vectors

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("epochs", "max_tokens", "min_count"):
            check_whole(name, getattr(self, name), 1)

    def _learn(self, graphs: GraphSet) -> Vectors:
        words, counts = self._count(graphs)
        keys = document_keys(words, counts)
        self._keys = Vocabulary(np.unique(keys, axis=1))
        place = self._keys.find(keys)  # (G,)
        first = np.unique(place, return_index=True)[1]
        often = np.asarray(counts[first].sum(axis=0)).reshape(-1)
        kept = often >= min(self.min_count, int(often.max(initial=1)))
        self.vocabulary_ = Vocabulary(words[:, kept])
        tokens, ptr = _spelled(self.vocabulary_.counts(words, counts[first])[0])
        self.epochs_ = _epochs(self.epochs, len(tokens), self.max_tokens)
        self.vectors_, self._outputs, self._counts = document_vectors(
            tokens,
            ptr,
            self._keys.tokens[0],
            len(self.vocabulary_),
            dim=self.dim,
            epochs=self.epochs_,
            random_state=self.random_state,
        )
        self.vectors_[np.diff(ptr) == 0] = 0
        return self.vectors_[place]

    def _infer(self, counts: Any, keys: Tokens) -> Vectors:
        tokens, ptr = _spelled(counts)
        seed = int(self._made_with["random_state"])
        vectors = infer_documents(
            tokens, ptr, keys[0], self._outputs, self._counts, epochs=self.epochs_, random_state=seed
        )
        vectors[np.diff(ptr) == 0] = 0
        return vectors

    def _state(self) -> State:
        return {
            "words": self.vocabulary_.tokens,
            "outputs": self._outputs,
            "counts": self._counts,
            "keys": self._keys.tokens,
            "vectors": self.vectors_,
        }

    def _set_state(self, state: State) -> None:
        self.vocabulary_, self._keys = Vocabulary(state["words"]), Vocabulary(state["keys"])
        self._outputs, self._counts, self.vectors_ = (
            state[name] for name in ("outputs", "counts", "vectors")
        )

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "epochs": self.epochs_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.epochs_ = int(learned["epochs"])


class Graph2Vec(DocumentEmbedding):
    """Vectors of graphs by Narayanan et al. (2017): paragraph vectors over Weisfeiler-Lehman subtrees.

        vectors = Graph2Vec().fit_transform(graphs)
        Graph2Vec().fit(graphs).transform(others)

    The words of a graph are the colours of its nodes after 0 ... `rounds` rounds; PV-DBOW with negative
    sampling learns a vector per graph that predicts them. Nodes without labels start with their degrees, as
    in karateclub. Other graphs are inferred; see `DocumentEmbedding`.

    Settings to search: `rounds` in {1, 2, 3, 4}.

    Differs from the paper: graphs with the same words share one vector; words that occur fewer than
    `min_count` times are left out; passes over large sets are fewer, by the rule of `max_tokens`.

    Args:
        dim: length of the vectors; 512 for every method in the InfoGraph paper.
        rounds: WL rounds; 2 is karateclub's default.
        epochs: passes over all documents. 100 is ten times karateclub's default, because documents of
            molecules are short: 54 words on average on MUTAG.
        min_count: occurrences a word needs; 5 is gensim's and karateclub's default.
        max_tokens: words learned in all epochs together; 60 million take some 2 minutes. Where the graphs
            have more, there are fewer epochs, at least one.
        node_columns, edge_columns: the labels; None takes the columns that the schema marks as used.
        node_features: what a word of round 0 is: "auto" (the labels, the degree where there are none),
            "constant", or "degree".
        random_state: seed; the same seed gives the same vectors.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.

    Attributes:
        epochs_: passes that were made.
    """

    def __init__(
        self,
        dim: int = 512,
        rounds: int = 2,
        epochs: int = 100,
        *,
        min_count: int = 5,
        max_tokens: int = 60_000_000,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: NodeFeatures = "auto",
        random_state: int = 0,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.dim = dim
        self.rounds = rounds
        self.epochs = epochs
        self.min_count = min_count
        self.max_tokens = max_tokens
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.node_features = node_features
        self.random_state = random_state
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def estimate(self, graphs: Any) -> Estimate:
        """Measured on the six benchmark sets; at most every second word is a new one, and most are rare."""
        known = as_graphset(graphs)
        words = known.n_nodes * (self.rounds + 1)
        tokens = max(words, min(words * self.epochs, self.max_tokens))
        seconds = 2 + tokens * max(0.1, self.dim / 512) / GRAPH2VEC_TOKENS_PER_SECOND[words > MANY]
        kept = words / (6 * self.min_count)
        return Estimate(
            seconds, 450 + (40 * (words + known.n_edges) + 4 * self.dim * (kept + 2 * len(known))) / 1e6
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("rounds", self.rounds, 0)
        check_choice("node_features", self.node_features, NODE_FEATURES)

    def _schema(self, graphs: GraphSet) -> Schema:
        node = self.node_columns if self.node_features == "auto" else ()
        return label_schema(graphs, node, self.edge_columns)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        features = or_degree(graphs, self._made_with["node_features"])
        return count_subtrees(graphs, self._made_with["rounds"], features)


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
        seconds = 2 + tokens * max(0.1, self.dim / 512) / SUB2VEC_TOKENS_PER_SECOND
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


def document_keys(words: Tokens, counts: Any) -> Tokens:
    """128 bits of every document: of its words and how often it has each, in whatever order. (2, G)."""
    terms = join(words[:, counts.indices], number_tokens(counts.data))  # (2, nonzero)
    running = np.concatenate([np.zeros((2, 1), np.uint64), np.cumsum(terms, axis=1, dtype=np.uint64)], axis=1)
    return np.asarray(running[:, counts.indptr[1:]] - running[:, counts.indptr[:-1]])


def _spelled(counts: Any) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Documents written out word by word, and where each begins."""
    matrix = csr_matrix(counts)
    often = matrix.data.astype(np.int64)
    tokens = np.repeat(matrix.indices, often).astype(np.int32)
    return tokens, np.concatenate([[0], np.cumsum(often)])[matrix.indptr].astype(np.int64)


def _epochs(epochs: int, n_tokens: int, max_tokens: int) -> int:
    return max(1, min(epochs, max_tokens // max(1, n_tokens)))

"""graph2vec and sub2vec: a graph is a document, its subtrees or its walks are the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix

from infograph.baselines import words
from infograph.baselines.base import GraphEmbedding, Values, Vectors, label_schema, read_like, walk_schema
from infograph.baselines.skipgram import document_vectors, infer_documents
from infograph.baselines.walks import Ints, Nodes, random_walks
from infograph.baselines.words import Matrix, NodeFeatures, Tokens
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema


class DocumentEmbedding(GraphEmbedding):
    """Base of paragraph vectors (PV-DBOW, Le and Mikolov 2014) of graphs.

    Subclasses have `_count(graphs)`. Graphs with the same words the same number of times are one document
    and have one vector: `transform` of a fitted graph gives the vector of `fit_transform`. Any other graph's
    is inferred with the words fixed, from random numbers that its own words seed. Words that no fitted graph
    has are left out, and a graph without any known word gets zeros.
    """

    _values: ClassVar[Values] = {**GraphEmbedding._values, "epochs": ("epochs_", int)}
    epochs: int
    max_tokens: int
    min_count: int
    words_: Tokens  # (2, W) of the known words
    outputs_: Vectors  # (W, dim) what predicts them
    counts_: Ints  # (W,) how often each occurs
    keys_: Tokens  # (2, K) the distinct documents
    vectors_: Vectors  # (K, dim) theirs
    epochs_: int  # passes that were made

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        """Distinct words (2, C), and how often each occurs in each graph: sparse (G, C)."""
        raise NotImplementedError

    def transform(self, graphs: Any) -> Vectors:
        """One vector per graph; it depends on no other graph of the call. (G', dim)."""
        self._check_fitted()
        tokens, counts = self._count(read_like(graphs, self.schema_))
        keys = document_keys(tokens, counts)
        place = words.find_tokens(self.keys_, keys)
        vectors = self.vectors_[np.maximum(place, 0)]
        new = np.flatnonzero(place < 0)
        if len(new):
            vectors[new] = self._infer(tokens, counts[new], keys[:, new])
        return vectors

    def _learn(self, graphs: GraphSet) -> Vectors:
        tokens, counts = self._count(graphs)
        keys = document_keys(tokens, counts)
        self.keys_ = np.unique(keys, axis=1)
        place = words.find_tokens(self.keys_, keys)  # (G,)
        documents = counts[np.unique(place, return_index=True)[1]]
        often = np.asarray(documents.sum(axis=0)).reshape(-1)
        kept = often >= min(self.min_count, int(often.max(initial=1)))
        self.words_ = words.sort_tokens(tokens[:, kept])[0]
        text, ptr = self._spelled(tokens, documents)
        self.epochs_ = max(1, min(self.epochs, self.max_tokens // max(1, len(text))))
        settings = {"dim": self.dim, "epochs": self.epochs_, "random_state": self.random_state}
        self.vectors_, self.outputs_, self.counts_ = document_vectors(
            text, ptr, self.keys_[0], self.words_.shape[1], **settings
        )
        self.vectors_[np.diff(ptr) == 0] = 0
        return self.vectors_[place]

    def _infer(self, tokens: Tokens, counts: Matrix, keys: Tokens) -> Vectors:
        text, ptr = self._spelled(tokens, counts)
        made = (self.outputs_, self.counts_)
        seed = self._made.random_state
        vectors = infer_documents(text, ptr, keys[0], *made, epochs=self.epochs_, random_state=seed)
        vectors[np.diff(ptr) == 0] = 0
        return vectors

    def _spelled(self, tokens: Tokens, counts: Matrix) -> tuple[Nodes, Ints]:
        """Documents written out by their known words, one after the other, and where each begins."""
        matrix = words.count_known(self.words_, words.find_tokens(self.words_, tokens), counts)
        often = matrix.data.astype(np.int64)
        text = np.repeat(matrix.indices, often).astype(np.int32)
        return text, np.concatenate([[0], np.cumsum(often)])[matrix.indptr].astype(np.int64)


@dataclass(eq=False, repr=False)
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
        epochs: passes over all documents; ten times karateclub's default, as those of molecules are short.
        min_count: occurrences a word needs; 5 is gensim's and karateclub's default.
        max_tokens: words learned in all epochs together; 60 million take some 2 minutes. Where the graphs
            have more, there are fewer epochs, at least one.
        node_columns, edge_columns: the labels; None takes the columns that the schema marks as used.
        node_features: what a word of round 0 is: "auto" (the labels, the degree where there are none),
            "constant", or "degree".
        random_state: seed; the same seed gives the same vectors.
    """

    dim: int = 512
    rounds: int = 2
    epochs: int = 100
    _: KW_ONLY
    min_count: int = 5
    max_tokens: int = 60_000_000
    node_columns: Sequence[str] | None = None
    edge_columns: Sequence[str] | None = None
    node_features: NodeFeatures = "auto"
    random_state: int = 0

    def _schema(self, graphs: GraphSet) -> Schema:
        node = self.node_columns if self.node_features == "auto" else ()
        return label_schema(graphs, node, self.edge_columns)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        return words.count_subtrees(
            graphs, self._made.rounds, words.or_degree(graphs, self._made.node_features)
        )


@dataclass(eq=False, repr=False)
class Sub2Vec(DocumentEmbedding):
    """Vectors of graphs by Adhikari et al. (PAKDD 2018): paragraph vectors over random walks.

        vectors = Sub2Vec().fit_transform(graphs)
        Sub2Vec(variant="neighbourhood").fit(graphs).transform(others)

    Random walks over a graph write its document. In the structural variant (Sub2Vec-S) a visited node's word
    is its degree divided by the number of nodes of its graph, in `n_bins` equal bins. In the neighbourhood
    variant (Sub2Vec-N), made for subgraphs of one network, it is the node's id: here its number in its graph,
    which makes the vectors depend on the order of nodes; expect little from it. PV-DBOW learns a vector per
    graph that predicts its words. Node and edge features are not looked at; edge weights steer the walks.
    Other graphs are inferred; see `DocumentEmbedding`.

    Settings to search: `variant` in {"structural", "neighbourhood"}, as in the InfoGraph paper.

    Differs from the paper: the other of its two models, distributed memory, is not there; a document is many
    short walks instead of a long one, so that every piece of an unconnected graph is visited; its length is
    `length` or twice the number of nodes, whichever is more.

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
    """

    dim: int = 512
    variant: Literal["structural", "neighbourhood"] = "structural"
    _: KW_ONLY
    length: int = 1000
    walk: int = 80
    n_bins: int = 20
    epochs: int = 10
    min_count: int = 5
    max_tokens: int = 100_000_000
    random_state: int = 0

    def _schema(self, graphs: GraphSet) -> Schema:
        return walk_schema(graphs)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        walk, sizes, seed = self._made.walk, graphs.sizes, self._made.random_state
        # max(length, 2 n) / walk walks, rounded up, from nodes spread evenly over a graph's numbering
        share = -(-np.maximum(self._made.length, 2 * sizes) // walk)  # (G,)
        owner = np.repeat(np.arange(len(graphs)), share)
        turn = np.arange(len(owner)) - np.repeat(np.cumsum(share) - share, share)
        starts = graphs.node_ptr[owner] + (turn * sizes[owner] // share[owner]) % sizes[owner]
        paths = random_walks(graphs, per_node=1, length=walk, random_state=seed, starts=starts, turns=turn)
        rows, places = np.nonzero(paths >= 0)
        owner, visits = owner[rows], paths[rows, places]
        if self._made.variant == "structural":
            degree = np.bincount(graphs.edge_index[0], minlength=graphs.n_nodes)
            ratio = np.minimum(1.0, degree / graphs.sizes[graphs.node_graph])
            word = np.ceil(ratio * self._made.n_bins).astype(np.int64)  # 0: no arc leaves it
        else:
            word = np.arange(graphs.n_nodes) - np.repeat(graphs.node_ptr[:-1], graphs.sizes)
        names, code = np.unique(word, return_inverse=True)
        counts = csr_matrix((np.ones(len(visits)), (owner, code[visits])), shape=(len(graphs), len(names)))
        return words.number_tokens(names), counts


def document_keys(tokens: Tokens, counts: Matrix) -> Tokens:
    """128 bits of every document: of its words and how often it has each, in whatever order. (2, G)."""
    terms = words.join(tokens[:, counts.indices], words.number_tokens(counts.data))  # (2, nonzero)
    running = np.concatenate([np.zeros((2, 1), np.uint64), np.cumsum(terms, axis=1, dtype=np.uint64)], axis=1)
    return np.asarray(running[:, counts.indptr[1:]] - running[:, counts.indptr[:-1]])

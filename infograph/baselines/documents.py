"""Graphs as documents: what graph2vec and sub2vec share once each has said what the words are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.bounded import check_whole
from infograph.baselines.embedding import GraphEmbedding, Vectors
from infograph.baselines.kernel import Matrix
from infograph.baselines.reading import read_like
from infograph.baselines.skipgram import document_vectors, infer_documents
from infograph.baselines.tokens import Tokens, join, number_tokens
from infograph.baselines.vocabulary import Vocabulary
from infograph.contract import State
from infograph.data.graphset import GraphSet


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

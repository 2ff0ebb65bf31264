"""Deep graph kernels: substructures that occur in the same company count as similar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.bounded import Estimate, check_choice, check_whole
from infograph.baselines.feature_kernel import FeatureKernel
from infograph.baselines.kernel import Floats
from infograph.baselines.products import squared_norms
from infograph.baselines.reading import label_schema
from infograph.baselines.skipgram import word_vectors
from infograph.baselines.substructures import LENGTH, find, sentences
from infograph.baselines.vocabulary import Vocabulary
from infograph.contract import State
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

Structure = Literal["wl", "graphlet", "walk", "shortest-path"]
STRUCTURES = ("wl", "graphlet", "walk", "shortest-path")


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
    InfoGraph paper takes the best of subtrees, graphlets and random walks; the kernel's own paper has
    shortest paths as well. Table 1 here searches nothing else.

    Differs from the paper, which has no walks, and from its code: sentences are drawn from all of a graph's
    substructures instead of from neighbouring graphlets or paths of one source, which makes them independent
    of the numbering of nodes; cosines instead of inner products; graphlets of five nodes instead of seven;
    negative sampling only, no hierarchical softmax.

    Args:
        structure: "wl", "graphlet", "walk" or "shortest-path".
        dim: length of the substructures' vectors; 50 is our choice.
        window: contexts to each side; 10 is our choice.
        rounds: WL rounds for structure="wl"; 2 as in the authors' code.
        draws: substructures per sentence, one sentence per graph and round; 100 keep every kind that makes up
            a twentieth of its graph with probability 0.99.
        epochs: passes over the sentences. gensim's default of 5 is for large corpora; the sentences of 188
            molecules have 56,000 words, and five passes leave the vectors near their random start.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used.
        random_state: seed of samples and of word2vec.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.

    Attributes:
        vocabulary_: the substructures of the fitted graphs.
        embedding_: (C, dim) their unit vectors.
    """

    _remedy = "take structure='wl', fewer rounds or fewer graphs"
    vocabulary_: Vocabulary
    embedding_: NDArray[np.float32]

    def __init__(
        self,
        structure: Structure = "wl",
        *,
        dim: int = 50,
        window: int = 10,
        rounds: int = 2,
        draws: int = 100,
        epochs: int = 30,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        random_state: int = 0,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.structure = structure
        self.dim = dim
        self.window = window
        self.rounds = rounds
        self.draws = draws
        self.epochs = epochs
        self.normalise = normalise
        self.node_columns = node_columns
        self.random_state = random_state
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def estimate(self, graphs: Any) -> Estimate:
        """From the sentences to learn and the substructures to count; measured on the benchmark sets."""
        known = as_graphset(graphs)
        size, pairs = known.n_nodes + known.n_edges, len(known) ** 2
        groups = self.rounds + 1 if self.structure == "wl" else 1
        learned = len(known) * groups * self.draws * self.epochs * self.window * self.dim
        found, megabytes = {
            "wl": (1e-6 * groups * size, (40 + self.dim) * groups * size / 1e6),
            "graphlet": (1e-6 * size + 0.011 * len(known), 120 * size / 1e6),
            "walk": (3e-5 * known.n_nodes, 70 * LENGTH * known.n_nodes / 1e6),
            "shortest-path": (
                4e-9 * float((known.sizes * (known.sizes + np.diff(known.edge_ptr))).sum()),
                100.0,
            ),
        }[self.structure]
        return Estimate(2 + found + 5e-9 * learned, 450 + megabytes + 24 * pairs / 1e6)

    def _check_settings(self) -> None:
        check_choice("structure", self.structure, STRUCTURES)
        for name, least in (("dim", 1), ("window", 1), ("rounds", 0), ("draws", 2), ("epochs", 1)):
            check_whole(name, getattr(self, name), least)
        check_whole("random_state", self.random_state, 0)

    def _schema(self, graphs: GraphSet) -> Schema:
        node = () if self.structure == "graphlet" else self.node_columns
        return label_schema(graphs, node, None, edges=self.structure == "wl")

    def _learn(self, graphs: GraphSet) -> None:
        made = find(graphs, self.structure, self.rounds, self.random_state)
        self.vocabulary_ = Vocabulary(made.tokens)
        place = self.vocabulary_.find(made.tokens)  # (C,)
        drawn = place[sentences(made.counts, made.groups, self.draws, self.random_state)].astype(np.int32)
        vectors = word_vectors(
            drawn,
            len(self.vocabulary_),
            dim=self.dim,
            window=self.window,
            epochs=self.epochs,
            random_state=self.random_state,
        )
        self.embedding_ = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
        self.features_, self.squares_ = self._weigh(made.tokens, made.counts)

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        settings = self._made_with
        made = find(graphs, settings["structure"], settings["rounds"], settings["random_state"])
        return self._weigh(made.tokens, made.counts)

    def _weigh(self, tokens: Any, counts: Any) -> tuple[Floats, Floats]:
        known = self.vocabulary_.counts(tokens, counts)[0]  # (G, C)
        features = np.asarray(known @ self.embedding_.astype(np.float64))  # (G, dim)
        return features, squared_norms(features)

    def _state(self) -> State:
        return {**super()._state(), "tokens": self.vocabulary_.tokens, "embedding": self.embedding_}

    def _set_state(self, state: State) -> None:
        super()._set_state(state)
        self.vocabulary_, self.embedding_ = Vocabulary(state["tokens"]), state["embedding"]

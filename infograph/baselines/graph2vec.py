"""graph2vec: a graph is a document, its rooted subtrees are the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infograph.baselines.bounded import Estimate, check_choice, check_whole
from infograph.baselines.documents import DocumentEmbedding
from infograph.baselines.kernel import Matrix
from infograph.baselines.reading import label_schema
from infograph.baselines.subtrees import NODE_FEATURES, NodeFeatures, count_subtrees, or_degree
from infograph.baselines.tokens import Tokens
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

MANY = 100_000  # words; from here on their vectors do not stay in the cache
TOKENS_PER_SECOND = (1_000_000, 500_000)  # measured at dim=512 below and beyond that


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
        seconds = 2 + tokens * max(0.1, self.dim / 512) / TOKENS_PER_SECOND[words > MANY]
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

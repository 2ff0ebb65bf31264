"""Weisfeiler-Lehman subtrees as words: the colours of all rounds, named so that all data sets agree."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import hstack

from infograph.baselines.kernel import Matrix
from infograph.baselines.tokens import Tokens
from infograph.baselines.wl import _edge_tokens, _first_tokens, _next_tokens
from infograph.data.colours import Colouring, refine
from infograph.data.graphset import GraphSet

NodeFeatures = Literal["auto", "constant", "degree"]
NODE_FEATURES = ("auto", "constant", "degree")


def count_subtrees(graphs: GraphSet, rounds: int, node_features: str = "auto") -> tuple[Tokens, Matrix]:
    """Distinct subtrees of heights 0 ... `rounds` (2, C), and how many nodes of a graph root each (G, C)."""
    tokens, counts = subtrees_by_round(graphs, rounds, node_features)
    return np.hstack(tokens), hstack(counts, format="csr")


def subtrees_by_round(
    graphs: GraphSet, rounds: int, node_features: str = "auto"
) -> tuple[list[Tokens], list[Matrix]]:
    """`count_subtrees` for every round."""
    colours, tokens = named_colours(graphs, rounds, node_features)
    return tokens, list(colours.graph_counts)


def named_colours(
    graphs: GraphSet, rounds: int, node_features: str = "auto"
) -> tuple[Colouring, list[Tokens]]:
    """The colours of all rounds and their tokens, (2, C_k) each.

    "auto" means the node columns, and the degree where there are none.
    """
    features = node_features
    if node_features == "auto":
        features = "auto" if graphs.schema.features("node") else "degree"
    colours = refine(graphs, rounds, node_features=features)
    heard = _edge_tokens(graphs)
    tokens = [_first_tokens(graphs, colours, features)]
    for k, made in enumerate(colours.rounds, start=1):
        tokens.append(_next_tokens(tokens[-1], heard, made, k))
    return colours, tokens

"""Weisfeiler-Lehman subtrees as words: the colours of all rounds, named so that all data sets agree."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import hstack

from infograph.baselines.kernel import Matrix
from infograph.baselines.tokens import Tokens, join, mix, number_tokens, row_tokens
from infograph.data.colours import Colouring, Round, group_rows, refine
from infograph.data.graphset import GraphSet

NodeFeatures = Literal["auto", "constant", "degree"]
NODE_FEATURES = ("auto", "constant", "degree")


def count_subtrees(graphs: GraphSet, rounds: int, node_features: str) -> tuple[Tokens, Matrix]:
    """Distinct subtrees of heights 0 ... `rounds` (2, C), and how many nodes of a graph root each (G, C)."""
    colours, tokens = named_colours(graphs, rounds, node_features)
    return np.hstack(tokens), hstack(colours.graph_counts, format="csr")


def named_colours(graphs: GraphSet, rounds: int, node_features: str) -> tuple[Colouring, list[Tokens]]:
    """The colours of all rounds and their tokens, (2, C_k) each.

    "auto" means the node columns, and a constant where there are none.
    """
    colours = refine(graphs, rounds, node_features=node_features)
    heard = _edge_tokens(graphs)
    tokens = [_first_tokens(graphs, colours, node_features)]
    for k, made in enumerate(colours.rounds, start=1):
        tokens.append(_next_tokens(tokens[-1], heard, made, k))
    return colours, tokens


def or_degree(graphs: GraphSet, node_features: str = "auto") -> str:
    """ "auto" where there are node columns, and "degree" where there are none."""
    unlabelled = node_features == "auto" and not graphs.schema.features("node")
    return "degree" if unlabelled else node_features


def _first_tokens(graphs: GraphSet, colours: Colouring, features: str) -> Tokens:
    """Tokens of the round-0 colours. (2, C_0)."""
    first = np.unique(colours.node_colours[0], return_index=True)[1]
    if features == "degree":
        degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
        return number_tokens(degree[first])
    return row_tokens(graphs, "node", graphs.schema.features("node"))[:, first]


def _edge_tokens(graphs: GraphSet) -> Tokens:
    """Tokens of the edge codes that `refine` gives: numbered as they appear among arcs sorted by target."""
    columns = graphs.schema.features("edge")
    if not columns or not graphs.n_edges:
        return np.zeros((2, 1), np.uint64)
    order = np.argsort(graphs.edge_index[1], kind="stable")
    first = group_rows([graphs.edge[column.name][order] for column in columns])[1]
    return row_tokens(graphs, "edge", columns)[:, order[first]]


def _next_tokens(before: Tokens, heard: Tokens, made: Round, k: int) -> Tokens:
    """Tokens of one round's colours: of the round, the colour before, and the multiset of what is heard."""
    counts = made.incoming
    occurring, place = np.unique(counts.indices, return_inverse=True)  # of C' * L pairs, which may be many
    colour, code = np.divmod(occurring, heard.shape[1])
    pairs = join(before[:, colour], heard[:, code])  # (2, P)
    sums = np.zeros((2, counts.shape[0]), np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        terms = pairs[:, place] * counts.data.astype(np.uint64)
        sums[:, filled] = np.add.reduceat(terms, counts.indptr[filled], axis=1)
    return mix(join(before[:, made.parent], sums) + np.uint64(k))

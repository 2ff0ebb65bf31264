"""The substructures of deep graph kernels, their counts per graph, and sentences in which they co-occur."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from infograph.baselines.compiled import mix64, mix_keys
from infograph.baselines.graphlets import Graphlets
from infograph.baselines.kernel import Matrix
from infograph.baselines.shortest_path import count_shortest_paths
from infograph.baselines.subtrees import named_colours, or_degree
from infograph.baselines.tokens import Tokens, join, number_tokens, row_tokens
from infograph.baselines.walks import random_walks
from infograph.data.graphset import GraphSet

STEPS = 3  # arcs in a substructure of structure="walk"
LENGTH = 22  # nodes in a walk that such substructures are read from


@dataclass(frozen=True, eq=False)
class Substructures:
    """What graphs are made of. C kinds of substructures.

    Attributes:
        tokens: (2, C) names that mean the same in every data set.
        counts: (G, C) how often each kind occurs in each graph, sparse.
        groups: which kinds can co-occur with which: columns that begin a new group, and C.
    """

    tokens: Tokens
    counts: Matrix
    groups: tuple[int, ...]


def find(graphs: GraphSet, structure: str, rounds: int, random_state: int) -> Substructures:
    """Count the substructures of all graphs: "wl", "graphlet", "walk" or "shortest-path"."""
    if structure == "wl":
        colours, parts = named_colours(graphs, rounds, or_degree(graphs))
        widths = np.cumsum([0, *(part.shape[1] for part in parts)])
        counts = hstack(colours.graph_counts, format="csr")
        return Substructures(np.hstack(parts), counts, tuple(widths.tolist()))
    if structure == "graphlet":
        counts = csr_matrix(Graphlets(5, random_state=random_state).fit_transform(graphs))
        tokens = number_tokens(np.arange(counts.shape[1]))
    elif structure == "shortest-path":
        tokens, counts = count_shortest_paths(graphs)
    else:
        tokens, counts = _walk_labels(graphs, random_state)
    return Substructures(tokens, counts, (0, tokens.shape[1]))


def sentences(counts: Any, groups: tuple[int, ...], draws: int, random_state: int) -> NDArray[np.int32]:
    """Rows of `draws` substructures of one graph and one group, drawn as often as they occur. (S, draws)."""
    rows = []
    for group, (low, high) in enumerate(pairwise(groups)):
        part = csr_matrix(counts[:, low:high])
        running = np.concatenate([[0.0], np.cumsum(part.data)])
        start, total = running[part.indptr[:-1]], np.diff(running[part.indptr])  # (G,)
        filled = np.flatnonzero(total > 0)
        drawn = mix_keys(random_state, group, filled[:, None], np.arange(draws)[None, :])
        unit = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        at = np.searchsorted(running, start[filled, None] + unit * total[filled, None], side="right") - 1
        at = np.minimum(at, part.indptr[1:][filled, None] - 1)
        rows.append(part.indices[np.maximum(at, part.indptr[:-1][filled, None])] + low)
    return np.concatenate(rows).astype(np.int32)


def _walk_labels(graphs: GraphSet, random_state: int) -> tuple[Tokens, Matrix]:
    """The labels of every `STEPS` + 1 consecutive nodes of one random walk per node.

    Nodes without labels count by their degree. Walks that end early have the shorter sequences at their end.
    """
    columns = graphs.schema.features("node")
    degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
    label = row_tokens(graphs, "node", columns) if columns else number_tokens(degree)
    paths = random_walks(graphs, per_node=1, length=LENGTH, random_state=random_state)  # (N, LENGTH)
    windows = [paths[:, i : i + LENGTH - STEPS] for i in range(STEPS + 1)]
    windows = [window[:, ::STEPS] for window in windows]  # overlapping in one node
    known = windows[0] >= 0
    end = number_tokens(np.array([-1]))
    parts = []
    for window in windows:
        nodes = window[known]
        parts.append(np.where(nodes >= 0, label[:, np.maximum(nodes, 0)], end))
    words = join(*parts)  # (2, words)
    name = mix64(words[0] ^ mix64(words[1]))
    _, first, code = np.unique(name, return_index=True, return_inverse=True)
    owner = np.broadcast_to(graphs.node_graph[:, None], known.shape)[known]
    counts = csr_matrix((np.ones(len(code)), (owner, code)), shape=(len(graphs), len(first)))
    counts.sum_duplicates()
    return words[:, first], counts

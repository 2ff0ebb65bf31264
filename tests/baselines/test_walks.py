"""Biased walks against the exact transition probabilities of node2vec."""

from __future__ import annotations

import os
import signal
import threading
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

from infograph import ShortestPath, as_graphset
from infograph.baselines.walks import random_walks

# a triangle with a tail, a second triangle, a leaf and a self-loop: every case of alpha occurs
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (2, 6), (6, 6)]
WEIGHTS = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.25, 1.0, 2.0]


def weighted() -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(7))
    graph.add_edges_from((u, v, {"w": w}) for (u, v), w in zip(EDGES, WEIGHTS, strict=True))
    return graph


def exact(graph: nx.Graph, before: int, at: int, p: float, q: float) -> np.ndarray:
    """Equation by equation: w_vx times 1/p, 1 or 1/q, normalised. (N,)."""
    chance = np.zeros(len(graph))
    for x in graph[at]:
        if x == before:
            alpha = 1 / p
        else:
            alpha = 1.0 if graph.has_edge(before, x) else 1 / q
        chance[x] = alpha * graph[at][x]["w"]
    return chance / chance.sum()


@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.5), (1.0, 1.0), (0.001, 100.0)])
def test_steps_have_the_exact_probabilities(p, q):
    graph = weighted()
    graphs = as_graphset([graph], weight="w")
    walks = random_walks(graphs, per_node=300, length=30, p=p, q=q, random_state=3)
    triples = np.stack([walks[:, :-2], walks[:, 1:-1], walks[:, 2:]], axis=-1).reshape(-1, 3)
    statistic, freedom = 0.0, 0
    for before, at in np.unique(triples[:, :2], axis=0).tolist():
        mine = triples[(triples[:, 0] == before) & (triples[:, 1] == at), 2]
        chance = exact(graph, before, at, p, q)
        counts = np.bincount(mine, minlength=len(graph))
        assert counts[chance == 0].sum() == 0
        expected = chance[chance > 0] * len(mine)
        if len(expected) < 2 or expected.min() < 5:
            continue
        statistic += ((counts[chance > 0] - expected) ** 2 / expected).sum()
        freedom += len(expected) - 1
    assert freedom >= 2
    assert chi2.ppf(1e-4, freedom) < statistic < chi2.ppf(1 - 1e-4, freedom)


def test_a_graph_has_the_same_walks_in_any_set(corner_cases):
    settings = {"per_node": 3, "length": 9, "p": 0.5, "q": 2.0, "random_state": 7}
    together = random_walks(corner_cases, **settings)
    assert np.array_equal(together, random_walks(corner_cases, **settings))
    assert not np.array_equal(together, random_walks(corner_cases, **{**settings, "random_state": 8}))
    ptr = corner_cases.node_ptr
    for index in range(len(corner_cases)):
        mine = together[(together[:, 0] >= ptr[index]) & (together[:, 0] < ptr[index + 1])]
        alone = random_walks(corner_cases[index], **settings)
        assert np.array_equal(np.where(mine >= 0, mine - ptr[index], -1), alone)


def test_walks_follow_arcs_and_end_where_none_leaves(corner_cases):
    walks = random_walks(corner_cases, per_node=2, length=12)
    arcs = set(map(tuple, corner_cases.edge_index.T.tolist()))
    out = np.bincount(corner_cases.edge_index[0], minlength=corner_cases.n_nodes)
    for walk in walks.tolist():
        nodes = [v for v in walk if v >= 0]
        assert walk[len(nodes) :] == [-1] * (12 - len(nodes))
        assert all(step in arcs for step in pairwise(nodes))
        assert len(nodes) == 12 or out[nodes[-1]] == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to the process")
def test_ctrl_c_is_what_it_is():
    """Also while compiled code runs that gives several arrays, around which numba has errors of its own."""
    graphs, kernel = as_graphset([nx.cycle_graph(1500)]), ShortestPath()
    kernel.fit(graphs)  # compiles
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a script
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):
                kernel.fit(graphs)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)

"""Graphs and slow, plain ways to compute kernels, to compare the quick ones with."""

from __future__ import annotations

import os
from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

from infograph.data.records import Record, assemble

needs_real = pytest.mark.skipif(
    not os.environ.get("INFOGRAPH_DATA"), reason="INFOGRAPH_DATA is not set to a folder with the TU zips"
)
MOLECULES = ["MUTAG", pytest.param("PTC_MR", marks=needs_real)]


def random_set(seed, count=8, most=9, labels="abc", directed=False):
    """Random graphs with node labels and edge labels ("bond"), an isolated node here and there."""
    rng = np.random.default_rng(seed)
    return assemble([random_record(rng, most, labels, directed) for _ in range(count)])


def random_record(rng, most=9, labels="abc", directed=False):
    n = int(rng.integers(1, most + 1))
    chance = rng.uniform(0.1, 0.9)
    arcs = [(u, v) for u, v in combinations(range(n), 2) if rng.random() < chance]
    bonds = [str(rng.choice(["-", "="])) for _ in arcs]
    if not directed:
        arcs, bonds = arcs + [(v, u) for u, v in arcs], bonds * 2
    return Record(
        n,
        np.array(arcs, dtype=np.int64).reshape(-1, 2).T,
        node={"label": rng.choice(list(labels), n).astype(object)},
        edge={"bond": np.array(bonds, dtype=object)},
    )


def permuted(graphs, seed):
    """The same graphs with their nodes and arcs in another order."""
    rng = np.random.default_rng(seed)
    records = []
    for one in graphs:
        order = rng.permutation(one.n_nodes)  # node v becomes order[v]
        back = np.argsort(order)
        arcs = rng.permutation(one.n_edges)
        records.append(
            Record(
                one.n_nodes,
                order[one.edges][:, arcs],
                node={name: one.values("node", name)[back] for name in one.node},
                edge={name: one.values("edge", name)[arcs] for name in one.edge},
            )
        )
    return assemble(records, columns=graphs.schema)


seeds = st.integers(0, 2**32 - 1)


def labels_of(one, column="label"):
    return one.values("node", column).tolist() if column in one.node else [0] * one.n_nodes


def wl_counter(one, rounds, bonds=False, degree=False):
    """Colours as nested tuples, as the definition says."""
    arcs = list(zip(*one.edges.tolist(), strict=True))
    edge = one.values("edge", "bond").tolist() if bonds else [0] * len(arcs)
    colours = labels_of(one)
    if degree:
        colours = [sum(v == u for _, v in arcs) for u in range(one.n_nodes)]
    found = Counter((0, colour) for colour in colours)
    for k in range(1, rounds + 1):
        heard = [[] for _ in colours]
        for (u, v), label in zip(arcs, edge, strict=True):
            heard[v].append((colours[u], label))
        colours = [(c, tuple(sorted(h, key=repr))) for c, h in zip(colours, heard, strict=True)]
        found.update((k, colour) for colour in colours)
    return found


def simple_graph(one):
    """The simple undirected graph behind a graph."""
    graph = nx.Graph()
    graph.add_nodes_from(range(one.n_nodes))
    graph.add_edges_from((u, v) for u, v in zip(*one.edges.tolist(), strict=True) if u != v)
    return graph


SHAPES = {  # degree sequences, which tell all graphs on three and four nodes apart, in the order of columns
    3: ["000", "011", "112", "222"],
    4: ["0000", "0011", "1111", "0112", "0222", "1122", "1113", "2222", "1223", "2233", "3333"],
}


def graphlet_counter(one, size):
    """All sets of nodes, by their degrees among each other."""
    graph = simple_graph(one)
    degrees = (graph.subgraph(nodes).degree() for nodes in combinations(graph, size))
    return Counter(SHAPES[size].index("".join(sorted(str(d) for _, d in own))) for own in degrees)


def path_counter(one, labelled=True):
    """All pairs by networkx."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(one.n_nodes))
    graph.add_edges_from(zip(*one.edges.tolist(), strict=True))
    names = labels_of(one) if labelled else [0] * one.n_nodes
    return Counter(
        (names[u], names[v], length)
        for u, reached in nx.all_pairs_shortest_path_length(graph)
        for v, length in reached.items()
        if u != v
    )


def adjacency(one, bond=None):
    """How many arcs there are, of one kind of bond or of all."""
    kept = np.ones(one.n_edges, bool) if bond is None else one.values("edge", "bond") == bond
    matrix = np.zeros((one.n_nodes, one.n_nodes))
    np.add.at(matrix, tuple(one.edges[:, kept]), 1.0)
    return matrix


def walk_value(x, y, decay, labelled=True, bonds=False):
    """1' (I - decay W)^-1 m on the product graph of matching pairs."""
    a, b = labels_of(x), labels_of(y)
    match = np.array([[not labelled or u == v for v in b] for u in a], float).reshape(-1)  # (n m,)
    product = np.zeros((len(match), len(match)))
    for bond in {*x.values("edge", "bond").tolist(), *y.values("edge", "bond").tolist()} if bonds else [None]:
        product += np.kron(adjacency(x, bond), adjacency(y, bond))
    product = product * match[:, None] * match[None, :]
    return float(match @ np.linalg.solve(np.eye(len(match)) - decay * product, match))


def grakel_graphs(graphs):
    """What GraKeL reads: edge dictionaries both ways, and labels."""
    made = []
    for one in graphs:
        edges = {v: {} for v in range(one.n_nodes)}
        for u, v in zip(*one.edges.tolist(), strict=True):
            edges[u][v] = 1.0
        made.append([edges, dict(enumerate(labels_of(one))), {}])
    return made

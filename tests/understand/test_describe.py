from __future__ import annotations

from dataclasses import asdict, replace

import networkx as nx
import numpy as np
import pytest

from infograph.data.convert import as_graphset, store_graph_column
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.look import Clusters, describe_clusters, find_clusters
from infograph.look.describe import edge_counts

N_RINGS, N_STARS = 40, 60


def with_graph_column(graphs: GraphSet, name: str, values: list[object]) -> GraphSet:
    stored, column = store_graph_column(name, values)
    return graphs.with_column("graph", column, stored)


@pytest.fixture(scope="module")
def rings_and_stars() -> GraphSet:
    """Rings of 12 to 15 nodes with every third of kind "x", stars of 5 to 8 nodes of kind "o" only."""
    made = [nx.cycle_graph(12 + i % 4) for i in range(N_RINGS)]
    made += [nx.star_graph(4 + i % 4) for i in range(N_STARS)]
    for place, graph in enumerate(made):
        for node in graph:
            graph.nodes[node]["kind"] = "x" if place < N_RINGS and node % 3 == 0 else "o"
    graphs = as_graphset(made, node={"kind": "categorical"}, ids=[f"g{i}" for i in range(len(made))])
    graphs = with_graph_column(graphs, "y", ["ring"] * 38 + ["star"] * 62)
    return with_graph_column(
        graphs, "mass", [20.5 + i % 5 for i in range(40)] + [9.5 + i % 5 for i in range(60)]
    )


@pytest.fixture(scope="module")
def clusters() -> Clusters:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(N_RINGS + N_STARS, 8)) * 0.3
    vectors[:N_RINGS] += 6
    return find_clusters(vectors, min_size=20)


def test_planted_clusters_are_described_rightly(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    stars, rings = describe_clusters(clusters, rings_and_stars)
    assert (stars.label, rings.label) == (0, 1)
    assert rings.size == clusters.sizes[1]
    members = clusters.members(1)
    assert set(members) <= set(range(N_RINGS))
    known = sum(int(member) < 38 for member in members)
    assert rings.majority == {"y": ("ring", pytest.approx(known / len(members)))}
    assert rings.medians["mass"] == (22.5, np.median(rings_and_stars.graph["mass"]))
    assert rings.nodes == np.median(rings_and_stars.sizes[members])
    assert rings.edges == rings.nodes
    assert rings.representative in members
    assert rings.representative_id == f"g{rings.representative}"
    kinds = {(f.kind, f.name, f.value) for f in rings.findings}
    assert {("class", "y", "ring"), ("size", "nodes", None), ("node type", "kind", "x")} <= kinds
    assert ("class", "y", "star") not in kinds
    x = next(f for f in rings.findings if f.value == "x")
    counts = sum(int((rings_and_stars[int(m)].values("node", "kind") == "x").sum()) for m in members)
    nodes = int(rings_and_stars.sizes[members].sum())
    in_all = (rings_and_stars.values("node", "kind") == "x").mean()
    assert x.count == counts
    assert x.ratio == pytest.approx(counts / nodes / in_all)


def test_the_sentence(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    stars, rings = map(str, describe_clusters(clusters, rings_and_stars))
    assert rings.startswith(f"{clusters.sizes[1]} graphs ({clusters.sizes[1]} %): y = ring (9")
    assert "larger than most (13 nodes, median 8)" in rings or "larger than most (13.5 nodes" in rings
    assert "high mass (median 22.5" in rings
    assert "more kind x" in rings
    assert "smaller than most (6" in stars
    assert "y = star (100 %, 62 % of all)" in stars
    assert "\n" not in rings


def test_shuffled_labels_are_not_enriched(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(len(rings_and_stars))
        graphs = replace(
            rings_and_stars, graph={name: v[shuffled] for name, v in rings_and_stars.graph.items()}
        )
        for description in describe_clusters(clusters, graphs, ["y", "mass"]):
            assert not [f for f in description.findings if f.kind in ("class", "number")]
            assert "y =" not in str(description)


def test_nothing_to_say() -> None:
    graphs = as_graphset([nx.path_graph(4)] * 30)
    found = find_clusters(np.repeat([[0.0, 1.0], [3.0, 9.0]], 15, axis=0), min_size=5)
    for description in describe_clusters(found, graphs):
        assert str(description) == "15 graphs (50 %): no significant difference from the others"


def test_functional_groups_of_molecules() -> None:
    pytest.importorskip("rdkit")
    alkanes = ["C" * n for n in range(2, 8)] * 5
    nitros = [f"{'C' * n}[N+](=O)[O-]" for n in range(2, 8)] * 2
    graphs = as_graphset([*alkanes, *nitros])
    vectors = np.vstack([np.zeros((30, 2)), np.ones((12, 2))]) + np.arange(42)[:, None] * 1e-4
    _, nitro = describe_clusters(find_clusters(vectors, min_size=8), graphs)
    found = {f.name: f for f in nitro.findings if f.kind == "group"}
    assert set(found) == {"nitro groups"}
    assert found["nitro groups"].count == 12
    assert found["nitro groups"].ratio == pytest.approx(42 / 12)
    assert "nitro groups 3.5x" in str(nitro)
    assert {f.value for f in nitro.findings if f.kind == "node type"} == {"N", "O"}


def test_descriptions_are_plain_values(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    import json

    for description in describe_clusters(clusters, rings_and_stars):
        assert json.loads(json.dumps(asdict(description)))["size"] == description.size


def test_edges_are_counted_once() -> None:
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2), (3, 1)])
    assert edge_counts(as_graphset([directed])).tolist() == [4]
    assert edge_counts(as_graphset([nx.complete_graph(5), nx.empty_graph(2)])).tolist() == [10, 0]


def test_wrong_input_is_explained(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    with pytest.raises(InvalidParameter, match="clusters of 100 graphs, but 10 graphs came"):
        describe_clusters(clusters, rings_and_stars[:10])
    with pytest.raises(SchemaMismatch, match="no graph column 'colour'"):
        describe_clusters(clusters, rings_and_stars, ["colour"])

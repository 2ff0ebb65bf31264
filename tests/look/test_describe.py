from __future__ import annotations

import json
from dataclasses import asdict, replace

import networkx as nx
import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from infograph.data.convert import as_graphset, store_graph_column
from infograph.data.graphset import GraphSet
from infograph.look import Clusters, describe_clusters, find_clusters
from infograph.look.describe import (
    _corrected,
    edge_counts,
    holm,
    node_type_findings,
    number_findings,
    rank_sum,
    share_findings,
)

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
    for description in describe_clusters(clusters, rings_and_stars):  # plain values
        assert json.loads(json.dumps(asdict(description)))["size"] == description.size


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


def test_edges_are_counted_once() -> None:
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2), (3, 1)])
    assert edge_counts(as_graphset([directed])).tolist() == [4]
    assert edge_counts(as_graphset([nx.complete_graph(5), nx.empty_graph(2)])).tolist() == [10, 0]


# ---- the tests behind the words


def test_shares_are_tested_as_by_scipy() -> None:
    marked = np.isin(np.arange(20), [0, 1, 2, 3, 4, 10, 11])
    labels = np.array([0] * 6 + [-1] * 14)  # a cluster of 6 has 5 of the 7 marked graphs
    (finding,) = share_findings("class", "y", "1", marked, labels, 1)
    assert finding.p_value == pytest.approx(fisher_exact([[5, 1], [2, 12]], "greater").pvalue)
    assert finding.p_value == pytest.approx(280 / 38760)
    assert (finding.count, finding.inside, finding.overall) == (5, pytest.approx(5 / 6), 0.35)
    assert finding.ratio == pytest.approx(5 / 6 / 0.35)


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_ranks_are_tested_as_by_scipy(digits: int) -> None:
    rng = np.random.default_rng(digits)
    labels = rng.integers(-1, 3, size=200)
    values = np.round(rng.normal(size=200) + 0.3 * labels, digits)
    larger, p_values = rank_sum(values, labels, 3)
    for label in range(3):
        own, others = values[labels == label], values[labels != label]
        expected = mannwhitneyu(own, others, method="asymptotic")
        assert p_values[label] == pytest.approx(expected.pvalue)
        assert larger[label] == pytest.approx(expected.statistic / (len(own) * len(others)))


def test_ranks_without_anything_to_compare() -> None:
    larger, p_values = rank_sum(np.ones(6), np.array([0, 0, 0, 1, 1, 1]), 3)
    assert larger.tolist() == [0.5] * 3
    assert p_values.tolist() == [1.0] * 3
    assert rank_sum(np.arange(3.0), np.zeros(3, np.int64), 1)[1].tolist() == [1.0]


def test_holm_by_hand_and_each_kind_by_itself() -> None:
    assert holm(np.array([0.04, 0.01, 0.03, 0.005])) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]
    labels, marked = np.array([0] * 8 + [-1] * 24), np.array([True] * 8 + [False] * 24)
    row = share_findings("class", "y", "1", marked, labels, 1)
    groups = [share_findings("group", str(place), None, marked, labels, 1) for place in range(5)]
    corrected = _corrected([row, *groups])
    assert corrected[0][0].p_value == pytest.approx(row[0].p_value)
    assert corrected[1][0].p_value == pytest.approx(5 * row[0].p_value)


def test_one_huge_graph_is_one_observation() -> None:
    """A thousand nodes of a kind in one of ten graphs are a large ratio, but no evidence."""
    counts, sizes = np.array([1000] + [0] * 39), np.array([2000] + [20] * 39)
    (finding,) = node_type_findings("label", "3", counts, sizes, np.array([0] * 10 + [-1] * 30), 1)
    assert finding.ratio > 1.25
    assert finding.count == 1000
    assert finding.p_value > 0.05
    assert not finding.notable


def test_a_sure_but_tiny_difference_is_not_notable() -> None:
    values = np.concatenate([np.arange(50_000) + 900.0, np.arange(50_000)])
    (finding,) = number_findings("number", "gap", values, np.repeat([0, -1], 50_000), 1)
    assert finding.p_value < 1e-10
    assert not finding.notable

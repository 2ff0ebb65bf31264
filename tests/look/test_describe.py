from __future__ import annotations

import json
from dataclasses import asdict, replace

import networkx as nx
import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.records import store_graph_column
from infograph.look import Clusters, describe_clusters, find_clusters
from infograph.look.describe import edge_counts, holm, node_type_findings, number_findings, rank_sum

N_RINGS, N_STARS = 40, 60


@pytest.fixture(scope="module")
def rings_and_stars() -> GraphSet:
    """Rings of 12 to 15 nodes with every third of kind "x", stars of 5 to 8 nodes of kind "o" only."""
    made = [nx.cycle_graph(12 + i % 4) for i in range(N_RINGS)]
    made += [nx.star_graph(4 + i % 4) for i in range(N_STARS)]
    for place, graph in enumerate(made):
        for node in graph:
            graph.nodes[node]["kind"] = "x" if place < N_RINGS and node % 3 == 0 else "o"
    graphs = as_graphset(made, node={"kind": "categorical"}, ids=[f"g{i}" for i in range(len(made))])
    mass = [20.5 + i % 5 for i in range(40)] + [9.5 + i % 5 for i in range(60)]
    for name, raw in {"y": ["ring"] * 38 + ["star"] * 62, "mass": mass}.items():
        values, column = store_graph_column(name, raw)
        graphs = graphs.with_column("graph", column, values)
    return graphs


@pytest.fixture(scope="module")
def clusters() -> Clusters:
    vectors = np.random.default_rng(0).normal(size=(N_RINGS + N_STARS, 8)) * 0.3
    vectors[:N_RINGS] += 6
    return find_clusters(vectors)


def test_planted_clusters_are_described_rightly(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    stars, rings = describe_clusters(clusters, rings_and_stars)
    assert (stars.label, rings.label, rings.size) == (1, 2, clusters.sizes[1])
    members = clusters.members(2)
    assert rings.representative in members and rings.representative_id == f"g{rings.representative}"
    found = {(f.kind, f.name, f.value): f for f in rings.findings}
    assert ("size", "nodes", None) in found and ("class", "y", "star") not in found
    marked, total = found["class", "y", "ring"].count, len(rings_and_stars)
    table = [[marked, len(members) - marked], [38 - marked, total - len(members) - 38 + marked]]
    p_value = fisher_exact(table, "greater").pvalue  # of the four tests the surest or the second, by Holm
    assert found["class", "y", "ring"].p_value / p_value in (pytest.approx(4), pytest.approx(3))
    x = found["node type", "kind", "x"]
    own = rings_and_stars.values("node", "kind")[np.isin(rings_and_stars.node_graph, members)] == "x"
    assert x.count == own.sum()
    assert x.ratio == pytest.approx(own.mean() / (rings_and_stars.values("node", "kind") == "x").mean())


def test_the_sentence(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    described = describe_clusters(clusters, rings_and_stars)
    stars, rings = map(str, described)
    assert rings.startswith(f"{clusters.sizes[1]} graphs ({clusters.sizes[1]} %): y = ring (9")
    for words in ("larger than most (13", "high mass (median 22.5", "more kind x"):
        assert words in rings
    assert "smaller than most (6" in stars and "y = star (100 %, 62 % of all)" in stars
    assert json.loads(json.dumps(asdict(described[0])))["size"] == described[0].size  # plain values


def test_findings_as_a_table(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    described = describe_clusters(clusters, rings_and_stars)
    table = described.to_pandas()
    assert table.index.name == "cluster" and table.loc[2, "size"].tolist() == [clusters.sizes[1]] * len(
        described[1].findings
    )
    assert table["p_value"].tolist() == [f.p_value for one in described for f in one.findings]
    nothing = describe_clusters(find_clusters(np.ones((100, 2))), rings_and_stars).to_pandas()
    assert len(nothing) == 0 and list(nothing.columns) == list(table.columns)


def test_shuffled_labels_are_not_enriched(rings_and_stars: GraphSet, clusters: Clusters) -> None:
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(len(rings_and_stars))
        graphs = replace(
            rings_and_stars, graph={name: v[shuffled] for name, v in rings_and_stars.graph.items()}
        )
        for description in describe_clusters(clusters, graphs, ["y", "mass"]):
            assert not [f for f in description.findings if f.kind in ("class", "number")]


def test_nothing_to_say() -> None:
    graphs = as_graphset([nx.path_graph(4)] * 30)
    found = find_clusters(np.repeat([[0.0, 1.0], [3.0, 9.0]], 15, axis=0), n_clusters=2)
    for description in describe_clusters(found, graphs):
        assert str(description) == "15 graphs (50 %): no significant difference from the others"
    assert describe_clusters(find_clusters(np.ones((30, 2))), graphs) == []


def test_functional_groups_of_molecules() -> None:
    pytest.importorskip("rdkit")
    nitros = [f"{'C' * n}[N+](=O)[O-]" for n in range(2, 8)] * 2
    graphs = as_graphset([*["C" * n for n in range(2, 8)] * 5, *nitros])
    vectors = np.vstack([np.zeros((30, 2)), np.ones((12, 2))]) + np.arange(42)[:, None] * 1e-4
    _, nitro = describe_clusters(find_clusters(vectors), graphs)
    (group,) = (f for f in nitro.findings if f.kind == "group")
    assert (group.name, group.count, group.ratio) == ("nitro groups", 12, pytest.approx(42 / 12))
    assert "nitro groups 3.5x" in str(nitro)
    assert {f.value for f in nitro.findings if f.kind == "node type"} == {"N", "O"}


def test_edges_are_counted_once() -> None:
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2), (3, 1)])
    assert edge_counts(as_graphset([directed])).tolist() == [4]
    assert edge_counts(as_graphset([nx.complete_graph(5), nx.empty_graph(2)])).tolist() == [10, 0]


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
    larger, p_values = rank_sum(np.ones(6), np.array([0, 0, 0, 1, 1, 1]), 3)  # nothing to compare
    assert larger.tolist() == [0.5] * 3 and p_values.tolist() == [1.0] * 3


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03, 0.005])) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]


def test_one_huge_graph_is_one_observation_and_a_tiny_difference_not_notable() -> None:
    counts, sizes = np.array([1000] + [0] * 39), np.array([2000] + [20] * 39)
    (finding,) = node_type_findings("label", "3", counts, sizes, np.array([0] * 10 + [-1] * 30), 1)
    assert finding.ratio > 1.25 and finding.count == 1000
    assert finding.p_value > 0.05 and not finding.notable
    values = np.concatenate([np.arange(50_000) + 900.0, np.arange(50_000)])
    (finding,) = number_findings("number", "gap", values, np.repeat([0, -1], 50_000), 1)
    assert finding.p_value < 1e-10 and not finding.notable

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from infograph.look.describe import (
    correct,
    enrichment_p,
    holm,
    node_type_findings,
    number_findings,
    rank_sum,
    share_findings,
)


def test_enrichment_by_hand() -> None:
    # 20 graphs, 7 marked; a cluster of 6 has 5 of them
    by_hand = (comb(7, 5) * comb(13, 1) + comb(7, 6) * comb(13, 0)) / comb(20, 6)
    found = enrichment_p(np.array([5]), np.array([6]), np.array([7]), 20)
    assert found[0] == pytest.approx(by_hand)
    assert by_hand == pytest.approx(280 / 38760)
    marked = np.zeros(20, bool)
    marked[[0, 1, 2, 3, 4, 10, 11]] = True
    labels = np.array([0] * 6 + [-1] * 14)
    (finding,) = share_findings("class", "y", "1", marked, labels, 1)
    assert finding.p_value == pytest.approx(by_hand)
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


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03, 0.005])) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.zeros(0)).tolist() == []


def test_each_kind_is_corrected_by_itself() -> None:
    labels, marked = np.array([0] * 8 + [-1] * 24), np.array([True] * 8 + [False] * 24)
    row = share_findings("class", "y", "1", marked, labels, 1)
    groups = [share_findings("group", str(place), None, marked, labels, 1) for place in range(5)]
    (corrected,) = correct([row, *groups], 1)
    assert corrected[0].p_value == pytest.approx(row[0].p_value)
    assert corrected[1].p_value == pytest.approx(5 * row[0].p_value)


def test_one_huge_graph_is_one_observation() -> None:
    """A thousand nodes of a kind in one of ten graphs are a large ratio, but no evidence."""
    counts = np.array([1000] + [0] * 39)
    sizes = np.array([2000] + [20] * 39)
    labels = np.array([0] * 10 + [-1] * 30)
    (finding,) = node_type_findings("label", "3", counts, sizes, labels, 1)
    assert finding.ratio > 1.25
    assert finding.count == 1000
    assert finding.p_value > 0.05
    assert not finding.notable


def test_a_sure_but_tiny_difference_is_not_notable() -> None:
    values = np.concatenate([np.arange(50_000) + 900.0, np.arange(50_000)])
    labels = np.repeat([0, -1], 50_000)
    (finding,) = number_findings("number", "gap", values, labels, 1)
    assert finding.p_value < 1e-10
    assert not finding.notable

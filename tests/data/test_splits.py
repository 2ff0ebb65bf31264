"""Splits: every graph in exactly one part, the same parts for the same seed, sizes that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph.data.convert import as_graphset
from infograph.data.splits import Split, random_split, semi_supervised_split, share_stops
from infograph.errors import InvalidParameter

PARTS = ("labelled", "validation", "test", "unlabelled")


def parts(split: Split) -> list[list[int]]:
    return [getattr(split, name).tolist() for name in PARTS]


def assert_exhaustive(split: Split, n_graphs: int) -> None:
    assert sorted(graph for part in parts(split) for graph in part) == list(range(n_graphs))


def test_the_papers_split_of_qm9() -> None:
    split = semi_supervised_split(130_831)
    assert [len(part) for part in parts(split)] == [5_000, 10_000, 10_000, 105_831]
    assert_exhaustive(split, 130_831)
    assert repr(split) == "Split(5,000 labelled, 10,000 validation, 10,000 test, 105,831 unlabelled)"
    assert abs(split.labelled.mean() - 65_415) < 2_000  # drawn from everywhere: the deviation is 534


@given(
    sizes=st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    seed=st.integers(0, 2**32),
)
def test_sizes_and_seeds(sizes: tuple[int, int, int, int], seed: int) -> None:
    labelled, validation, test, _ = sizes
    asked = {"labelled": labelled, "validation": validation, "test": test, "seed": seed}
    split = semi_supervised_split(sum(sizes), **asked)
    assert [len(part) for part in parts(split)] == list(sizes)
    assert_exhaustive(split, sum(sizes))
    assert parts(split) == parts(semi_supervised_split(sum(sizes), **asked))
    assert split.train.tolist() == [*split.labelled.tolist(), *split.unlabelled.tolist()]


def test_another_seed_is_another_draw() -> None:
    sizes = {"labelled": 50, "validation": 50, "test": 50}
    draws = {tuple(semi_supervised_split(1_000, **sizes, seed=seed).test.tolist()) for seed in range(20)}
    assert len(draws) == 20


def test_fewer_labels_are_some_of_the_more_and_the_rest_stays() -> None:
    few, many = (semi_supervised_split(500, labelled=n, validation=100, test=100, seed=3) for n in (20, 200))
    assert set(few.labelled) < set(many.labelled)
    assert few.test.tolist() == many.test.tolist()
    assert few.validation.tolist() == many.validation.tolist()


def test_graphs_instead_of_their_number() -> None:
    graphs = as_graphset([(np.zeros((2, 0), int), 1)] * 30)
    sizes = {"labelled": 10, "validation": 5, "test": 5}
    assert parts(semi_supervised_split(graphs, **sizes)) == parts(semi_supervised_split(30, **sizes))
    assert parts(random_split(graphs)) == parts(random_split(30))


@pytest.mark.parametrize(
    ("graphs", "sizes", "message"),
    [
        (188, {}, "test=10,000, .*labelled=5,000 are 25,000 graphs, but there are only 188"),
        (100, {"labelled": 0}, "labelled=0: expected a whole number, 1 or more"),
        (100, {"test": -1}, "test=-1: expected a whole number, 0 or more"),
        (100, {"validation": 0.1}, "validation=0.1: expected a whole number, 0 or more"),
        (100, {"labelled": True}, "labelled=True: expected a whole number"),
        (0, {}, "graphs=0: expected a whole number, 1 or more"),
    ],
)
def test_sizes_that_do_not_fit(graphs: int, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        semi_supervised_split(graphs, **sizes)


@given(
    n_graphs=st.integers(3, 300),
    weights=st.tuples(st.integers(1, 20), st.integers(0, 20), st.integers(0, 20)),
    seed=st.integers(0, 99),
)
def test_random_split(n_graphs: int, weights: tuple[int, int, int], seed: int) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    split = random_split(n_graphs, shares, seed=seed)
    assert_exhaustive(split, n_graphs)
    assert len(split.unlabelled) == 0
    for part, share in zip((split.labelled, split.validation, split.test), shares, strict=True):
        assert bool(len(part)) == (share > 0)
        assert abs(len(part) - share * n_graphs) <= 2
    assert parts(split) == parts(random_split(n_graphs, shares, seed=seed))


def test_shares_by_hand() -> None:
    assert share_stops(10, (0.8, 0.1, 0.1)) == (8, 9)
    assert share_stops(130_831, (0.8, 0.1, 0.1)) == (104_665, 117_748)
    assert share_stops(3, (0.98, 0.01, 0.01)) == (1, 2)  # a part that was asked for has a graph
    assert share_stops(4, (0.02, 0.49, 0.49)) == (1, 2)
    assert share_stops(7, (1, 0, 0)) == (7, 7)


@pytest.mark.parametrize(
    "shares", [(0.8, 0.2), (0.8, 0.1, 0.2), (1.1, -0.1, 0), (0, 0.5, 0.5), (0.8, float("nan"), 0.2)]
)
def test_shares_that_are_none(shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter, match=r"expected three numbers that add up to 1"):
        random_split(100, shares)


def test_too_few_graphs_for_the_parts() -> None:
    with pytest.raises(InvalidParameter, match="2 graphs cannot be split into 3 parts"):
        random_split(2)
    assert_exhaustive(random_split(2, (0.5, 0, 0.5)), 2)

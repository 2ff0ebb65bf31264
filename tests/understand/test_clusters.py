from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import infograph.look.clusters as module
from infograph.errors import InvalidParameter
from infograph.look import find_clusters, outlier_scores
from infograph.look.clusters import join_nearest, medoid
from infograph.look.project import principal_components


def planted(
    n_each: int = 60, n_far: int = 12, dim: int = 16
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two dense places (of n_each + 20 and n_each vectors) and a few vectors far from both and each other."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(n_each + 20, dim)) * 0.3
    second = rng.normal(size=(n_each, dim)) * 0.3 + 5
    far = rng.normal(size=(n_far, dim))
    far *= 25 / np.linalg.norm(far, axis=1, keepdims=True)
    own = np.repeat([0, 1, -1], [len(first), len(second), n_far])
    order = rng.permutation(len(own))
    return np.concatenate([first, second, far])[order], own[order]


def test_planted_clusters_are_found_and_noise_stays_noise() -> None:
    vectors, own = planted()
    found = find_clusters(vectors)
    assert found.sizes[0] > found.sizes[1]
    assert len(found) == 2
    assert (found.labels[own == -1] == -1).all()
    inside = own >= 0
    assert (found.labels[inside] == own[inside]).mean() > 0.95
    assert not ((found.labels >= 0) & (found.labels != own)).any()
    assert (found.probability[found.labels == -1] == 0).all()
    assert (found.probability[found.labels >= 0] > 0).all()
    assert found.sizes == tuple(int((found.labels == label).sum()) for label in (0, 1))
    assert found.n_noise == (found.labels == -1).sum()
    assert str(found).startswith("2 clusters of ")


def test_the_same_vectors_give_the_same_clusters() -> None:
    vectors, _ = planted()
    first, second = find_clusters(vectors), find_clusters(vectors.copy())
    assert np.array_equal(first.labels, second.labels)
    assert np.array_equal(first.probability, second.probability)


def test_units_of_columns_do_not_matter() -> None:
    vectors, _ = planted()
    scaled = vectors * np.geomspace(1e-3, 1e3, vectors.shape[1]) + 7
    assert np.array_equal(find_clusters(vectors).labels, find_clusters(scaled).labels)


def test_of_many_graphs_a_sample_is_clustered_and_the_rest_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, own = planted(n_each=150, n_far=30)
    monkeypatch.setattr(module, "SAMPLE", 200)
    steps: list[tuple[int, int]] = []
    found = find_clusters(vectors, min_size=30, progress=lambda done, total: steps.append((done, total)))
    assert found.n_clustered == 200
    assert steps == [(0, 350), (200, 350), (350, 350)]
    assert len(found) == 2
    assert (found.labels[own == -1] == -1).all()
    assert (found.labels[own >= 0] == own[own >= 0]).mean() > 0.9
    assert np.array_equal(found.labels, find_clusters(vectors, min_size=30).labels)
    other = find_clusters(vectors, min_size=30, random_state=1)
    assert not np.array_equal(found.probability, other.probability)


def test_the_reach_of_a_cluster() -> None:
    core = np.array([[0.0], [1.0], [2.0], [3.0], [50.0]])
    labels, probability = np.array([0, 0, 0, 0, -1]), np.array([0.4, 1.0, 1.0, 0.5, 0.0])
    points = np.array([[-0.9], [-1.1], [2.2], [50.0]])  # members are 1 apart, so 1 is the reach
    joined, likely = join_nearest(points, core, labels, probability)
    assert joined.tolist() == [0, -1, 0, -1]
    assert likely.tolist() == [0.4, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("vectors", [np.ones((40, 3)), np.ones((1, 3)), np.eye(3)])
def test_vectors_without_clusters(vectors: NDArray[np.float64]) -> None:
    found = find_clusters(vectors)
    assert len(found) == 0
    assert (found.labels == -1).all()
    assert str(found) == f"no clusters among {len(vectors)} graphs"


def test_graphs_that_occur_many_times_are_clusters() -> None:
    vectors = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), 30, axis=0)
    found = find_clusters(vectors)
    assert found.sizes == (30, 30, 30)
    assert found.labels.tolist() == [0] * 30 + [1] * 30 + [2] * 30


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidParameter, match="vector 2 holds NaN"):
        find_clusters(np.array([[0.0], [1.0], [np.nan]]))
    with pytest.raises(InvalidParameter, match="min_size=1"):
        find_clusters(np.eye(4), min_size=1)
    with pytest.raises(InvalidParameter, match="components=0"):
        find_clusters(np.eye(4), components=0)
    with pytest.raises(InvalidParameter, match="shape"):
        find_clusters(np.zeros(4))


def test_components_are_those_of_a_singular_value_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infograph.look.project.PCA_BLOCK", 7)
    rows = np.random.default_rng(0).normal(size=(50, 6)) @ np.random.default_rng(1).normal(size=(6, 6)) + 3
    rows = np.hstack([rows, np.full((50, 1), 2.5)])  # constant
    scaled = (rows[:, :6] - rows[:, :6].mean(axis=0)) / rows[:, :6].std(axis=0)
    left, values, _ = np.linalg.svd(scaled)
    expected = left[:, :3] * values[:3]
    found = principal_components(rows, 3, residual=True)
    assert np.allclose(np.abs(found[:, :3]), np.abs(expected))
    assert np.allclose(found[:, 3] ** 2, (scaled**2).sum(axis=1) - (expected**2).sum(axis=1))


def test_the_medoid_has_the_smallest_sum_of_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(80, 3))
    sums = np.linalg.norm(points[:, None] - points, axis=2).sum(axis=1)
    assert medoid(points) == sums.argmin()
    monkeypatch.setattr("infograph.look.clusters.MOST", 40)
    assert sums[medoid(points)] < np.percentile(sums, 10)


def test_a_graph_far_away_is_the_first_outlier() -> None:
    vectors, _ = planted(n_far=0)
    strange = np.vstack([vectors, np.full((1, vectors.shape[1]), 40.0)])
    scores = outlier_scores(strange)
    assert scores.argmax() == len(vectors)
    assert scores[-1] > 10
    assert np.median(scores) == pytest.approx(1)


def test_what_is_odd_outside_the_components_is_seen() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 30)) + 0.01 * rng.normal(size=(300, 30))
    vectors[17] += 3 * np.sign(rng.normal(size=30))
    assert outlier_scores(vectors, components=2).argmax() == 17


def test_outlier_scores_are_distances_to_the_kth_neighbour() -> None:
    line = np.array([[0.0], [1.0], [3.0], [7.0], [20.0]])
    second = np.array([3.0, 2.0, 3.0, 6.0, 17.0])  # to the second nearest, by hand
    assert np.allclose(outlier_scores(line, k=2), second / 3.0)


def test_outliers_among_equal_graphs() -> None:
    vectors = np.vstack([np.zeros((30, 2)), [[1.0, 0.0]], [[0.0, 9.0]]])
    scores = outlier_scores(vectors)
    assert (scores[:30] == 0).all()
    assert scores.argmax() in (30, 31)
    assert (outlier_scores(np.zeros((5, 2))) == 0).all()
    assert outlier_scores(np.zeros((1, 2))).tolist() == [0]
    with pytest.raises(InvalidParameter, match="k=0"):
        outlier_scores(vectors, k=0)

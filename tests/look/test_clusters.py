from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import infograph.look.clusters as module
from infograph import find_clusters
from infograph.look.clusters import Clusters, medoid, percent


def planted(
    n_each: int = 60, n_far: int = 12, dim: int = 16
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two dense places (of n_each + 20 and n_each vectors) and a few vectors far from both and each other."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(n_each + 20, dim)) * 0.3
    second = rng.normal(size=(n_each, dim)) * 0.3 + 5
    far = rng.normal(size=(n_far, dim))
    far *= 25 / np.linalg.norm(far, axis=1, keepdims=True)
    own = np.repeat([1, 2, -1], [len(first), len(second), n_far])
    order = rng.permutation(len(own))
    return np.concatenate([first, second, far])[order], own[order]


def test_planted_clusters_are_found_and_noise_stays_noise() -> None:
    vectors, own = planted()
    found = find_clusters(vectors)
    assert len(found) == 2 and found.sizes[0] > found.sizes[1]
    assert (found.labels[own == -1] == -1).all()
    assert (found.labels == own)[own >= 0].mean() > 0.95
    assert not ((found.labels >= 0) & (found.labels != own)).any()
    assert ((found.probability > 0) == (found.labels >= 0)).all()
    assert found.sizes == tuple(int((found.labels == label).sum()) for label in (1, 2))
    assert found.n_noise == (found.labels == -1).sum()
    assert str(found).startswith("2 clusters of ")
    assert [len(found.members(label)) for label in (1, 2, -1)] == [*found.sizes, found.n_noise]
    again = find_clusters(vectors.copy())
    assert np.array_equal(found.labels, again.labels) and np.array_equal(found.probability, again.probability)
    scaled = vectors * np.geomspace(1e-3, 1e3, vectors.shape[1]) + 7  # other units
    assert np.array_equal(found.labels, find_clusters(scaled).labels)


def test_of_many_graphs_some_choose_the_number_and_all_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, own = planted(n_each=150, n_far=30)
    monkeypatch.setattr(module, "SAMPLE", 200)
    steps: list[tuple[int, int]] = []
    found = find_clusters(vectors, n_clusters=2, progress=lambda done, total: steps.append((done, total)))
    assert len(found) == 2 and steps == [(0, 350), (350, 350)]
    assert (found.labels == own)[own >= 0].mean() > 0.9
    assert np.array_equal(found.labels, find_clusters(vectors, n_clusters=2).labels)


def test_the_number_is_the_largest_on_which_halves_agree_and_others_have_none() -> None:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(6, 8)) * 6
    own = np.repeat(np.arange(6), 60)
    found = find_clusters(centres[own] + rng.normal(size=(360, 8)))
    assert adjusted_rand_score(own, found.labels) > 0.98 and found.agreement > 0.95
    assert found.n_noise <= 4
    for dim in (3, 64):  # one cloud has no clusters, whatever its shape
        cloud = rng.normal(size=(500, dim)) @ rng.normal(size=(dim, 20))
        assert len(find_clusters(cloud)) == 0
    forced = find_clusters(cloud, n_clusters=3)
    assert len(forced) == 3 and forced.agreement < module.AGREED


def test_the_probability_is_the_margin_between_the_two_nearest_centres() -> None:
    line = np.repeat([0.0, 1.0], 20)[:, None] + np.tile(np.linspace(-0.1, 0.1, 20), 2)[:, None]
    found = find_clusters(line, n_clusters=2)
    centres = np.array([found.points[found.labels == label].mean() for label in (1, 2)])
    apart = np.sort(np.abs(found.points - centres), axis=1)
    assert found.probability == pytest.approx(1 - apart[:, 0] / apart[:, 1])


def test_as_a_table_ids_are_the_index() -> None:
    vectors, _ = planted()
    found = find_clusters(vectors)
    table = found.to_pandas([f"g{i}" for i in range(len(vectors))])
    assert table.index.name == "id" and table.loc["g7", "probability"] == found.probability[7]
    assert table["cluster"].fillna(-1).tolist() == found.labels.tolist()
    assert find_clusters(vectors).to_pandas().index.tolist() == list(range(len(vectors)))


@pytest.mark.parametrize("vectors", [np.ones((40, 3)), np.ones((1, 3)), np.eye(3)])
def test_vectors_without_clusters(vectors: NDArray[np.float64]) -> None:
    found = find_clusters(vectors)
    assert len(found) == 0 and (found.labels == -1).all()
    assert str(found) == f"no clusters among {len(vectors)} graphs"


def test_graphs_that_occur_many_times_are_clusters() -> None:
    found = find_clusters(np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), 30, axis=0))
    assert found.labels.tolist() == [1] * 30 + [2] * 30 + [3] * 30
    assert str(found) == "3 clusters of 30 to 30 graphs; 0 of 90 in none"


def test_a_small_share_is_not_none() -> None:
    labels = np.repeat([1, 2, -1], [700, 313, 4])
    found = Clusters(labels, np.ones(1017), (700, 313), np.zeros((1017, 1)))
    assert str(found) == "2 clusters of 313 to 700 graphs; 4 of 1,017 (0.4 %) in none"
    assert [percent(share) for share in (0, 0.0004, 0.004, 0.009, 0.5, 1)] == [
        *("0 %", "0.04 %", "0.4 %", "0.9 %", "50 %", "100 %")
    ]


def test_the_medoid_has_the_smallest_sum_of_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(80, 3))
    sums = np.linalg.norm(points[:, None] - points, axis=2).sum(axis=1)
    assert medoid(points) == sums.argmin()
    monkeypatch.setattr(module, "MEDOID_SAMPLE", 40)
    assert sums[medoid(points)] < np.percentile(sums, 10)

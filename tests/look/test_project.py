from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from infograph import outlier_scores
from infograph.errors import MissingExtra
from infograph.look.project import Method, choose_method, principal_components, project, umap_installed

UMAP = pytest.param(
    "umap", marks=[pytest.mark.slow, pytest.mark.skipif(not umap_installed(), reason="no umap")]
)


def clusters(n_each: int = 30, dim: int = 20) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, dim)) * 8
    return np.concatenate([centre + rng.normal(size=(n_each, dim)) for centre in centres])


@pytest.mark.parametrize("method", ["tsne", "pca", UMAP])
def test_clusters_stay_together(method: Method) -> None:
    vectors = clusters()
    points = project(vectors, method)
    own = np.repeat(np.arange(3), 30)
    centres = np.stack([points[own == k].mean(axis=0) for k in range(3)])
    assert np.array_equal(np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1), own)
    assert np.array_equal(points, project(vectors.copy(), method))  # nothing is left to chance
    assert np.array_equal(project(np.ones((10, 4)), method), np.zeros((10, 2)))


@pytest.mark.parametrize("n_graphs", [1, 2, 3, 5, 6, 12])
@pytest.mark.parametrize("dim", [1, 2, 8])
def test_few_graphs_have_a_map(n_graphs: int, dim: int) -> None:
    points = project(np.random.default_rng(1).normal(size=(n_graphs, dim)))
    assert points.shape == (n_graphs, 2) and np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == n_graphs


def test_the_method_depends_on_what_is_installed_and_how_many_graphs_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("infograph.look.project.umap_installed", lambda: False)
    assert [choose_method(n) for n in (3, 100, 20_000, 20_001)] == ["pca", "tsne", "tsne", "pca"]
    with pytest.raises(MissingExtra, match="umap-learn"):
        project(clusters(), "umap")
    monkeypatch.setattr("infograph.look.project.umap_installed", lambda: True)
    assert choose_method(100) == choose_method(100_000) == "umap"


def test_components_are_those_of_a_singular_value_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infograph.look.project.BLOCK", 7)
    rows = np.random.default_rng(0).normal(size=(50, 6)) @ np.random.default_rng(1).normal(size=(6, 6)) + 3
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    left, values, _ = np.linalg.svd(scaled)
    expected = left[:, :3] * values[:3]
    wider = np.hstack([rows, np.full((50, 1), 2.5)])  # constant
    found = principal_components(wider, 3, residual=True)
    assert np.allclose(np.abs(found[:, :3]), np.abs(expected))
    assert np.allclose(found[:, 3] ** 2, (scaled**2).sum(axis=1) - (expected**2).sum(axis=1))
    assert np.allclose(np.abs(project(wider, "pca")), np.abs(expected[:, :2]))


def test_outlier_scores_are_distances_to_the_kth_neighbour() -> None:
    line = np.array([[0.0], [1.0], [3.0], [7.0], [20.0]])
    second = np.array([3.0, 2.0, 3.0, 6.0, 17.0])  # to the second nearest, by hand
    assert np.allclose(outlier_scores(line, k=2), second / 3.0)
    scores = outlier_scores(np.vstack([clusters(), np.full((1, 20), 90.0)]))
    assert scores.argmax() == 90 and scores[-1] > 10 and np.median(scores) == pytest.approx(1)


def test_what_is_odd_outside_the_components_is_seen() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 30)) + 0.01 * rng.normal(size=(300, 30))
    vectors[17] += 3 * np.sign(rng.normal(size=30))
    assert outlier_scores(vectors, components=2).argmax() == 17


def test_outliers_among_equal_graphs() -> None:
    scores = outlier_scores(np.vstack([np.zeros((30, 2)), [[1.0, 0.0]], [[0.0, 9.0]]]))
    assert (scores[:30] == 0).all() and scores.argmax() in (30, 31)
    assert (outlier_scores(np.zeros((5, 2))) == 0).all() and outlier_scores(np.zeros((1, 2))).tolist() == [0]

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from infograph.errors import InvalidParameter, MissingExtra
from infograph.look.project import Method, project, umap_installed

METHODS = ["tsne", "pca", *(["umap"] if umap_installed() else [])]


def clusters(n_each: int = 30, dim: int = 20) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, dim)) * 8
    return np.concatenate([centre + rng.normal(size=(n_each, dim)) for centre in centres])


@pytest.mark.parametrize("method", METHODS)
def test_equal_input_gives_the_same_map(method: Method) -> None:
    vectors = clusters()
    assert np.array_equal(project(vectors, method), project(vectors.copy(), method))


@pytest.mark.parametrize("method", METHODS)
def test_clusters_stay_together(method: Method) -> None:
    points = project(clusters(), method)
    own = np.repeat(np.arange(3), 30)
    centres = np.stack([points[own == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    assert np.array_equal(nearest, own)


def test_pca_is_that_of_an_eigendecomposition() -> None:
    vectors = clusters()
    scaled = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    _, directions = np.linalg.eigh(scaled.T @ scaled)
    expected = scaled @ directions[:, ::-1][:, :2]
    assert np.allclose(np.abs(project(vectors, "pca")), np.abs(expected))


@pytest.mark.parametrize("n_graphs", [1, 2, 3, 4, 5, 6, 7, 12])
@pytest.mark.parametrize("dim", [1, 2, 8])
def test_few_graphs_have_a_map(n_graphs: int, dim: int) -> None:
    vectors = np.random.default_rng(1).normal(size=(n_graphs, dim))
    points = project(vectors)
    assert points.shape == (n_graphs, 2)
    assert np.isfinite(points).all()
    if n_graphs > 1:
        assert len(np.unique(points, axis=0)) == n_graphs


@pytest.mark.parametrize("method", METHODS)
def test_equal_vectors_are_one_point(method: Method) -> None:
    assert np.array_equal(project(np.ones((10, 4)), method), np.zeros((10, 2)))


def test_constant_columns_change_nothing() -> None:
    vectors = clusters()
    wider = np.hstack([vectors, np.full((len(vectors), 3), 7.0)])
    assert np.array_equal(project(vectors, "pca"), project(wider, "pca"))


def test_bad_input_is_named() -> None:
    vectors = clusters()
    vectors[7, 3] = np.nan
    with pytest.raises(InvalidParameter, match="vector 7 holds NaN"):
        project(vectors)
    with pytest.raises(InvalidParameter, match="expected 'umap', 'tsne' or 'pca'"):
        project(clusters(), "lle")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"shape \(0, 4\) came"):
        project(np.zeros((0, 4)))


@pytest.mark.skipif(not umap_installed(), reason="umap-learn is not installed")
def test_umap_says_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    project(clusters(), "umap", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (500, 500) and told == sorted(told)


def test_umap_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infograph.look.project.umap_installed", lambda: False)
    with pytest.raises(MissingExtra, match="umap-learn"):
        project(clusters(), "umap")

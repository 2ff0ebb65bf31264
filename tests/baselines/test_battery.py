"""What every method that InfoGraph is compared with promises, checked over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import infograph
from infograph import (
    DeepGraphKernel,
    DegreeHistogram,
    Graph2Vec,
    Graphlets,
    LabelHistogram,
    MultiscaleLaplacian,
    Node2Vec,
    RandomWalk,
    ShortestPath,
    Sub2Vec,
    UntrainedGIN,
    WeisfeilerLehman,
    load_dataset,
)
from infograph.baselines.base import GraphKernel
from infograph.errors import FileMissing, InvalidParameter, NotFitted

KERNELS = [
    pytest.param(RandomWalk(), id="rw"),
    pytest.param(RandomWalk(normalise=True, node_columns=[]), id="rw-unlabelled"),
    pytest.param(ShortestPath(normalise=True), id="sp"),
    pytest.param(Graphlets(3), id="gk3"),
    pytest.param(Graphlets(normalise=True), id="gk4"),
    pytest.param(Graphlets(5, n_samples=50), id="gk5"),
    pytest.param(WeisfeilerLehman(2, edge_columns=["label"]), id="wl"),
    pytest.param(DeepGraphKernel("wl", dim=6, normalise=True), id="deep-wl"),
    pytest.param(DeepGraphKernel("walk", dim=6), id="deep-walk"),
    pytest.param(DeepGraphKernel("shortest-path", dim=6), id="deep-sp"),
    pytest.param(MultiscaleLaplacian(1, n_landmarks=12, rank=5), id="mlg"),
]
OTHERS = [
    pytest.param(Node2Vec(6, walks=2, length=8), id="node2vec"),
    pytest.param(Sub2Vec(6, length=40, epochs=2, min_count=1), id="sub2vec"),
    pytest.param(Sub2Vec(6, "neighbourhood", length=40, epochs=2, min_count=1), id="sub2vec-n"),
    pytest.param(Graph2Vec(6, epochs=3, min_count=1), id="graph2vec"),
    pytest.param(UntrainedGIN(6, 2), id="untrained"),
    pytest.param(LabelHistogram(), id="labels"),
    pytest.param(DegreeHistogram(), id="degrees"),
]
every = pytest.mark.parametrize("method", [*KERNELS, *OTHERS])
kernels = pytest.mark.parametrize("method", KERNELS)
inductive = pytest.mark.parametrize("method", [*KERNELS, *OTHERS[1:]])  # node2vec knows its nodes only


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:24]


@pytest.fixture(scope="module")
def others():
    return load_dataset("MUTAG")[30:36]


def dense(values) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


@every
def test_init_only_stores(method):
    for name, value in method.get_params().items():
        assert getattr(method, name) is value
    assert clone(method).get_params() == method.get_params()
    assert [name for name in vars(method) if name.endswith("_")] == []


@every
def test_the_same_seed_gives_the_same_features(method, graphs):
    first = dense(clone(method).fit_transform(graphs))
    assert len(first) == len(graphs) and np.isfinite(first).all()
    np.testing.assert_array_equal(first, dense(clone(method).fit_transform(graphs)))
    fitted = dense(clone(method).fit(graphs).transform(graphs))
    np.testing.assert_allclose(fitted, first, rtol=1e-6, atol=1e-7 * np.abs(first).max())


@inductive
def test_new_graphs_do_not_depend_on_their_company(method, graphs, others):
    model = clone(method).fit(graphs)
    together = dense(model.transform(others))
    assert len(together) == 6 and np.isfinite(together).all()
    size = np.abs(together).max()
    for place in (0, 5):
        alone = dense(model.transform(others[place]))
        np.testing.assert_allclose(alone[0], together[place], rtol=1e-5, atol=1e-5 * size)


def test_node2vec_refuses_other_graphs(graphs, others):
    with pytest.raises(InvalidParameter, match="cannot embed other graphs"):
        Node2Vec(6, walks=1, length=4).fit(graphs).transform(others)


@every
def test_saved_and_loaded(method, graphs, tmp_path):
    model = clone(method).fit(graphs)
    model.save(tmp_path / "model")
    loaded = infograph.load(tmp_path / "model")
    assert type(loaded) is type(model) and loaded.schema_ == model.schema_
    np.testing.assert_array_equal(dense(loaded.transform(graphs)), dense(model.transform(graphs)))
    if isinstance(model, GraphKernel):
        np.testing.assert_array_equal(loaded.gram(), model.gram())
    (tmp_path / "model" / "config.json").unlink()
    with pytest.raises(FileMissing, match=r"config\.json"):
        infograph.load(tmp_path / "model")


@every
def test_before_fit_it_says_so(method, graphs):
    with pytest.raises(NotFitted):
        clone(method).transform(graphs)


@every
def test_names_of_features_fit(method, graphs):
    model = clone(method).fit(graphs)
    assert len(model.get_feature_names_out()) == dense(model.transform(graphs)).shape[1]


@kernels
def test_gram_matrices_are_symmetric_and_positive_semidefinite(method, graphs):
    gram = clone(method).fit(graphs).gram()
    assert gram.shape == (24, 24)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-6 * np.abs(gram).max()


@kernels
def test_values_against_new_graphs_are_those_of_fitting_both(method, graphs, others):
    model = clone(method).fit(graphs)
    np.testing.assert_allclose(model.gram(graphs), model.gram(), rtol=1e-6, atol=1e-7 * model.gram().max())
    assert model.gram(others).shape == (6, 24)


@every
def test_estimates_are_made_without_work(method, graphs):
    if hasattr(method, "estimate"):
        seconds, megabytes = method.estimate(graphs)
        assert 0 <= seconds < 60 and 0 < megabytes < 2000

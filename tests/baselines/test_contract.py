"""What every method that InfoGraph is compared with promises, checked over all of them."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

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
    WeisfeilerLehman,
)
from infograph.data.convert import Record, assemble
from infograph.errors import InvalidFile, InvalidParameter, NotFitted
from tests.baselines.oracles import permuted, random_set, seeds

EXACT = {  # values do not depend on the order of nodes, nor on who was fitted
    "wl": WeisfeilerLehman(3),
    "wl with bonds": WeisfeilerLehman(2, edge_columns=["bond"], normalise=True),
    "sp": ShortestPath(),
    "sp without labels": ShortestPath(node_columns=[], normalise=True),
    "gk3": Graphlets(3, values="counts"),
    "gk4": Graphlets(4, normalise=True),
    "rw": RandomWalk(0.001, edge_columns=[]),
    "rw with bonds": RandomWalk(0.001, edge_columns=["bond"], normalise=True),
    "rw without labels": RandomWalk(0.001, node_columns=[], edge_columns=[], normalise=True),
}
DEEP = {"dim": 6, "epochs": 2, "draws": 20}
KERNELS = EXACT | {
    "gk5": Graphlets(5, n_samples=40),
    "deep wl": DeepGraphKernel("wl", **DEEP),
    "deep graphlets": DeepGraphKernel("graphlet", **DEEP),
    "deep walks": DeepGraphKernel("walk", **DEEP),
    "deep paths": DeepGraphKernel("shortest-path", **DEEP, normalise=True),
    "mlg": MultiscaleLaplacian(1, n_landmarks=12, rank=5),
}
DOCUMENTS = {
    "sub2vec": Sub2Vec(5, length=50, walk=10, epochs=3, min_count=1),
    "sub2vec of nodes": Sub2Vec(5, "neighbourhood", length=50, walk=10, epochs=3, min_count=1),
    "graph2vec": Graph2Vec(5, epochs=3, min_count=1),
}
EMBEDDINGS = {"node2vec": Node2Vec(5, walks=2, length=8, window=3), **DOCUMENTS}
METHODS = {
    **KERNELS,
    **EMBEDDINGS,
    "labels": LabelHistogram(),
    "degrees": DegreeHistogram(share=True),
}
every = pytest.mark.parametrize("name", METHODS)
kernels = pytest.mark.parametrize("name", KERNELS)
inductive = pytest.mark.parametrize("name", [name for name in METHODS if name != "node2vec"])
refitted = pytest.mark.parametrize("name", [*KERNELS, *EMBEDDINGS])


@functools.cache
def graphs():
    return random_set(0, count=20, most=10)


@functools.cache
def others():
    return random_set(1, count=6, labels="abcde")


@functools.cache
def fitted(name):
    """A fitted model that no test changes."""
    return clone(METHODS[name]).fit(graphs())


def dense(values):
    return np.asarray(values.toarray() if issparse(values) else values)


def new_for(name):
    return graphs() if name == "node2vec" else others()


@every
def test_parameters_are_only_stored(name):
    method = METHODS[name]
    for parameter, value in method.get_params().items():
        assert getattr(method, parameter) is value
    assert clone(method).get_params() == method.get_params()
    assert [attribute for attribute in vars(method) if attribute.endswith("_")] == []


@every
def test_a_seed_decides_everything(name):
    model = fitted(name)
    first = dense(clone(METHODS[name]).fit_transform(graphs()))
    assert len(first) == 20 and np.isfinite(first).all()
    assert first.dtype == (np.float32 if name in EMBEDDINGS else np.float64)
    np.testing.assert_allclose(dense(model.transform(graphs())), first, rtol=1e-12)
    assert len(model.get_feature_names_out()) == first.shape[1]
    if name in EMBEDDINGS or name.startswith(("gk5", "deep")):
        other = clone(METHODS[name]).set_params(random_state=1).fit_transform(graphs())
        assert not np.allclose(first, dense(other))


@inductive
@pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
def test_a_graph_does_not_depend_on_its_company(name):
    model = fitted(name)
    together = dense(model.transform(others()))
    assert np.isfinite(together).all()
    for place in (0, 5):
        np.testing.assert_allclose(dense(model.transform(others()[place]))[0], together[place], rtol=1e-9)
    np.testing.assert_allclose(dense(model.transform(others()[::-1]))[::-1], together, rtol=1e-9)


@every
@pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
def test_saved_and_loaded_bit_by_bit(name, tmp_path):
    model, new = fitted(name), new_for(name)
    folder = model.save(tmp_path / "model")
    for loaded in (type(model).load(folder), infograph.load(folder)):
        assert loaded.get_params() == model.get_params()
        assert loaded.schema_ == model.schema_
        assert np.array_equal(dense(loaded.transform(new)), dense(model.transform(new)))
        assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
        if name in KERNELS:
            assert np.array_equal(loaded.gram(), model.gram())
            assert np.array_equal(loaded.gram(new), model.gram(new))
    assert type(model).__name__ in (folder / "README.md").read_text()
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InvalidFile, match="checksum"):
        infograph.load(folder)


def test_a_folder_that_lacks_what_was_learned_is_refused(tmp_path):
    folder = fitted("wl").save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    assert config["learned"] == {"graphs": 20}
    (folder / "config.json").write_text(json.dumps(config | {"learned": {}}))
    with pytest.raises(InvalidFile, match="learned"):
        infograph.load(folder)


@refitted
def test_settings_changed_after_fit_change_nothing(name, tmp_path):
    model = clone(METHODS[name]).fit(graphs())
    before, params = dense(model.transform(graphs())), model.get_params()
    other = {"rounds": 1, "size": 3, "values": "frequencies", "decay": 0.002, "node_columns": None}
    other |= {"structure": "wl", "dim": 3, "random_state": 9, "levels": 0, "variant": "structural"}
    model.set_params(**{name: value for name, value in other.items() if name in params})
    assert np.array_equal(dense(model.transform(graphs())), before)
    loaded = infograph.load(model.save(tmp_path / "model"))
    assert loaded.get_params() == params
    assert np.array_equal(dense(loaded.transform(graphs())), before)


@refitted
def test_a_failed_fit_leaves_the_fitted_model_as_it_was(name, monkeypatch):
    model = clone(METHODS[name]).fit(graphs())
    before = dense(model.transform(graphs()))
    monkeypatch.setattr(type(model), "_learn", lambda self, graphs: [][1])
    with pytest.raises(IndexError):
        model.fit(random_set(5))
    assert np.array_equal(dense(model.transform(graphs())), before)


@every
def test_before_fit_it_says_so(name, tmp_path):
    fresh = clone(METHODS[name])
    calls = [
        lambda: fresh.transform(graphs()),
        lambda: fresh.save(tmp_path / "x"),
        fresh.get_feature_names_out,
    ]
    for call in calls + ([fresh.gram] if name in KERNELS else []):
        with pytest.raises(NotFitted, match=r"fit\(graphs\)"):
            call()


@every
def test_odd_graphs(name, corner_cases):
    model = clone(METHODS[name])
    first = dense(model.fit_transform(corner_cases))
    assert np.isfinite(first).all() and len(first) == 10
    np.testing.assert_allclose(
        dense(model.transform(corner_cases)), first, rtol=1e-9, atol=1e-9 * np.abs(first).max()
    )


@every
def test_what_was_passed_in_and_what_is_kept_stay_as_they_are(name):
    known, model = graphs(), clone(METHODS[name])
    before = known.edges.copy(), known.node["label"].copy(), known.edge["bond"].copy()
    own = model.fit_transform(known)
    kept = dense(model.transform(known)).copy()
    (own.data if issparse(own) else own)[:] = 0
    assert np.array_equal(dense(model.transform(known)), kept)
    assert all(map(np.array_equal, before, (known.edges, known.node["label"], known.edge["bond"])))


@pytest.mark.parametrize("name", [*KERNELS, *DOCUMENTS, "labels", "degrees"])
def test_in_a_pipeline_and_a_grid_search(name):
    y = np.arange(20) % 2
    pipeline = make_pipeline(clone(METHODS[name]), LogisticRegression(max_iter=5000, C=1e-3))
    step = pipeline.steps[0][0]
    changed = {f"{step}__normalise": [True]} if name in KERNELS else {}
    search = GridSearchCV(pipeline, changed, cv=2, error_score="raise")
    assert search.fit(list(graphs()), y).best_estimator_.predict(graphs()[:3]).shape == (3,)


# ---- kernels


@kernels
def test_kernel_values(name):
    """Symmetric, positive semidefinite, those of the features, and those of the graphs passed in again."""
    model = fitted(name)
    values, features = model.gram(), dense(model.transform(graphs()))
    np.testing.assert_allclose(values, values.T, rtol=1e-12)
    assert np.linalg.eigvalsh(values).min() > -1e-9 * np.abs(values).max()
    np.testing.assert_allclose(model.gram(graphs()), values, rtol=1e-9, atol=1e-12)
    explicit = not isinstance(model, MultiscaleLaplacian) and getattr(model, "graphs_", None) is None
    products = features @ features.T if explicit else features
    np.testing.assert_allclose(products, values, rtol=1e-9, atol=1e-9)
    assert SVC(kernel="precomputed").fit(values, np.arange(20) % 2).predict(values).shape == (20,)


@kernels
def test_normalising_may_be_switched_after_fit(name):
    model = clone(METHODS[name]).set_params(normalise=False).fit(graphs())
    plain = model.gram()
    model.normalise = True
    roots = np.sqrt(plain.diagonal())
    safe = np.where(roots == 0, 1, roots)
    np.testing.assert_allclose(model.gram(), plain / safe[:, None] / safe[None, :], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(model.gram().diagonal(), np.where(roots == 0, 0.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(model.gram(graphs()[3:7]), model.gram()[3:7], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=8)
@given(seed=seeds)
def test_the_order_of_nodes_does_not_matter(name, seed):
    some = random_set(seed, count=6)
    values = clone(METHODS[name]).fit(some).gram()
    shuffled = clone(METHODS[name]).fit(permuted(some, seed)).gram()
    np.testing.assert_allclose(shuffled, values, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=8)
@given(seed=seeds)
def test_new_graphs_are_compared_as_if_they_had_been_there(name, seed):
    """With labels, colours and paths that no fitted graph has; also in k(x, x), which normalises."""
    old, new = random_set(seed, count=5, labels="ab"), random_set(seed + 1, count=4, labels="bcde")
    together = clone(METHODS[name]).fit(infograph.concatenate([old, new])).gram()
    values = clone(METHODS[name]).fit(old).gram(new)
    np.testing.assert_allclose(values, together[5:, :5], rtol=1e-11, atol=1e-13)


def test_missing_labels_are_a_label_of_their_own():
    """Also where new graphs have more categories, and "missing" another code."""

    def one(*labels):
        return Record(len(labels), np.zeros((2, 0), int), node={"label": np.array(labels, dtype=object)})

    old, new = assemble([one("a", None), one("b")]), assemble([one(None, "z"), one("z", "z", "a")])
    kernel = WeisfeilerLehman(0).fit(old)
    assert kernel.gram().tolist() == [[2, 0], [0, 1]]
    assert kernel.gram(new).tolist() == [[1, 0], [1, 0]]
    kernel.normalise = True
    np.testing.assert_allclose(kernel.gram(new), [[0.5, 0], [1 / np.sqrt(10), 0]])


def test_new_graphs_may_be_networkx_or_molecules():
    kernel = fitted("wl with bonds")
    assert np.array_equal(kernel.gram(infograph.to_networkx(others())), kernel.gram(others()))
    kernel = WeisfeilerLehman(2).fit(["CCO", "CCN", "c1ccccc1"])
    assert np.array_equal(kernel.gram(["CCN", "CCO"]), kernel.gram()[[1, 0]])
    molecules = infograph.as_graphset(["CCO", "CCN"], hydrogens=True)  # stay as they were read
    kernel = Graphlets(3, values="counts").fit(molecules)
    assert np.array_equal(kernel.gram(["CCO", "CCN"]), kernel.gram())


# ---- embeddings


def test_node2vec_knows_its_own_graphs_only():
    for strange in (others(), graphs()[:19]):
        with pytest.raises(InvalidParameter, match="cannot embed other graphs"):
            Node2Vec(6, walks=1, length=4, window=2).fit(graphs()).transform(strange)


# ---- the extra


def test_without_numba_one_sentence_says_what_to_install():
    """Neither the Weisfeiler-Lehman kernel nor walks without labels need compiled code."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from infograph import *; import infograph, numpy as np\n"
        "graphs = [(np.array([[0, 1], [1, 0]]), np.zeros((2, 1), int))] * 2\n"
        "for kernel in [WeisfeilerLehman(), RandomWalk(node_columns=[])]: kernel.fit(graphs).gram()\n"
        "for method in [RandomWalk(), ShortestPath(), Graphlets(), MultiscaleLaplacian(),\n"
        "               DeepGraphKernel(), Node2Vec(), Sub2Vec(), Graph2Vec()]:\n"
        "    try: method.fit(graphs); print('fitted')\n"
        "    except infograph.errors.MissingExtra as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "this needs numba, which is not installed: pip install 'infograph[baselines]'"
    assert found.stdout.splitlines() == [sentence] * 8

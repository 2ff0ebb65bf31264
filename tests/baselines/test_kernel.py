"""What every graph kernel promises, checked over all of them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import infograph
from infograph import Graphlets, RandomWalk, ShortestPath, WeisfeilerLehman, cross_validate, load_dataset
from infograph.baselines.words import Vocabulary, inner_products
from infograph.data.convert import Record, assemble
from infograph.errors import InvalidFile, InvalidParameter, NotFitted, SchemaMismatch
from infograph.evaluate.cross_validation import Gram
from tests.baselines.oracles import permuted, random_set, seeds

KERNELS = [
    pytest.param(WeisfeilerLehman(rounds=3), id="wl"),
    pytest.param(WeisfeilerLehman(rounds=2, edge_columns=["bond"], normalise=True), id="wl with bonds"),
    pytest.param(ShortestPath(), id="sp"),
    pytest.param(ShortestPath(node_columns=[], normalise=True), id="sp without labels"),
    pytest.param(Graphlets(3, values="counts"), id="gk3"),
    pytest.param(Graphlets(4, normalise=True), id="gk4"),
    pytest.param(RandomWalk(0.005, edge_columns=[]), id="rw"),
    pytest.param(RandomWalk(0.005, edge_columns=["bond"], normalise=True), id="rw with bonds"),
    pytest.param(RandomWalk(0.005, node_columns=[], edge_columns=[], normalise=True), id="rw without labels"),
]
SAMPLED = pytest.param(Graphlets(5, n_samples=40), id="gk5")
every = pytest.mark.parametrize("kernel", [*KERNELS, SAMPLED])
invariant = pytest.mark.parametrize("kernel", KERNELS)


def dense(features):
    return features.toarray() if isinstance(features, csr_matrix) else features


@pytest.fixture(scope="module")
def graphs():
    return random_set(0, count=20, most=10)


@every
def test_init_only_stores(kernel):
    for name, value in kernel.get_params().items():
        assert getattr(kernel, name) is value
    assert clone(kernel).get_params() == kernel.get_params()


@invariant
@settings(max_examples=20)
@given(seed=seeds)
def test_positive_semidefinite_and_blind_to_the_order_of_nodes(kernel, seed):
    graphs = random_set(seed, count=6)
    values = clone(kernel).fit(graphs).gram()
    assert np.array_equal(values, values.T)
    assert np.linalg.eigvalsh(values).min() >= -1e-10 * max(1.0, values.max())
    shuffled = clone(kernel).fit(permuted(graphs, seed)).gram()
    np.testing.assert_allclose(shuffled, values, rtol=1e-11, atol=1e-12)


@invariant
@settings(max_examples=20)
@given(seed=seeds)
def test_new_graphs_are_compared_as_if_they_had_been_there(kernel, seed):
    """With labels, colours and paths that no fitted graph has; also in k(x, x), which normalises."""
    old = random_set(seed, count=5, labels="ab")
    new = random_set(seed + 1, count=4, labels="bcde")
    together = clone(kernel).fit(infograph.concatenate([old, new])).gram()
    np.testing.assert_allclose(clone(kernel).fit(old).gram(new), together[5:, :5], rtol=1e-11, atol=1e-13)


@every
def test_features_and_values_agree(kernel, graphs):
    model = clone(kernel)
    features = dense(model.fit_transform(graphs))
    explicit = not isinstance(model, RandomWalk) or model.graphs_ is None
    np.testing.assert_allclose(dense(model.transform(graphs)), features, rtol=0 if explicit else 1e-12)
    assert features.shape == (20, len(model.get_feature_names_out()))
    values = model.gram()
    np.testing.assert_allclose(model.gram(graphs), values, rtol=1e-11, atol=1e-13)
    products = features @ features.T if explicit else features
    np.testing.assert_allclose(products, values, rtol=1e-11, atol=1e-13)


@every
def test_normalising_may_be_switched_after_fit(kernel, graphs):
    model = clone(kernel).set_params(normalise=False).fit(graphs)
    plain = model.gram()
    new = model.gram(graphs[3:7])
    model.normalise = True
    roots = np.sqrt(plain.diagonal())
    zero = roots == 0
    expected = plain / np.where(zero, 1, roots)[:, None] / np.where(zero, 1, roots)[None, :]
    np.testing.assert_allclose(model.gram(), expected, rtol=1e-12, atol=1e-14)
    assert np.array_equal(model.gram().diagonal(), np.where(zero, 0.0, 1.0))
    np.testing.assert_allclose(model.gram(graphs[3:7]), expected[3:7], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(new, plain[3:7], rtol=1e-11)


@every
def test_a_graph_alone_equals_its_row(kernel, graphs):
    model = clone(kernel).fit(graphs)
    together, values = dense(model.transform(graphs)), model.gram(graphs)
    for index in (0, 7, 19):
        np.testing.assert_allclose(dense(model.transform(graphs[index]))[0], together[index], rtol=1e-12)
        np.testing.assert_allclose(model.gram(graphs[index])[0], values[index], rtol=1e-12)


@every
def test_saved_and_loaded_bit_by_bit(kernel, graphs, tmp_path):
    new = random_set(1, labels="cde")
    model = clone(kernel).fit(graphs)
    folder = model.save(tmp_path / "model")
    for loaded in (type(model).load(folder), infograph.load(folder)):
        assert loaded.get_params() == model.get_params()
        assert loaded.schema_ == model.schema_
        assert np.array_equal(loaded.gram(), model.gram())
        assert np.array_equal(loaded.gram(new), model.gram(new))
        assert np.array_equal(dense(loaded.transform(new)), dense(model.transform(new)))
    assert json.loads((folder / "config.json").read_text())["learned"]["graphs"] == 20
    assert "kernel.gram(graphs)" in (folder / "README.md").read_text()
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InvalidFile, match="its checksum"):
        infograph.load(folder)


@every
def test_settings_changed_after_fit_change_nothing(kernel, graphs, tmp_path):
    model = clone(kernel).fit(graphs)
    values, params = model.gram(graphs), model.get_params()
    other = {"rounds": 1, "size": 3, "values": "frequencies", "decay": 0.001, "node_columns": None}
    model.set_params(**{name: value for name, value in other.items() if name in params})
    assert np.array_equal(model.gram(graphs), values)
    loaded = infograph.load(model.save(tmp_path / "model"))
    assert loaded.get_params() == params
    assert np.array_equal(loaded.gram(graphs), values)


@every
def test_corner_cases(kernel, corner_cases):
    model = clone(kernel)
    if isinstance(model, RandomWalk):
        model.decay = 0.001
    plain = model.fit(corner_cases).gram()
    assert np.isfinite(plain).all()
    assert np.array_equal(plain, plain.T)
    assert np.linalg.eigvalsh(plain).min() >= -1e-10 * plain.max()
    np.testing.assert_allclose(model.gram(corner_cases), plain, rtol=1e-11)


@every
def test_in_a_pipeline_a_grid_search_and_the_evaluation(kernel, graphs):
    y = np.arange(20) % 2
    pipeline = make_pipeline(clone(kernel), LogisticRegression(max_iter=5000, C=1e-3))
    with np.errstate(all="ignore"):
        assert pipeline.fit(graphs, y).predict(graphs).shape == (20,)
    name = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{name}__normalise": [True]}, cv=2, error_score="raise")
    assert search.fit(list(graphs), y).best_estimator_.predict(graphs[:3]).shape == (3,)
    values = clone(kernel).fit(graphs).gram()
    assert SVC(kernel="precomputed").fit(values, y).score(values, y) >= 0.5
    result = cross_validate(Gram(values), y, repeats=1, folds=2, inner_folds=2, n_jobs=1)
    assert 0 <= result.mean <= 1


@every
def test_not_fitted(kernel, graphs, tmp_path):
    fresh = clone(kernel)
    for attempt in (
        fresh.gram,
        lambda: fresh.transform(graphs),
        lambda: fresh.save(tmp_path / "x"),
        fresh.get_feature_names_out,
    ):
        with pytest.raises(NotFitted, match=r"call fit\(graphs\) or load\(folder\) first"):
            attempt()


@every
def test_wrong_input_is_refused(kernel, graphs):
    model = clone(kernel).fit(graphs)
    if model.schema_.features("node"):
        with pytest.raises(SchemaMismatch, match="the node column 'label' is missing"):
            model.gram([(np.zeros((2, 0), int), 3)])
    for bad in ([], None, 5, np.zeros((3, 4))):
        with pytest.raises(InvalidParameter, match="graphs"):
            clone(kernel).fit(bad)
    with pytest.raises(InvalidParameter, match="normalise='yes': expected True or False"):
        clone(kernel).set_params(normalise="yes").fit(graphs)
    for name in ("max_minutes", "memory_mb"):
        with pytest.raises(InvalidParameter, match=f"{name}=0: expected a positive number, or None"):
            clone(kernel).set_params(**{name: 0}).fit(graphs)


@every
def test_input_stays_as_it_is(kernel, graphs):
    before = graphs.edges.copy(), graphs.node["label"].copy(), graphs.edge["bond"].copy()
    features = clone(kernel).fit(graphs)
    changed = dense(features.transform(graphs))
    changed += 1
    after = graphs.edges, graphs.node["label"], graphs.edge["bond"]
    assert all(map(np.array_equal, before, after))
    own = features.fit_transform(graphs)
    if isinstance(own, csr_matrix):
        own.data[:] = 0
    else:
        own[:] = 0
    assert not np.array_equal(features.gram(), np.zeros((20, 20)))


@every
def test_estimates_grow_with_the_work_and_guard_it(kernel, graphs):
    small, large = clone(kernel).estimate(graphs), clone(kernel).estimate(infograph.concatenate([graphs] * 9))
    assert 0 < small.seconds < large.seconds < 60
    assert 0 < small.megabytes < large.megabytes < 1000
    tiny = clone(kernel).set_params(max_minutes=1e-9)
    with pytest.raises(InvalidParameter, match=r"of 20 graphs would take about .* or pass max_minutes=None"):
        tiny.fit(graphs)
    assert tiny.set_params(max_minutes=None).fit(graphs).n_graphs_ == 20
    with pytest.raises(InvalidParameter, match=r"of 20 graphs would need about .* or pass memory_mb=None"):
        clone(kernel).set_params(memory_mb=1e-9).fit(graphs)


def test_without_numba_one_sentence_says_what_to_install():
    """Neither the Weisfeiler-Lehman kernel nor walks without labels need compiled code."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from infograph import *; import infograph, numpy as np\n"
        "graphs = [(np.array([[0, 1], [1, 0]]), np.zeros((2, 1), int))] * 2\n"
        "needless = [WeisfeilerLehman(), RandomWalk(node_columns=[])]\n"
        "for kernel in [*needless, RandomWalk(), ShortestPath(), Graphlets()]:\n"
        "    try:\n        kernel.fit(graphs).gram(); print('fitted')\n"
        "    except infograph.errors.MissingExtra as error:\n        print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "this needs numba, which is not installed: pip install 'infograph[baselines]'"
    assert found.stdout.splitlines() == ["fitted", "fitted", sentence, sentence, sentence]


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


def test_networkx_graphs_with_new_labels_need_no_warning():
    graphs = random_set(2)
    new = random_set(3, labels="xyz")
    kernel = WeisfeilerLehman(2, edge_columns=["bond"]).fit(graphs)
    read = kernel.gram(infograph.to_networkx(new))
    assert np.array_equal(read, kernel.gram(new))


def test_molecules_are_read_the_way_they_were_fitted():
    pytest.importorskip("rdkit")
    kernel = WeisfeilerLehman(2).fit(["CCO", "CCN", "c1ccccc1"])
    assert np.array_equal(kernel.gram(["CCN", "CCO"]), kernel.gram()[[1, 0]])


@pytest.mark.parametrize("same", [True, False])
def test_inner_products_of_sparse_matrices(same, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr("infograph.baselines.words.BLOCK", 50)  # many blocks
    counts = [rng.poisson(np.tile([5.0, 0.01, 0.001], 40), (size, 120)) for size in (33, 21)]
    x, y = (csr_matrix(c.astype(float)) for c in counts)
    y = x if same else y
    assert np.array_equal(inner_products(x, y), (x @ y.T).toarray())


def test_a_vocabulary_finds_tokens_that_share_their_first_half():
    tokens = np.array([[5, 3, 5, 9, 5], [1, 1, 7, 2, 4]], np.uint64)
    known = Vocabulary(tokens)
    asked = np.array([[5, 5, 5, 5, 9, 9, 3, 0, 10], [4, 1, 7, 8, 2, 3, 1, 0, 0]], np.uint64)
    assert known.find(asked).tolist() == [2, 1, 3, -1, 4, -1, 0, -1, -1]
    assert Vocabulary(tokens[:, :0]).find(asked).tolist() == [-1] * 9


def test_wl_classifies_mutag():
    graphs = load_dataset("MUTAG")
    values = Gram(WeisfeilerLehman(normalise=True).fit(graphs).gram())
    result = cross_validate(values, graphs.graph["y"], repeats=1, n_jobs=1)
    assert 0.8 < result.mean < 0.92


@every
def test_a_failed_fit_leaves_the_fitted_kernel_as_it_was(kernel, graphs, monkeypatch):
    model = clone(kernel).fit(graphs)
    values = model.gram()
    monkeypatch.setattr(type(model), "_learn", lambda self, graphs: [][1])
    with pytest.raises(IndexError):
        model.set_params(normalise=model.normalise).fit(random_set(5))
    assert np.array_equal(model.gram(), values)


def test_wrong_settings_are_named_before_an_estimate(graphs):
    with pytest.raises(InvalidParameter, match="rounds=-1"):
        WeisfeilerLehman(-1).estimate(graphs)
    with pytest.raises(InvalidParameter, match="size=9"):
        Graphlets(9).estimate(graphs)
    with pytest.raises(InvalidParameter, match="decay=-1"):
        RandomWalk(-1).estimate(graphs)


def test_hydrogens_stay_as_they_were_read():
    pytest.importorskip("rdkit")
    molecules = infograph.as_graphset(["CCO", "CCN"], hydrogens=True)
    kernel = Graphlets(3, values="counts").fit(molecules)
    assert np.array_equal(kernel.gram(["CCO", "CCN"]), kernel.gram())

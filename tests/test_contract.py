"""What every estimator and every baseline promises, checked over all of them."""

from __future__ import annotations

import copy
import functools
import json
import random

import numpy as np
import pytest
import torch
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import infograph
from infograph import (
    GIN,
    AtomCounts,
    Auto,
    DeepGraphKernel,
    DegreeHistogram,
    FingerprintForest,
    Graph2Vec,
    Graphlets,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    LabelHistogram,
    LocalTopologicalProfile,
    MeanPredictor,
    MeanTeacher,
    MultiscaleLaplacian,
    MutualInformation,
    Node2Vec,
    OptimalAssignment,
    RandomWalk,
    ShortestPath,
    Sub2Vec,
    UntrainedGIN,
    WeisfeilerLehman,
    as_graphset,
)
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    NotFitted,
    NothingLeft,
)
from tests.baselines.oracles import permuted

QUICK = {"dim": 12, "epochs": 2, "batch_size": 8}
FEW = {**QUICK, "steps_per_epoch": 3, "encoder": Auto(layers=2)}
DEEP = {"dim": 6, "epochs": 2, "draws": 20}
TRAINED = {
    "InfoGraph": InfoGraph(**QUICK, encoder=GIN(layers=3)),
    "GINE": InfoGraph(**QUICK, edge_columns=["bond"], encoder=GIN(layers=2, readout="max", learn_eps=True)),
    "conditioned": InfoGraph(
        **QUICK,
        encoder=GIN(layers=2),
        objective=MutualInformation(discriminator="conditioned", prior=0.1),
    ),
    "dv": InfoGraph(
        **QUICK,
        encoder=GIN(layers=2, norm=False),
        objective=MutualInformation(weighting="node", bound="dv"),
    ),
    "infonce": InfoGraph(
        **QUICK,
        encoder=GIN(layers=2, node_features="degree"),
        objective=MutualInformation(bound="infonce"),
    ),
    "untrained": UntrainedGIN(dim=12, encoder=GIN(layers=2)),
}
LABELLED = {
    "regressor": InfoGraphRegressor("infograph*", **FEW),
    "mean teacher": InfoGraphRegressor(MeanTeacher(noise=0.1), **FEW),
    "classifier": InfoGraphClassifier("infograph*", **{**FEW, "encoder": "enn-s2s"}, edge_columns=["bond"]),
    "two networks": InfoGraphClassifier("infograph", **FEW, n_models=2),
    "vat": InfoGraphClassifier("vat", **{**FEW, "encoder": Auto(readout="mean", learn_eps=True)}),
}
KERNELS = {
    "wl": WeisfeilerLehman(3),
    "wl-oa": OptimalAssignment(2),
    "wl with bonds": WeisfeilerLehman(2, edge_columns=["bond"], normalise=True),
    "sp": ShortestPath(),
    "gk3": Graphlets(3, values="counts"),
    "gk4": Graphlets(4, normalise=True),
    "gk5": Graphlets(5, n_samples=40),
    "rw": RandomWalk(0.001, edge_columns=[]),
    "rw with bonds": RandomWalk(0.001, edge_columns=["bond"], normalise=True),
    "deep wl": DeepGraphKernel("wl", **DEEP),
    "deep graphlets": DeepGraphKernel("graphlet", **DEEP),
    "deep walks": DeepGraphKernel("walk", **DEEP),
    "deep paths": DeepGraphKernel("shortest-path", **DEEP, normalise=True),
    "mlg": MultiscaleLaplacian(1, n_landmarks=12, rank=5),
}
EMBEDDINGS = {
    "node2vec": Node2Vec(5, walks=2, length=8, window=3),
    "sub2vec": Sub2Vec(5, length=50, walk=10, epochs=3, min_count=1),
    "sub2vec of nodes": Sub2Vec(5, "neighbourhood", length=50, walk=10, epochs=3, min_count=1),
    "graph2vec": Graph2Vec(5, epochs=3, min_count=1),
}
HISTOGRAMS = {
    "labels": LabelHistogram(),
    "degrees": DegreeHistogram(share=True),
    "ltp": LocalTopologicalProfile(10),
}
FOREST = {"n_trees": 5, "n_bits": 128}
PREDICTORS = {
    "mean": MeanPredictor(),
    "most frequent": MeanPredictor("classification"),
    "atom counts": AtomCounts(),
    "atom counts of classes": AtomCounts(task="classification"),
    "forest": FingerprintForest(**FOREST),
    "forest of classes": FingerprintForest(**FOREST, task="classification"),
    "forest on counts": FingerprintForest(**FOREST, features="counts+descriptors"),
}
METHODS = TRAINED | LABELLED | KERNELS | EMBEDDINGS | HISTOGRAMS | PREDICTORS
NETWORKS = TRAINED | LABELLED
DRAWN = [*NETWORKS, *EMBEDDINGS, "gk5", *(name for name in KERNELS if name.startswith("deep")), "forest"]
FILES = ["README.md", "config.json", "history.json", "model.safetensors", "schema.json"]


def over(*names):
    return pytest.mark.parametrize("name", names)


every = over(*METHODS)
inductive = [name for name in METHODS if name != "node2vec"]  # the others know graphs that come later

PIECES = ("C", "N", "C(=O)O", "c1ccccc1", "C#N")
SMILES = [f"{one}C({other})C" for one in ("C", "OC", "NC", "FC") for other in PIECES]
NEW = ["CCOC", "NCC(=O)O", "c1ccncc1", "C", "FCCO", "CC(C)CN"]


@functools.cache
def graphs():
    return as_graphset(SMILES)


def labels(model, n_graphs=20):
    numbers = np.arange(n_graphs) % 7
    return np.array(["odd", "even"])[numbers % 2] if is_classifier(model) else numbers.astype(float)


@functools.cache
def fitted(name):
    """A fitted model that no test changes."""
    model = clone(METHODS[name])
    return model.fit(graphs(), labels(model))


def dense(values):
    return np.asarray(values.toarray() if issparse(values) else values)


def outputs(model, some, **options):
    """Vectors, and numbers or probabilities, as far as a model gives them."""
    names = ("transform", "predict_proba" if is_classifier(model) else "predict")
    return [dense(getattr(model, name)(some, **options)) for name in names if hasattr(model, name)]


def assert_close(name, found, expected):
    single = name in NETWORKS  # they compute in single precision, and batches change the order of sums
    for one, other in zip(found, expected, strict=True):
        tolerance = {"rtol": 1e-4, "atol": 1e-5 * np.abs(other).max()} if single else {"rtol": 1e-9}
        np.testing.assert_allclose(one, other, **tolerance)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


@pytest.fixture(scope="module", autouse=True)
def nobody_changes_the_graphs():
    known = graphs()
    arrays = {"edges": known.edges, **known.node, **known.edge}
    before = copy.deepcopy(arrays)
    yield
    for column, values in arrays.items():
        assert np.array_equal(values, before[column]), column


# ---- parameters


@every
def test_parameters_are_only_stored(name):
    method = METHODS[name]
    params = method.get_params(deep=False)
    assert all(getattr(method, parameter) is value for parameter, value in params.items())
    assert clone(method).get_params() == method.get_params()
    assert type(method)().set_params(**params).get_params() == method.get_params()
    assert not any(attribute.startswith("_") or attribute.endswith("_") for attribute in vars(method))
    if hasattr(method, "predict"):
        assert (is_regressor(method), is_classifier(method)) == (
            method.task == "regression",
            method.task == "classification",
        )
        assert hasattr(method, "predict_proba") == is_classifier(method)


@every
def test_before_fit_it_says_so(name, tmp_path):
    fresh = clone(METHODS[name])
    calls = [lambda: outputs(fresh, graphs()), lambda: fresh.save(tmp_path / "x")]
    calls += [getattr(fresh, each) for each in ("get_feature_names_out", "gram") if hasattr(fresh, each)]
    calls += [lambda: fresh.score(graphs(), labels(fresh))] if hasattr(fresh, "predict") else []
    for call in calls:
        with pytest.raises(NotFitted, match=rf"{type(fresh).__name__} is not fitted yet: call fit\(graphs\)"):
            call()


@over(*(name for name in METHODS if name not in HISTOGRAMS))
def test_settings_changed_after_fit_change_nothing(name, tmp_path):
    model = copy.deepcopy(fitted(name))
    params = model.get_params()
    other = {"rounds": 1, "size": 3, "values": "frequencies", "decay": 0.002, "node_columns": None}
    other |= {"structure": "wl", "dim": 3, "random_state": 9, "levels": 0, "variant": "structural"}
    other |= {"encoder": GIN(layers=3, node_features="degree"), "n_bits": 64, "radius": 1}
    other |= {"task": "regression" if is_classifier(model) else "classification"}
    model.set_params(**{each: value for each, value in other.items() if each in params})
    loaded = infograph.load(model.save(tmp_path / "model"))
    for found in (loaded, model.set_params(**({"task": params["task"]} if "task" in params else {}))):
        assert_same(outputs(found, graphs()), outputs(fitted(name), graphs()))
    if name in KERNELS | EMBEDDINGS | PREDICTORS:
        assert {**loaded.get_params(), "random_state": 0} == {**params, "random_state": 0}


# ---- fitting


def global_states():
    _, keys, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), keys.tolist(), rest, torch.get_rng_state().tolist()


@every
def test_a_seed_decides_everything_and_touches_no_global_one(name):
    before, model = global_states(), clone(METHODS[name])
    y, expected = labels(model), outputs(fitted(name), graphs())
    if hasattr(model, "transform"):
        vectors = model.fit_transform(graphs(), y)
        np.testing.assert_allclose(dense(vectors), expected[0], rtol=1e-12)
        assert len(model.get_feature_names_out()) == vectors.shape[1]
        (vectors.data if issparse(vectors) else vectors)[:] = 0  # what is given out is nobody's own
    else:
        model.fit(graphs(), y)
    for found, other in zip(outputs(model, graphs()), expected, strict=True):
        assert len(found) == len(SMILES) and np.isfinite(found).all() and found.dtype == other.dtype
        np.testing.assert_array_equal(found, other)
    assert global_states() == before
    if name in DRAWN:
        model.set_params(random_state=1).fit(graphs(), y)
        assert not np.allclose(outputs(model, graphs())[0], expected[0])


def interrupt(*_):
    raise KeyboardInterrupt


@every
@pytest.mark.parametrize("before", ["nothing", "a model"])
def test_a_failed_fit_leaves_what_was_there(name, before, monkeypatch):
    model = clone(METHODS[name]) if before == "nothing" else copy.deepcopy(fitted(name))
    known, y, options = as_graphset(NEW), labels(model, len(NEW)), {}
    if hasattr(model, "_learn"):
        monkeypatch.setattr(type(model), "_learn", interrupt)
    elif getattr(model, "epochs", 0):
        options = {"watchers": [interrupt]}
    elif name in PREDICTORS:
        monkeypatch.setattr(type(model), "_remember", interrupt)
    else:
        known = []
    with pytest.raises((KeyboardInterrupt, InvalidParameter)):
        model.fit(known, y, **options)
    if before == "nothing":
        assert set(vars(model)) == set(vars(clone(METHODS[name])))
    else:
        assert_same(outputs(model, graphs()), outputs(fitted(name), graphs()))


@every
@pytest.mark.parametrize("bad", [[], None, 5, np.zeros((3, 4))], ids=["none", "None", "number", "matrix"])
def test_what_is_no_graphs_is_refused(name, bad):
    for call in (clone(METHODS[name]).fit, lambda given: outputs(fitted(name), given)):
        with pytest.raises(InvalidParameter, match="graphs"):
            call(bad)


# ---- results


@over(*inductive)
def test_a_graph_does_not_depend_on_its_company(name):
    model, new = fitted(name), as_graphset(NEW)
    together = outputs(model, new)
    assert_close(name, [each[::-1] for each in outputs(model, new[::-1])], together)
    assert_close(name, outputs(model, new[2]), [each[2:3] for each in together])


@over(*(name for name in METHODS if "forest" not in name))
def test_odd_graphs(name, corner_cases):
    model = clone(METHODS[name]).fit(corner_cases, labels(METHODS[name], 10))
    together = outputs(model, corner_cases)
    assert all(len(each) == 10 and np.isfinite(each).all() for each in together)
    if name in inductive:
        assert_close(name, [each[::-1] for each in outputs(model, corner_cases[::-1])], together)
        for graph in range(10):
            assert_close(
                name, outputs(model, corner_cases[graph]), [each[graph : graph + 1] for each in together]
            )
    if name in NETWORKS:  # that kernels do not mind the order of nodes is tried on their values
        assert_close(name, outputs(model, permuted(corner_cases, 0)), together)


@over(*NETWORKS, *PREDICTORS)
def test_bad_graphs_keep_their_places_on_request(name):
    model, mixed = fitted(name), ["CCOC", "nonsense", "FCCO", "C1CC"]
    with pytest.raises(InvalidGraph, match="graph 1"):
        outputs(model, mixed)
    expected, kept = outputs(model, ["CCOC", "FCCO"]), outputs(model, mixed, errors="nan")
    assert_close(name, outputs(model, mixed, errors="skip"), expected)
    assert_close(name, [each[[0, 2]] for each in kept], expected)
    assert all(np.isnan(each[[1, 3]]).all() for each in kept)
    assert [each.dtype for each in kept] == [each.dtype for each in expected]
    if is_classifier(model):
        found = model.predict(mixed, errors="nan")
        assert [label is None for label in found] == [False, True, False, True]
    assert all(len(each) == 1 and np.isnan(each).all() for each in outputs(model, ["x"], errors="nan"))
    with pytest.raises(NothingLeft):
        outputs(model, ["x"], errors="skip")
    with pytest.raises(InvalidParameter, match="errors='drop': expected 'raise', 'skip' or 'nan'"):
        outputs(model, mixed, errors="drop")


# ---- scikit-learn


@over(*(name for name in inductive if name not in PREDICTORS))
def test_in_a_pipeline_and_a_grid_search(name):
    pipeline = make_pipeline(
        clone(METHODS[name]), StandardScaler(with_mean=False), LogisticRegression(max_iter=5000, C=1e-3)
    )
    step, y = pipeline.steps[0][0], np.arange(len(SMILES)) % 2
    grid = {f"{step}__dim": [6]} if name in NETWORKS else {}
    grid |= {f"{step}__normalise": [True]} if name in KERNELS else {}
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grid, cv=folds, error_score="raise").fit(list(graphs()), y)
    assert search.best_estimator_.predict(graphs()[:3]).shape == (3,)
    assert name not in NETWORKS or search.best_estimator_[0].transform(graphs()).shape[1] == 6


@over(*NETWORKS, *EMBEDDINGS)
def test_vectors_as_data_frames(name):
    frame = copy.deepcopy(fitted(name)).set_output(transform="pandas").transform(graphs())
    prefix = "infograph" if name in TRAINED else type(METHODS[name]).__name__.lower()
    width = frame.shape[1]
    assert list(frame.columns) == [f"{prefix}{column}" for column in range(width)]


@over(*PREDICTORS, "regressor")
def test_cross_validation_is_the_loop_by_hand(name):
    model, folds = METHODS[name], KFold(2, shuffle=True, random_state=0)
    y = labels(model)
    scores = cross_val_score(model, SMILES, y, cv=folds, error_score="raise")
    by_hand = [
        clone(model).fit(graphs()[train], y[train]).score(graphs()[test], y[test])
        for train, test in folds.split(y)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)
    column = graphs().with_column("graph", infograph.Column("y", "float"), np.arange(len(y)) / 3)
    if not is_classifier(model):  # by the column, and with missing labels
        assert np.isfinite(cross_val_score(model, column, cv=folds, error_score="raise")).all()
        gaps = np.where(np.arange(len(y)) < 4, np.nan, y)
        assert np.isfinite(cross_val_score(model, graphs(), gaps, cv=folds, error_score="raise")).all()


# ---- folders


@every
def test_saved_and_loaded_bit_by_bit(name, tmp_path):
    model, new = fitted(name), graphs() if name == "node2vec" else as_graphset(NEW)
    folder = model.save(tmp_path / "model")
    became = clone(model).set_params(**model._fitted_settings()).get_params()  # of "auto"
    for loaded in (type(model).load(folder), infograph.load(str(folder))):
        assert type(loaded) is type(model)
        assert loaded.get_params() == {**model.get_params(), **became}
        assert loaded.schema_ == model.schema_
        assert loaded.history_ == getattr(model, "history_", [])
        assert_same(outputs(loaded, new), outputs(model, new))
        if hasattr(model, "predict"):
            assert_same([loaded.predict(new)], [model.predict(new)])
            assert loaded.target_names_ == model.target_names_ == ("y",)
        if hasattr(model, "get_feature_names_out"):
            assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
        if name in KERNELS:
            assert_same([loaded.gram(), loaded.gram(new)], [model.gram(), model.gram(new)])
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert json.loads((folder / "config.json").read_text())["class"] == type(model).__name__
    card = (folder / "README.md").read_text()
    assert f"# {type(model).__name__}" in card and ("infograph.load" in card or name in HISTOGRAMS)
    model.save(folder)  # an older model is replaced
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    with pytest.raises(InvalidFile, match=r"model\.safetensors is damaged: its checksum"):
        infograph.load(folder)


def changed(**entries):
    """A config.json with other entries."""
    return lambda text: json.dumps({**json.loads(text), **entries})


@pytest.mark.parametrize(
    ("file", "change", "error", "word"),
    [
        ("model.safetensors", None, FileMissing, "is missing"),
        ("schema.json", lambda _: "{", InvalidFile, "is damaged"),
        ("schema.json", lambda _: "{}", InvalidFile, "schema"),
        ("history.json", lambda _: "{", InvalidFile, "history"),
        ("history.json", lambda _: "3", InvalidFile, "history"),
        *(
            (f"{name}.json", lambda _: "[" * 100_000, InvalidFile, name)
            for name in ("config", "schema", "history")
        ),
        ("config.json", lambda _: "[]", InvalidFile, "is damaged"),
        *(
            ("config.json", changed(**{"class": name}), InvalidFile, "does not know")
            for name in ("Oracle", "load", "GraphSet", "__version__", 3)
        ),
        ("config.json", changed(params={"depth": 3}), InvalidFile, "unknown setting 'depth'"),
        *(
            ("config.json", changed(learned=learned), InvalidFile, "'learned' is n")
            for learned in ({}, [], {"targets": 3, "units": [], "single": True})
        ),
    ],
)
def test_damaged_folders_are_named(file, change, error, word, tmp_path):
    folder = fitted("atom counts").save(tmp_path / "model")
    if change is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(change((folder / file).read_text()))
    with pytest.raises(error, match=word):
        infograph.load(folder)


def test_nothing_but_a_model_is_replaced(tmp_path, monkeypatch):
    model = fitted("mean")
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place, word in ((tmp_path, "other files"), (tmp_path / "thesis.txt", "is a file"), (".", "working")):
        with pytest.raises(InvalidParameter, match=word):
            model.save(place)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert not any((tmp_path / "here").iterdir())
    with pytest.raises(FileMissing, match="no model folder"):
        infograph.load(tmp_path / "nothing")
    with pytest.raises(InvalidFile, match="holds a MeanPredictor, not a InfoGraph"):
        InfoGraph.load(model.save(tmp_path / "mean"))

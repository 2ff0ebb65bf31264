"""What every estimator that predicts promises, tried on the reference rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

import infograph
from infograph import AtomCounts, FingerprintForest, MeanPredictor, as_graphset, load_dataset
from infograph.data.labels import Scaler
from infograph.data.schema import Column, Schema
from infograph.errors import (
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    InvalidTarget,
    NotFitted,
    NothingLeft,
    TargetWarning,
)
from infograph.estimators.base import GraphPredictor, GraphTransformer, r_squared

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "CCOC", "c1ccncc1", "CNC", "OCC(O)CO", "CC#N"] * 3
SIZE = np.array([float(len(text)) for text in SMILES])
CLASSES = np.array(["long" if len(text) > 4 else "short" for text in SMILES])
NAMES = ["MeanPredictor", "AtomCounts", "FingerprintForest"]
MAKE = {
    "MeanPredictor": lambda task: MeanPredictor(task),
    "AtomCounts": lambda task: AtomCounts(task=task),
    "FingerprintForest": lambda task: FingerprintForest(n_trees=5, n_bits=128, task=task),
}
every = pytest.mark.parametrize("name", NAMES)
tasks = pytest.mark.parametrize("task", ["regression", "classification"])


@pytest.fixture(scope="module")
def graphs():
    made = as_graphset(SMILES)
    made = made.with_column("graph", Column("y", "float", unit="letters"), SIZE)
    codes = (CLASSES == "short").astype(np.int32)
    return made.with_column("graph", Column("kind", "categorical", categories=("long", "short")), codes)


def labels(task: str) -> np.ndarray:
    return SIZE if task == "regression" else CLASSES


@every
@tasks
def test_init_only_stores_and_sklearn_knows_the_task(name, task):
    model = MAKE[name](task)
    for parameter, value in model.get_params().items():
        assert getattr(model, parameter) is value
    assert clone(model).get_params() == model.get_params()
    assert is_regressor(model) == (task == "regression")
    assert is_classifier(model) == (task == "classification")
    assert hasattr(model, "predict_proba") == (task == "classification")


@every
@tasks
def test_saved_and_loaded_bit_by_bit(name, task, graphs, tmp_path):
    model = MAKE[name](task).fit(graphs, labels(task))
    folder = model.save(tmp_path / "model")
    for loaded in (type(model).load(folder), infograph.load(folder)):
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert loaded.schema_ == model.schema_
        assert loaded.target_names_ == model.target_names_ == ("y",)
        assert np.array_equal(loaded.predict(graphs), model.predict(graphs))
        assert loaded.predict(graphs).dtype == model.predict(graphs).dtype
        assert loaded.score(graphs, labels(task)) == model.score(graphs, labels(task))
        if task == "classification":
            assert np.array_equal(loaded.predict_proba(graphs), model.predict_proba(graphs))
            assert loaded.classes_.tolist() == ["long", "short"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "config.json",
        "history.json",
        "model.safetensors",
        "schema.json",
    ]


@every
def test_what_was_learned_besides_arrays_is_readable(name, graphs, tmp_path):
    several = graphs.with_column("graph", Column("z", "float", unit="eV"), SIZE * 2)
    model = MAKE[name]("regression").fit(several, ["y", "z"])
    folder = model.save(tmp_path / "model")
    learned = json.loads((folder / "config.json").read_text())["learned"]
    assert learned["targets"] == ["y", "z"]
    assert learned["units"] == ["letters", "eV"]
    assert learned["single"] is False
    assert infograph.load(folder).predict(graphs).shape == (30, 2)
    card = (folder / "README.md").read_text()
    assert f"# {name} model" in card
    assert "- y [letters]\n- z [eV]" in card
    MAKE[name]("classification").fit(graphs, "kind").save(folder)
    assert json.loads((folder / "config.json").read_text())["learned"]["classes"] == ["long", "short"]
    assert "Classes: long, short" in (folder / "README.md").read_text()


@every
@pytest.mark.parametrize("learned", [{}, [], {"targets": 3, "units": [], "single": True}])
def test_damaged_learned_state_is_named(name, learned, graphs, tmp_path):
    folder = MAKE[name]("regression").fit(graphs).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "learned": learned}))
    with pytest.raises(InvalidFile, match=r"config\.json is damaged: 'learned' is n"):
        infograph.load(folder)


@every
@tasks
def test_a_changed_setting_does_not_change_a_fitted_model(name, task, graphs, tmp_path):
    model = MAKE[name](task).fit(graphs, labels(task))
    before = model.predict(graphs)
    model.set_params(task="regression" if task == "classification" else "classification")
    assert np.array_equal(model.predict(graphs), before)
    assert infograph.load(model.save(tmp_path / "model")).get_params()["task"] == task
    model.fit(graphs, labels(model.task))  # and fitting anew is the other task
    assert hasattr(model, "classes_") == (task == "regression")


def test_bits_as_they_were_in_fit(graphs, tmp_path):
    model = FingerprintForest(n_trees=3, n_bits=128).fit(graphs)
    before = model.predict(graphs)
    model.set_params(n_bits=64, radius=1)
    assert np.array_equal(model.predict(graphs), before)
    assert infograph.load(model.save(tmp_path / "model")).n_bits == 128


@every
def test_not_fitted(name, graphs, tmp_path):
    model = MAKE[name]("classification")
    for attempt in (
        lambda: model.predict(graphs),
        lambda: model.predict_proba(graphs),
        lambda: model.score(graphs, CLASSES),
        lambda: model.save(tmp_path / "x"),
    ):
        with pytest.raises(NotFitted, match=rf"this {name} is not fitted yet: call fit\(graphs\)"):
            attempt()


@every
def test_scores_are_those_of_scikit_learn_on_the_labelled(name, graphs):
    rng = np.random.default_rng(0)
    y = np.column_stack([SIZE, SIZE**2]) + rng.normal(size=(30, 2))
    model = MAKE[name]("regression").fit(graphs, y)
    y[::4, 0] = y[:7, 1] = np.nan
    parts = [(y[~np.isnan(y[:, t]), t], model.predict(graphs)[~np.isnan(y[:, t]), t]) for t in range(2)]
    assert model.score(graphs, y) == pytest.approx(np.mean([r2_score(*pair) for pair in parts]), abs=1e-12)
    classes = CLASSES.astype(object)
    model = MAKE[name]("classification").fit(graphs, classes)
    classes[::3] = None
    classes[1] = "never seen"
    known = np.array([label is not None for label in classes])
    expected = accuracy_score(classes[known].astype(str), model.predict(graphs)[known])
    with pytest.warns(
        TargetWarning, match="never saw the class 'never seen', .* it saw 'long', 'short'"
    ) as all_:
        assert model.score(graphs, classes) == pytest.approx(expected)
    assert len(all_) == 1


@every
def test_scores_by_labels_of_another_type(name, graphs):
    y = np.arange(30) % 2
    model = MAKE[name]("classification").fit(graphs, y)
    with pytest.raises(
        InvalidTarget, match=r"labels are texts \('0', '1'\), those of the training are integ"
    ):
        model.score(graphs, y.astype(str))
    assert model.score(graphs, y.astype(float)) == model.score(graphs, y)
    with pytest.raises(InvalidTarget, match="the targets are 'b', the model's are 'a'"):
        MAKE[name]("classification").fit(graphs, pd.Series(y, name="a")).score(graphs, pd.Series(y, name="b"))


@every
def test_scores_by_name_and_unit(name, graphs):
    table = pd.DataFrame({"a": SIZE, "b": -(SIZE**2)})
    model = MAKE[name]("regression").fit(graphs, table)
    assert model.score(graphs, table[["b", "a"]]) == model.score(graphs, table)
    assert model.score(graphs, table.to_numpy()) == model.score(graphs, table)
    with pytest.raises(
        InvalidTarget, match="the targets are 'a', 'c', the model's are 'a', 'b': give the same"
    ):
        model.score(graphs, table.rename(columns={"b": "c"}))
    words = graphs.with_column("graph", Column("y", "float", unit="words"), SIZE)
    with pytest.raises(InvalidTarget, match="'y' is in words here, the model learns it in letters"):
        MAKE[name]("regression").fit(graphs).score(words)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_scores_of_huge_and_tiny_targets(factor):
    rng = np.random.default_rng(0)
    given, predicted = rng.normal(size=(2, 9))
    assert r_squared(given * factor, predicted * factor) == pytest.approx(r2_score(given, predicted))


def test_scores_of_constant_targets(graphs):
    model = MeanPredictor().fit(graphs[:3], [1.0, 2.0, 3.0])
    assert model.score(graphs[:2], [2.0, 2.0]) == 1
    assert model.score(graphs[:2], [3.0, 3.0]) == 0


@every
def test_nothing_to_score_by(name, graphs):
    model = MAKE[name]("regression").fit(graphs)
    with pytest.raises(InvalidTarget, match=r"1 labelled graphs to score by: R\^2 needs at least two"):
        model.score(graphs[:2], [1, None])
    with pytest.raises(InvalidTarget, match="2 targets to score by, the model predicts 1: y"):
        model.score(graphs, np.ones((30, 2)))
    with pytest.raises(InvalidTarget, match="not one of the graphs has a label"):
        MAKE[name]("classification").fit(graphs, "kind").score(graphs, [None] * 30)


@every
@tasks
@pytest.mark.parametrize("kind", ["GraphSet", "list of sets", "SMILES"])
def test_cross_validation_over_any_graphs(name, task, kind, graphs):
    source = {"GraphSet": graphs, "list of sets": list(graphs), "SMILES": SMILES}[kind]
    y, model = labels(task), MAKE[name](task)
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, source, y, cv=folds, error_score="raise")
    by_hand = [
        clone(model).fit(graphs[train], y[train]).score(graphs[test], y[test])
        for train, test in folds.split(y)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)


def test_cross_validation_by_the_column_and_with_missing_labels(graphs):
    folds = KFold(3, shuffle=True, random_state=0)
    given = cross_val_score(AtomCounts(), graphs, SIZE, cv=folds, error_score="raise")
    assert np.array_equal(cross_val_score(AtomCounts(), graphs, cv=folds, error_score="raise"), given)
    y = SIZE.copy()
    y[:4] = np.nan
    assert np.isfinite(cross_val_score(AtomCounts(), graphs, y, cv=folds, error_score="raise")).all()
    classes = [None if i < 4 else label for i, label in enumerate(CLASSES)]
    scores = cross_val_score(MeanPredictor("classification"), graphs, classes, cv=folds, error_score="raise")
    assert np.isfinite(scores).all()
    assert cross_val_predict(AtomCounts(), graphs, SIZE, cv=folds).shape == (30,)


def test_grid_search(graphs):
    search = GridSearchCV(
        FingerprintForest(n_trees=3),
        {"radius": [1, 2], "n_bits": [64, 128]},
        cv=KFold(2, shuffle=True, random_state=0),
    )
    best = search.fit(graphs, SIZE).best_estimator_
    assert best.get_params()["n_bits"] == search.best_params_["n_bits"]
    assert np.array_equal(best.predict(graphs), search.predict(graphs))
    scored = GridSearchCV(AtomCounts(task="classification"), {"columns": [None]}, scoring="roc_auc", cv=2)
    assert 0 <= scored.fit(graphs, CLASSES == "long").best_score_ <= 1


@every
@tasks
def test_bad_rows_keep_their_place_on_request(name, task, graphs):
    model = MAKE[name](task).fit(graphs, labels(task))
    good = model.predict(["CCO", "CCN"])
    mixed = ["CCO", "nonsense", "CCN", "C1CC"]
    with pytest.raises(InvalidGraph, match="graph 1"):
        model.predict(mixed)
    assert np.array_equal(model.predict(mixed, errors="skip"), good)
    kept = model.predict(mixed, errors="nan")
    assert kept[[0, 2]].tolist() == good.tolist()
    missing = [label is None or label != label for label in kept.tolist()]
    assert missing == [False, True, False, True]
    if task == "classification":
        assert np.isnan(model.predict_proba(mixed, errors="nan")[[1, 3]]).all()
    assert len(model.predict(["nonsense"], errors="nan")) == 1
    with pytest.raises(NothingLeft):
        model.predict(["nonsense"], errors="skip")
    with pytest.raises(InvalidParameter, match="errors='drop': expected 'raise', 'skip' or 'nan'"):
        model.predict(mixed, errors="drop")


def test_classes_of_mutag_by_name_and_what_minus_one_means():
    mutag = load_dataset("MUTAG")[:60]
    model = AtomCounts(task="classification").fit(mutag)
    assert model.classes_.tolist() == [-1, 1]
    assert set(model.predict(mutag).tolist()) <= {-1, 1}
    y = mutag.values("graph", "y")
    with pytest.raises(InvalidTarget, match="pass unlabelled=-1"):
        clone(model).fit(mutag, y)
    y[:10] = 2
    assert AtomCounts(task="classification", unlabelled=-1).fit(mutag, y).classes_.tolist() == [1, 2]


class Both(GraphPredictor, GraphTransformer):
    """An estimator for one task that predicts and transforms, with more to learn than the base knows."""

    task = "regression"

    def fit(self, graphs, y=None):
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        self.scaler_ = Scaler.of(targets.values)
        self._remember(targets)
        self.schema_ = Schema()
        return self

    def transform(self, graphs):
        return as_graphset(graphs).sizes[:, None].astype(float)

    def _outputs(self, graphs):
        return self.scaler_.restore(np.ones((len(graphs), 1)))

    def _state(self):
        return {"empty": np.zeros(1)}

    def _set_state(self, state):
        assert hasattr(self, "scaler_")  # what is no array comes first

    def _learned(self):
        return {**super()._learned(), "scaler": [self.scaler_.mean, self.scaler_.scale]}

    def _set_learned(self, learned):
        super()._set_learned(learned)
        self.scaler_ = Scaler(*map(tuple, learned["scaler"]))


def test_an_estimator_can_predict_and_transform(graphs, tmp_path):
    model = Both().fit(graphs)
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    assert model.__sklearn_tags__().transformer_tags is not None
    assert model.predict(graphs)[0] == pytest.approx(SIZE.mean() + SIZE.std())
    assert np.array_equal(model.fit_transform(graphs, SIZE)[:, 0], graphs.sizes)
    loaded = Both.load(model.save(tmp_path / "model"))
    assert loaded.scaler_ == model.scaler_
    assert np.array_equal(loaded.predict(graphs), model.predict(graphs))


@every
def test_input_stays_as_it_is(name, graphs):
    y = SIZE.copy()
    node = {column: values.copy() for column, values in graphs.node.items()}
    MAKE[name]("regression").fit(graphs, y).predict(graphs)
    assert np.array_equal(y, SIZE)
    for column, values in graphs.node.items():
        assert np.array_equal(node[column], values)

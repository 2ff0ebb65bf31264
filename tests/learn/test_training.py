"""Training, its errors, and the methods to beat."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.base import clone

from infograph import AtomCounts, InfoGraphClassifier, InfoGraphRegressor, MeanPredictor, load_dataset
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.learn.parts import make_parts
from infograph.learn.training import gaps, label_curve, learn, runs_of, unit_of
from infograph.objectives.vectors import Vectors
from tests.learn.test_predictions import SMALL, molecules


def test_references_are_what_a_loop_gives():
    parts = make_parts(molecules(), ["size"], labelled=12, validation=5, test=5)
    rows = {row.method: row for row in learn(InfoGraphRegressor(**SMALL), parts).rows[1:]}
    labelled, given = parts.train.graph["size"][:12], parts.test.graph["size"]
    assert rows["mean of the labels"].test["MAE"] == pytest.approx(np.mean(np.abs(given - labelled.mean())))
    model = AtomCounts().fit(parts.train[:12], "size")
    error = np.mean((model.predict(parts.validation) - parts.validation.graph["size"]) ** 2)
    assert rows["least squares on atom counts"].validation["RMSE"] == pytest.approx(error**0.5)
    assert list(rows)[2:] == ["random forest on fingerprints"]
    assert {row.unit for row in rows.values()} == {"mol/L"}
    alone = learn(InfoGraphRegressor(**SMALL), parts, references="none")
    assert len(alone.rows) == 1 and alone.verdicts == ()


@pytest.mark.filterwarnings("ignore:no labelled training molecule")  # has Cl, or N
def test_learning_ends_with_errors_in_the_unit_of_the_target():
    parts = make_parts(molecules(), ["size"], labelled=8, validation=6, test=4)
    model = InfoGraphRegressor("infograph*", **{**SMALL, "epochs": 2})
    learned = learn(model, parts, validate_on=3)
    assert learned.model is model
    first = learned.rows[0]
    assert (first.method, first.target, first.unit) == ("InfoGraph*", "size", "mol/L")
    for graphs, error in ((parts.validation, first.validation), (parts.test, first.test)):
        assert error["MAE"] == pytest.approx(np.mean(np.abs(model.predict(graphs) - graphs.graph["size"])))
    few = parts.validation[:3]
    best = min(record["validation"] for record in model.history_)
    assert best == pytest.approx(np.mean(np.abs(model.predict(few) - few.graph["size"])), rel=1e-5)
    content = learned.to_dict()
    assert content["graphs"] == {"labelled": 8, "unlabelled": 6, "validation": 6, "test": 4}
    assert content["table"][0]["test"] == first.test and "search" not in content
    assert unit_of(parts) == "mol/L"


def test_heads_of_vectors_have_intervals_and_a_curve_over_labels():
    graphs = molecules()
    for name, values in (("a", np.arange(24.0) % 2), ("b", (np.arange(24) > 9) * 1.0)):
        graphs = graphs.with_column("graph", Column(name, "float"), values)
    parts, said = make_parts(graphs[np.arange(72) % 24], ["size"], validation=0, test=20), []
    learned = learn(InfoGraphRegressor(objective=Vectors("vectors", "ridge")), parts, references="none")
    assert learned.rows[0].method == "ridge regression on vectors"
    _, low, high = learned.model.predict(parts.test, interval=0.9)
    given = parts.test.graph["size"]
    assert learned.covered == (pytest.approx(np.mean((low <= given) & (given <= high))),)
    curve = label_curve(learned, said.append)
    assert [count for count, _ in curve] == [26, 52] and len(said) == 1
    assert curve[-1][1] == pytest.approx(learned.rows[0].test["RMSE"])
    fewer = InfoGraphRegressor(objective=Vectors("vectors", "ridge")).fit(parts.train[:26], "size")
    error = np.mean((fewer.predict(parts.test) - given) ** 2) ** 0.5
    assert curve[0][1] == pytest.approx(error, rel=1e-4)
    tasks = make_parts(graphs, ["a", "b"], validation=0, test=8)
    several = learn(InfoGraphClassifier(objective=Vectors("vectors", "ridge")), tasks)
    assert [row.target for row in several.rows[:3]] == ["mean of 2", "a", "b"]
    mean, *each = (row.test["ROC-AUC"] for row in several.rows[:3])
    assert mean == pytest.approx(np.mean(each))
    assert several.verdicts[0].target == "mean of 2" and several.verdicts[0].use == ""


@pytest.mark.filterwarnings("ignore:no labelled training molecule")  # has Cl, or N
def test_labels_of_test_graphs_change_nothing():
    graphs, sizes = molecules(), {"labelled": 10, "validation": 4, "test": 6}
    tested = np.isin(graphs.ids, make_parts(graphs, ["size"], **sizes).test.ids)
    column = graphs.schema.column("graph", "size")
    other = graphs.with_column("graph", column, np.where(tested, -1e6, graphs.graph["size"]))
    models = [
        learn(
            InfoGraphRegressor("infograph*", **SMALL), make_parts(given, ["size"], **sizes), references="none"
        ).model
        for given in (graphs, other)
    ]
    assert tested.sum() == 6
    assert np.array_equal(models[0].predict(graphs), models[1].predict(graphs))


def test_classes_of_mutag():
    parts = make_parts(load_dataset("MUTAG"), ["y"], labelled=20, validation=40, test=40)
    learned = learn(InfoGraphClassifier("supervised", **SMALL), parts)
    assert [row.method for row in learned.rows] == [
        "supervised",
        "most frequent class",
        "logistic regression on counts",
    ]
    assert learned.rows[0].test["% wrong"] == pytest.approx(1 - learned.model.score(parts.test, "y"))
    (verdict,) = learned.verdicts
    assert (verdict.figure, verdict.n_graphs) == ("ROC-AUC", 40)
    best = max(learned.rows[1:], key=lambda row: row.test["ROC-AUC"])
    assert (verdict.reference, verdict.other) == (best.method, pytest.approx(best.test["ROC-AUC"]))
    assert learned.to_dict()["verdicts"][0]["sentence"] == str(verdict)
    mean = MeanPredictor("classification").fit(parts.train[:20], "y")
    assert learned.rows[1].validation["% wrong"] == pytest.approx(1 - mean.score(parts.validation, "y"))
    assert {row.unit for row in learned.rows} == {"% wrong"}


def test_without_held_out_graphs_there_are_no_errors():
    parts = make_parts(molecules(), ["size"], validation=0, test=0)
    learned = learn(InfoGraphRegressor("infograph*", **SMALL), parts)
    assert all(math.isnan(row.validation["MAE"]) and math.isnan(row.test["R2"]) for row in learned.rows)
    assert learned.verdicts == () and learned.covered == ()
    assert [reason.split(":")[0] for reason in gaps(learned.rows, parts)] == [
        "There is no validation error",
        "There is no test error",
    ]
    with pytest.raises(InvalidParameter, match="a search over lam needs validation graphs"):
        learn(InfoGraphRegressor("infograph*", **SMALL), parts, grid={"lam": [1.0, 2.0]})


def test_a_search_is_chosen_on_validation_graphs():
    parts = make_parts(molecules(), ["size"], validation=6, test=4)
    grid = {"lam": (1e-3, 1e-4), "lr": (1e-2, 1e-5)}
    estimator, heard = InfoGraphRegressor("infograph*", **SMALL, n_models=2), []
    learned = learn(estimator, parts, grid=grid, announce=heard.append)
    errors = []
    for lam, lr in itertools.product(*grid.values()):
        model = clone(estimator).set_params(lr=lr, objective__lam=lam)
        history = model.fit(parts.train, "size", validation=(parts.validation, "size")).history_
        errors.append(np.mean([min(r["validation"] for r in history if r["model"] == m) for m in (1, 2)]))
    assert [trial.error for trial in learned.trials] == pytest.approx(errors)
    assert not hasattr(estimator, "models_")
    best = learned.trials[int(np.argmin(errors))]
    assert (learned.model.objective.lam, learned.model.lr) == tuple(best.settings.values())
    assert heard[1] == "setting 2 of 4: lam 0.001, lr 1e-05"
    assert len(learned.to_dict()["search"]) == 4 and gaps(learned.rows, parts) == []
    assert runs_of(InfoGraphRegressor("infograph*", n_models=2), grid) == 8
    with pytest.raises(InvalidParameter, match="keeps no checkpoint"):
        learn(InfoGraphRegressor("infograph*", **SMALL), parts, grid=grid, checkpoint="state")
    with pytest.raises(InvalidParameter, match="validate_on=0"):
        learn(InfoGraphRegressor("infograph*", **SMALL), parts, validate_on=0)


def test_a_combination_that_diverges_is_no_choice(monkeypatch):
    parts, fit = make_parts(molecules(), ["size"], validation=6, test=4), InfoGraphRegressor.fit

    def sometimes(self, *args, **more):
        if self.objective.lam > 0.5:
            raise TrainingDiverged("no")
        return fit(self, *args, **more)

    monkeypatch.setattr(InfoGraphRegressor, "fit", sometimes)
    found = learn(InfoGraphRegressor("infograph*", **SMALL), parts, grid={"lam": [1.0, 1e-3]})
    assert math.isnan(found.trials[0].error) and found.model.objective.lam == 1e-3
    with pytest.raises(TrainingDiverged, match="all 2 combinations of lam diverged: lower lr"):
        learn(InfoGraphRegressor("infograph*", **SMALL), parts, grid={"lam": [1.0, 2.0]})

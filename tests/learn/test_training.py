"""Training, its errors, and the methods to beat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from infograph import AtomCounts, InfoGraphClassifier, InfoGraphRegressor, MeanPredictor, load_dataset
from infograph.data.cleaning import prepare
from infograph.errors import InvalidParameter
from infograph.learn.parts import make_parts
from infograph.learn.training import announcement, gaps, learn, reference_rows, runs_of, unit_of
from tests.learn.test_predictions import SMALL, molecules


def test_references_are_what_a_loop_gives():
    parts = make_parts(molecules(), ["size"], labelled=12, validation=5, test=5)
    rows = {row.method: row for row in reference_rows(parts, "all")}
    labelled, given = parts.train.graph["size"][:12], parts.test.graph["size"]
    assert rows["mean of the labels"].test == pytest.approx(np.mean(np.abs(given - labelled.mean())))
    model = AtomCounts().fit(parts.train[:12], "size")
    error = np.mean(np.abs(model.predict(parts.validation) - parts.validation.graph["size"]))
    assert rows["least squares on atom counts"].validation == pytest.approx(error)
    assert list(rows)[2:] == ["fingerprints + random forest"]
    assert {row.unit for row in rows.values()} == {"mol/L"}
    assert list(reference_rows(parts, "none")) == []


def test_learning_ends_with_errors_in_the_unit_of_the_target():
    parts = make_parts(molecules(), ["size"], labelled=8, validation=6, test=4)
    model = InfoGraphRegressor(**{**SMALL, "epochs": 2})
    learned = learn(model, parts, validate_on=3)
    assert learned.model is model
    first = learned.rows[0]
    assert (first.method, first.target, first.unit) == ("InfoGraph*", "size", "mol/L")
    for graphs, error in ((parts.validation, first.validation), (parts.test, first.test)):
        assert error == pytest.approx(np.mean(np.abs(model.predict(graphs) - graphs.graph["size"])))
    few = parts.validation[:3]
    best = min(record["validation"] for record in model.history_)
    assert best == pytest.approx(np.mean(np.abs(model.predict(few) - few.graph["size"])), rel=1e-5)
    content = learned.to_dict()
    assert content["graphs"] == {"labelled": 8, "unlabelled": 6, "validation": 6, "test": 4}
    assert content["table"][0]["test"] == first.test and "search" not in content
    assert unit_of(parts) == "mol/L"


def test_labels_of_test_graphs_change_nothing():
    graphs, sizes = molecules(), {"labelled": 10, "validation": 4, "test": 6}
    tested = np.isin(graphs.ids, make_parts(graphs, ["size"], **sizes).test.ids)
    column = graphs.schema.column("graph", "size")
    other = graphs.with_column("graph", column, np.where(tested, -1e6, graphs.graph["size"]))
    models = [
        learn(InfoGraphRegressor(**SMALL), make_parts(given, ["size"], **sizes), references="none").model
        for given in (graphs, other)
    ]
    assert tested.sum() == 6
    assert np.array_equal(models[0].predict(graphs), models[1].predict(graphs))


def test_classes_of_mutag():
    parts = make_parts(load_dataset("MUTAG"), ["y"], labelled=20, validation=40, test=40)
    learned = learn(InfoGraphClassifier(**SMALL, objective="supervised"), parts)
    assert [row.method for row in learned.rows] == [
        "supervised",
        "most frequent class",
        "logistic regression on counts",
    ]
    assert learned.rows[0].test == pytest.approx(1 - learned.model.score(parts.test, "y"))
    mean = MeanPredictor("classification").fit(parts.train[:20], "y")
    assert learned.rows[1].validation == pytest.approx(1 - mean.score(parts.validation, "y"))
    assert {row.unit for row in learned.rows} == {"% wrong"}


def test_without_held_out_graphs_there_are_no_errors():
    parts = make_parts(molecules(), ["size"], validation=0, test=0)
    learned = learn(InfoGraphRegressor(**SMALL), parts)
    assert all(math.isnan(row.validation) and math.isnan(row.test) for row in learned.rows)
    assert [reason.split(":")[0] for reason in gaps(learned.rows, parts)] == [
        "There is no validation error",
        "There is no test error",
    ]
    with pytest.raises(InvalidParameter, match="a search over lam needs validation graphs"):
        learn(InfoGraphRegressor(**SMALL), parts, grid={"lam": [1.0, 2.0]})


def test_a_search_is_chosen_on_validation_graphs():
    parts = make_parts(molecules(), ["size"], validation=6, test=4)
    grid = {"lam": (1e-3, 1e-4), "lr": (1e-2, 1e-5)}
    learned = learn(InfoGraphRegressor(**SMALL, n_models=2), parts, grid=grid)
    assert len(learned.trials) == 4
    best = min(learned.trials, key=lambda trial: trial.error)
    assert (learned.model.objective.lam, learned.model.lr) == tuple(best.settings.values())
    assert len(learned.to_dict()["search"]) == 4 and gaps(learned.rows, parts) == []
    assert runs_of(InfoGraphRegressor(n_models=2), grid) == 8
    assert announcement(1, 4, {"lam": 1e-3}) == "setting 1 of 4: lam 0.001"
    with pytest.raises(InvalidParameter, match="keeps no checkpoint"):
        learn(InfoGraphRegressor(**SMALL), parts, grid=grid, checkpoint="state")
    with pytest.raises(InvalidParameter, match="validate_on=0"):
        learn(InfoGraphRegressor(**SMALL), parts, validate_on=0)


def test_repeated_molecules_are_reported_and_resolved():
    graphs = molecules()[[0, 1, 2, 0, 3]]
    same, notes = prepare(graphs, ["size"])
    assert same is graphs
    assert notes[0].startswith("1 molecule stands there more than once (2 of 5 graphs)")
    less, report = prepare(graphs, ["size"], duplicates="mean")
    assert len(less) == 4 and "Rule mean" in report[0]
    assert prepare(molecules(), ["size"])[1] == []

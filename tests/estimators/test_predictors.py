"""What predictors make of labels, scores and rows that are not finite, tried on the reference rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, r2_score

import infograph
from infograph import (
    GIN,
    AtomCounts,
    Column,
    InfoGraph,
    InfoGraphClassifier,
    MeanPredictor,
    as_graphset,
    load_dataset,
)
from infograph.errors import InvalidGraph, InvalidTarget, TargetWarning
from infograph.learn.predictions import predict_table

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "CCOC", "c1ccncc1", "CNC", "OCC(O)CO", "CC#N"] * 3
SIZE = np.array([float(len(text)) for text in SMILES])
CLASSES = np.array(["long" if len(text) > 4 else "short" for text in SMILES])


@pytest.fixture(scope="module")
def graphs():
    made = as_graphset(SMILES).with_column("graph", Column("y", "float", unit="letters"), SIZE)
    codes = (CLASSES == "short").astype(np.int32)
    return made.with_column("graph", Column("kind", "categorical", categories=("long", "short")), codes)


def test_what_was_learned_besides_arrays_is_readable(graphs, tmp_path):
    several = graphs.with_column("graph", Column("z", "float", unit="eV"), SIZE * 2)
    model = AtomCounts().fit(several, ["y", "z"])
    folder = model.save(tmp_path / "model")
    learned = json.loads((folder / "config.json").read_text())["learned"]
    assert (learned["targets"], learned["units"], learned["single"]) == (["y", "z"], ["letters", "eV"], False)
    assert infograph.load(folder).predict(graphs).shape == (30, 2)
    assert "- predicts: y [letters], z [eV]" in (folder / "README.md").read_text()
    model.set_params(task="classification").fit(graphs, "kind").save(folder)  # anew, another task
    assert json.loads((folder / "config.json").read_text())["learned"]["classes"] == ["long", "short"]
    assert "- classes: long, short" in (folder / "README.md").read_text()


@pytest.mark.parametrize("kind", [MeanPredictor, AtomCounts])
def test_scores_are_those_of_scikit_learn_on_the_labelled(kind, graphs):
    y = np.column_stack([SIZE, SIZE**2]) + np.random.default_rng(0).normal(size=(30, 2))
    model = kind().fit(graphs, y)
    y[::4, 0] = y[:7, 1] = np.nan
    parts = [(y[~np.isnan(y[:, t]), t], model.predict(graphs)[~np.isnan(y[:, t]), t]) for t in range(2)]
    assert model.score(graphs, y) == pytest.approx(np.mean([r2_score(*pair) for pair in parts]), abs=1e-12)
    classes = CLASSES.astype(object)
    model = kind(task="classification").fit(graphs, classes)
    classes[::3] = None
    classes[1] = "never seen"
    known = np.array([label is not None for label in classes])
    expected = accuracy_score(classes[known].astype(str), model.predict(graphs)[known])
    with pytest.warns(
        TargetWarning, match="never saw the class 'never seen', .* it saw 'long', 'short'"
    ) as all_:
        assert model.score(graphs, classes) == pytest.approx(expected)
    assert len(all_) == 1


def test_scores_by_name_type_and_unit(graphs):
    table = pd.DataFrame({"a": SIZE, "b": -(SIZE**2)})
    model = AtomCounts().fit(graphs, table)
    assert model.score(graphs, table[["b", "a"]]) == model.score(graphs, table)
    assert model.score(graphs, table.to_numpy()) == model.score(graphs, table)
    words = graphs.with_column("graph", Column("y", "float", unit="words"), SIZE)
    with pytest.raises(InvalidTarget, match="'y' is in words here, the model learns it in letters"):
        AtomCounts().fit(graphs).score(words)
    y = np.arange(30) % 2
    model = AtomCounts(task="classification").fit(graphs, y)
    assert model.score(graphs, y.astype(float)) == model.score(graphs, y)


def test_scores_of_constant_targets(graphs):
    model = MeanPredictor().fit(graphs[:3], [1.0, 2.0, 3.0])
    assert (model.score(graphs[:2], [2.0, 2.0]), model.score(graphs[:2], [3.0, 3.0])) == (1, 0)


def test_what_minus_one_means():
    mutag = load_dataset("MUTAG")[:60]
    model = AtomCounts(task="classification").fit(mutag)
    assert model.classes_.tolist() == [-1, 1] and set(model.predict(mutag).tolist()) <= {-1, 1}
    y = mutag.values("graph", "y")
    with pytest.raises(InvalidTarget, match="pass unlabelled=-1"):
        model.fit(mutag, y)
    y[:10] = 2
    assert AtomCounts(task="classification", unlabelled=-1).fit(mutag, y).classes_.tolist() == [1, 2]


def test_rows_that_are_not_finite_are_never_given_out(monkeypatch):
    given, some = SMILES[:6], ["CCO", "oops", "CCN", "CCC"]  # the last one comes out as NaN
    vectors = InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(given)
    labelled = InfoGraphClassifier("infograph*", dim=8, epochs=1, encoder=GIN(layers=2)).fit(
        given, list("ababab")
    )
    mean = MeanPredictor().fit(given, np.arange(6.0))
    for model, inner, call, what in (
        (vectors, "_vectors", "transform", "vector"),
        (labelled, "_vectors", "transform", "vector"),
        (labelled, "_outputs", "predict", "prediction"),
        (mean, "_outputs", "predict", "prediction"),
    ):
        plain = getattr(model, inner)

        def spoiled(graphs, plain=plain):
            rows = np.array(plain(graphs), dtype=float)
            rows[-1, 0] = np.nan
            return rows

        monkeypatch.setattr(model, inner, spoiled)
        with pytest.raises(InvalidGraph, match=rf"graph 3: its {what} is not finite"):
            getattr(model, call)(some, errors="skip")  # named by its place in the input
        rows = pd.DataFrame(getattr(model, call)(some, errors="nan"))
        assert rows.isna().any(axis=1).tolist() == [False, True, False, True]
    with pytest.raises(InvalidGraph, match="its prediction is not finite"):
        predict_table(labelled, as_graphset(["CCO", "CCN"], schema=labelled.schema_))

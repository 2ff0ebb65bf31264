from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as parquet
import pytest
from sklearn.metrics import roc_auc_score

from infograph import GIN, AtomCounts, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, as_graphset
from infograph.data.records import store_graph_column
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, UnknownCategoryWarning
from infograph.estimators.base import check_embeds
from infograph.learn.predictions import (
    check_place,
    predict_table,
    rows_of,
    write_predictions,
)
from infograph.objectives.vectors import Vectors

SMILES = ["C" * n + tail for n in range(1, 7) for tail in ("O", "N", "Cl", "C#N")]
SIZE = np.array([float(len(text)) for text in SMILES])
SMALL = {"epochs": 1, "dim": 8, "steps_per_epoch": 2, "encoder": GIN(layers=2)}


def molecules(unit="mol/L"):
    graphs = as_graphset(SMILES, ids=[f"m{i}" for i in range(len(SMILES))])
    graphs = graphs.with_column("graph", Column("size", "float", unit=unit), SIZE)
    kinds, column = store_graph_column("kind", ["even" if i % 2 else "odd" for i in range(len(SMILES))])
    return graphs.with_column("graph", column, kinds)


@pytest.fixture(scope="module")
def regressor():
    return InfoGraphRegressor("infograph*", **SMALL, n_models=2).fit(molecules(), "size")


@pytest.fixture(scope="module")
def classifier():
    return InfoGraphClassifier("infograph*", **SMALL).fit(molecules(), "kind")


def test_numbers_with_units_spread_and_error(regressor):
    graphs = molecules()
    table = predict_table(regressor, graphs, std=True, columns=["size", "kind"])
    assert list(table.columns) == ["id", "measured size", "kind", "size", "size std"]
    mean, spread = regressor.predict(graphs, return_std=True)
    assert np.array_equal(table.columns["size"], mean) and np.array_equal(table.columns["size std"], spread)
    assert table.units == {"size": "mol/L", "size std": "mol/L"}
    (score,) = table.scores
    assert (score.target, score.unit, score.n_graphs) == ("size", "mol/L", 24)
    assert score.figures["MAE"] == pytest.approx(np.abs(mean - SIZE).mean())
    assert str(score).startswith("size: MAE ") and str(score).endswith(" over 24 graphs")


def test_watchers_hear_how_far_predictions_are(regressor):
    graphs, steps = molecules(), []
    watcher = lambda now: steps.append((now.what, now.step, now.steps))  # noqa: E731
    found = predict_table(regressor, graphs, watchers=[watcher])
    assert steps == [("predicting", 24, 48), ("predicting", 48, 48)]  # two networks
    assert np.array_equal(found.columns["size"], regressor.predict(graphs))
    steps.clear()
    assert "size std" in predict_table(regressor, graphs, std=True, watchers=[watcher]).columns
    assert steps == [("predicting", 24, 48), ("predicting", 48, 48)]
    heads = InfoGraphRegressor(objective=Vectors("vectors+descriptors", "ridge")).fit(graphs, "size")
    many = as_graphset(SMILES * 3, schema=heads.schema_)
    steps.clear()
    found = predict_table(heads, many, watchers=[watcher])
    assert steps == [("descriptors", 50, 72), ("descriptors", 72, 72), ("predicting", 72, 72)]
    assert np.array_equal(found.columns["size"], heads.predict(many))


def test_another_unit_is_not_compared(regressor):
    table = predict_table(regressor, molecules("g/L"))
    assert table.scores == ()
    assert table.notes == ("size was not compared: it is in g/L here, and predicted in mol/L.",)
    without = AtomCounts().fit(
        molecules().with_column("graph", Column("s [K]", "float", unit="K"), SIZE), "s [K]"
    )
    bare = predict_table(without, molecules().with_column("graph", Column("s", "float"), SIZE))
    assert "'s' has no unit; if it is in K, read it with units={'s': 'K'}" in bare.notes[0]


def test_classes_with_probabilities(classifier):
    graphs = molecules()
    table = predict_table(classifier, graphs, probabilities=True)
    assert list(table.columns) == ["id", "kind", "probability", "probability even", "probability odd"]
    shares = classifier.predict_proba(graphs)
    assert np.array_equal(table.columns["kind"], classifier.predict(graphs))
    assert np.array_equal(table.columns["probability"], shares.max(axis=1))
    assert np.array_equal(table.columns["probability odd"], shares[:, 1])
    assert table.scores[0].figures["% wrong"] == pytest.approx(1 - classifier.score(graphs, "kind"))


def test_intervals_are_columns_with_a_warning_beside_them():
    graphs = molecules()
    model = InfoGraphRegressor(objective=Vectors("vectors", "ridge")).fit(graphs, "size")
    asked = as_graphset(["CCO", "O=C(O)c1ccc(cc1)C(=O)N2CCN(CC2)c3ncccn3"], schema=model.schema_)
    table = predict_table(model, asked, interval=0.8)
    assert list(table.columns) == ["id", "size", "size low", "size high", "unlike training"]
    middle, low, high = model.predict(asked, interval=0.8)
    for name, values in (("size", middle), ("size low", low), ("size high", high)):
        assert np.allclose(table.columns[name], values) and table.units[name] == "mol/L"
    unlike = model.error_bars_.unlike(model.transform(asked))
    assert table.columns["unlike training"].tolist() == ["yes" if each else "no" for each in unlike]
    with pytest.warns(
        UnknownCategoryWarning, match="no labelled training molecule has the element Si"
    ) as said:
        found = predict_table(model, as_graphset(["CCO", "CC[SiH3]"], schema=model.schema_), interval=0.8)
    assert found.columns["unlike training"][1] == "yes" and len(said) == 1
    with pytest.raises(InvalidParameter, match="AtomCounts does not know how wrong it is"):
        predict_table(AtomCounts().fit(graphs, "size"), graphs, interval=0.9)


def test_targets_that_differ_in_their_unit_alone_have_bounds_of_their_own():
    graphs, names = molecules(), ["E [eV]", "E [K]"]
    for scale, name in enumerate(names, 1):
        graphs = graphs.with_column("graph", Column(name, "float"), scale * SIZE)
    model = InfoGraphRegressor(objective=Vectors("vectors", "ridge")).fit(graphs, names)
    table = predict_table(model, graphs, interval=0.9)
    beside = [f"{name} {end}" for name in names for end in ("low", "high")]
    assert list(table.columns) == ["id", *names, *beside, "unlike training"]
    _, low, _ = model.predict(graphs, interval=0.9)
    assert np.allclose(table.columns["E [eV] low"], low[:, 0])


def test_several_columns_of_classes_have_two_columns_each():
    graphs = molecules()
    for name, values in (("a", np.arange(24.0) % 2), ("b", (np.arange(24) > 9) * 1.0)):
        graphs = graphs.with_column(
            "graph", Column(name, "float"), np.where(np.arange(24) < 2, np.nan, values)
        )
    model = InfoGraphClassifier(objective=Vectors("vectors", "ridge")).fit(graphs, ["a", "b"])
    table = predict_table(model, graphs)
    assert list(table.columns) == ["id", "a", "a probability 1", "b", "b probability 1"]
    assert np.array_equal(table.columns["b probability 1"], model.predict_proba(graphs)[:, 1])
    assert np.array_equal(table.columns["a"], model.predict(graphs)[:, 0])
    assert [score.n_graphs for score in table.scores] == [22, 22]
    given, said = graphs.graph["b"][2:], table.columns["b probability 1"][2:]
    assert table.scores[1].figures["ROC-AUC"] == pytest.approx(roc_auc_score(given, said))
    assert str(table.scores[1]).startswith("b: ") and "ROC-AUC" in str(table.scores[1])
    with pytest.raises(InvalidParameter, match="predicts classes and has no intervals"):
        predict_table(model, graphs, interval=0.9)


def test_whole_numbers_in_a_file_are_the_classes_they_are():
    graphs = molecules().with_column("graph", Column("active", "float"), np.arange(24.0) % 2)
    model = AtomCounts(task="classification").fit(graphs, "active")
    (score,) = predict_table(model, graphs).scores
    assert score.figures["% wrong"] == pytest.approx(1 - model.score(graphs, "active"))


def test_bad_rows_keep_their_places(regressor):
    texts = ["CCO", "oops(", "CCN"]
    graphs = as_graphset(texts, schema=regressor.schema_, errors="skip", ids=["a", "b", "c"])
    table = predict_table(regressor, graphs, keep_places=True)
    assert table.columns["id"].tolist() == ["a", "b", "c"]
    assert np.isnan(table.columns["size"]).tolist() == [False, True, False]
    assert "oops(" in table.columns["problem"][1] and table.columns["problem"][0] is None
    assert rows_of(table)[1]["size"] is None
    assert len(predict_table(regressor, graphs)) == 2


def read(path):
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        return rows[0], [float(row[1]) for row in rows[1:]]
    if path.suffix == ".json":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return list(rows[0]), [list(row.values())[1] for row in rows]
    table = parquet.read_table(path)
    assert table.schema.field("size").metadata == {b"unit": b"mol/L"}
    return table.column_names, table["size"].to_pylist()


@pytest.mark.parametrize(
    ("ending", "names"),
    [("csv", ["id", "size [mol/L]"]), ("json", ["id", "size [mol/L]"]), ("parquet", ["id", "size"])],
)
def test_files_hold_the_predictions(regressor, tmp_path, ending, names):
    path = tmp_path / f"predictions.{ending}"
    graphs = molecules()
    write_predictions(predict_table(regressor, graphs), path)
    found = read(path)
    assert found[0] == names
    assert np.allclose(found[1], regressor.predict(graphs), rtol=1e-12)


def test_models_say_what_they_cannot_do(classifier, tmp_path):
    vectors = InfoGraph(dim=8, epochs=0, encoder=GIN(layers=2)).fit(molecules())
    counts = AtomCounts().fit(molecules(), "size")
    for call, message in (
        (lambda: predict_table(vectors, molecules()), "InfoGraph makes vectors and predicts nothing"),
        (lambda: check_embeds(counts), "AtomCounts has no transform"),
        (lambda: predict_table(counts, molecules(), probabilities=True), "no probabilities of classes"),
        (lambda: predict_table(counts, molecules(), std=True), "AtomCounts is no ensemble"),
        (lambda: predict_table(classifier, molecules(), std=True), "no ensemble .* n_models=5"),
        (lambda: check_place(tmp_path / "predictions.xlsx"), r"\.parquet, \.csv or \.json files"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            call()

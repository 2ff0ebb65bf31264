from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as parquet
import pytest

from infograph import GIN, AtomCounts, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, as_graphset
from infograph.data.convert import store_graph_column
from infograph.data.schema import Column
from infograph.errors import InvalidParameter
from infograph.estimators.base import check_embeds
from infograph.learn.predictions import (
    TargetError,
    check_place,
    errors_of,
    predict_table,
    rows_of,
    write_predictions,
)

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
    assert table.scores == (TargetError("size", "mol/L", pytest.approx(np.abs(mean - SIZE).mean()), 24),)
    assert str(table.scores[0]).endswith("mol/L over 24 graphs")


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
    assert table.scores[0].error == pytest.approx(1 - classifier.score(graphs, "kind"))


def test_whole_numbers_in_a_file_are_the_classes_they_are():
    graphs = molecules().with_column("graph", Column("active", "float"), np.arange(24.0) % 2)
    model = AtomCounts(task="classification").fit(graphs, "active")
    assert errors_of(model, graphs, ["active"])[0] == pytest.approx(1 - model.score(graphs, "active"))


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

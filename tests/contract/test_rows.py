"""Rows that are not finite are never given out as if they were results."""

from __future__ import annotations

import numpy as np
import pytest

from infograph import GIN, InfoGraph, InfoGraphClassifier, MeanPredictor, as_graphset
from infograph.errors import InvalidGraph
from infograph.learn.predictions import predict_table

SMILES = ["CCO", "CCN", "CCC", "CO", "CCCO", "CCCN"]
INPUT = ["CCO", "oops", "CCN", "CCC"]  # the third one that can be read comes out as NaN


def spoil(model, name, monkeypatch):
    plain = getattr(model, name)

    def spoiled(given):
        rows = np.array(plain(given), dtype=float)
        rows[-1, 0] = np.nan
        return rows

    monkeypatch.setattr(model, name, spoiled)
    return model


@pytest.fixture
def classifier(monkeypatch):
    made = InfoGraphClassifier(dim=8, epochs=1, encoder=GIN(layers=2)).fit(SMILES, list("ababab"))
    return spoil(made, "_outputs", monkeypatch)


def test_predictions(monkeypatch, classifier):
    mean = spoil(MeanPredictor().fit(SMILES, np.arange(6.0)), "_outputs", monkeypatch)
    for model in (mean, classifier):
        with pytest.raises(InvalidGraph, match=r"graph 2: its prediction is not finite"):
            model.predict(["CCO", "CCN", "CCC"])
        with pytest.raises(InvalidGraph, match=r"graph 3: its prediction is not finite"):
            model.predict(INPUT, errors="skip")  # named by its place in the input
    assert np.isnan(mean.predict(INPUT, errors="nan")).tolist() == [False, True, False, True]
    assert [label is None for label in classifier.predict(INPUT, errors="nan")] == [False, True, False, True]


def test_a_table_has_no_class_where_there_is_none(classifier):
    with pytest.raises(InvalidGraph, match="its prediction is not finite"):
        predict_table(classifier, as_graphset(["CCO", "CCN"], schema=classifier.schema_))


def test_vectors(monkeypatch, classifier):
    plain = spoil(InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(SMILES), "_vectors", monkeypatch)
    for model in (plain, spoil(classifier, "_vectors", monkeypatch)):
        with pytest.raises(InvalidGraph, match=r"graph 3: its vector is not finite"):
            model.transform(INPUT, errors="skip")
        rows = model.transform(INPUT, errors="nan")
        assert rows.dtype == np.float32
        assert np.isnan(rows).all(axis=1).tolist() == [False, True, False, True]

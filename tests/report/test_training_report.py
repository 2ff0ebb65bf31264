"""The report of a training: what it says is what was measured."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from infograph import InfoGraphClassifier, InfoGraphRegressor, load
from infograph.data.schema import Column
from infograph.learn.parts import make_parts
from infograph.learn.training import learn
from infograph.objectives.vectors import Vectors
from infograph.report.training import write_report
from tests.learn.test_predictions import SMALL, molecules
from tests.report.conftest import rings_and_stars

RIDGE = Vectors("vectors", "ridge")


def report(estimator, parts, folder, **options):
    learned = learn(estimator, parts, **options)
    learned.model.save(folder)
    page = write_report(learned, folder, notes=["1 of 9 molecules lost a piece."]).read_text()
    results = json.loads((folder / "results.json").read_text(), parse_constant=pytest.fail)
    assert not re.search(r"https?://", page)  # it needs nothing else
    return learned, page, results, (folder / "README.md").read_text()


def test_numbers(tmp_path):
    graphs = molecules()[np.arange(96) % 24]
    parts = make_parts(graphs, ["size"], validation=10, test=24)
    learned, page, results, card = report(InfoGraphRegressor(objective=RIDGE), parts, tmp_path / "m")
    for text in (page, card):
        assert str(learned.verdicts[0]) in text.replace("&lt;", "<")
        assert "Salts were kept whole. Stereochemistry is not seen." in text
        assert "divided at random: 62 labelled" in text and "1 of 9 molecules lost a piece." in text
        assert f"hold {100 * learned.covered[0]:.3g} % of 24 test graphs" in text
    assert page.count("<svg") == 2 and page.count("data:image/svg+xml") == 6
    worst = int(np.argmax(learned.tested.wrong[:, 0]))
    drawn = re.findall(r"size: (\S+?)</small><small>predicted: (\S+?)<", page)
    assert float(drawn[0][0]) == parts.test.graph["size"][worst]
    assert float(drawn[0][1]) == pytest.approx(learned.tested.said[worst, 0], rel=5e-3)
    (n, error), *_ = results["learning_curve"]
    assert (n == 31 and error > 0 and "That is an extrapolation." in page) or "did not lower" in page
    assert np.array_equal(load(tmp_path / "m").predict(graphs), learned.model.predict(graphs))
    report(InfoGraphRegressor(objective=RIDGE), parts, tmp_path / "m")  # the folder may be replaced


def test_a_target_that_no_test_graph_has(tmp_path):
    graphs = molecules()[np.arange(72) % 24].with_column("graph", Column("x", "float"), np.arange(72) / 7)
    parts = make_parts(graphs, ["size", "x"], validation=8, test=24)
    test = parts.test.with_column("graph", Column("x", "float"), np.full(24, np.nan))
    learned, page, results, card = report(
        InfoGraphRegressor(objective=RIDGE), replace(parts, test=test), tmp_path / "m"
    )
    assert [each.target for each in learned.verdicts] == ["size"]
    assert "Intervals of size" in page and "Intervals of x" not in page + card
    assert results["intervals"]["covered"][1] is None and "nan" not in page.split("<h2>Predictions")[1]


def test_columns_of_classes(tmp_path):
    graphs, names = molecules()[np.arange(72) % 24], ["<i>a</i>", "b"]
    for name, values in zip(names, (np.arange(72) % 2, np.arange(72) % 24 > 9), strict=True):
        graphs = graphs.with_column("graph", Column(name, "float"), values.astype(float))
    parts = make_parts(graphs, names, validation=8, test=24)
    learned, page, results, _ = report(InfoGraphClassifier(objective=RIDGE), parts, tmp_path / "m")
    assert [row["target"] for row in results["table"][:3]] == ["mean of 2", *names]
    assert "Test ROC-AUC of every column" in page and "<i>a</i>" not in page
    assert "ROC curves of the test graphs" in page and "Reliability" in page
    assert f"ROC-AUC {learned.verdicts[0].own:.3g} against" in page


def test_networks_and_many_classes_of_plain_graphs(tmp_path):
    graphs = rings_and_stars(list("abc") * 20)
    parts = make_parts(graphs, ["y"], validation=12, test=21)
    _, page, _, card = report(InfoGraphClassifier(**SMALL), parts, tmp_path / "m")
    assert "What is taken for what" in page and "Loss terms" in page and "Salts" not in page + card
    empty = make_parts(graphs, ["y"], validation=0, test=0)
    _, page, _, _ = report(InfoGraphClassifier(**SMALL), empty, tmp_path / "none")
    assert "was not measured" in page

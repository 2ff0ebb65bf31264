"""Methods side by side: the same folds, processes of their own, budgets that hold."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest

from infograph import (
    Column,
    DegreeHistogram,
    LabelHistogram,
    as_graphset,
    load_dataset,
    paired_test,
    scaffold_groups,
)
from infograph.cli.judge import compare as compare_verb
from infograph.data.graphset import save_graphs
from infograph.errors import InfoGraphError, InvalidParameter
from infograph.evaluate import compare as comparing
from infograph.evaluate import cross_validate
from infograph.evaluate.compare import (
    Compared,
    Failed,
    Limits,
    Protocol,
    Stopped,
    compare,
    constant_line,
    represent_isolated,
)
from infograph.evaluate.cross_validation import cross_predict
from infograph.evaluate.inputs import Gram
from infograph.evaluate.methods import METHODS, MORE, represent
from infograph.progress import Watch
from infograph.report.comparison import Comparison, as_sheet, ordered
from infograph.report.pages import as_markdown

QUICK = Protocol(repeats=1, folds=3, inner_folds=2)


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:60]


def test_a_line_is_what_cross_validation_gives(graphs, tmp_path):
    labels = graphs.graph["y"]
    wl, plain = compare(graphs, labels, ["wl", "labels"], tmp_path, protocol=QUICK)
    gram = represent(METHODS["wl"].settings["default"](0), graphs)
    assert isinstance(gram, Gram)
    expected = cross_validate(gram, labels, repeats=1, folds=3, inner_folds=2)
    assert wl.mean == pytest.approx(100 * expected.mean) and wl.method == "WL" and not wl.empty
    assert plain.seconds >= 0 and plain.peak_mb > 50
    again = compare(graphs, labels, ["wl"], tmp_path, protocol=QUICK)
    assert again == [wl]  # read, not computed
    swapped = compare(graphs, labels[::-1], ["wl"], tmp_path, protocol=QUICK)
    assert swapped != [wl]  # other labels are another cell


def test_estimators_of_one_name_have_a_line_each(graphs, tmp_path, monkeypatch):
    def here(folder, method, setting, seed, *_):
        return represent(method.settings[setting](seed), graphs), 0.0, 0.0

    monkeypatch.setattr(comparing, "represent_isolated", here)
    named = [("histogram", LabelHistogram()), ("histogram", DegreeHistogram())]
    lines = compare(graphs, graphs.graph["y"], named, tmp_path, protocol=QUICK)
    for line, (_, estimator) in zip(lines, named, strict=True):
        vectors = estimator.fit_transform(graphs)
        expected = cross_validate(vectors, graphs.graph["y"], repeats=1, folds=3, inner_folds=2)
        assert line.mean == pytest.approx(100 * expected.mean)
    assert lines[0].mean != lines[1].mean


def test_a_method_over_its_budget_is_stopped_and_tried_again_with_more(graphs, tmp_path):
    labels = graphs.graph["y"]
    (line,) = compare(graphs, labels, ["labels"], tmp_path, protocol=QUICK, limits=Limits(seconds=0.01))
    assert "budget" in line.empty and np.isnan(line.mean)
    (line,) = compare(graphs, labels, ["labels"], tmp_path, protocol=QUICK, limits=Limits(seconds=300))
    assert not line.empty and line.mean > 50


def test_memory_has_a_limit_and_refusals_their_reason(graphs, tmp_path):
    save_graphs(graphs, tmp_path / "graphs")
    with pytest.raises(Stopped, match="MB, the limit is 20"):
        represent_isolated(tmp_path / "graphs", METHODS["labels"], "default", 0, Limits(megabytes=20))
    with pytest.raises(Failed, match="KeyError: 'nonsense'"):
        represent_isolated(tmp_path / "graphs", METHODS["labels"], "nonsense", 0, Limits())


def test_a_crash_is_a_failure_and_a_refusal_is_kept(graphs, tmp_path, monkeypatch):
    labels = graphs.graph["y"]

    def once(error):
        with monkeypatch.context() as broken:
            broken.setattr(comparing, "represent_isolated", lambda *_: (_ for _ in ()).throw(error))
            return compare(graphs, labels, ["labels"], tmp_path, protocol=QUICK)[0].empty

    assert once(Failed("KeyError: 'x'")) == "KeyError: 'x'" and not list(tmp_path.glob("methods/*"))
    assert once(Stopped("too large")) == "too large" and len(list(tmp_path.glob("methods/*"))) == 1
    assert once(Failed("KeyError: 'x'")) == "too large"  # read


def test_unknown_methods_and_graphs_without_classes_are_refused(graphs, tmp_path):
    with pytest.raises(InvalidParameter, match="no method 'wk'; there are: all, rw, sp"):
        _ = Comparison(graphs, ["wk"]).chosen
    with pytest.raises(InvalidParameter, match="no methods to compare"):
        _ = Comparison(graphs, []).chosen
    assert Comparison(graphs, ["all"]).chosen == [*METHODS, "predictions"]
    assert Comparison(graphs, ["WL", "wl"]).chosen == ["wl"]


ROWS = [
    Compared("a | b", 81.25, 1.5, 81.25, 2.0, 120.0),
    Compared("<b>", 90.0, 0.5, 91.0, 0.123, 1200.0),
    Compared("slow", empty="stopped after 1 minutes, the budget"),
]


def test_tables_mark_the_best_and_say_why_a_cell_is_empty():
    rows = ordered(ROWS)
    assert [row.method for row in rows] == ["<b>", "a | b", "slow"] and ordered(ROWS[2:]) == ROWS[2:]
    lines = as_markdown(as_sheet(rows)).splitlines()
    assert lines[2].startswith("| **&lt;b>** | **90.0** | 0.5 |  | 0.123 | 1,200 |")
    assert lines[3].startswith("| a \\| b | 81.2 | 1.5 |  | 2 | 120 |")
    assert lines[4] == "| slow |  |  |  |  |  | stopped after 1 minutes, the budget |"
    assert as_sheet(rows, bars=True).rows[2][0].lines == ("slow", "stopped after 1 minutes, the budget")
    errors = [Compared("far", 2.0, scoring="rmse"), Compared("near", 0.5, scoring="rmse")]
    assert [row.method for row in ordered(errors)] == ["near", "far"]
    assert as_markdown(as_sheet(ordered(errors))).splitlines()[3].startswith("| far | 2.000 |")
    level = as_sheet([Compared("a", 98.33), Compared("b", 98.32), Compared("c", 98.2)])
    assert [row[1].bold for row in level.rows] == [True, True, False]  # equal where they show as equal


# ---- measured values and several columns


@pytest.fixture(scope="module")
def molecules():
    chains = ["C" * n + end for n in range(1, 13) for end in ("O", "N", "Cl", "c1ccccc1")]
    made = as_graphset(chains)
    rng = np.random.default_rng(0)
    size = np.array([len(text) for text in chains], float)
    columns = {"logS": -size / 3 + 0.2 * rng.normal(size=len(size))}
    columns |= {"toxic": (size > 8).astype(float), "bitter": (rng.random(len(size)) < 0.5).astype(float)}
    columns["toxic"][::5] = columns["bitter"][1::7] = columns["logS"][3] = np.nan
    for name, values in columns.items():
        made = made.with_column("graph", Column(name, "float"), values)
    return made


def run_comparison(molecules, methods, labels, folder, **protocol):
    job = Comparison(molecules, methods, "chains", Protocol(**{**vars(QUICK), **protocol}), labels)
    return job.run(folder, Limits(), Watch())


def test_measured_values_are_compared_by_their_errors(molecules, tmp_path):
    rows = run_comparison(
        molecules, ["atoms", "wl", "degrees", "predictions"], ["logS"], tmp_path, scaffolds=True
    )
    by = {row.method: row for row in rows}
    assert [row.mean for row in rows] == sorted(row.mean for row in rows) and rows[-1].method == "mean"
    known = np.flatnonzero(~np.isnan(molecules.graph["logS"]))
    kept, values = molecules[known], molecules.graph["logS"][known]
    judging = {"repeats": 1, "folds": 3, "inner_folds": 2, "groups": scaffold_groups(kept)}
    counts = MORE["atoms"].settings["default"](0).fit_transform(kept)
    expected = cross_validate(counts, values, classifiers="ridge", **judging)
    gram = represent(METHODS["wl"].settings["default"](0), kept)
    assert by["atom counts"].mean == pytest.approx(expected.mean) and by["atom counts"].scoring == "rmse"
    assert by["WL"].mean == pytest.approx(cross_validate(gram, values, classifiers="ridge", **judging).mean)
    best = next(row for row in rows if row.reference)
    assert np.isnan(best.p_value)
    assert by["WL"].p_value == paired_test(by["WL"].evaluation, best.evaluation).p_value
    assert by["InfoGraph's predictions"].mean < 0.8 * by["mean"].mean
    content = json.loads((tmp_path / "comparison.json").read_text())
    assert content["protocol"]["scaffolds"] is True and len(list((tmp_path / "methods").glob("*.json"))) == 4
    assert run_comparison(molecules, ["atoms"], ["logS"], tmp_path, scaffolds=True)[0] == by["atom counts"]
    mae = run_comparison(molecules, ["atoms"], ["logS"], tmp_path, scaffolds=True, scoring="mae")[0]
    assert mae.scoring == "mae" and mae.mean < by["atom counts"].mean


def test_several_columns_are_compared_by_the_mean_of_their_areas(molecules, tmp_path):
    rows = run_comparison(molecules, ["atoms", "predictions"], ["toxic", "bitter"], tmp_path)
    assert {row.scoring for row in rows} == {"roc_auc"} and len(rows) == 2
    plain = next(row for row in rows if row.method == "atom counts")
    values = np.column_stack([molecules.graph["toxic"], molecules.graph["bitter"]])
    counts = MORE["atoms"].settings["default"](0).fit_transform(molecules)
    keep = ~np.isnan(values).all(axis=1)
    expected = cross_validate(
        counts[keep], values[keep], classifiers="ridge", repeats=1, folds=3, inner_folds=2
    )
    assert plain.mean == pytest.approx(100 * expected.mean)


def test_the_largest_class_of_several_columns(molecules):
    labels = np.full((48, 2), np.nan)
    labels[:10, 0], labels[:, 1] = np.arange(10) == 0, np.arange(48) < 36
    line = constant_line(molecules, labels, replace(QUICK, scoring="accuracy"))
    assert line.mean == pytest.approx((90 + 75) / 2)


def test_predictions_learn_from_training_folds_alone():
    y, seen = np.repeat([0, 1, 2], 20), []

    def predict(seed, train, test, values):
        seen.append(test)
        assert np.isnan(values[test]).all() and not np.isnan(values[train]).any()
        return y[test] if seed == 0 else np.zeros(len(test))

    found = cross_predict(predict, y, repeats=2, folds=3, inner_folds=2)
    assert found.leak_free().fold_scores == ((1.0,) * 3, pytest.approx((1 / 3,) * 3, abs=0.04))
    assert all(np.array_equal(np.sort(np.concatenate(seen[r : r + 3])), np.arange(60)) for r in (0, 3))
    plain = cross_validate(np.eye(60)[:, :5], y, repeats=2, folds=3, inner_folds=2)
    assert paired_test(found, plain).degrees == 5  # the same folds


def test_what_does_not_fit_is_said_in_one_sentence(molecules, graphs, tmp_path):
    for labels, protocol, said in (
        (
            ["logS"],
            {"scoring": "accuracy"},
            "scoring='accuracy' needs classes, and these are measured",
        ),
        (["logS"], {"scoring": "best"}, "there is no scoring 'best'; there are accuracy, roc_auc"),
        (["lost"], {}, "nothing to compare by: no graph column 'lost'; there are 'smiles', 'logS'"),
        (["logS"], {"folds": 40}, "47 graphs are too few for folds=40"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            run_comparison(molecules, ["atoms"], labels, tmp_path, **protocol)
    assert not (tmp_path / "methods").exists()
    with pytest.raises(InfoGraphError, match="smiles"):
        run_comparison(graphs, ["labels"], ["y"], tmp_path, scaffolds=True)
    (row, _) = run_comparison(graphs, ["morgan"], ["y"], tmp_path)[::-1]
    assert "fingerprints and descriptors need SMILES" in row.empty


def test_help_names_every_method():
    said = inspect.signature(compare_verb).parameters["methods"].annotation.__metadata__[0].help
    assert all(name in said for name in {**METHODS, **MORE})

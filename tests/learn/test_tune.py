"""A search over settings: what is drawn, who goes on, and that the test graphs are never looked at."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from infograph import GIN, InfoGraph, InfoGraphRegressor, load
from infograph.cli.app import app
from infograph.data.convert import as_graphset
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.learn.parts import Parts, make_parts
from infograph.learn.tune import Range, Trial, Tuned, draw_settings, parse_space, promoted, rounds_of, tune
from infograph.progress import least_error
from tests.scale.conftest import molecules


def test_rounds_keep_a_third_and_train_three_times_as_long():
    assert rounds_of(27, 90) == [(27, 10), (9, 30), (3, 90)]
    assert rounds_of(9, 100) == [(9, 33), (3, 100)]
    assert rounds_of(2, 100) == [(2, 100)]
    assert rounds_of(50, 2) == [(50, 2)]
    assert promoted({0: 0.3, 1: math.nan, 2: 0.1, 3: 0.1, 4: 0.2}, 3) == [2, 3, 4]
    assert promoted({0: math.nan, 1: math.nan}, 1) == [0]


def test_settings_are_a_grid_or_random_and_never_twice():
    grid = draw_settings({"a": [1, 2], "b": ["x", "y", "z"]}, 6, 0)
    assert len(grid) == 6 and grid[0] == {"a": 1, "b": "x"} and grid[-1] == {"a": 2, "b": "z"}
    few = draw_settings({"a": [1, 2], "b": ["x", "y", "z"]}, 4, 0)
    assert len(few) == 4 and len({json.dumps(each) for each in few}) == 4
    drawn = [each["lr"] for each in draw_settings({"lr": Range(1e-4, 1e-1)}, 300, 1)]
    assert min(drawn) >= 1e-4 and max(drawn) <= 1e-1
    assert 80 < sum(value < 1e-3 for value in drawn) < 120  # a third of them: the scale is logarithmic
    assert all(isinstance(each["n"], int) for each in draw_settings({"n": Range(1, 50)}, 9, 0))
    assert len(draw_settings({"n": Range(1, 2)}, 9, 0)) == 2
    assert draw_settings({"lr": np.array([0.5, 0.25])}, 2, 0) == [{"lr": 0.5}, {"lr": 0.25}]
    assert draw_settings({"lr": Range(1e-4, 1e-1)}, 3, 5) == draw_settings({"lr": Range(1e-4, 1e-1)}, 3, 5)


def test_spaces_as_typed():
    found = parse_space(
        ["lr=1e-4..1e-2", "layers=2,4", "weight-decay=0,1e-3", "norm=true,false", "readout=sum"]
    )
    assert found["lr"] == Range(1e-4, 1e-2) and found["layers"] == [2, 4]
    assert (
        found["weight_decay"] == [0, 1e-3] and found["norm"] == [True, False] and found["readout"] == ["sum"]
    )
    for bad in ("lr", "lr=", "=3", "lr=a..b", "lr=1..", "lr=2..1", "lr=0..1"):
        with pytest.raises(InvalidParameter):
            parse_space([bad])


@functools.cache
def labelled(count=90):
    """Molecules, whether they have many oxygens, and how many letters they take."""
    smiles = list(dict.fromkeys(molecules(2 * count)))[:count]
    graphs = as_graphset(smiles)
    codes = np.array([s.count("O") >= 2 for s in smiles], dtype=np.int32)
    graphs = graphs.with_column("graph", Column("y", kind="categorical", categories=("few", "many")), codes)
    length = np.array([float(len(s)) for s in smiles])
    return graphs.with_column("graph", Column("length", kind="float"), length)


@pytest.fixture(scope="module")
def parts():
    return make_parts(labelled(), ["y"], task="classification", validation=0, test=0.2)


SPACE = {"lr": [1e-2, 1e-4], "layers": [2, 3]}


def test_a_search_is_the_same_in_processes_and_after_a_stop(parts, tmp_path):
    estimator = InfoGraph(dim=8, epochs=3)
    torch.set_num_threads(1)
    said = []
    one = tune(estimator, SPACE, parts, tmp_path / "one", announce=lambda *given: said.append(given[-1]))
    assert len(said) == 4 + 2 and len(one.tried) == 4
    assert {each.epochs for each in one.tried} == {1, 3} and one.tried[0].settings == one.best
    assert not math.isnan(one.test[0]) and one.model.encoder.layers == one.best["layers"]
    two = tune(estimator, SPACE, parts, tmp_path / "two", workers=2)
    assert two.to_dict() == one.to_dict()

    def names(folder):
        return sorted(path.name for path in (tmp_path / folder / "tune").iterdir())

    assert names("one") == names("two") and len(names("one")) == 6

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(estimator, SPACE, parts, tmp_path / "stopped", announce=stop)
    again = tune(estimator, SPACE, parts, tmp_path / "stopped")
    assert again.to_dict() == one.to_dict()
    np.testing.assert_allclose(again.model.transform(parts.test), one.model.transform(parts.test), rtol=1e-5)


def test_the_test_graphs_are_not_looked_at(parts, tmp_path):
    """With other test labels the same setting is chosen, from the same errors."""
    turned = 1 - np.asarray(parts.test.graph["y"])
    column = parts.test.schema.column("graph", "y")
    other = Parts(**{**vars(parts), "test": parts.test.with_column("graph", column, turned)})
    first = tune(InfoGraph(dim=8, epochs=1), SPACE, parts, tmp_path / "a")
    second = tune(InfoGraph(dim=8, epochs=1), SPACE, other, tmp_path / "b")
    assert first.tried == second.tried and first.best == second.best
    assert second.test[0] == pytest.approx(1 - first.test[0])


def test_models_of_labels_are_judged_by_validation(tmp_path):
    parts = make_parts(labelled(), ["length"], task="regression", validation=0.2, test=0.2)
    estimator = InfoGraphRegressor("infograph*", dim=8, epochs=3, encoder=GIN(layers=2))
    found = tune(estimator, {"lr": [1e-2, 1e-6]}, parts, tmp_path, trials=2)
    assert found.best == {"lr": 1e-2} and found.test[0] < 30
    assert found.tried[0].error == min(record["validation"] for record in found.model.history_)


def test_settings_that_are_objects_can_be_written():
    own = {"encoder": GIN(layers=2), "layers": np.int64(3)}
    found = Tuned(InfoGraph(), own, (Trial(own, math.nan, 1),), (0.5,), (math.nan,)).to_dict()
    written = json.loads(json.dumps(found, allow_nan=False))
    assert written["best"] == written["tried"][0]["setting"] == found["best"]
    assert (written["best"]["encoder"]["class"], written["best"]["layers"]) == ("GIN", 3)


def test_other_labels_are_another_search(tmp_path):
    graphs = labelled(40)
    estimator = InfoGraphRegressor("infograph*", dim=8, epochs=1, encoder=GIN(layers=2))

    def errors(scale, unit):
        length = Column("length", kind="float", unit=unit)
        known = graphs.with_column("graph", length, scale * np.asarray(graphs.graph["length"]))
        parts = make_parts(known, ["length"], task="regression", validation=0.2, test=0.2)
        return [each.error for each in tune(estimator, {"lr": [1e-3]}, parts, tmp_path).tried]

    assert errors(1000.0, "")[0] > 10 * errors(1.0, "")[0]
    assert len(list((tmp_path / "tune").iterdir())) == 2
    errors(1.0, "kg")
    assert len(list((tmp_path / "tune").iterdir())) == 3


def test_a_shorter_search_does_not_take_over_longer_trainings(parts, tmp_path):
    def stop(number, *_):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(InfoGraph(dim=8, epochs=6), SPACE, parts, tmp_path / "a", announce=stop)
    again = tune(InfoGraph(dim=8, epochs=3), SPACE, parts, tmp_path / "a")
    fresh = tune(InfoGraph(dim=8, epochs=3), SPACE, parts, tmp_path / "b")
    assert again.to_dict() == fresh.to_dict()


@pytest.mark.parametrize(
    ("estimator", "space", "target", "words"),
    [
        (InfoGraph(), {"depth": [1]}, "y", "'depth' is no parameter of InfoGraph"),
        (InfoGraph(), {"epochs": [1]}, "y", "'epochs' is no setting to search"),
        (InfoGraph(), {}, "y", "nothing to search"),
        (InfoGraph(), {"lr": []}, "y", "nothing to search"),
        (InfoGraph(), SPACE, "length", "one column of classes"),
        (InfoGraphRegressor("infograph*"), {"lr": [1e-3]}, "length", "hold some out"),
    ],
)
def test_what_cannot_be_searched(tmp_path, estimator, space, target, words):
    with pytest.raises(InvalidParameter, match=words):
        tune(estimator, space, make_parts(labelled(), [target], validation=0), tmp_path)


def test_a_search_in_which_all_diverge(parts, tmp_path):
    with pytest.raises(TrainingDiverged, match="no setting of the search"):
        tune(InfoGraph(dim=8, epochs=2, encoder=GIN(layers=2)), {"lr": [1e30, 1e31]}, parts, tmp_path)
    with pytest.raises(InvalidParameter, match="trials=0"):
        tune(InfoGraph(), SPACE, parts, tmp_path, trials=0)


def test_the_command(tmp_path):
    table = tmp_path / "mine.csv"
    smiles = list(dict.fromkeys(molecules(120)))
    lines = ["smiles,logS", *(f"{text},{len(text)}" for text in smiles)]
    table.write_text("\n".join(lines))
    quick = ["tune", str(table), "--target", "logS", "--epochs", "2", "--dim", "8"]
    kept = ["--out", str(tmp_path / "model"), "--results", str(tmp_path / "runs"), "--json"]
    command = [*quick, "--search", "lr=1e-2,1e-3", *kept]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert set(said["best"]) == {"lr"} and len(said["tried"]) == 2 and said["graphs"]["test"] > 0
    assert load(tmp_path / "model").lr == said["best"]["lr"]
    paper = CliRunner().invoke(app, [*quick, "--objective", "supervised", "--trials", "1", *kept])
    assert set(json.loads(paper.stdout)["best"]) == {"lr", "weight_decay"}  # no lambda without its objective
    wrong = CliRunner().invoke(app, [*command, "--search", "lr=..3"])
    assert isinstance(wrong.exception, InvalidParameter) and "ends of a range" in str(wrong.exception)


def test_error_of_an_ensemble_is_the_mean_of_its_networks():
    history = [{"model": m, "validation": v} for m, v in ((1.0, 3.0), (1.0, 2.0), (2.0, 4.0), (2.0, 5.0))]
    assert least_error(history) == 3.0

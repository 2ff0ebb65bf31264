"""Methods side by side: the same folds, processes of their own, budgets that hold."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from infograph import load_dataset
from infograph.cli.judge import compare as compare_verb
from infograph.data.graphset import save_graphs
from infograph.errors import InvalidParameter
from infograph.evaluate import compare as comparing
from infograph.evaluate import cross_validate
from infograph.evaluate.compare import (
    METHODS,
    Compared,
    Failed,
    Limits,
    Protocol,
    Stopped,
    compare,
    represent,
    represent_isolated,
)
from infograph.evaluate.cross_validation import Gram
from infograph.report.comparison import Comparison, as_sheet, best_line
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
    assert Comparison(graphs, ["all"]).chosen == list(METHODS)
    assert Comparison(graphs, ["WL", "wl"]).chosen == ["wl"]


ROWS = [
    Compared("a | b", 81.25, 1.5, 81.25, 2.0, 120.0),
    Compared("<b>", 90.0, 0.5, 91.0, 0.123, 1200.0),
    Compared("slow", empty="stopped after 1 minutes, the budget"),
]


def test_tables_mark_the_best_and_say_why_a_cell_is_empty():
    assert best_line(ROWS) == 1 and best_line(ROWS[2:]) is None
    lines = as_markdown(as_sheet(ROWS)).splitlines()
    assert lines[2].startswith("| a \\| b | 81.2 | 1.5 | 2 | 120 |")
    assert lines[3].startswith("| **&lt;b>** | **90.0** | 0.5 | 0.123 | 1,200 |")
    assert lines[4] == "| slow |  |  |  |  | stopped after 1 minutes, the budget |"
    assert as_sheet(ROWS, bars=True).rows[2][0].lines == ("slow", "stopped after 1 minutes, the budget")


def test_help_names_every_method():
    said = inspect.signature(compare_verb).parameters["methods"].annotation.__metadata__[0].help
    assert all(name in said for name in METHODS)

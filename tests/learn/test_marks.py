"""Values that stand for missing ones."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.data.cleaning import prepare
from infograph.data.labels import BadCell, Mark, as_number, without_mark
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.learn.parts import make_parts
from infograph.learn.training import gaps, reference_rows
from tests.report.conftest import rings_and_stars

NUMBERS = [-999.0 if i % 4 == 0 else i / 7 for i in range(40)]
TRUE = np.array([np.nan if i % 4 == 0 else i / 7 for i in range(40)])


@pytest.mark.parametrize("mark", [-999, -999.0, "-999", "-999.0"])
def test_a_number_is_the_same_mark_however_it_is_spelled(mark: Mark) -> None:
    graphs = rings_and_stars(NUMBERS)
    assert np.array_equal(without_mark(graphs, ["y"], mark).graph["y"], TRUE, equal_nan=True)
    assert graphs.graph["y"][0] == -999


def test_texts_that_are_numbers_but_for_the_marks_become_numbers() -> None:
    graphs = rings_and_stars(["?" if np.isnan(value) else repr(value) for value in TRUE.tolist()], "Tm [K]")
    clean = without_mark(graphs, ["Tm [K]"], "?")
    assert np.array_equal(clean.graph["Tm [K]"], TRUE, equal_nan=True)
    assert clean.schema.column("graph", "Tm [K]") == Column("Tm [K]", "float", unit="K")


def test_a_marked_class_is_no_class() -> None:
    graphs = without_mark(rings_and_stars(["a", "b", "?", "a"] * 5), ["y"], "?")
    assert graphs.values("graph", "y").tolist() == ["a", "b", None, "a"] * 5
    assert graphs.schema.graph[0].categories == ("a", "b")
    whole = without_mark(rings_and_stars([-1, 0, 1, 1] * 5), ["y"], -1)
    assert whole.schema.graph[0].categories == (0, 1)


def test_a_mark_that_is_nowhere_is_a_mistake() -> None:
    graphs = rings_and_stars(NUMBERS)
    with pytest.raises(
        InvalidParameter, match="--unlabelled -77: not one of 40 graphs has this value of 'y'"
    ):
        without_mark(graphs, ["y"], -77, needed=True)
    assert without_mark(graphs, ["y"], -77) is graphs
    assert without_mark(graphs, ["y"], "NA", needed=True) is graphs
    assert as_number(True) is None and as_number("1e3") == 1000


def test_nothing_after_the_start_sees_the_mark() -> None:
    graphs = rings_and_stars(NUMBERS).with_column("graph", Column("b", "float"), np.roll(NUMBERS, 1))
    clean, _ = prepare(graphs, ["y", "b"], unlabelled=-999)
    for parts in (make_parts(clean, ["y", "b"]), make_parts(graphs, ["y", "b"], unlabelled=-999)):
        for part in (parts.train, parts.validation, parts.test):
            assert not any((part.graph[name] == -999).any() for name in ("y", "b"))
        assert all(row.test < 6 for row in reference_rows(parts))


def test_too_few_labels_for_the_classes() -> None:
    graphs = rings_and_stars(list("abcdefghij") * 5)
    with pytest.raises(InvalidParameter, match="--labelled 5 is too small for 10 classes: 5 of them would"):
        make_parts(graphs, ["y"], labelled=5)
    assert make_parts(graphs, ["y"], labelled=20).n_labelled == 20


def test_a_minus_one_is_in_doubt_and_classes_stand_alone() -> None:
    graphs = rings_and_stars([-1.0, 1.0] * 20)
    with pytest.raises(InvalidTarget, match="--unlabelled -1; if it is a class, say --label y --target y"):
        make_parts(graphs, ["y"])
    assert make_parts(rings_and_stars([-1, 1] * 20), ["y"]).task == "classification"
    two = graphs.with_column("graph", Column("b", "float"), np.ones(40))
    with pytest.raises(InvalidTarget, match="predicts one column, not y, b"):
        make_parts(two, ["y", "b"], task="classification")


@pytest.mark.parametrize("task", [None, "regression"])
def test_a_bad_cell_knows_its_row(task: None) -> None:
    graphs = rings_and_stars(["n.d." if i == 3 else str(i / 7) for i in range(40)])
    with pytest.raises(BadCell, match=r"--unlabelled 'n\.d\.' says that it means unlabelled") as caught:
        make_parts(graphs, ["y"], task=task)
    assert caught.value.row == 3


def test_missing_errors_have_a_reason() -> None:
    parts = make_parts(rings_and_stars([0.1, 0.2, 0.4]), ["y"])
    rows = list(reference_rows(parts))
    assert gaps(rows, parts) == [
        f"There is no {name} error: of 3 labelled graphs none was held out; label more, or hold some out "
        f"with --{name}."
        for name in ("validation", "test")
    ]
    whole = make_parts(rings_and_stars(NUMBERS), ["y"], unlabelled=-999)
    assert gaps(list(reference_rows(whole)), whole) == []

"""Errors that cross from one process to another."""

from __future__ import annotations

import inspect

import pytest

from infograph import errors
from infograph.errors import InfoGraphError, InvalidGraph, MissingExtra, NothingLeft, error_from

CLASSES = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, InfoGraphError) and each.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_class_and_words(kind: type[InfoGraphError]) -> None:
    found = error_from(kind.__name__, "it did not work")
    assert type(found) is kind and str(found) == "it did not work"


@pytest.mark.parametrize(
    "error", [MissingExtra("ray", "scale"), InvalidGraph("empty", index=3), NothingLeft("no")]
)
def test_words_are_not_composed_twice(error: InfoGraphError) -> None:
    assert str(error_from(type(error).__name__, str(error))) == str(error)


def test_a_class_that_is_not_ours_is_the_base() -> None:
    assert type(error_from("KeyError", "x")) is InfoGraphError

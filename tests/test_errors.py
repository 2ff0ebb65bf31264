"""Errors that cross from one process to another."""

from __future__ import annotations

import inspect
import pickle

import pytest

from infograph import errors
from infograph.errors import InfoGraphError, InvalidGraph, MissingExtra, NothingLeft

PLAIN = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, InfoGraphError) and each is not MissingExtra
]


@pytest.mark.parametrize(
    "error",
    [
        *(kind("it did not work") for kind in PLAIN),
        MissingExtra("ray", "scale"),
        InvalidGraph("empty", index=3, graph_id="x"),
        NothingLeft("no", 5, ["a"]),
    ],
    ids=repr,
)
def test_an_error_keeps_its_class_its_words_and_what_it_knows(error: InfoGraphError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error) and str(found) == str(error) and vars(found) == vars(error)

"""What an index refuses, and a word of the sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from infograph import GraphIndex, GraphSet, InfoGraph, MeanPredictor, as_graphset
from infograph.data.vectors import Embeddings
from infograph.errors import (
    FileMissing,
    InfoGraphError,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    SchemaMismatch,
)
from tests.index.conftest import clustered, of_vectors

Call = Callable[[GraphIndex], object]
ALONE = of_vectors(clustered(5))
BAD = np.where(np.arange(16) == 2, np.nan, 1.0)
MISTAKES: list[tuple[Call, type[Exception], str]] = [
    (lambda index: GraphIndex.build(index.model, index.graphs, columns=["weight"]), SchemaMismatch, "weight"),
    (lambda index: GraphIndex.build(object(), index.graphs), InvalidParameter, "no transform"),
    (lambda index: GraphIndex.build(MeanPredictor(), index.graphs), InvalidParameter, "MeanPredictor"),
    (lambda index: index.search("C1CC("), InvalidGraph, "graph 0"),
    (lambda index: index.search(as_graphset([nx.path_graph(3)])), SchemaMismatch, "'element' is missing"),
    (lambda index: index.search([]), InfoGraphError, "no graphs"),
    (lambda index: index.search(7), InvalidParameter, "from a int"),
    (lambda index: index.search_id("mol99"), InvalidParameter, "such as 'mol0'"),
    (lambda index: index.add(as_graphset(["CCO"], ids=["mol3"])), InvalidParameter, "'mol3' is in the index"),
    (lambda index: index.add(as_graphset(["CC", "C"], ids=["a", "a"])), InvalidParameter, "'a' stands twice"),
    (lambda _: ALONE.add(["CCO"]), InvalidParameter, "no model"),
    (lambda _: ALONE.search(["CCO"]), InvalidParameter, "no model"),
    (lambda _: ALONE.search(np.ones(3)), InvalidParameter, "a query of 3 numbers"),
    (lambda _: ALONE.search(np.ones((2, 2, 16))), InvalidParameter, "expected .G, D."),
    (lambda _: ALONE.search(BAD), InvalidParameter, "vector 0 is not finite"),
    *((lambda _, k=k: ALONE.search(np.ones(16), k), InvalidParameter, "whole") for k in (0, 2.5, True)),
    (lambda _: of_vectors([*clustered(3), BAD]), InvalidParameter, "vector 3 of graph 3"),
    (lambda _: of_vectors(clustered(5) * 1e30), InvalidParameter, "longer"),
    (lambda _: of_vectors(clustered(5), metric="dot"), InvalidParameter, "metric='dot'"),
    (lambda _: GraphIndex.of(Embeddings(np.zeros(2, int), np.eye(2))), InvalidParameter, "'0' stands twice"),
    (lambda _: GraphIndex.of(Embeddings(np.zeros(1), np.eye(2))), InvalidParameter, "1 values of 'ids'"),
    (lambda _: GraphIndex.of(Embeddings(np.zeros(1), ["text"])), InvalidParameter, "array of vectors"),
    *((lambda _, t=t: ALONE.near_duplicates(t), InvalidParameter, "below 0.5") for t in (-1e-9, 0.5, np.nan)),
    (lambda _: GraphIndex.open("no such folder"), FileMissing, "no index"),
]


@pytest.mark.parametrize(("call", "error", "word"), MISTAKES)
def test_refused_with_a_sentence(index: GraphIndex, call: Call, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        call(index)
    assert len(index) == 24


def test_foreign_folders(index: GraphIndex, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidParameter, match="holds other files"):
        index.save(tmp_path)
    with pytest.raises(InvalidParameter, match="is a file"):
        index.save(tmp_path / "thesis.txt")
    with pytest.raises(InvalidFile, match="is not a saved index"):
        GraphIndex.open(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_models_that_cannot_be_saved(model: InfoGraph, molecules: GraphSet, tmp_path: Path) -> None:
    pipeline = make_pipeline(model, PCA(3).fit(model.transform(molecules)))
    index = GraphIndex.build(pipeline, molecules)
    with pytest.raises(InvalidParameter, match=r"a Pipeline, has no save\(folder\)"):
        index.save(tmp_path / "index")
    alone = of_vectors(index.vectors).save(tmp_path / "index")
    assert GraphIndex.open(alone, model=pipeline).search(molecules[4], 1).rows.tolist() == [[4]]

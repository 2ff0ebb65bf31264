"""What looking at graphs refuses, and a word of the sentence."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from infograph import (
    InfoGraph,
    as_graphset,
    contribution_drawing,
    describe_clusters,
    draw_graph,
    find_clusters,
    outlier_scores,
)
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.look import name_atoms
from infograph.look.project import project

GRAPHS = as_graphset([nx.path_graph(4)] * 30)
VECTORS = np.repeat([[0.0, 1.0], [3.0, 9.0]], 15, axis=0)
HOLED = np.where(np.arange(60).reshape(30, 2) == 4, np.nan, 1.0)  # vector 2
MISTAKES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: find_clusters(HOLED), InvalidParameter, "vector 2 holds NaN"),
    (lambda: find_clusters(np.eye(4), n_clusters=5), InvalidParameter, "n_clusters=5: expected 1 to 4"),
    (lambda: find_clusters(np.eye(4), components=0), InvalidParameter, "components=0"),
    (lambda: find_clusters(np.zeros(4)), InvalidParameter, "shape"),
    (lambda: outlier_scores(VECTORS, k=0), InvalidParameter, "k=0"),
    (lambda: project(HOLED), InvalidParameter, "vector 2 holds NaN"),
    (lambda: project(VECTORS, "lle"), InvalidParameter, "expected 'umap', 'tsne', 'pca' or None"),  # type: ignore[arg-type]
    (lambda: project(np.zeros((0, 4))), InvalidParameter, r"\(0, 4\) came"),
    (lambda: describe_clusters(find_clusters(VECTORS), GRAPHS[:10]), InvalidParameter, "but 10"),
    (lambda: describe_clusters(find_clusters(VECTORS), GRAPHS, ["colour"]), SchemaMismatch, "'colour'"),
    (lambda: draw_graph(GRAPHS, 0, scores=[1.0]), InvalidParameter, "each of the 4 nodes"),
    (lambda: draw_graph(GRAPHS, 0, scores=[np.nan] * 4), InvalidParameter, "finite"),
    (lambda: draw_graph(GRAPHS, 0, theme="pink"), InvalidParameter, "theme='pink'"),
    (lambda: draw_graph(GRAPHS, 0, size=(0, 100)), InvalidParameter, "16 to 4000 pixels"),
    (lambda: draw_graph(GRAPHS, 30), IndexError, "30"),
    (lambda: contribution_drawing(object(), GRAPHS[0]), InvalidParameter, "object does not score"),  # type: ignore[arg-type]
    (lambda: contribution_drawing(InfoGraph(epochs=0, dim=4).fit(GRAPHS), GRAPHS), InvalidParameter, "one"),
    (lambda: name_atoms(GRAPHS, "PTC_MR"), InvalidParameter, "not of PTC_MR: expected 18 numbers"),
    (lambda: name_atoms(GRAPHS, "ENZYMES"), InvalidParameter, "MUTAG and PTC_MR are known"),
]


@pytest.mark.parametrize(("call", "error", "word"), MISTAKES)
def test_refused_with_a_sentence(call: Callable[[], object], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        call()

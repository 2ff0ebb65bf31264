from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest

from infograph.data.convert import as_graphset, store_graph_column
from infograph.data.graphset import GraphSet


def rings_and_stars(labels: Sequence[Any], column: str = "y") -> GraphSet:
    """Rings at even places, stars at odd ones, growing; with `labels` as a graph column."""
    made = [
        nx.cycle_graph(3 + i // 2) if i % 2 == 0 else nx.star_graph(2 + i // 2) for i in range(len(labels))
    ]
    graphs = as_graphset(made, ids=[f"g{i}" for i in range(len(labels))])
    values, described = store_graph_column(column, list(labels))
    return graphs.with_column("graph", described, values)


@pytest.fixture(scope="session")
def make_graphs() -> Callable[..., GraphSet]:
    return rings_and_stars


@pytest.fixture(scope="session")
def two_classes() -> GraphSet:
    return rings_and_stars(["ring", "star"] * 15)


@pytest.fixture
def measured() -> GraphSet:
    return rings_and_stars(np.linspace(0.5, 9.7, 12).tolist())

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.records import store_graph_column


def rings_and_stars(labels: Sequence[Any], column: str = "y") -> GraphSet:
    """Rings at even places, stars at odd ones, growing; with `labels` as a graph column."""
    made = [
        nx.cycle_graph(3 + i // 2) if i % 2 == 0 else nx.star_graph(2 + i // 2) for i in range(len(labels))
    ]
    graphs = as_graphset(made, ids=[f"g{i}" for i in range(len(labels))])
    values, described = store_graph_column(column, list(labels))
    return graphs.with_column("graph", described, values)

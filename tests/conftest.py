"""Graphs that every part of the package is tried on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from infograph.data.assemble import Record, assemble
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema

# No clock of Hypothesis decides: neither how long an example takes, nor how long it takes to make some.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Let PyG be imported: it still compiles with torch.jit, which torch deprecates."""
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit:DeprecationWarning")


LABELS = ("a", "b", "c")
BONDS = ("single", "double")


def _graph(name: str, n_nodes: int, arcs: Sequence[tuple[int, int]], undirected: bool = True) -> Record:
    """Arcs in both directions unless told otherwise; labels and bonds repeat in a fixed order."""
    both = [arc for u, v in arcs for arc in ([(u, v), (v, u)] if undirected and u != v else [(u, v)])]
    edges = np.array(both, dtype=np.int64).reshape(-1, 2).T
    bond = [BONDS[(u + v) % 2] for u, v in both]
    return Record(
        n_nodes,
        edges,
        node={"label": np.array([LABELS[i % 3] for i in range(n_nodes)], dtype=object)},
        edge={"bond": np.array(bond, dtype=object)},
        graph_id=name,
    )


@pytest.fixture(scope="session")
def corner_cases() -> GraphSet:
    """No edges, one node, isolated nodes, self-loops, repeated edges, a huge hub, directed, two plain graphs.

    Nodes have a categorical column "label", arcs a categorical column "bond" that is not used by default.
    """
    records = [
        _graph("no edges", 4, []),
        _graph("one node", 1, []),
        _graph("isolated nodes", 5, [(0, 1), (1, 2)]),
        _graph("self-loops", 3, [(0, 0), (0, 1), (1, 2), (2, 2)]),
        _graph("one node with a loop", 1, [(0, 0)]),
        _graph("repeated edges", 3, [(0, 1), (0, 1), (0, 1), (1, 2), (2, 2), (2, 2)]),
        _graph("huge hub", 301, [(0, i) for i in range(1, 301)]),
        _graph("directed", 4, [(0, 1), (1, 2), (2, 0), (2, 3)], undirected=False),
        _graph("two pieces", 6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
        _graph("ring", 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]),
    ]
    columns = Schema(
        node=(Column("label", "categorical", categories=LABELS),),
        edge=(Column("bond", "categorical", categories=BONDS, used=False),),
    )
    return assemble(records, columns=columns)

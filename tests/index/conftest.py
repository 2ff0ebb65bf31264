from __future__ import annotations

import numpy as np
import pytest

from infograph import GIN, GraphSet, InfoGraph, as_graphset
from infograph.data.records import store_graph_column
from infograph.data.vectors import Embeddings
from infograph.index import GraphIndex

PARTS = ("CCO", "c1ccccc1O", "CC(=O)O", "CCN", "c1ccncc1", "CCCC", "C1CCCCC1", "CC#N")
SMILES = ["C" * (i // 8) + PARTS[i % 8] for i in range(24)]


@pytest.fixture(scope="session")
def molecules() -> GraphSet:
    """24 molecules with a class and a measured value."""
    graphs = as_graphset(SMILES, ids=[f"mol{i}" for i in range(24)])
    columns = {"active": ["yes" if i % 2 else "no" for i in range(24)], "logS": [i / 7 for i in range(24)]}
    for name, raw in columns.items():
        values, column = store_graph_column(name, raw)
        graphs = graphs.with_column("graph", column, values)
    return graphs


@pytest.fixture(scope="session")
def model(molecules: GraphSet) -> InfoGraph:
    return InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(molecules)


@pytest.fixture
def index(model: InfoGraph, molecules: GraphSet) -> GraphIndex:
    return GraphIndex.build(model, molecules)


def clustered(n_rows: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    """Vectors around a few centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((1 + n_rows // 20, dim))
    vectors = centres[rng.integers(len(centres), size=n_rows)] + 0.2 * rng.standard_normal((n_rows, dim))
    return vectors.astype(np.float32)


def of_vectors(vectors: np.ndarray, **settings) -> GraphIndex:
    return GraphIndex.of(Embeddings(np.arange(len(vectors)), np.asarray(vectors, np.float32)), **settings)

"""What the methods refuse: the call, the exception, a word of the sentence."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from infograph import (
    AtomCounts,
    DeepGraphKernel,
    DegreeHistogram,
    FingerprintForest,
    Graph2Vec,
    Graphlets,
    LabelHistogram,
    MultiscaleLaplacian,
    Node2Vec,
    RandomWalk,
    ShortestPath,
    Sub2Vec,
    WeisfeilerLehman,
    as_graphset,
)
from infograph.errors import InvalidGraph, InvalidParameter, SchemaMismatch
from tests.baselines.oracles import random_set

GRAPHS = random_set(0, count=4)
SMILES = ["CCO", "CCN", "CCC", "CO"]
TRIANGLE = (np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
EDGE = (np.array([[0, 1], [1, 0]]), 2)
DENSE = (np.array(np.nonzero(1 - np.eye(6))), 6)
MEASURED = [(EDGE[0], np.random.default_rng(0).normal(size=(2, 3))) for _ in range(3)]

SETTINGS = {  # one of each kind of range, and whatever is one method's own
    WeisfeilerLehman: {"rounds": (-1, 1.5, "3"), "node_features": ("degrees",), "normalise": ("yes",)},
    Graphlets: {"size": (6, True, "4"), "values": ("shares",), "n_samples": (0,), "random_state": (-1,)},
    RandomWalk: {"decay": (0, -0.1, "half", float("nan"), float("inf"), None)},
    MultiscaleLaplacian: {"levels": (-1,), "eta": (0,), "share": ("no",)},
    DeepGraphKernel: {"structure": ("tree",), "window": (0,), "draws": (1,)},
    Node2Vec: {"dim": (0,), "q": (0, float("inf")), "pooling": ("max",), "block_nodes": (0,)},
    Sub2Vec: {"variant": ("nodes",), "n_bins": (0,)},
    Graph2Vec: {"epochs": (0,), "max_tokens": (1.5,)},
    LabelHistogram: {"share": ("yes",)},
    DegreeHistogram: {"share": (1,)},
    FingerprintForest: {
        "n_trees": (2.5,),
        "features": ("descriptors",),
        "max_features": (0, 1.5, "sqrt"),
        "task": ("ranking",),
    },
}


CASES = [(kind, name, value) for kind, own in SETTINGS.items() for name in own for value in own[name]]


@pytest.mark.parametrize(("method", "name", "value"), CASES)
def test_settings_out_of_range(method, name, value):
    model = method().set_params(**{name: value})
    with pytest.raises(InvalidParameter, match=f"{name}.*{value}"):
        model.fit(SMILES, [1.0, 2, 3, 4])
    assert not hasattr(model, "schema_")


def with_weights(*weights):
    graphs = [nx.Graph([(0, 1, {"w": weight})]) for weight in weights]
    return as_graphset(graphs, weight="w", ids=[f"g{place}" for place in range(len(graphs))])


node2vec = Node2Vec(6, walks=1, length=4, window=2)
words = Graph2Vec(4, epochs=1, min_count=1)
PARAMETER, SCHEMA = InvalidParameter, SchemaMismatch
CALLS = {
    "connected five": (lambda: Graphlets(5, connected_only=True).fit(GRAPHS), PARAMETER, "size=4"),
    "measured": (lambda: ShortestPath().fit(MEASURED), PARAMETER, r"measured.*node_columns=\[\.\.\.\]"),
    "no column": (lambda: WeisfeilerLehman(node_columns=["x"]).fit(GRAPHS), SCHEMA, "'x'"),
    "a column less": (lambda: WeisfeilerLehman().fit(GRAPHS).gram([EDGE]), SCHEMA, "'label' is missing"),
    "a word less": (lambda: words.fit(GRAPHS).transform([EDGE]), SCHEMA, "'label' is missing"),
    "diverging": (lambda: RandomWalk(0.25).fit([TRIANGLE, EDGE]), PARAMETER, r"2: .* below 0\.25"),
    "too dense": (lambda: RandomWalk().fit([EDGE, EDGE]).gram([DENSE]), PARAMETER, r"5, .* below 0\.04"),
    "weight": (lambda: Node2Vec(4).fit(with_weights(1, -1)), InvalidGraph, r"graph 1 \(id 'g1'\): .* -1"),
    "other nodes": (lambda: node2vec.fit(GRAPHS).transform(GRAPHS[:3]), PARAMETER, "other graphs"),
    "no smiles": (lambda: FingerprintForest().fit([EDGE, EDGE], [1, 2]), SCHEMA, "'smiles'.* none"),
    "numbers": (lambda: AtomCounts(["x"]).fit(MEASURED, [1, 2, 3]), PARAMETER, "categories"),
    "no atom": (lambda: AtomCounts(["atom"]).fit(SMILES, [1, 2, 3, 4]), SCHEMA, "'element'"),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls(case):
    call, error, word = CALLS[case]
    with pytest.raises(error, match=word):
        call()

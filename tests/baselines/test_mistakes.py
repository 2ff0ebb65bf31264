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
    MeanPredictor,
    MultiscaleLaplacian,
    Node2Vec,
    RandomWalk,
    ShortestPath,
    Sub2Vec,
    WeisfeilerLehman,
    as_graphset,
)
from infograph.errors import InvalidGraph, InvalidParameter, InvalidTarget, SchemaMismatch
from tests.baselines.oracles import random_set

GRAPHS = random_set(0, count=4)
SMILES = ["CCO", "CCN", "CCC", "CO"]
TRIANGLE = (np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
EDGE = (np.array([[0, 1], [1, 0]]), 2)
MEASURED = [(EDGE[0], np.random.default_rng(0).normal(size=(2, 3))) for _ in range(3)]

SETTINGS = [
    *((WeisfeilerLehman, "rounds", value) for value in (-1, 1.5, "3")),
    (WeisfeilerLehman, "node_features", "degrees"),
    *((kind, "normalise", "yes") for kind in (WeisfeilerLehman, ShortestPath, Graphlets, RandomWalk)),
    *((Graphlets, "size", value) for value in (6, True, "4")),
    (Graphlets, "values", "shares"),
    (Graphlets, "n_samples", 0),
    (Graphlets, "connected_only", 1),
    (Graphlets, "random_state", -1),
    *((RandomWalk, "decay", value) for value in (0, -0.1, "half", float("nan"), float("inf"), None)),
    (MultiscaleLaplacian, "levels", -1),
    (MultiscaleLaplacian, "eta", 0),
    (MultiscaleLaplacian, "share", "no"),
    (DeepGraphKernel, "structure", "tree"),
    (DeepGraphKernel, "window", 0),
    (DeepGraphKernel, "draws", 1),
    *((Node2Vec, name, 0) for name in ("dim", "p", "q", "walks", "block_nodes")),
    (Node2Vec, "q", float("inf")),
    (Node2Vec, "pooling", "max"),
    (Sub2Vec, "variant", "nodes"),
    *((Sub2Vec, name, 0) for name in ("n_bins", "walk", "min_count")),
    (Graph2Vec, "epochs", 0),
    (Graph2Vec, "max_tokens", 1.5),
    (Graph2Vec, "random_state", -1),
    (LabelHistogram, "share", "yes"),
    (DegreeHistogram, "share", 1),
]
FOREST = [
    *(("n_trees", value) for value in (0, 2.5)),
    ("n_bits", 2.5),
    ("radius", -1),
    ("min_samples_leaf", 0),
    *(("max_features", value) for value in (0, 1.5, "sqrt")),
    ("task", "ranking"),
]


@pytest.mark.parametrize(("method", "name", "value"), SETTINGS)
def test_settings_out_of_range(method, name, value):
    model = method().set_params(**{name: value})
    with pytest.raises(InvalidParameter, match=f"{name}.*{value}"):
        model.fit(GRAPHS)
    assert not hasattr(model, "schema_")


@pytest.mark.parametrize(("name", "value"), FOREST)
def test_settings_of_the_forest(name, value):
    with pytest.raises(InvalidParameter, match=f"{name}.*{value}"):
        FingerprintForest(**{name: value}).fit(SMILES, [1.0, 2, 3, 4])


def with_weights(*weights):
    graphs = [nx.Graph() for _ in weights]
    for graph, weight in zip(graphs, weights, strict=True):
        graph.add_edge(0, 1, w=weight)
    return as_graphset(graphs, weight="w", ids=[f"g{place}" for place in range(len(graphs))])


CALLS = {
    "connected five": (lambda: Graphlets(5, connected_only=True).fit(GRAPHS), InvalidParameter, "size=4"),
    "measured": (
        lambda: ShortestPath().fit(MEASURED),
        InvalidParameter,
        r"measured.*node_columns=\[\.\.\.\]",
    ),
    "no such column": (lambda: WeisfeilerLehman(node_columns=["x"]).fit(GRAPHS), SchemaMismatch, "'x'"),
    "a column less": (
        lambda: WeisfeilerLehman().fit(GRAPHS).gram([EDGE]),
        SchemaMismatch,
        "'label' is missing",
    ),
    "a column less for words": (
        lambda: Graph2Vec(4, epochs=1, min_count=1).fit(GRAPHS).transform([EDGE]),
        SchemaMismatch,
        "'label' is missing",
    ),
    "diverging": (
        lambda: RandomWalk(0.25).fit([TRIANGLE, EDGE]),
        InvalidParameter,
        r"norm .* 2: .* below 0\.25",
    ),
    "too dense": (
        lambda: RandomWalk().fit([EDGE, EDGE]).gram([(np.array(np.nonzero(1 - np.eye(6))), 6)]),
        InvalidParameter,
        r"norm of up to 5, .* below 0\.04",
    ),
    "negative weight": (
        lambda: Node2Vec(4).fit(with_weights(1.0, -1.0)),
        InvalidGraph,
        r"graph 1 \(id 'g1'\): .* weight -1",
    ),
    "no smiles": (lambda: FingerprintForest().fit([EDGE, EDGE], [1, 2]), SchemaMismatch, "'smiles'.* none"),
    "numbers to count": (lambda: AtomCounts(["x"]).fit(MEASURED, [1, 2, 3]), InvalidParameter, "categories"),
    "no such column to count": (
        lambda: AtomCounts(["atom"]).fit(SMILES, [1, 2, 3, 4]),
        SchemaMismatch,
        "'element'",
    ),
    **{
        f"{type(graphs).__name__} is no set of graphs": (
            lambda graphs=graphs: WeisfeilerLehman().fit(graphs),
            InvalidParameter,
            "graphs",
        )
        for graphs in ([], None, 5, np.zeros((3, 4)))
    },
}


@pytest.mark.parametrize("case", CALLS)
def test_calls(case):
    call, error, word = CALLS[case]
    with pytest.raises(error, match=word):
        call()


@pytest.mark.parametrize("model", [MeanPredictor(), AtomCounts(), FingerprintForest(n_trees=5)])
def test_labels_that_cannot_be_learned(model):
    for y, word in (
        ([None] * 4, "has no labelled graph"),
        ([1.0, None, None, None], "only one labelled graph"),
        ([np.inf, 1, 2, 3], "of graph 0 is inf"),
        ([1.0, 2.0], "2 labels for 4 graphs"),
        ("smiles", "no number"),
    ):
        with pytest.raises(InvalidTarget, match=word):
            model.fit(as_graphset(SMILES), y)
    assert not hasattr(model, "schema_")

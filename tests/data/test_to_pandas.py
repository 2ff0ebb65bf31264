"""DataFrames out: ids are the index everywhere."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from infograph import (
    InfoGraph,
    InfoGraphRegressor,
    ShortestPath,
    as_graphset,
    compare,
    cross_validate,
    suggest,
)
from infograph.baselines.graph2vec import Graph2Vec
from infograph.data.vectors import Embeddings
from infograph.evaluate.compare import Protocol
from infograph.learn.predictions import predict_table

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "OCCO", "CCCl", "CCBr", "CC", "CCC", "C1CC1", "CO"]
TABLE = pd.DataFrame({"smiles": SMILES, "logS": np.arange(12) / 3.0, "kind": ["a", "b"] * 6})
TABLE.index = pd.Index([f"m{n}" for n in range(12)], name="molecule")


@pytest.fixture(scope="module")
def model():
    return InfoGraphRegressor(objective="vectors", random_state=0).fit(TABLE, "logS")


def test_vectors_have_the_ids_as_their_index():
    plain = InfoGraph(dim=4, epochs=0).fit(TABLE)
    vectors = plain.transform(TABLE)
    model = InfoGraph(dim=4, epochs=0).set_output(transform="pandas").fit(TABLE)
    for graphs in (TABLE, TABLE["smiles"], as_graphset(TABLE)):
        frame = model.transform(graphs)
        assert frame.index.tolist() == TABLE.index.tolist()
        assert frame.columns.tolist() == [f"infograph{n}" for n in range(4)]
        np.testing.assert_array_equal(frame, vectors)
        again = InfoGraph(dim=4, epochs=0).set_output(transform="pandas").fit_transform(graphs)
        pd.testing.assert_frame_equal(again, frame)
    assert model.transform(TABLE).index.name == "molecule"
    assert model.transform(SMILES).index.tolist() == list(range(12))
    levels = TABLE.set_index("kind", append=True)
    for graphs in (levels, levels["smiles"]):
        assert model.transform(graphs).index.equals(levels.index)


def test_rows_that_were_left_out_have_their_ids():
    model = InfoGraph(dim=4, epochs=0).set_output(transform="pandas").fit(TABLE)
    graphs = TABLE[:3].assign(smiles=["CC", None, "CCO"])
    good = model.transform(["CC", "CCO"])
    for source in (graphs, graphs["smiles"]):
        frame = model.transform(source, errors="skip")
        assert frame.index.tolist() == ["m0", "m2"] and frame.index.name == "molecule"
        np.testing.assert_array_equal(frame, good)
        assert model.transform(source, errors="nan").index.tolist() == ["m0", "m1", "m2"]
    named = as_graphset(graphs, errors="skip")
    assert model.transform(named, errors="nan").index.tolist() == ["m0", "m1", "m2"]
    assert model.transform(["C(", "C)"], errors="nan").index.tolist() == [0, 1]
    np.testing.assert_array_equal(model.transform(["CC", "C(", "CCO"], errors="nan").index, [0, 1, 2])


def test_other_methods_give_ids_too():
    networks = [nx.path_graph(n, create_using=nx.Graph) for n in (2, 3, 4)]
    for n, graph in enumerate(networks):
        graph.graph["id"] = f"g{n}"
    for method in (Graph2Vec(dim=4, epochs=1), ShortestPath()):
        vectors = method.fit_transform(networks)
        if hasattr(vectors, "toarray"):
            continue
        frame = method.set_output(transform="pandas").fit_transform(networks)
        assert frame.index.tolist() == ["g0", "g1", "g2"]
        np.testing.assert_array_equal(frame, vectors)
        assert method.transform(networks).index.tolist() == ["g0", "g1", "g2"]


def test_graphs_of_a_table_of_edges():
    edges = pd.DataFrame({"graph": list("aaabb"), "source": [0, 1, 2, 0, 1], "target": [1, 2, 0, 1, 2]})
    frame = InfoGraph(dim=4, epochs=0).set_output(transform="pandas").fit_transform(edges)
    assert frame.index.tolist() == ["a", "b"]


def test_beside_other_columns_of_a_table():
    both = ColumnTransformer(
        [("graphs", InfoGraph(dim=4, epochs=0), ["smiles"]), ("numbers", StandardScaler(), ["logS"])]
    ).set_output(transform="pandas")
    frame = both.fit_transform(TABLE)
    assert frame.shape == (12, 5) and frame.index.equals(TABLE.index) and not frame.isna().any(axis=None)
    table = TABLE.assign(smiles=["C" * n + "O" for n in range(1, 13)])
    scores = cross_val_score(InfoGraphRegressor(objective="vectors"), table, table["logS"], cv=3)
    rows = [np.delete(np.arange(12), range(4 * k, 4 * k + 4)) for k in range(3)]
    by_hand = [
        InfoGraphRegressor(objective="vectors")
        .fit(table.iloc[train], "logS")
        .score(table.iloc[4 * k : 4 * k + 4], "logS")
        for k, train in enumerate(rows)
    ]
    np.testing.assert_allclose(scores, by_hand)


def test_predictions_and_suggestions(model):
    found = predict_table(model, TABLE, columns=["kind"], interval=0.9)
    frame = found.to_pandas()
    assert frame.index.tolist() == TABLE.index.tolist() and frame.index.name == "id"
    assert list(frame)[:4] == ["kind", "logS", "logS low", "logS high"]
    np.testing.assert_array_equal(frame["logS"], model.predict(TABLE))
    bad = TABLE[:3].assign(smiles=["CC", None, "CCO"])
    places = predict_table(model, bad, keep_places=True).to_pandas()
    assert places.index.tolist() == ["m0", "m1", "m2"] and places["problem"].notna().tolist() == [
        False,
        True,
        False,
    ]
    units = as_graphset(TABLE.rename(columns={"logS": "logS [mol/L]"}))
    same = InfoGraphRegressor(objective="vectors", random_state=0).fit(units, "logS")
    assert predict_table(same, units).to_pandas().attrs["units"] == {"logS [mol/L]": "mol/L"}
    pool = pd.DataFrame({"smiles": ["CCCCO", "CCCN", "c1ccccc1C"]}, index=["p", "q", "r"])
    chosen = suggest(model, pool, 2, known=TABLE)
    assert chosen.to_pandas().index.tolist() == chosen.columns["id"].tolist()


def test_embeddings():
    graphs = as_graphset(TABLE)
    vectors = InfoGraph(dim=4, epochs=0).fit_transform(graphs)
    frame = Embeddings.of(graphs, vectors, columns=["kind"]).to_pandas()
    assert list(frame) == ["kind", "v0", "v1", "v2", "v3"] and frame.index.tolist() == TABLE.index.tolist()
    np.testing.assert_array_equal(frame[["v0", "v1", "v2", "v3"]], vectors)


def test_evaluations_and_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    vectors, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    found = cross_validate({"a": [vectors] * 2, "b": [vectors**2] * 2}, y, folds=3, inner_folds=2, repeats=2)
    frame = found.to_pandas()
    assert len(frame) == len(found.candidates) * 2 * 3
    for each in found.candidates:
        own = frame[(frame["setting"] == each.setting) & (frame["classifier"] == each.classifier)]
        for r, seed in enumerate(found.seeds):
            for f in range(3):
                row = own[(own["repeat"] == seed) & (own["fold"] == f)].iloc[0]
                assert row[["chosen", "inner", "score"]].tolist() == [
                    each.chosen[r, f],
                    each.chosen_inner[r, f],
                    each.chosen_outer[r, f],
                ]
    tables = pd.concat([TABLE, TABLE.assign(smiles=[f"C{text}" for text in SMILES])], ignore_index=True)
    lines = compare(
        tables, "kind", ["labels"], tmp_path, protocol=Protocol(repeats=1, folds=2, inner_folds=2)
    )
    frame = lines.to_pandas()
    assert frame.index.tolist() == ["node labels"] and frame.loc["node labels", "mean"] == lines[0].mean
    several = cross_validate(
        {"a": [vectors]}, np.stack([y, y[::-1]], axis=1), folds=3, inner_folds=2, repeats=1
    )
    assert len(several.to_pandas()) == 3 * 2 * len(several.candidates)

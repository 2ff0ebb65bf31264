"""Building, searching in every form, adding, and many threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
import torch

from infograph import (
    GIN,
    Column,
    GraphSet,
    InfoGraph,
    WeisfeilerLehman,
    as_graphset,
    load_dataset,
    to_networkx,
    to_pyg,
)
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidParameter
from infograph.index import GraphIndex, graph_index
from infograph.index.nearest import faiss_installed
from tests.index.conftest import SMILES, of_vectors


def test_everything_is_kept(index: GraphIndex, model: InfoGraph, molecules: GraphSet) -> None:
    assert len(index) == 24 and not index.is_approximate and index.model is model
    assert np.array_equal(index.vectors, model.transform(molecules))
    assert list(index.columns) == ["smiles", "active", "logS"]
    assert index.columns["active"].tolist() == ["no", "yes"] * 12
    assert index.graphs is not None and np.array_equal(index.graphs.edges, molecules.edges)
    assert repr(index) == "GraphIndex(24 graphs, 8 numbers each; cosine, exact)"
    some = GraphIndex.build(model, molecules, columns=["logS"])
    assert list(some.columns) == ["logS"] and some.graphs is not None
    assert [column.name for column in some.graphs.schema.graph] == ["logS"]
    measured = molecules.with_column("graph", Column("S [mol/L]", "float", unit="mol/L"), np.arange(24.0))
    assert list(GraphIndex.build(model, measured, columns=["S"]).columns) == ["S [mol/L]"]


def test_queries_in_every_form(index: GraphIndex, molecules: GraphSet, tmp_path) -> None:
    expected = index.search(index.vectors[9], 5).rows
    smiles = SMILES[9]
    from rdkit import Chem

    file = tmp_path / "query.smi"
    file.write_text(f"{smiles} mine\n")
    molecule, vector = Chem.MolFromSmiles(smiles), index.vectors[9]
    texts = [smiles, [smiles], np.array([smiles]), file, str(file)]
    graphs = [molecules[9], [molecules[9]], molecule, [molecule]]
    for form in (*texts, *graphs, vector.tolist(), list(vector), vector[None], torch.from_numpy(vector)):
        assert np.array_equal(index.search(form, 5).rows, expected), form
    assert index.search(file).queries.tolist() == ["mine"]
    many = index.search(SMILES[:3], 4)
    assert many.rows.shape == (3, 4) and many.rows[:, 0].tolist() == [0, 1, 2]


def test_hits_of_molecules_have_tanimoto_similarities(index: GraphIndex, molecules: GraphSet) -> None:
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    bits = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
    made = [bits(Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    hits = index.search(["CCCN", "Oc1ccccc1"], 6)
    for query, own in zip(hits, (bits(Chem.MolFromSmiles("CCCN")), made[1]), strict=True):
        expected = [DataStructs.TanimotoSimilarity(own, made[row]) for row in query.rows[0]]
        assert [row["tanimoto"] for row in query.table()] == expected
    own = index.search_id("mol9", 4)
    assert own.tanimoto is not None
    assert own.tanimoto[0].tolist() == [DataStructs.TanimotoSimilarity(made[9], made[r]) for r in own.rows[0]]
    assert index.search(index.vectors[:2]).tanimoto is None and "tanimoto" not in of_table(index)
    table = index.search(["CCCN"], 3).to_pandas()
    assert table.index.name == "id" and table.index.tolist() == index.search("CCCN", 3).ids[0].tolist()
    assert list(table.columns) == ["query", "rank", "score", "tanimoto", "smiles", "active", "logS"]


def of_table(index: GraphIndex) -> dict:
    """The first row of a search by a vector."""
    return index.search(index.vectors[0]).table()[0]


def test_networks_as_queries() -> None:
    networks = [nx.cycle_graph(4 + i) if i % 2 else nx.star_graph(4 + i) for i in range(10)]
    graphs = as_graphset(networks)
    model = InfoGraph(dim=8, epochs=0, encoder=GIN(layers=2)).fit(graphs)
    index = GraphIndex.build(model, networks, metric="euclidean")
    for query in (networks[3], [networks[3]], to_networkx(graphs)[3], to_pyg(graphs)[3]):
        found = index.search(query, 1)
        assert found.rows.tolist() == [[3]] and found.scores[0, 0] == pytest.approx(0, abs=1e-4)
    pair = (graphs[3].edges, 7)
    assert index.search(pair, 1).rows.tolist() == index.search([pair, pair], 1).rows[:1].tolist() == [[3]]
    with pytest.raises(InvalidParameter, match="'CCO' is no file, and no SMILES either"):
        index.search("CCO")


def test_hits_as_a_table(index: GraphIndex) -> None:
    hits = index.search(SMILES[:2], 3)
    rows = hits.table()
    assert len(rows) == 6 and len(hits) == 2
    assert list(rows[0]) == ["query", "rank", "id", "score", "tanimoto", "smiles", "active", "logS"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 1, 2, 3]
    assert rows[3]["id"] == "mol1" and rows[3]["active"] == "yes" and rows[3]["logS"] == 1 / 7
    assert rows[3]["score"] == 1.0 and isinstance(rows[3]["score"], float)
    assert [one.table() for one in hits] == [rows[:3], rows[3:]]
    assert hits[-1].ids.tolist() == hits.ids[1:].tolist()
    columns = {"id": np.array([5, 6]), "y": np.array([[1.0, 2.0], [3.0, 4.0]])}  # a name of ours
    index = GraphIndex.of(Embeddings(np.array(["a", "b"]), np.eye(2, dtype=np.float32), columns))
    first = index.search([1, 0], 1).table()[0]
    assert first == {"query": 0, "rank": 1, "id": "a", "score": 1.0, "id (column)": 5, "y": [1.0, 2.0]}


def test_neighbours_of_a_stored_graph(index: GraphIndex) -> None:
    hits = index.search_id("mol5", 30)
    assert hits.rows.shape == (1, 23) and 5 not in hits.rows
    with_itself = index.search(index.vectors[5], 24).rows[0]
    assert hits.rows[0].tolist() == [row for row in with_itself if row != 5]
    assert hits.queries.tolist() == ["mol5"]
    equal = of_vectors(np.ones((9, 3)))
    assert equal.search_id(7, 3).rows.tolist() == [[0, 1, 2]]
    assert equal.search_id("7", 30).rows.tolist() == [[0, 1, 2, 3, 4, 5, 6, 8]]
    assert equal.search_id(0, 2).rows.tolist() == [[1, 2]]
    alone = of_vectors(np.ones((1, 3))).search_id(0)
    assert alone.rows.shape == (1, 0) and alone.table() == []


def test_kernels_with_sparse_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    graphs = load_dataset("MUTAG")[:40]
    index = GraphIndex.build(WeisfeilerLehman().fit(graphs), graphs)
    assert index.search(graphs[3], 40).rows.tolist() == index.search(index.vectors[3], 40).rows.tolist()
    vectors = graph_index.represent(index.model.save(tmp_path / "model"), lambda schema: graphs).vectors
    assert np.array_equal(vectors, index.vectors)
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    assert opened.search(graphs[3], 5).table() == index.search(graphs[3], 5).table()
    monkeypatch.setattr(graph_index, "MOST_BYTES", 1 << 10)
    with pytest.raises(InvalidParameter, match=r"40 sparse vectors of .* numbers would take more than"):
        GraphIndex.build(index.model, graphs)


def test_add(index: GraphIndex, model: InfoGraph) -> None:
    before = index.search(["CCCCO"], 24)
    index.add(as_graphset(["CCCCO", "CCCCN"], ids=["new0", "new1"]))
    assert len(index) == 26 and index.search(["CCCCO"], 1).scores[0, 0] == 1
    assert index.ids.tolist()[-2:] == ["new0", "new1"]
    assert np.array_equal(index.vectors[-2:], model.transform(["CCCCO", "CCCCN"]))
    assert index.columns["smiles"].tolist()[-1] == "CCCCN" and index.columns["active"][-1] is None
    assert np.isnan(index.columns["logS"][-1]) and index.graphs is not None and len(index.graphs) == 26
    assert np.allclose(model.transform(index.graphs), index.vectors, rtol=1e-5, atol=1e-6)
    assert before.rows.shape == (1, 24)


def test_many_threads_search_while_one_adds(index: GraphIndex) -> None:
    expected = {smiles: index.search([smiles], 24).rows[0].tolist() for smiles in SMILES}
    start = threading.Barrier(8)

    def work(worker: int) -> bool:
        start.wait()
        for i in range(6 if worker == 0 else 0):
            index.add(as_graphset(["C" * (20 + i)], ids=[f"new{i}"]))
        found = {smiles: index.search([smiles], 30).rows[0].tolist() for smiles in SMILES[worker:]}
        return all([row for row in rows if row < 24] == expected[smiles] for smiles, rows in found.items())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(index) == 30


@pytest.mark.skipif(not faiss_installed(), reason="faiss is not installed")
def test_graphs_that_came_later_are_found(model: InfoGraph) -> None:
    chains = ["C" * n + end for n in range(1, 41) for end in ("O", "N", "=O", "OO", "NN")]
    index = GraphIndex.build(model, as_graphset(chains), metric="euclidean", approximate=True)
    for n_new, n_covered in ((20, 200), (10, 230)):  # few are searched exactly, then cells are learned again
        new = ["C" * (50 + len(index) + i) for i in range(n_new)]
        index.add(as_graphset(new, ids=[f"{len(index)} and {i}" for i in range(n_new)]))
        assert index.is_approximate and index._state[1].covered == n_covered
        assert index.search(new, 1).rows[:, 0].tolist() == list(range(len(index) - n_new, len(index)))

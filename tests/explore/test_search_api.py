"""Graphs that are not on the map: searched, placed, uploaded, embedded, predicted."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from infograph import InfoGraph, InfoGraphClassifier
from infograph.explore import make_atlas
from infograph.index import GraphIndex
from tests.explore.conftest import served
from tests.workers.processes import PATIENCE


def search(client, query, **more):
    return client.post("/api/search", json={"query": query, **more})


def test_an_id_is_found_first(client, index):
    told = search(client, "mol3", k=4).json()
    assert told["kind"] == "id" and told["row"] == 3
    assert [hit["row"] for hit in told["hits"]] == index.search_id("mol3", 4).rows[0].tolist()


def test_an_id_is_searched_off_the_event_loop(client, index, monkeypatch):
    on_the_loop, search_id = [], index.search_id

    def watched(*given):
        try:
            asyncio.get_running_loop()
            on_the_loop.append(True)
        except RuntimeError:
            on_the_loop.append(False)
        return search_id(*given)

    monkeypatch.setattr(index, "search_id", watched)
    assert search(client, "mol3", k=4).json()["row"] == 3
    assert on_the_loop == [False]


def test_a_new_graph_is_placed_among_its_neighbours(client, index, atlas):
    told = search(client, " CCCCCCCCO ").json()
    assert told["kind"] == "graph" and told["drawing"].startswith("<svg") and told["facts"]["nodes"] == 9
    assert "mean of its 12 nearest" in told["facts"]["placed"]
    hits = index.search(["CCCCCCCCO"], 12)
    assert [hit["row"] for hit in told["hits"]] == hits.rows[0].tolist()
    distances = np.maximum(1 - hits.scores[0].astype(float), 0)
    weights = 1 / np.maximum(distances / distances.max(), 1e-6) ** 2
    expected = (weights[:, None] * atlas.points[hits.rows[0]]).sum(axis=0) / weights.sum()
    assert told["point"] == pytest.approx(expected.tolist(), abs=1e-6)
    assert search(client, "CCCCCCCCO", k=2).json()["point"] == told["point"]


def test_a_known_molecule_is_put_onto_its_point(client, atlas):
    assert search(client, "OCC").json()["point"] == pytest.approx(atlas.points[0].tolist(), abs=1e-3)


def test_what_is_neither_id_nor_graph_is_said_so(client):
    answer = search(client, "no such thing")
    assert answer.status_code == 422 and "does not parse" in answer.json()["error"]


def test_a_query_is_never_a_file(client, folder):
    for query in ("/etc/passwd", str(folder), "MUTAG", "~", "../x.smi"):
        answer = search(client, query)
        assert answer.status_code in (404, 422) and "passwd is" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.smi", b"CCO first\nCCN second\n"),
        ("B.CSV", b"smiles,id\nCCO,first\nCCN,second\n"),
        ("x/../../a.tsv", b"smiles\tid\nCCO\tfirst\nCCN\tsecond\n"),
    ],
)
def test_an_upload_is_placed(client, atlas, name, body):
    told = client.post("/api/upload", params={"name": name}, content=body).json()
    assert [graph["id"] for graph in told["graphs"]] == ["first", "second"] and told["rejected"] == []
    assert [graph["nearest"]["id"] for graph in told["graphs"]][1] == "mol3"
    assert told["graphs"][1]["nearest"]["score"] == pytest.approx(1, abs=1e-5)
    assert told["graphs"][1]["point"] == pytest.approx(atlas.points[3].tolist(), abs=1e-3)


def test_bad_graphs_of_an_upload_are_listed(client):
    told = client.post("/api/upload?name=a.smi", content=b"CCO a\nnonsense b\n").json()
    assert len(told["graphs"]) == 1 and told["rejected"][0]["id"] == "b"
    assert "does not parse" in told["rejected"][0]["problem"]


def test_programs_get_the_model_s_own_vectors_and_neighbours(client, model, index):
    smiles = ["CCO", "c1ccccc1CC"]
    told = client.post("/embed", json={"graphs": smiles}).json()
    assert np.allclose(told["vectors"], model.transform(smiles), atol=1e-6) and told["dim"] == 8
    told = client.post("/search", json={"graphs": smiles, "k": 3}).json()
    assert [[hit["row"] for hit in hits] for hits in told["hits"]] == index.search(smiles, 3).rows.tolist()
    answer = client.post("/predict", json={"graphs": smiles})
    assert answer.status_code == 422 and "predicts nothing" in answer.json()["error"]


def test_predictions_for_programs(molecules):
    httpx = pytest.importorskip("httpx")
    model = InfoGraphClassifier(dim=8, layers=2, epochs=1).fit(molecules, "active")
    index = GraphIndex.build(model, molecules)
    with served(index, make_atlas(index, method="pca")) as where:
        told = httpx.post(f"{where}/predict", json={"graphs": ["CCO", "CCN"]}, timeout=PATIENCE).json()
    assert told["predictions"]["active"] == model.predict(["CCO", "CCN"]).tolist()
    assert all(0 <= p <= 1 for p in told["predictions"]["probability"])


def test_models_of_plain_graphs_take_json_graphs(corner_cases):
    httpx = pytest.importorskip("httpx")
    model = InfoGraph(dim=4, layers=2, epochs=1).fit(corner_cases)
    index = GraphIndex.build(model, corner_cases)
    triangle = {"nodes": [{"label": "a"}] * 3, "edges": [[0, 1], [1, 2], [2, 0]]}
    with (
        served(index, make_atlas(index, method="pca")) as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        assert client.get("/api/atlas").json()["smiles"] is False
        assert len(client.post("/embed", json={"graphs": [triangle]}).json()["vectors"]) == 1
        told = search(client, '{"nodes": [{"label": "a"}, {"label": "b"}], "edges": [[0, 1]]}').json()
        assert told["facts"]["nodes"] == 2
        answer = search(client, "CCO")
        assert answer.status_code == 404 and "'CCO'" in answer.json()["error"]
        assert client.post("/embed", json={"graphs": ["CCO"]}).status_code == 422
        strange = {"nodes": [{"kind": "a"}], "edges": []}
        answer = client.post("/embed", json={"graphs": [strange]})
        assert answer.status_code == 422 and "infograph-" not in answer.json()["error"]
        answer = client.post("/embed", json={"graphs": [{"nodes": 2, "edges": [[0, 7]]}]})
        assert answer.status_code == 422
        for row in range(len(corner_cases)):  # no edges, one node, loops: all can be drawn
            assert client.get(f"/api/graph/{row}/drawing").status_code == 200

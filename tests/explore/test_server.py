"""The endpoints of the page and for programs: what they give is what index, atlas and model hold."""

from __future__ import annotations

import csv
import io

import networkx as nx
import numpy as np
import pytest

from infograph import GIN, InfoGraph, WeisfeilerLehman, as_graphset
from infograph.explore.map_file import MODULES
from infograph.index import GraphIndex
from tests.explore.conftest import EVIL, FORMULAS, N, asked, index_of


def floats(answer) -> np.ndarray:
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(answer.content, "<f4")


def search(client, query, **more):
    return client.post("/api/search", json={"query": query, **more})


def test_the_atlas_points_and_columns(client, atlas):
    told = client.get("/api/atlas").json()
    assert told["n"] == N and told["title"] == "molecules" and told["ids"][:2] == [EVIL, "mol1"]
    assert told["columns"][told["colour"]]["name"] == "active"
    assert np.array_equal(floats(client.get("/api/points")).reshape(-1, 2), atlas.points)
    for place, column in enumerate(atlas.columns):
        found = floats(client.get(f"/api/column/{place}"))
        assert np.array_equal(found, column.values, equal_nan=True)


def test_one_graph_with_its_neighbours(client, index, atlas):
    told = client.get("/api/graph/7").json()
    assert told["id"] == "mol7" and told["columns"]["smiles"] == "CC#N"
    assert told["columns"]["cluster"] == "own 1"
    assert told["facts"]["formula"] == "C2H3N" and told["facts"]["weight"] == pytest.approx(41.053, abs=1e-3)
    assert "nodes" not in told["facts"] and "logP" in told["facts"]
    assert told["facts"]["outlier score"] == pytest.approx(atlas.outliers[7], rel=1e-6)
    hits = index.search_id("mol7", 12)
    assert [near["row"] for near in told["neighbours"]] == hits.rows[0].tolist()
    assert [near["score"] for near in told["neighbours"]] == pytest.approx(hits.scores[0].tolist())
    assert [near["tanimoto"] for near in told["neighbours"]] == hits.tanimoto[0].tolist()
    assert client.get("/api/graph/5").json()["columns"]["logS [mol/L]"] is None


def test_drawings_are_images_that_run_nothing(client):
    for size, theme, scores in ((160, "light", False), (400, "dark", True)):
        asked_for = {"size": size, "theme": theme, "scores": scores}
        answer = client.get("/api/graph/1/drawing", params=asked_for)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("image/svg+xml")
        assert f'width="{size}"' in answer.text and "max-age" in answer.headers["cache-control"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "<script" not in answer.text and ('class="scale"' in answer.text) == scores


def test_rows_and_descriptions(client):
    told = client.post("/api/rows", json={"rows": [3, 1, 3]}).json()
    assert [row["id"] for row in told["rows"]] == ["mol3", "mol1"] and told["total"] == 2
    told = client.post("/api/describe", json={"rows": list(range(0, N, 2))}).json()
    assert told["text"] == "20 graphs (50 %): active = no (100 %, 50 % of all)."
    assert told["facts"] == ["active = no: 100 % here, 50 % of all"]
    assert client.post("/api/describe", json={"rows": list(range(N))}).json()["text"] == "All 40 graphs."
    assert "1 graph" in client.post("/api/describe", json={"rows": [4]}).json()["text"]


def test_the_export_is_a_table_that_no_spreadsheet_runs(client, atlas):
    answer = client.post("/api/export", json={"rows": [1, 5, 0]})
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in rows] == ["mol1", "mol5", EVIL]
    assert rows[0]["note"] == f"'{FORMULAS[1]}" and rows[1]["logS [mol/L]"] == ""
    rest = client.post("/api/export", json={"rows": [22, 23, 24, 6]}).text
    notes = [row["note"] for row in csv.DictReader(io.StringIO(rest))]
    assert notes == [*(f"'{FORMULAS[i]}" for i in (22, 23, 24)), "note 6"]
    assert float(rows[2]["map_x"]) == pytest.approx(float(atlas.points[0, 0]))
    assert float(rows[2]["map_y"]) == pytest.approx(float(atlas.points[0, 1]))  # a number, minus and all


def test_the_page_names_no_other_address_and_answers_keep_browsers_safe(client):
    assert client.get("/").text == client.get("/index.html").text and client.head("/").status_code == 200
    for name in (*MODULES, "app.js", "style.css", "index.html"):
        answer = client.get(f"/{name}")
        assert answer.status_code == 200 and "http://" not in answer.text.replace("http://www.w3.org/", "")
    for path in ("/", "/api/atlas", "/nothing", "/api/graph/0/drawing"):
        headers = client.get(path).headers
        assert "default-src" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy


def test_an_index_of_vectors_is_served_without_what_needs_graphs():
    vectors = np.random.default_rng(0).standard_normal((30, 4))
    with asked(index_of(vectors, y=np.arange(30) % 2)) as client:
        told = client.get("/api/atlas").json()
        assert not told["drawings"] and not told["upload"]
        assert client.get("/api/graph/3").json()["id"] == "3"
        assert client.get("/api/graph/3/drawing").status_code == 404
        assert client.post("/api/describe", json={"rows": [1, 2]}).json()["text"] == "2 graphs (7 %)"
        assert search(client, "29").json()["row"] == 29
        for path in ("/embed", "/search"):
            assert client.post(path, json={"graphs": ["CCO"]}).status_code == 422
        assert client.post("/api/upload?name=a.smi", content=b"CCO").status_code == 422


# ---- graphs that are not on the map


def test_an_id_is_found_first(client, index):
    told = search(client, "mol3", k=4).json()
    assert told["kind"] == "id" and told["row"] == 3
    assert [hit["row"] for hit in told["hits"]] == index.search_id("mol3", 4).rows[0].tolist()


def test_a_new_graph_is_placed_among_its_neighbours(client, index, atlas):
    told = search(client, " CCCCCCCCO ").json()
    assert told["kind"] == "graph" and told["drawing"].startswith("<svg")
    assert told["facts"]["formula"] == "C8H18O"
    assert "mean of its 12 nearest" in told["facts"]["placed"]
    hits = index.search(["CCCCCCCCO"], 12)
    assert [hit["row"] for hit in told["hits"]] == hits.rows[0].tolist()
    distances = np.maximum(1 - hits.scores[0].astype(float), 0)
    weights = 1 / np.maximum(distances / distances.max(), 1e-6) ** 2
    expected = (weights[:, None] * atlas.points[hits.rows[0]]).sum(axis=0) / weights.sum()
    assert told["point"] == pytest.approx(expected.tolist(), abs=1e-6)
    assert search(client, "CCCCCCCCO", k=2).json()["point"] == told["point"]


def test_a_new_graph_has_what_the_model_predicts_of_it(client, molecules, classifier):
    with asked(GraphIndex.build(classifier, molecules)) as other:
        facts = search(other, "CCCCCCCCO").json()["facts"]
        row = other.get("/api/graph/3").json()["facts"]
    assert facts["predicted active"] == classifier.predict(["CCCCCCCCO"])[0]
    assert facts["predicted probability"] == classifier.predict_proba(["CCCCCCCCO"]).max()
    assert {name for name in row if "predicted" in name} == {name for name in facts if "predicted" in name}
    assert not any("predicted" in name for name in search(client, "CCCCCCCCO").json()["facts"])


def test_a_molecule_of_the_index_is_found_however_it_is_spelled_and_texts_are_too(client):
    told = search(client, "OCC").json()
    assert (told["kind"], told["row"]) == ("id", 0)
    assert search(client, "note 1").json() == {"kind": "rows", "rows": list(range(10, 20))}
    assert search(client, "nothing at all").status_code == 422


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.smi", b"CCO first\nCCN second\nnonsense bad\n"),
        ("B.CSV", b"smiles,id\nCCO,first\nCCN,second\nnonsense,bad\n"),
        ("x/../../a.tsv", b"smiles\tid\nCCO\tfirst\nCCN\tsecond\nnonsense\tbad\n"),
    ],
)
def test_an_upload_is_placed_and_bad_graphs_are_listed(client, atlas, name, body):
    told = client.post("/api/upload", params={"name": name}, content=body).json()
    assert [graph["id"] for graph in told["graphs"]] == ["first", "second"]
    assert told["graphs"][1]["nearest"]["id"] == "mol3"
    assert told["graphs"][1]["nearest"]["score"] == pytest.approx(1, abs=1e-5)
    assert told["graphs"][1]["point"] == pytest.approx(atlas.points[3].tolist(), abs=1e-3)
    assert told["rejected"][0]["id"] == "bad" and "does not parse" in told["rejected"][0]["problem"]


def test_programs_get_the_model_s_own_vectors_neighbours_and_predictions(
    client, model, index, molecules, classifier
):
    smiles = ["CCO", "c1ccccc1CC"]
    told = client.post("/embed", json={"graphs": smiles}).json()
    assert np.allclose(told["vectors"], model.transform(smiles), atol=1e-6) and told["dim"] == 8
    told = client.post("/search", json={"graphs": smiles, "k": 3}).json()
    assert [[hit["row"] for hit in hits] for hits in told["hits"]] == index.search(smiles, 3).rows.tolist()
    answer = client.post("/predict", json={"graphs": smiles})
    assert answer.status_code == 422 and "predicts nothing" in answer.json()["error"]
    with asked(GraphIndex.build(classifier, molecules)) as other:
        told = other.post("/predict", json={"graphs": smiles}).json()["predictions"]
    assert told["active"] == classifier.predict(smiles).tolist()
    assert all(0 <= p <= 1 for p in told["probability"])


def test_a_graph_that_cannot_be_used_costs_its_own_row(client, model, index, molecules, classifier):
    smiles = ["nonsense", "CCO", "C1CC", "CCN"]
    told = client.post("/embed", json={"graphs": smiles}).json()
    assert np.allclose(told["vectors"][1::2], model.transform(smiles[1::2]), atol=1e-6)
    assert told["vectors"][::2] == [None, None] and [bad["row"] for bad in told["rejected"]] == [0, 2]
    assert all("does not parse" in bad["problem"] for bad in told["rejected"])
    told = client.post("/search", json={"graphs": smiles, "k": 1}).json()
    assert [hits and hits[0]["row"] for hits in told["hits"]] == [None, 0, None, 3] and told["rejected"]
    with asked(GraphIndex.build(classifier, molecules)) as other:
        told = other.post("/predict", json={"graphs": smiles}).json()
    first, second = classifier.predict(smiles[1::2])
    assert told["predictions"]["active"] == [None, first, None, second] and told["rejected"]
    strange = [None, 5, ["CCO"], {"smiles": "CCO"}]
    told = client.post("/embed", json={"graphs": [*strange, "CCO"]}).json()
    assert [bad["row"] for bad in told["rejected"]] == [0, 1, 2, 3] and len(told["vectors"][4]) == told["dim"]
    assert {bad["problem"] for bad in told["rejected"]} == {
        "expected a SMILES in quotes, as the other graphs are"
    }
    body = b'{"graphs": ["\\ud800CCO", "CCO"]}'
    told = client.post("/embed", content=body, headers={"Content-Type": "application/json"}).json()
    assert told["vectors"][0] is None and "half a character" in told["rejected"][0]["problem"]
    assert client.post("/embed", json={"graphs": ["CCO"]}).json()["rejected"] == []
    assert client.post("/embed", json={"graphs": ["x", "y"]}).status_code == 422


def test_models_of_plain_graphs_take_json_graphs(corner_cases):
    model = InfoGraph(dim=4, epochs=1, encoder=GIN(layers=2)).fit(corner_cases)
    triangle = {"nodes": [{"label": "a"}] * 3, "edges": [[0, 1], [1, 2], [2, 0]]}
    with asked(GraphIndex.build(model, corner_cases)) as client:
        assert client.get("/api/atlas").json()["smiles"] is False
        assert len(client.post("/embed", json={"graphs": [triangle]}).json()["vectors"]) == 1
        told = client.post("/embed", json={"graphs": [triangle, {"nodes": 2, "edges": [[0, 7]]}]}).json()
        assert told["vectors"][1] is None and "node 7" in told["rejected"][0]["problem"]
        told = client.post("/embed", json={"graphs": [triangle, None, 5, [triangle], {"edges": []}]}).json()
        assert told["vectors"][0] and [bad["row"] for bad in told["rejected"]] == [1, 2, 3, 4]
        assert all("'nodes' and 'edges'" in bad["problem"] for bad in told["rejected"])
        told = search(client, '{"nodes": [{"label": "a"}, {"label": "b"}], "edges": [[0, 1]]}').json()
        assert told["facts"]["nodes"] == 2
        answer = search(client, "CCO")
        assert answer.status_code == 404 and "'CCO'" in answer.json()["error"]
        assert client.post("/embed", json={"graphs": ["CCO"]}).status_code == 422
        for strange in ({"nodes": [{"kind": "a"}], "edges": []}, {"nodes": 2, "edges": [[0, 7]]}):
            answer = client.post("/embed", json={"graphs": [strange]})
            assert answer.status_code == 422 and "infograph-" not in answer.json()["error"]
        for row in range(len(corner_cases)):  # no edges, one node, loops: all can be drawn
            assert client.get(f"/api/graph/{row}/drawing").status_code == 200


def test_a_model_whose_vectors_are_sparse():
    graphs = as_graphset([nx.path_graph(n) for n in range(2, 12)])
    with asked(GraphIndex.build(WeisfeilerLehman().fit(graphs), graphs)) as client:
        wanted = {"graphs": [{"nodes": 3, "edges": [[0, 1], [1, 2]]}], "k": 1}
        (found,) = client.post("/search", json=wanted).json()["hits"]
        assert found[0]["row"] == 1 and found[0]["score"] == pytest.approx(1)
        assert len(client.post("/embed", json={"graphs": wanted["graphs"]}).json()["vectors"]) == 1
        files = {
            "a.gml": b"graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]",
            "a.net": b"*vertices 2\n1 a\n2 b\n*edges\n1 2\n",
            "a.g6": b"A_\n",
            "a.s6": nx.to_sparse6_bytes(nx.path_graph(2), header=False),
        }
        for name, body in files.items():  # all that read_graphs knows, but for what is packed
            told = client.post("/api/upload", params={"name": name}, content=body).json()
            assert [each["nearest"]["row"] for each in told["graphs"]] == [0], (name, told)

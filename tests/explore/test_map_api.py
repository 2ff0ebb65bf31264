"""The endpoints of the page: what they give is what the index and the atlas hold."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from infograph.data.vectors import Embeddings
from infograph.explore import make_atlas
from infograph.explore.map_file import NAMES
from infograph.index import GraphIndex
from infograph.look.draw import draw_graph
from tests.explore.conftest import EVIL, FORMULA, N, served
from tests.workers.processes import PATIENCE


def floats(answer) -> np.ndarray:
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(answer.content, "<f4")


def test_the_atlas_points_and_columns(client, atlas, index):
    told = client.get("/api/atlas").json()
    assert told["n"] == N and told["title"] == "molecules"
    assert told["columns"][told["colour"]]["name"] == "active"
    assert told["ids"] == [EVIL, *(f"mol{i}" for i in range(1, N))]
    assert np.array_equal(floats(client.get("/api/points")).reshape(-1, 2), atlas.points)
    for place, column in enumerate(atlas.columns):
        found = floats(client.get(f"/api/column/{place}"))
        assert np.array_equal(found, column.values, equal_nan=True)
    assert np.isnan(floats(client.get("/api/column/1"))[5])


def test_one_graph_with_its_neighbours(client, index, atlas):
    told = client.get("/api/graph/7").json()
    assert told["id"] == "mol7" and told["columns"]["smiles"] == "CC#N"
    assert told["columns"]["cluster (column)"] == "own 1"
    assert told["facts"]["nodes"] == 3 and told["facts"]["edges"] == 2
    assert told["facts"]["outlier score"] == pytest.approx(atlas.outliers[7], rel=1e-6)
    hits = index.search_id("mol7", 12)
    assert [near["row"] for near in told["neighbours"]] == hits.rows[0].tolist()
    assert [near["score"] for near in told["neighbours"]] == pytest.approx(hits.scores[0].tolist())
    assert client.get("/api/graph/5").json()["columns"]["logS [mol/L]"] is None


@pytest.mark.parametrize("size", [160, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_drawings_are_images_that_run_nothing(client, size, theme):
    answer = client.get("/api/graph/0/drawing", params={"size": size, "theme": theme})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("image/svg+xml")
    assert f'width="{size}"' in answer.text and "max-age" in answer.headers["cache-control"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert answer.text == client.get("/api/graph/0/drawing", params={"size": size, "theme": theme}).text


def test_contributions_colour_the_nodes(client, index, model):
    plain = client.get("/api/graph/1/drawing?size=400").text
    scored = client.get("/api/graph/1/drawing?size=400&scores=true").text
    assert plain != scored and 'class="scale"' in scored
    drawn = draw_graph(index.graphs[1], 0, scores=model.score_nodes(index.graphs[1]), size=(400, 300))
    assert scored.count("<path") == drawn.count("<path")


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
    assert rows[0]["note"] == f"'{FORMULA}" and rows[1]["logS [mol/L]"] == ""
    assert float(rows[2]["map_x"]) == pytest.approx(float(atlas.points[0, 0]))
    assert float(rows[2]["map_y"]) == pytest.approx(float(atlas.points[0, 1]))  # a number, minus and all


def test_the_page_and_its_files(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert page.text == client.get("/index.html").text
    for name in NAMES:
        answer = client.get(f"/{name}")
        assert answer.status_code == 200 and "http://" not in answer.text.replace("http://www.w3.org/", "")
    assert client.head("/").status_code == 200


def test_every_answer_has_the_headers_that_keep_browsers_safe(client):
    for path in ("/", "/api/atlas", "/nothing", "/api/graph/0/drawing", "/docs"):
        headers = client.get(path).headers
        assert "default-src" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy


def test_the_description_of_the_endpoints_loads_nothing_from_elsewhere(client):
    schema = client.get("/openapi.json").json()
    assert {"/embed", "/search", "/predict", "/api/atlas", "/api/upload"} <= set(schema["paths"])
    docs = client.get("/docs").text
    assert all(path in docs for path in ("/embed", "/api/graph/{row}/drawing"))
    assert "//" not in docs.replace("<!doctype html>", "") and "<script" not in docs


def test_an_index_of_vectors_is_served_without_what_needs_graphs():
    httpx = pytest.importorskip("httpx")
    rng = np.random.default_rng(0)
    columns = {"y": np.arange(30) % 2}
    index = GraphIndex.of(Embeddings(np.arange(30), rng.standard_normal((30, 4)).astype("f4"), columns))
    with (
        served(index, make_atlas(index, method="pca")) as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        told = client.get("/api/atlas").json()
        assert not told["drawings"] and not told["upload"]
        assert client.get("/api/graph/3").json()["id"] == "3"
        assert client.get("/api/graph/3/drawing").status_code == 404
        assert client.post("/api/describe", json={"rows": [1, 2]}).json()["text"] == "2 graphs (7 %)"
        assert client.post("/api/search", json={"query": "29"}).json()["row"] == 29
        for path in ("/embed", "/search"):
            assert client.post(path, json={"graphs": ["CCO"]}).status_code == 422
        assert client.post("/api/upload?name=a.smi", content=b"CCO").status_code == 422


def test_only_the_last_drawings_are_kept():
    Recent = pytest.importorskip("infograph.explore.server").Recent
    kept, made = Recent(most=10), []

    def make(text: str):
        return lambda: (made.append(text), text)[1]

    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "x" * 20, "cccc"):
        assert kept.get(text[0], make(text)) == text
    assert made == ["aaaa", "bbbb", "cccc", "bbbb", "x" * 20, "cccc"]

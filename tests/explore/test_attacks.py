"""Whatever comes in: one sentence with the right status, soon, and the server goes on."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest

from infograph import WeisfeilerLehman, as_graphset
from infograph.explore import Limits, make_atlas
from infograph.index import GraphIndex
from tests.explore.conftest import served
from tests.workers.processes import PATIENCE, wait_for

httpx = pytest.importorskip("httpx", reason="the server is tested with httpx")
JSON = {"Content-Type": "application/json"}
POSTS = ("/api/search", "/api/rows", "/api/describe", "/api/export", "/embed", "/search", "/predict")


def refused(answer: httpx.Response, *expected: int) -> str:
    """The sentence of a refusal."""
    assert answer.status_code in expected, answer.text
    told = answer.json()
    assert list(told) == ["error"] and told["error"] and "\n" not in told["error"]
    assert len(told["error"]) <= 500 and "Traceback" not in told["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    return told["error"]


@contextmanager
def little_work(seconds: float):
    """Neither this process, which is the server too, nor its threads compute for long."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


@pytest.fixture(autouse=True)
def soon_and_still_serving(client):
    with little_work(seconds=5):
        yield
        assert client.get("/api/atlas").json()["n"] == 40


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b'{"query": NaN, "rows": [NaN], "graphs": [NaN]}',
        b'{"rows": [' + b"9" * 5000 + b'], "graphs": [1], "query": 1}',
        b'{"rows": [1e999], "graphs": [1e999], "query": 1e999}',
        b'{"rows": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"graphs": ' + b'{"a":' * 30_000 + b"1" + b"}" * 30_000 + b"}",
        b"\xff\xfe\x00",
        b'{"rows": [0.5], "graphs": [0.5], "query": []}',
        b'{"rows": [true], "graphs": [true], "query": true}',
        b'{"rows": {}, "graphs": {}, "query": {}}',
        b'{"strange": 1}',
    ],
    ids=range(15),
)
def test_bodies_that_are_not_what_was_asked_for(client, path, body):
    refused(client.post(path, content=body, headers=JSON), 400)


@pytest.mark.parametrize("row", [-1, 40, 10**6, 10**30])
def test_rows_that_are_not_there(client, row):
    refused(client.get(f"/api/graph/{row}"), 404)
    refused(client.get(f"/api/graph/{row}/drawing"), 404)
    refused(client.get(f"/api/column/{row}"), 404)
    refused(client.post("/api/describe", json={"rows": [0, row]}), 404, 400)


@pytest.mark.parametrize(
    "path", ["/api/graph/x", "/api/graph/1/drawing?size=7", "/api/graph/1/drawing?theme=x"]
)
def test_parameters_that_are_not_valid(client, path):
    refused(client.get(path), 400)


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/page/index.html",
        "/%2e%2e/server.py",
        "/server.py",
        "/app.js/",
        "/api/graph/../../x",
        "//etc/passwd",
        "/static/../style.css",
        "/app.js%00",
    ],
)
def test_no_address_reaches_the_file_system(client, path):
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=PATIENCE) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := raw.recv(65536):
            answer += part
    assert answer.split(b" ")[1] in (b"404", b"400") and b"root:" not in answer


def test_methods_that_an_address_does_not_take(client):
    refused(client.get("/embed"), 405)
    refused(client.put("/api/points"), 405)
    refused(client.options("/api/points", headers={"Access-Control-Request-Method": "GET"}), 405)


@pytest.mark.parametrize("path", ["/embed", "/api/upload?name=a.smi"])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_of_100_megabytes_is_refused_while_it_streams(client, path, announced, monkeypatch):
    monkeypatch.setattr("infograph.explore.guard.DRAIN", PATIENCE)
    chunk = b"C" * (1 << 20)
    sent = [0]

    def body():
        for _ in range(100):
            sent[0] += len(chunk)
            yield chunk

    content = chunk * 100 if announced else body()
    try:
        with little_work(seconds=3):
            sentence = refused(client.post(path, content=content, headers=JSON), 413)
        assert "larger than" in sentence
    except (httpx.WriteError, httpx.ReadError):
        pytest.fail("the sender saw a broken connection")


def test_the_answer_to_a_large_body_does_not_wait_for_it(client):
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=PATIENCE) as raw:
        head = f"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {100 << 20}\r\n"
        raw.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + b"C" * 100_000)
        assert b" 413 " in raw.recv(1000)


def test_a_length_that_is_none(client):
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=PATIENCE) as raw:
        raw.sendall(b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n")
        assert b" 400 " in raw.recv(1000)


def test_a_smiles_of_a_megabyte(index, atlas):
    smiles = "C" * 1_000_000
    with served(index, atlas) as where, httpx.Client(base_url=where, timeout=PATIENCE) as client:
        with little_work(seconds=2):
            assert "1,000,000 characters" in refused(client.post("/embed", json={"graphs": [smiles]}), 413)
            refused(client.post("/api/search", json={"query": smiles}), 413)
            for name in ("a.smi", "a.csv"):
                body = f"smiles\n{smiles}\n".encode()
                assert "1,000,000" in refused(client.post(f"/api/upload?name={name}", content=body), 413)
        assert client.get("/api/atlas").status_code == 200


@pytest.mark.parametrize("nodes", [1_000_000, 10**15, 2**53 + 1, 10**400])
def test_a_graph_of_a_million_nodes(client, nodes):
    graph = f'{{"nodes": {nodes}, "edges": []}}'
    refused(client.post("/embed", content=f'{{"graphs": [{graph}]}}', headers=JSON), 413, 400)
    refused(client.post("/api/search", json={"query": graph}), 413, 400)
    refused(client.post("/api/upload?name=a.jsonl", content=graph.encode()), 413, 400)


def test_too_many_graphs_nodes_or_edges(client):
    assert "51 graphs" in refused(client.post("/embed", json={"graphs": ["C"] * 51}), 413)
    assert "nodes" in refused(client.post("/embed", json={"graphs": ["C" * 500] * 5}), 413)
    edges = [[0, 1]] * 4001
    assert "edges" in refused(client.post("/embed", json={"graphs": [{"nodes": 2, "edges": edges}]}), 413)
    assert "graphs" in refused(client.post("/api/upload?name=a.smi", content=b"C\n" * 60), 413)
    sdf = b"\n\n\n  0  0\nM  END\n$$$$\n" * 60
    assert "graphs" in refused(client.post("/api/upload?name=a.sdf", content=sdf), 413)
    assert "edges" in refused(client.post("/api/upload?name=a.edgelist", content=b"1 2\n" * 5000), 413)


@pytest.mark.parametrize(
    "graph",
    [
        {"nodes": -1, "edges": []},
        {"nodes": True, "edges": []},
        {"nodes": "three", "edges": []},
        {"nodes": 3, "edges": 7},
        {"nodes": 3, "edges": [[0]]},
        {"nodes": 3, "edges": [[0, 1, 2, 3]]},
        {"nodes": 3, "edges": [["a", "b"]]},
        {"nodes": [1, 2], "edges": []},
        {"edges": []},
        {},
        "CCO",
    ],
    ids=str,
)
def test_graphs_that_are_none(client, graph):
    mixed = [graph, {"nodes": 1, "edges": []}]
    sentence = refused(client.post("/embed", json={"graphs": mixed}), 400, 422)
    assert "/tmp" not in sentence and "infograph-" not in sentence


TENFOLD = [b'<!ENTITY x%d "%s">' % (i, (b"&x%d;" % (i - 1) if i else b"aaaaaaaaaa") * 10) for i in range(10)]
BOMB = b"<?xml version='1.0'?><!DOCTYPE g [%s]><graphml><graph>&x9;</graph></graphml>" % b"".join(TENFOLD)


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("a.smi", b"", (400,)),
        ("a.smi", b"\n\n", (400,)),
        ("a.smi", bytes(range(256)), (400,)),
        ("a.csv", b"\x00" * 1000, (400,)),
        ("a.gz", gzip.compress(b"C" * 10_000_000, mtime=0), (415,)),
        ("a.smi.gz", gzip.compress(b"C" * 10_000_000, mtime=0), (415,)),
        ("a.zip", b"PK", (415,)),
        ("a.parquet", b"PAR1", (415,)),
        ("a.exe", b"MZ", (415,)),
        ("noending", b"CCO", (415,)),
        ("a.graphml", BOMB, (400, 422)),
        ("a.gexf", b"<gexf>", (400, 422)),
        ("a.sdf", b"nonsense", (400, 422)),
        ("a.jsonl", b"[" * 50_000, (400, 422)),
        ("a.jsonl", b'{"nodes": 1, "edges": []}\n' * 60, (413,)),
        ("a.smi", b"nonsense\n", (400, 422)),
    ],
)
def test_files_that_cannot_be_read(client, name, body, status):
    sentence = refused(client.post("/api/upload", params={"name": name}, content=body), *status)
    assert "/tmp" not in sentence and "infograph-" not in sentence


def test_a_name_that_is_missing_or_endless(client):
    refused(client.post("/api/upload", content=b"CCO"), 400)
    refused(client.post("/api/upload", params={"name": "a" * 2000 + ".smi"}, content=b"CCO"), 400)


def test_other_names_of_this_machine_are_refused(client):
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", "[::1", ""):
        refused(client.get("/api/atlas", headers={"Host": host}), 421, 400)
    for host in ("localhost", "127.0.0.1:8765", "[::1]:1", "LOCALHOST:9"):
        assert client.get("/api/atlas", headers={"Host": host}).status_code == 200


def test_other_pages_are_refused(client, address):
    for origin in ("http://evil.example", "null", "http://localhost:1"):
        refused(client.get("/api/atlas", headers={"Origin": origin}), 403)
    assert client.get("/api/atlas", headers={"Origin": address}).status_code == 200


def test_the_token(index, atlas):
    with (
        served(index, atlas, token="söcret", hosts=None) as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        for given in ({}, {"X-Token": "wrong"}, {"X-Token": ""}):
            refused(client.get("/api/atlas", headers=given), 401)
            refused(client.get("/openapi.json", headers=given), 401)
            refused(client.post("/embed", json={"graphs": ["CCO"]}, headers=given), 401)
        refused(client.get("/api/atlas?token=wrong"), 401)
        assert client.get("/api/atlas", params={"token": "söcret"}).status_code == 200
        assert client.get("/").status_code == client.get("/app.js").status_code == 200  # hold no data
        assert client.get("/api/atlas", headers={"Host": "anything"}).status_code == 401


class Held:
    """A model that takes as long as the test wants."""

    def __init__(self, model) -> None:
        self.model, self.schema_ = model, model.schema_
        self.begun, self.go_on = threading.Event(), threading.Event()

    def transform(self, graphs):
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return self.model.transform(graphs)


@pytest.fixture
def held(model):
    slow = Held(model)
    yield slow
    slow.go_on.set()


def test_what_takes_too_long_is_answered_and_the_others_are_served(folder, held, atlas):
    index = GraphIndex.open(folder, model=held)
    with (
        served(index, atlas, limits=Limits(seconds=0.4)) as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        assert "longer than 0.4 seconds" in refused(client.post("/embed", json={"graphs": ["CCO"]}), 504)
        wait_for(lambda: client.get("/api/atlas").status_code == 200)  # in 0.4 seconds, at last
        assert not held.go_on.is_set()


def test_more_than_a_few_at_once_are_asked_to_come_again(folder, held, atlas):
    index = GraphIndex.open(folder, model=held)
    answers: list[httpx.Response] = []
    with served(index, atlas, limits=Limits(at_once=1, seconds=PATIENCE)) as where:

        def ask() -> httpx.Response:
            return httpx.post(f"{where}/embed", json={"graphs": ["CCO"]}, timeout=PATIENCE)

        first = threading.Thread(target=lambda: answers.append(ask()))
        first.start()
        assert held.begun.wait(PATIENCE)
        busy = ask()
        assert "busy" in refused(busy, 429) and int(busy.headers["retry-after"]) > 0
        assert httpx.get(f"{where}/api/graph/1/drawing", timeout=PATIENCE).status_code == 200
        assert first.is_alive()
        held.go_on.set()
        first.join()
        assert answers[0].status_code == 200
        assert ask().status_code == 200


def test_a_defect_is_one_sentence_too(folder, model, atlas):
    class Broken(Held):
        def transform(self, graphs):
            raise ZeroDivisionError("secret inside")

    index = GraphIndex.open(folder, model=Broken(model))
    with served(index, atlas) as where:
        sentence = refused(httpx.post(f"{where}/embed", json={"graphs": ["CCO"]}, timeout=PATIENCE), 500)
    assert "secret" not in sentence and "ZeroDivisionError" in sentence


def test_many_readers_at_once_see_the_same(client, address):
    expected = client.get("/api/points").content
    found: list[bool] = []

    def read(start: int) -> None:
        with httpx.Client(base_url=address, timeout=PATIENCE) as own:
            for row in range(start, start + 8):
                answer = own.get(f"/api/graph/{row}/drawing?scores=true")
                found.append(answer.status_code == 200 and own.get("/api/points").content == expected)

    threads = [threading.Thread(target=read, args=(start,)) for start in (0, 8, 16, 24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 32 and all(found)


def test_numbers_that_are_none_leave_as_null(client):
    told = json.loads(client.get("/api/graph/5").text, parse_constant=lambda name: pytest.fail(name))
    assert told["columns"]["logS [mol/L]"] is None
    assert np.isfinite(told["facts"]["outlier score"])


def test_less_than_no_nodes_make_no_room_for_more(client):
    graphs = [{"nodes": -(10**9)}, {"nodes": 10**9}]
    assert "-1,000,000,000 nodes" in refused(client.post("/embed", json={"graphs": graphs}), 400)
    lines = "\n".join(map(json.dumps, graphs))
    refused(client.post("/api/upload", params={"name": "a.jsonl"}, content=lines), 400)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "", "//"])
def test_origins_that_are_no_addresses(client, origin):
    refused(client.get("/api/atlas", headers={"Origin": origin}), 403)


def test_a_token_among_too_many_parameters(index, atlas):
    with (
        served(index, atlas, token="secret") as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        many = "&".join(f"p{i}=1" for i in range(40))
        refused(client.get(f"/api/atlas?{many}"), 401)
        refused(client.get(f"/api/atlas?{many}&token=secret"), 401)
        assert client.get(f"/api/atlas?{many}", headers={"X-Token": "secret"}).status_code == 200
        described = client.get("/docs", params={"token": '"><script>'}).text
        assert "<script" not in described and 'href="openapi.json?token=%22%3E%3Cscript%3E"' in described


def test_a_model_whose_vectors_are_sparse():
    graphs = as_graphset([nx.path_graph(n) for n in range(2, 12)])
    index = GraphIndex.build(WeisfeilerLehman().fit(graphs), graphs)
    with (
        served(index, make_atlas(index, method="pca")) as where,
        httpx.Client(base_url=where, timeout=PATIENCE) as client,
    ):
        asked = {"graphs": [{"nodes": 3, "edges": [[0, 1], [1, 2]]}], "k": 1}
        (found,) = client.post("/search", json=asked).json()["hits"]
        assert found[0]["row"] == 1 and found[0]["score"] == pytest.approx(1)
        assert len(client.post("/embed", json={"graphs": asked["graphs"]}).json()["vectors"]) == 1

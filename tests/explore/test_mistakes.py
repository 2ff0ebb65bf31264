"""Whatever comes in: one sentence with the right status, and the server goes on."""

from __future__ import annotations

import gzip
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from infograph.errors import InvalidParameter
from infograph.explore import Limits, make_atlas, serve, write_points
from infograph.explore.guard import Refusal, open_socket
from infograph.index import GraphIndex
from tests.explore.conftest import asked
from tests.processes import PATIENCE, wait_for

JSON = {"Content-Type": "application/json"}
POSTS = ("/api/search", "/api/rows", "/api/describe", "/api/export", "/embed", "/search", "/predict")


def refused(answer: httpx.Response, *expected: int) -> str:
    """The sentence of a refusal, which tells nothing of this machine."""
    assert answer.status_code in expected, answer.text
    told = answer.json()
    assert list(told) == ["error"] and told["error"] and "\n" not in told["error"]
    assert len(told["error"]) <= 500 and "Traceback" not in told["error"]
    assert "/tmp" not in told["error"] and "infograph-" not in told["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    return told["error"]


@pytest.fixture(autouse=True)
def still_serving(client):
    yield
    assert client.get("/api/atlas").json()["n"] == 40


@pytest.mark.parametrize("path", POSTS)
def test_bodies_that_are_not_what_was_asked_for(client, path):
    values = ("NaN", "[NaN]", "Infinity", "1e999", "0.5", "true", "{}", '["1"]', "[0.5]", "[]", '""')
    bodies = [f'{{"query": [{v}], "rows": {v}, "graphs": {v}}}'.encode() for v in values]
    nested = b'{"rows": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"
    for body in (b"", b"{", b"null", b"[]", b'"text"', b'{"strange": 1}', b"\xff\xfe\x00", nested, *bodies):
        refused(client.post(path, content=body, headers=JSON), 400, 422 if path == "/predict" else 400)


@pytest.mark.parametrize(
    ("call", "status", "word"),
    [
        (("GET", "/api/graph/-1"), 404, "rows are 0 to 39"),
        (("GET", "/api/graph/40/drawing"), 404, "no graph 40"),
        (("GET", f"/api/column/{10**30}"), 404, "no column"),
        (("GET", "/api/graph/x"), 400, "row"),
        (("GET", "/api/graph/1/drawing?size=7"), 400, "160 or 400"),
        (("GET", "/api/graph/1/drawing?theme=x"), 400, "theme"),
        (("GET", "/nothing"), 404, "nothing at this address"),
        (("PUT", "/api/points"), 405, "method"),
        (("POST", "/api/describe", {"rows": [0, 10**30]}), 404, "no graph"),
        (("POST", "/api/rows", {"rows": []}), 400, "No rows"),
        (("POST", "/embed", {"graphs": []}), 400, "No graphs"),
        (("POST", "/embed", {"graphs": ["C"] * 51}), 413, "At most 50 graphs"),
        (("POST", "/embed", {"graphs": ["C" * 500] * 5}), 413, "nodes"),
        (("POST", "/embed", {"graphs": ["C" * 5000]}), 413, "5,000 characters"),
        (("POST", "/embed", {"graphs": [{"nodes": 2, "edges": [[0, 1]] * 4001}]}), 413, "edges"),
        (("POST", "/embed", {"graphs": [{"nodes": 10**400}]}), 413, "At most 2,000 nodes"),
        (("POST", "/embed", {"graphs": [{"nodes": -(10**9)}, {"nodes": 10**9}]}), 413, "nodes"),
        (("POST", "/embed", {"graphs": ["CCO", {"nodes": 1}]}), 400, "all as JSON"),
        (("POST", "/api/search", {"query": "no such thing"}), 422, "does not parse"),
        (("POST", "/api/search", {"query": "C" * 100_000}), 413, "100,000 characters"),
        (("POST", "/api/search", {"query": "{"}), 400, "not JSON"),
        (("POST", "/api/search", {"query": "/etc/passwd"}), 422, "no such id"),
    ],
    ids=lambda value: " ".join(map(str, value))[:50] if isinstance(value, tuple) else "",
)
def test_requests_that_are_refused(client, call, status, word):
    method, path, *body = call
    assert word in refused(client.request(method, path, json=body[0] if body else None), status)


@pytest.mark.parametrize("nodes", [True, -1, "three", [1, 2], None, 3])
@pytest.mark.parametrize("edges", [7, [[0]], [[0, 1, 2, 3]], [["a", "b"]], [[0, 9]]])
def test_graphs_that_are_none(client, nodes, edges):
    graphs = [{"nodes": nodes, "edges": edges}, {"nodes": 1, "edges": []}]
    refused(client.post("/embed", json={"graphs": graphs}), 400, 422)


TENFOLD = [b'<!ENTITY x%d "%s">' % (i, (b"&x%d;" % (i - 1) if i else b"aaaaaaaaaa") * 10) for i in range(10)]
BOMB = b"<?xml version='1.0'?><!DOCTYPE g [%s]><graphml><graph>&x9;</graph></graphml>" % b"".join(TENFOLD)


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("a.smi", b"", (400,)),
        ("a.smi", bytes(range(256)), (400,)),
        ("a.smi", b"C\n" * 60, (413,)),
        ("a.smi", b"C" * 100_000, (413,)),
        ("a.csv", b"smiles\r" + b"C" * 100_000, (413,)),
        ("a.csv", b"\x00" * 1000, (400,)),
        ("a.smi.gz", gzip.compress(b"C" * 10_000_000, mtime=0), (415,)),
        ("a.parquet", b"PAR1", (415,)),
        ("a.graphml", BOMB, (400, 422)),
        ("a.sdf", b"nonsense", (400, 422)),
        ("a.sdf", b"\n\n\n  0  0\nM  END\n$$$$\n" * 60, (400, 413)),
        ("a.edgelist", b"1 2\n" * 5000, (413, 422)),
        ("a.jsonl", b"[" * 50_000, (400, 422)),
        ("a.jsonl", b'{"nodes": 1}\r{"nodes": 1000000000000000}', (413,)),
        ("a.jsonl", b'{"nodes": -1000000000}\n{"nodes": 1000000000}', (413,)),
        ("a" * 2000 + ".smi", b"CCO", (400,)),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_files_that_cannot_be_read(client, name, body, status):
    refused(client.post("/api/upload", params={"name": name}, content=body), *status)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_too_many_lines_are_refused_before_they_are_read(client, monkeypatch, end):
    monkeypatch.setattr("infograph.explore.server.limited", None)  # not callable
    for name, line in {"a.edgelist": b"0 1", "a.txt": b"#", "a.csv": b"C", "a.smi": b"C"}.items():
        answer = client.post("/api/upload", params={"name": name}, content=(line + end) * 6001)
        assert "At most 6,000 lines" in refused(answer, 413)


@pytest.mark.parametrize("limit", [{"seconds": 0.01}, {"megabytes": 5}])
def test_reading_that_takes_too_much_is_ended(index, atlas, limit):
    from infograph.explore.server import Explorer

    with pytest.raises(Refusal) as refusal:
        Explorer(index, atlas, Limits(**limit)).read_upload("a.smi", b"CCO")
    assert refusal.value.status == 413 and "Reading the file takes more than" in refusal.value.text


def raw(client, request: bytes) -> bytes:
    """All that the server answers to some bytes."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=PATIENCE) as peer:
        peer.sendall(request)
        answer = b""
        while part := peer.recv(65536):
            answer += part
    return answer


def test_connections_without_a_whole_header_are_closed(client, monkeypatch):
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address, timeout=PATIENCE) as used:
        used.sendall(b"GET /api/points HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in used.recv(65536)
        monkeypatch.setattr("infograph.explore.server.HEADER_SECONDS", 0.2)
        for peer in (used, socket.create_connection(address, timeout=PATIENCE)):
            with peer, suppress(ConnectionError):  # closed as well
                peer.sendall(b"GET / HTTP/1.1\r\nHost: 127")
                while peer.recv(65536):
                    pass


def test_no_address_leaves_the_folder_of_the_page(client):
    for path in (
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/%2e%2e/server.py",
        "//etc/passwd",
        "/app.js%00",
    ):
        answer = raw(client, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert answer.split(b" ")[1] in (b"404", b"400") and b"root:" not in answer


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"Content-Length: {100 << 20}", b"C" * 1000),
        ("Transfer-Encoding: chunked", b"30d41\r\n" + b"C" * 200_001),  # one more than the server takes
    ],
    ids=["announced", "streamed"],
)
def test_a_body_that_is_too_large_is_refused_before_its_end(client, head, body):
    lines = f"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\nContent-Type: application/json\r\n\r\n"
    answer = raw(client, lines.encode() + body)
    assert b" 413 " in answer.splitlines()[0] and b"larger than 0.191 MB" in answer


def test_hosts_and_origins(client, address):
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", "[::1", ""):
        refused(client.get("/api/atlas", headers={"Host": host}), 421, 400)
    for host in ("localhost", "127.0.0.1:8765", "[::1]:1", "LOCALHOST:9"):
        assert client.get("/api/atlas", headers={"Host": host}).status_code == 200
    for origin in ("http://evil.example", "null", "http://localhost:1", "http://[", "http://[::1", "", "//"):
        refused(client.get("/api/atlas", headers={"Origin": origin}), 403)
    assert client.get("/api/atlas", headers={"Origin": address.rstrip("/")}).status_code == 200


def test_the_token(index, atlas):
    with asked(index, atlas, token="söcret", hosts=None) as client:
        for given in ({}, {"X-Token": "wrong"}, {"X-Token": ""}, {"Host": "anything"}):
            for path in ("/api/atlas", "/openapi.json", "/app.js/../openapi.json", "/api/atlas?token=wrong"):
                refused(client.get(path, headers=given), 401)
            refused(client.post("/embed", json={"graphs": ["CCO"]}, headers=given), 401)
        assert client.get("/api/atlas", params={"token": "söcret"}).status_code == 200
        assert client.get("/").status_code == client.get("/app.js").status_code == 200  # hold no data
    with asked(index, atlas, token="secret") as client:
        assert client.get("/api/atlas", headers={"X-Token": "secret"}).status_code == 200


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
    with asked(GraphIndex.open(folder, model=held), atlas, limits=Limits(seconds=0.4)) as client:
        assert "longer than 0.4 seconds" in refused(client.post("/embed", json={"graphs": ["CCO"]}), 504)
        wait_for(lambda: client.get("/api/atlas").status_code == 200)  # in 0.4 seconds, at last
        assert not held.go_on.is_set()
        held.go_on.set()


def test_more_than_a_few_at_once_are_asked_to_come_again(folder, held, atlas):
    answers: list[httpx.Response] = []
    limits = Limits(at_once=1, seconds=PATIENCE)
    with asked(GraphIndex.open(folder, model=held), atlas, limits=limits) as client:

        def ask() -> httpx.Response:
            return client.post("/embed", json={"graphs": ["CCO"]})

        first = threading.Thread(target=lambda: answers.append(ask()))
        first.start()
        assert held.begun.wait(PATIENCE)
        busy = ask()
        assert "busy" in refused(busy, 429) and int(busy.headers["retry-after"]) > 0
        assert client.get("/api/graph/1/drawing").status_code == 200
        assert first.is_alive()
        held.go_on.set()
        first.join()
        assert answers[0].status_code == ask().status_code == 200


def test_a_defect_is_one_sentence_too(folder, model, atlas):
    class Broken(Held):
        def transform(self, graphs):
            raise ZeroDivisionError("secret inside")

    with asked(GraphIndex.open(folder, model=Broken(model)), atlas) as client:
        sentence = refused(client.post("/embed", json={"graphs": ["CCO"]}), 500)
    assert "secret" not in sentence and "ZeroDivisionError" in sentence


def test_many_readers_at_once_see_the_same(client, address):
    expected = client.get("/api/points").content

    def read(row: int) -> bool:
        drawn = httpx.get(f"{address}/api/graph/{row}/drawing?scores=true", timeout=PATIENCE)
        return drawn.status_code == 200 and client.get("/api/points").content == expected

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(32)))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda *_: open_socket("127.0.0.1", 70_000), "0 to 65535"),
        (lambda *_: open_socket("no such host", 0), "cannot listen"),
        (lambda index, atlas: serve(index, atlas, host="0.0.0.0", port=0), "needs a token"),
        (lambda index, atlas: write_points(index, atlas, "points.csv"), r"\.parquet"),
        (lambda index, atlas: make_atlas(index, method="lle"), "'lle'"),
        (lambda index, atlas: make_atlas(index, method="pca", colour="x"), "no column 'x'.*'active'"),
    ],
)
def test_calls_that_are_refused(index, atlas, call, word):
    with pytest.raises((InvalidParameter, ValueError), match=word):
        call(index, atlas)

"""The server of the page and of programs, as a FastAPI application."""

from __future__ import annotations

import json
import logging
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi import Query as Parameter
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt

import infograph
from infograph.data.convert import as_graphset
from infograph.data.datasets import recognise_atoms
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.network_files import EDGE_LISTS, XML
from infograph.data.read import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES
from infograph.data.schema import Schema
from infograph.errors import InfoGraphError, InvalidParameter
from infograph.estimators.base import GraphPredictor
from infograph.explore.atlas import Atlas, describe_region, own_names, region_table
from infograph.explore.guard import (
    LOOPBACK,
    Guard,
    Refusal,
    StrictRoute,
    Workers,
    handle_errors,
    sentence,
    status_of,
    strict_json,
)
from infograph.explore.map_file import NAMES, PAGE, PUBLIC, TYPES, draw, page_file, plain
from infograph.explore.serving import Limits
from infograph.index import GraphIndex, Hits
from infograph.index.graph_index import embedded, schema_of
from infograph.learn.predictions import ID, predict_table
from infograph.look.describe import edge_counts

ABOUT = 'Every error is one sentence, {"error": "..."}.'
DRAWERS, WAITING = 2, 200  # threads that draw, and drawings that may wait: a page asks for a dozen at once
LISTED = 200  # rows that a list shows
NEAREST = 12
SVG_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}
AMONG = 12  # nearest graphs whose places count
SAME = 1e-6  # of the typical distance: the same vector, and so the same place
WORDS = f"at the mean of its {AMONG} nearest graphs, weighted by similarity"
Graph = str | dict[str, Any]
ENDINGS = tuple(dict.fromkeys((*SMILES_FILES, *TABLES, *SDF_FILES, *JSON_LINES, *XML, *EDGE_LISTS)))
RECORD = 8_000  # lines of one molecule in an SDF file
HEAD = re.compile(rb"smiles", re.IGNORECASE)
KEPT = 64 << 20  # characters of drawings in memory; a molecule has some 5,000, a large network 300,000


def make_app(
    index: GraphIndex,
    atlas: Atlas,
    *,
    token: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hosts: Collection[str] | None = LOOPBACK,
) -> FastAPI:
    """The application that serves an index: the page at /, its data under /api, /embed, /search, /predict.

    Args:
        index: the index.
        atlas: made from it.
        token: without it, in the header X-Token or as ?token=, no data is given away.
        limits: on what one request may ask for.
        hosts: names of this server that browsers may use; None for all, which only a server with a token
            should allow.
    """
    explorer = Explorer(index, atlas, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        explorer.start()
        yield
        explorer.close()

    app = FastAPI(
        title="infograph explorer",
        description=ABOUT,
        version=infograph.__version__,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    handle_errors(app)
    for router in (
        page_routes(app),
        map_routes(explorer),
        search_routes(explorer),
        region_routes(explorer),
        program_routes(explorer),
    ):
        app.include_router(router)
    app.add_middleware(Guard, limits=limits, token=token, hosts=hosts, public=PUBLIC)
    return app


class Explorer:
    """What endpoints need. All methods may be called from any thread.

    The model is used by one thread at a time, under `using_model`: estimators promise no more.
    """

    def __init__(self, index: GraphIndex, atlas: Atlas, limits: Limits) -> None:
        if len(index) != len(atlas):
            raise InvalidParameter(
                f"an atlas of {len(atlas):,} graphs for an index of {len(index):,}: make one with make_atlas"
            )
        self.index, self.atlas, self.limits = index, atlas, limits
        self.graphs: GraphSet | None = None if index.graphs is None else recognise_atoms(index.graphs)
        self.using_model = threading.Lock()
        self.heavy = Workers(2, limits.at_once)
        self.drawers = Workers(DRAWERS, WAITING)

    @property
    def model(self) -> Any:
        """The model of the index, None where there is none. Who asks first waits until it is read."""
        return self.index.model

    @property
    def schema(self) -> Schema | None:
        """What graphs of the model look like."""
        return schema_of(self.model)

    @property
    def takes_smiles(self) -> bool:
        """Whether the model reads molecules, as those of the index."""
        return self.graphs is not None and self.graphs.schema.option("hydrogens") is not None

    @property
    def scores_nodes(self) -> bool:
        """Whether nodes can be coloured by what they contribute; not where the model cannot be read."""
        with suppress(InfoGraphError):
            return self.graphs is not None and hasattr(self.model, "score_nodes")
        return False

    def start(self) -> None:
        """Read the model while the page is opened."""
        threading.Thread(target=lambda: self.scores_nodes, name="infograph-model", daemon=True).start()

    def check_row(self, row: int) -> int:
        """A row of the index.

        Raises:
            Refusal: 404, there is none.
        """
        if not 0 <= row < len(self.atlas):
            raise Refusal(404, f"There is no graph {row}: rows are 0 to {len(self.atlas) - 1:,}.")
        return row

    def check_rows(self, rows: Sequence[int]) -> IntArray:
        """Rows of the index, all different, in the order given.

        Raises:
            Refusal: 400, there are none; 404, one of them is not there.
        """
        if not rows:
            raise Refusal(400, "No rows came: choose some graphs first.")
        chosen = np.asarray(rows, np.int64)
        strange = (chosen < 0) | (chosen >= len(self.atlas))
        if strange.any():
            self.check_row(int(chosen[strange][0]))
        return chosen[np.sort(np.unique(chosen, return_index=True)[1])]

    def embed(self, graphs: GraphSet) -> NDArray[np.float32]:
        """The vectors of graphs that fit the model. (G, D).

        Raises:
            Refusal: 422, the index has no model.
        """
        if self.model is None:
            raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
        with self.using_model:
            return np.asarray(embedded(self.model, graphs), np.float32)

    def close(self) -> None:
        """Stop the threads."""
        self.heavy.close()
        self.drawers.close()


class Rows(BaseModel):
    """Rows of the index."""

    model_config = ConfigDict(extra="forbid")
    rows: list[StrictInt]


def map_routes(explorer: Explorer) -> APIRouter:
    """GET atlas, points, columns, graphs and drawings; POST rows."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["map"])
    index, atlas, drawn = explorer.index, explorer.atlas, Recent()

    @router.get("/atlas")
    async def the_atlas() -> dict[str, Any]:
        """Title, columns and what is possible. `colour` is the column coloured first, -1 for none."""
        limits = {"body": explorer.limits.body, "graphs": explorer.limits.graphs}
        return {
            **atlas.summary(index),
            "drawings": explorer.graphs is not None,
            "smiles": explorer.takes_smiles,
            "upload": index.has_model,
            "limits": limits,
        }

    @router.get("/points", response_class=Response)
    async def points() -> Response:
        """x and y of every graph in -1 ... 1, as little-endian float32."""
        return floats(atlas.points)

    @router.get("/column/{number}", response_class=Response)
    async def column(number: int) -> Response:
        """Values of a column, little-endian float32: numbers or category codes; NaN where one is missing."""
        if not 0 <= number < len(atlas.columns):
            raise Refusal(404, f"There is no column {number}: there are {len(atlas.columns)}.")
        return floats(atlas.columns[number].values)

    @router.get("/graph/{row}")
    async def graph(row: int) -> dict[str, Any]:
        """One graph: its columns, what was found out about it, its nearest graphs."""
        explorer.check_row(row)
        hits = await explorer.drawers.run(index.search_id, index.ids[row], NEAREST)
        return {
            **record(explorer, row),
            "facts": facts(explorer, row),
            "neighbours": hits_of(hits),
            "contributions": await explorer.drawers.run(lambda: explorer.scores_nodes),
        }

    @router.get("/graph/{row}/drawing", response_class=Response)
    async def drawing(
        row: int,
        size: Annotated[int, Parameter(description="160 or 400 pixels wide")] = 160,
        theme: Literal["light", "dark"] = "light",
        scores: bool = False,
    ) -> Response:
        """One graph as SVG; with `scores` its nodes are coloured by T(h_u, H(G)), what each contributes."""
        explorer.check_row(row)
        if size not in (160, 400):
            raise Refusal(400, f"size={size}: expected 160 or 400.")

        def make() -> str:
            return draw_row(explorer, row, size=size, theme=theme, scores=scores)

        svg = await explorer.drawers.run(drawn.get, (row, size, theme, scores), make)
        return Response(svg, media_type="image/svg+xml", headers=SVG_HEADERS)

    @router.post("/rows")
    async def rows(body: Rows) -> dict[str, Any]:
        """The first 200 of some rows: their ids and columns; and how many there are."""
        chosen = explorer.check_rows(body.rows)
        return {"rows": [record(explorer, row) for row in chosen[:LISTED].tolist()], "total": len(chosen)}

    return router


def floats(values: NDArray[Any]) -> Response:
    """An array as its bytes."""
    return Response(np.ascontiguousarray(values, "<f4").tobytes(), media_type="application/octet-stream")


class Asked(BaseModel):
    """What is looked for: an id, a SMILES, or a JSON graph as text."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(min_length=1)
    k: int = Field(12, ge=1)
    theme: Literal["light", "dark"] = "light"


def search_routes(explorer: Explorer) -> APIRouter:
    """POST search and upload."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["search"])

    @router.post("/search")
    async def search(body: Asked) -> dict[str, Any]:
        """The nearest graphs of an id (`kind` "id"), or of a new graph ("graph", with its place).

        A new graph has no place of its own on the map: it is put at the mean of its nearest graphs' points,
        weighted by similarity.
        """
        query, k = body.query.strip(), min(body.k, explorer.limits.hits)
        if query in explorer.index:
            row = explorer.index.row(query)
            hits = await explorer.drawers.run(explorer.index.search_id, query, k)
            return {"kind": "id", "row": row, "hits": hits_of(hits)}
        return await explorer.heavy.run(unseen, explorer, as_graph(explorer, query), k, body.theme)

    @router.post("/upload")
    async def upload(
        request: Request, name: Annotated[str, Parameter(max_length=1000, description="the file's name")]
    ) -> dict[str, Any]:
        """Graphs of a file, in the body as it is: their places, and the nearest graph of each."""
        return await explorer.heavy.run(uploaded, explorer, name, await request.body())

    return router


def as_graph(explorer: Explorer, query: str) -> Graph:
    """A text that is no id, as a graph.

    Raises:
        Refusal: 404, it cannot be one.
    """
    if query.startswith("{"):
        content = strict_json(query)
        return content if isinstance(content, dict) else query
    if not explorer.takes_smiles:
        shown = query if len(query) <= 60 else f"{query[:60]}…"
        raise Refusal(
            404, f"No graph of this index has the id {shown!r}; its model reads no SMILES, but JSON graphs."
        )
    return query


def unseen(explorer: Explorer, graph: Graph, k: int, theme: str) -> dict[str, Any]:
    """A graph that is not on the map."""
    try:
        graphs = read_request(explorer, [graph])
    except Refusal as error:
        if not isinstance(graph, str) or error.status_code != 422:
            raise
        problem = error.detail.removeprefix("graph 0: ")
        raise Refusal(422, f"There is no such id, and as a molecule it cannot be used: {problem}.") from error
    vectors = explorer.embed(graphs)
    hits = explorer.index.search(vectors, k)
    size = {"nodes": graphs.n_nodes, "edges": int(edge_counts(graphs)[0])}
    return {
        "kind": "graph",
        "point": place(explorer, vectors)[0].tolist(),
        "drawing": draw(graphs, 0, size=400, theme=theme),
        "facts": {**size, "placed": WORDS},
        "hits": hits_of(hits),
    }


def uploaded(explorer: Explorer, name: str, body: bytes) -> dict[str, Any]:
    """All graphs of a file."""
    graphs = read_upload(explorer, name, body)
    vectors = explorer.embed(graphs)
    points, hits = place(explorer, vectors), explorer.index.search(vectors, 1)
    found = [
        {"id": str(graph_id), "point": point, "nearest": hits_of(own)[0]}
        for graph_id, point, own in zip(graphs.ids.tolist(), points.tolist(), hits, strict=True)
    ]
    rejected = [{"id": str(one.graph_id), "problem": one.problem} for one in graphs.rejected]
    return {"graphs": found, "rejected": rejected, "placed": WORDS}


def region_routes(explorer: Explorer) -> APIRouter:
    """POST describe and export."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["regions"])

    @router.post("/describe")
    async def describe(body: Rows) -> dict[str, Any]:
        """What is special about some graphs, compared with all: `text`, one line, and `facts`, sentences."""
        rows = explorer.check_rows(body.rows)
        return await explorer.heavy.run(describe_region, explorer.graphs, explorer.atlas.points, rows)

    @router.post("/export", response_class=Response)
    async def export(body: Rows) -> Response:
        """Some graphs as CSV: id, columns, cluster, outlier score, map_x, map_y."""
        rows = explorer.check_rows(body.rows)
        table = await explorer.heavy.run(region_table, explorer.index, explorer.atlas, rows)
        headers = {"Content-Disposition": 'attachment; filename="region.csv"'}
        return Response(table, media_type="text/csv; charset=utf-8", headers=headers)

    return router


class Graphs(BaseModel):
    """SMILES, or graphs as `{"nodes": 3, "edges": [[0, 1], [1, 2]]}`; nodes may be a list of attributes."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"graphs": ["CCO", "c1ccccc1"]}})
    graphs: list[str | dict[str, Any]]


class Query(Graphs):
    """Graphs, and how many neighbours of each."""

    k: int = Field(10, ge=1)


def program_routes(explorer: Explorer) -> APIRouter:
    """POST embed, search and predict."""
    router = APIRouter(route_class=StrictRoute, tags=["programs"])

    @router.post("/embed")
    async def embed(body: Graphs) -> dict[str, Any]:
        """The vectors of graphs, in their order."""
        return await explorer.heavy.run(_embed, explorer, body.graphs)

    @router.post("/search")
    async def search(body: Query) -> dict[str, Any]:
        """The `k` nearest graphs of the index for each graph, best first."""
        return await explorer.heavy.run(_search, explorer, body.graphs, body.k)

    @router.post("/predict")
    async def predict(body: Graphs) -> dict[str, Any]:
        """What the model predicts, a list per target; classes have the probability of the predicted one."""
        return await explorer.heavy.run(_predict, explorer, body.graphs)

    return router


def _embed(explorer: Explorer, graphs: list[Graph]) -> dict[str, Any]:
    vectors = explorer.embed(read_request(explorer, graphs))
    return {"vectors": vectors.tolist(), "dim": int(vectors.shape[1])}


def _search(explorer: Explorer, graphs: list[Graph], k: int) -> dict[str, Any]:
    vectors = explorer.embed(read_request(explorer, graphs))
    hits = explorer.index.search(vectors, min(k, explorer.limits.hits))
    return {"metric": hits.metric, "hits": [hits_of(one) for one in hits]}


def _predict(explorer: Explorer, graphs: list[Graph]) -> dict[str, Any]:
    if not isinstance(explorer.model, GraphPredictor):
        raise Refusal(422, "The model of this index makes vectors and predicts nothing.")
    known = read_request(explorer, graphs)
    with explorer.using_model:
        table = predict_table(explorer.model, known)
    found = {name: plain(values) for name, values in table.columns.items() if name != ID}
    return {"predictions": found, "units": table.units}


def page_routes(app: FastAPI) -> APIRouter:
    """GET /, the files of the page, and /docs."""
    router = APIRouter(include_in_schema=False)
    texts = {name: page_file(name) for name in NAMES}  # nothing of a request reaches the file system

    def serve(name: str) -> None:
        async def text() -> Response:
            media = TYPES[name[name.rindex(".") :]]
            return Response(texts[name], media_type=media, headers={"Cache-Control": "no-cache"})

        for path in (f"/{name}", "/") if name == PAGE else (f"/{name}",):
            router.add_api_route(path, text, methods=["GET", "HEAD"], response_class=Response)

    for name in NAMES:
        serve(name)

    @router.get("/docs", response_class=Response)
    async def docs(token: str = "") -> Response:
        return Response(describe_endpoints(app.openapi(), token), media_type=TYPES[".html"])

    return router


def describe_endpoints(schema: dict[str, Any], token: str = "") -> str:
    """The endpoints as a plain page; its only asset is a style sheet of this server.

    Its links have the token that the page was opened with.
    """
    known = f"?token={quote(token, safe='')}" if token else ""
    sections = []
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            parameters = "".join(
                f"<li><code>{escape(p['name'])}</code> {escape(p.get('description', ''))}</li>"
                for p in about.get("parameters", ())
            )
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            listed = f"<ul>{parameters}</ul>" if parameters else ""
            fields = _fields(schema, body) if body else ""
            text = " ".join(about.get("description", "").split())
            sections.append(
                f"<section><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>"
                f"<p>{escape(text)}</p>{listed}{fields}</section>"
            )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(schema["info"]["title"])}</title><link rel="stylesheet" href="docs.css"></head>'
        f"<body><h1>{escape(schema['info']['title'])}</h1><p>{escape(schema['info']['description'])} "
        f'Machine-readable: <a href="openapi.json{known}">openapi.json</a>. '
        f'<a href="./{known}">The map</a></p>'
        f"{''.join(sections)}</body></html>"
    )


def _fields(schema: dict[str, Any], body: dict[str, Any]) -> str:
    """The fields of a JSON body."""
    name = body.get("$ref", "").rpartition("/")[2]
    model = schema.get("components", {}).get("schemas", {}).get(name, body)
    needed = model.get("required", ())
    rows = "".join(
        f"<li><code>{escape(field)}</code> {'' if field in needed else 'optional'}</li>"
        for field in model.get("properties", {})
    )
    return f"<p>JSON body. {escape(' '.join(model.get('description', '').split()))}</p><ul>{rows}</ul>"


def record(explorer: Explorer, row: int) -> dict[str, Any]:
    """Row, id and the user's columns of a graph."""
    columns = explorer.index.columns
    names = own_names(columns)
    return {
        "row": row,
        "id": str(explorer.index.ids[row]),
        "columns": {names[name]: plain(values[row]) for name, values in columns.items()},
    }


def facts(explorer: Explorer, row: int) -> dict[str, Any]:
    """What the atlas found out about a graph: cluster, sizes, outlier score, predictions."""
    columns = explorer.atlas.columns
    users = set(own_names(explorer.index.columns).values())
    found = {column.name: column.cell(row) for column in columns if column.name not in users}
    if found.get("cluster") is None:
        found["cluster"] = "none"
    return {name: plain(value) for name, value in found.items()}


def hits_of(hits: Hits) -> list[dict[str, Any]]:
    """The hits of one query: row, id and score, best first."""
    found: Iterable[tuple[Any, Any, Any]] = zip(hits.rows[0], hits.ids[0], hits.scores[0], strict=True)
    return [{"row": int(row), "id": str(i), "score": plain(float(score))} for row, i, score in found]


def place(explorer: Explorer, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """A point per vector: the mean of its nearest graphs' points, weighted by similarity. (Q, D) -> (Q, 2).

    A weight is 1 / distance^2, with the cosine distance 1 - cos or the Euclidean one; a graph with the vector
    of a stored one is put onto its point.
    """
    hits = explorer.index.search(vectors, AMONG)
    distances = np.asarray(hits.scores, np.float64)  # (Q, K)
    if hits.metric == "cosine":
        distances = np.maximum(1 - distances, 0)
    typical = np.maximum(distances.max(axis=1, keepdims=True), 1e-12)
    weights = 1 / np.maximum(distances / typical, SAME) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    points = explorer.atlas.points[hits.rows].astype(np.float64)  # (Q, K, 2)
    return np.asarray((weights[:, :, None] * points).sum(axis=1))


def read_request(explorer: Explorer, graphs: Sequence[Graph]) -> GraphSet:
    """SMILES, or JSON graphs {"nodes": ..., "edges": ...} as `infograph.data.network_files` reads them.

    Raises:
        Refusal: 400, these are no graphs; 413, they are too many or too large; 422, not for this model.
    """
    if explorer.model is None:
        raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
    if not graphs:
        raise Refusal(400, "No graphs came: expected a list of SMILES or of JSON graphs.")
    check_count(len(graphs), explorer.limits)
    if all(isinstance(graph, str) for graph in graphs):
        return _smiles(explorer, [str(graph) for graph in graphs])
    if not all(isinstance(graph, dict) for graph in graphs):
        raise Refusal(400, "Expected all graphs as SMILES, or all as JSON objects.")
    check_json([graph for graph in graphs if isinstance(graph, dict)], explorer.limits)
    lines = "\n".join(json.dumps(graph) for graph in graphs)
    return read_text(explorer, lines.encode(), ".jsonl", "the request", errors="raise")


def _smiles(explorer: Explorer, smiles: list[str]) -> GraphSet:
    if not explorer.takes_smiles:
        raise Refusal(422, "The model of this index reads no SMILES: give graphs as JSON objects.")
    longest = max(map(len, smiles))
    if longest > explorer.limits.smiles:
        raise Refusal(
            413, f"A SMILES of {longest:,} characters; at most {explorer.limits.smiles:,} are taken."
        )
    try:
        return check_set(as_graphset(smiles, schema=explorer.schema), explorer.limits)
    except InfoGraphError as error:
        raise Refusal(422, sentence(error)) from error


def read_text(explorer: Explorer, text: bytes, ending: str, name: str, errors: Any) -> GraphSet:
    """A text by the package's own readers, from a temporary file that nobody else names.

    Raises:
        Refusal: it cannot be read; `name` stands for the file in the sentence.
    """
    with tempfile.TemporaryDirectory(prefix="infograph-") as folder:
        path = Path(folder) / f"graphs{ending}"
        path.write_bytes(text)
        try:
            graphs = as_graphset(path, schema=explorer.schema, errors=errors)
            return check_set(graphs, explorer.limits)
        except InfoGraphError as error:
            raise Refusal(status_of(error), sentence(str(error).replace(str(path), name))) from error
        except Refusal:
            raise
        except Exception as error:  # a reader that stumbles over a user's file is no defect of the server
            logging.getLogger(__name__).warning("%s file not read", ending, exc_info=error)
            problem = f"{name} could not be read as {ending} ({type(error).__name__})."
            raise Refusal(400, problem[0].upper() + problem[1:]) from error


def check_json(graphs: Sequence[dict[str, Any]], limits: Limits) -> None:
    """Refuse JSON graphs that are too large, before any of them is built.

    Raises:
        Refusal: 400, nodes or edges are none; 413, there are too many.
    """
    nodes = edges = 0
    for place, graph in enumerate(graphs):
        own, arcs = graph.get("nodes"), graph.get("edges", [])
        if isinstance(own, bool) or not isinstance(own, int | list) or not isinstance(arcs, list):
            raise Refusal(
                400, f"Graph {place}: expected 'nodes', a number or a list, and 'edges', a list of pairs."
            )
        if isinstance(own, int) and own < 0:  # would make room for others in the sum
            raise Refusal(400, f"Graph {place}: {own:,} nodes; expected a number of at least 0.")
        nodes += own if isinstance(own, int) else len(own)
        edges += len(arcs)
        check_size(nodes, edges, limits)


def check_set(graphs: GraphSet, limits: Limits) -> GraphSet:
    """Graphs that were read, if they are not too many."""
    check_count(len(graphs) + len(graphs.rejected), limits)
    check_size(graphs.n_nodes, graphs.n_edges // 2, limits)
    return graphs


def check_count(n_graphs: int, limits: Limits) -> None:
    """Refuse too many graphs."""
    if n_graphs > limits.graphs:
        raise Refusal(413, f"{n_graphs:,} graphs; at most {limits.graphs:,} are taken at a time.")


def check_size(n_nodes: int, n_edges: int, limits: Limits) -> None:
    """Refuse too many nodes or edges."""
    if n_nodes > limits.nodes:
        raise Refusal(413, f"{n_nodes:,} nodes; at most {limits.nodes:,} are taken at a time.")
    if n_edges > limits.edges:
        raise Refusal(413, f"{n_edges:,} edges; at most {limits.edges:,} are taken at a time.")


# A file that a user chose in the page -> graphs. Its name gives only the ending; sizes are checked first.
#
# Archives and Parquet are not taken: a few bytes of them can hold more than memory does.


def read_upload(explorer: Explorer, name: str, body: bytes) -> GraphSet:
    """The graphs of a file, those that cannot be used in `rejected`.

    Raises:
        Refusal: 400, it cannot be read; 413, it holds too much; 415, no such files are read; 422, not one of
            its graphs is for this model.
    """
    if explorer.model is None:
        raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
    ending = PurePosixPath(name.replace("\\", "/")).suffix.casefold()
    if ending not in ENDINGS:
        raise Refusal(
            415, f"Files of the kind {ending[:20]!r} are not taken; known are {', '.join(ENDINGS)}."
        )
    if not body.strip():
        raise Refusal(400, "The file is empty.")
    check_text(body, ending, explorer.limits)
    return read_text(explorer, body, ending, "the file", errors="skip")


def check_text(body: bytes, ending: str, limits: Limits) -> None:
    """Refuse what would take the readers too long, by looks that are quick.

    Raises:
        Refusal: 413.
    """
    lines = body.count(b"\n") + 1
    if ending in JSON_LINES:
        _check_json_lines(body, limits)
    elif ending in SDF_FILES:
        check_count(body.count(b"$$$$"), limits)
        longest = max(record.count(b"\n") for record in body.split(b"$$$$"))
        if longest > RECORD:
            raise Refusal(413, f"A molecule of {longest:,} lines; at most {RECORD:,} are taken.")
    elif ending in XML:
        check_size(len(re.findall(rb"<node[\s/>]", body)), len(re.findall(rb"<edge[\s/>]", body)), limits)
    else:
        _check_lines(body, lines, ending, limits)


def _check_json_lines(body: bytes, limits: Limits) -> None:
    lines = [line for line in body.split(b"\n") if line.strip()]
    check_count(len(lines), limits)
    graphs = []
    for line in lines:
        try:
            content = strict_json(line)
        except Refusal:
            if _is_lax_json(line):
                raise
            continue  # the reader lists it among the rejected ones
        if isinstance(content, dict) and isinstance(content.get("nodes"), int | list):
            graphs.append({"nodes": content["nodes"], "edges": _list(content.get("edges"))})
    check_json([graph for graph in graphs if not isinstance(graph["nodes"], bool)], limits)


def _is_lax_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _check_lines(body: bytes, lines: int, ending: str, limits: Limits) -> None:
    """Tables and lists: as many lines as graphs or edges, none of them endless."""
    molecules = ending in SMILES_FILES or HEAD.search(body[: body.find(b"\n") if b"\n" in body else None])
    if molecules:
        check_count(lines - 2, limits)  # without a header and the end of the last line
    else:
        check_size(0, lines - 2, limits)
    longest = max(map(len, body.splitlines()))
    if longest > 4 * limits.smiles:
        raise Refusal(413, f"A line of {longest:,} characters; at most {4 * limits.smiles:,} are taken.")


class Recent:
    """The last results of something slow, by key, up to so many characters."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._size, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[Any, str] = OrderedDict()

    def get(self, key: Any, make: Callable[[], str]) -> str:
        """The result for a key, made if it is not known."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._size += len(made) - len(self._kept.pop(key, ""))
            self._kept[key] = made
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])
        return made


def draw_row(explorer: Explorer, row: int, *, size: int, theme: str, scores: bool) -> str:
    """A graph of the index, with its nodes coloured by T(h_u, H(G)) if `scores`.

    Raises:
        Refusal: 404, the index holds no graphs, or the model does not score nodes.
    """
    if explorer.graphs is None or explorer.index.graphs is None:
        raise Refusal(404, "This index holds vectors and no graphs to draw.")
    values = None
    if scores:
        if not explorer.scores_nodes:
            raise Refusal(404, "The model of this index does not score nodes.")
        with explorer.using_model:
            values = explorer.model.score_nodes(explorer.index.graphs[row])
    return draw(explorer.graphs, row, size=size, theme=theme, scores=values)

"""The server of the page and of programs, as a FastAPI application.

The page is at /, its data are under /api; programs ask /embed, /search and /predict. Routes that are no
coroutines run in threads.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import h11
import numpy as np
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

import infograph
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.data.labels import class_name
from infograph.data.molecules import SMILES
from infograph.data.network_files import NETWORKS, TEXTS, XML
from infograph.data.read import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES
from infograph.data.records import Errors
from infograph.data.schema import Schema
from infograph.errors import InfoGraphError, InvalidParameter, JobStopped
from infograph.estimators.base import GraphPredictor
from infograph.explore.atlas import Atlas, describe_region, facts_of, matching, own_name, region_table
from infograph.explore.guard import LOOPBACK, Guard, Limits, Refusal, status_of
from infograph.explore.map_file import PAGE, SIZES, as_floats, draw, plain
from infograph.index import GraphIndex, Hits
from infograph.index.graph_index import embedded, schema_of
from infograph.jobs import OverLimit, limited
from infograph.learn.predictions import ID, predict_table
from infograph.look.molecules import recognise_atoms

DRAWINGS = 512  # in memory; a molecule has some 5,000 characters, a large network 300,000
MAX_LISTED = 200  # rows of a region that are listed
CONNECTIONS = 200  # at a time; 503 beyond
HEADER_SECONDS = 10.0  # until a request that has not said what it wants is closed
N_NEAREST = 12  # graphs beside a chosen one, and graphs whose places a new one gets
SAME = 1e-6  # of the typical distance: the same vector, and so the same place
PLACED = f"at the mean of its {N_NEAREST} nearest graphs, weighted by similarity"
# No archives and no Parquet: a few bytes of them can hold more than memory does.
ENDINGS = tuple(dict.fromkeys((*SMILES_FILES, *TABLES, *SDF_FILES, *JSON_LINES, *NETWORKS)))
SVG_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}
NO_SMILES = "expected a SMILES in quotes, as the other graphs are"
routes = APIRouter()


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
    app = FastAPI(
        title="infograph explorer",
        description='Every error is one sentence, {"error": "..."}.',
        version=infograph.__version__,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _refused, RequestValidationError: _not_valid},
    )
    app.state.explorer = Explorer(index, atlas, limits)
    app.include_router(routes)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    public = {"/", *(f"/{path.name}" for path in PAGE.iterdir())}
    app.add_middleware(Guard, limits=limits, token=token, hosts=hosts, public=public)
    return app


class Prompt(H11Protocol):
    """HTTP for visitors who say within a few seconds what they want: others would take all connections."""

    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.wait_for_header()

    def data_received(self, data: bytes) -> None:
        """Take what came; a connection that is used again has a header to wait for again."""
        super().data_received(data)
        self.wait_for_header()

    def wait_for_header(self) -> None:
        """Close the connection unless a whole header comes in time."""
        if self.conn.their_state is h11.IDLE:
            self.waiting = self.waiting or self.loop.call_later(HEADER_SECONDS, self.transport.close)
        elif self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


def configured(app: FastAPI) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        http=Prompt,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
    )


async def _refused(request: Request, error: HTTPException) -> Response:
    """What FastAPI itself refuses; the guard words it."""
    words = {404: "There is nothing at this address.", 405: "This address does not take that method."}
    raise Refusal(error.status_code, words.get(error.status_code, f"{error.detail}.")) from error


async def _not_valid(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid" or not where:
        raise Refusal(400, "The body is not a JSON object of Content-Type application/json.") from error
    raise Refusal(400, f"{where}: {str(first['msg']).lower()}.") from error


class Explorer:
    """What routes share. All methods may be called from any thread."""

    def __init__(self, index: GraphIndex, atlas: Atlas, limits: Limits) -> None:
        if len(index) != len(atlas):
            raise InvalidParameter(
                f"an atlas of {len(atlas):,} graphs for an index of {len(index):,}: make one with make_atlas"
            )
        self.index, self.atlas, self.limits = index, atlas, limits
        self.graphs: GraphSet | None = None if index.graphs is None else recognise_atoms(index.graphs)
        self.using_model = threading.Lock()  # estimators promise nothing for several threads
        self.places = threading.Semaphore(limits.at_once)
        self.drawing = lru_cache(DRAWINGS)(self.draw)

    @property
    def schema(self) -> Schema | None:
        """What graphs of the model look like."""
        if self.index.model is None:
            raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
        return schema_of(self.index.model)

    @property
    def takes_smiles(self) -> bool:
        """Whether the model reads molecules, as those of the index."""
        return self.graphs is not None and self.graphs.schema.option("hydrogens") is not None

    @property
    def scores_nodes(self) -> bool:
        """Whether nodes can be coloured by what they contribute; not where the model cannot be read."""
        with suppress(InfoGraphError):
            return self.graphs is not None and getattr(self.index.model, "scores_nodes", False)
        return False

    @contextmanager
    def working(self) -> Iterator[None]:
        """A place among the few that may work at once.

        Who ran out of time keeps it until the thread is through: threads cannot be stopped.
        """
        if not self.places.acquire(blocking=False):
            raise Refusal(429, "The server is busy; try again in a moment.", {"retry-after": "2"})
        try:
            yield
        finally:
            self.places.release()

    def rows(self, rows: Sequence[int]) -> IntArray:
        """Rows of the index, all different, in the order given."""
        if not rows:
            raise Refusal(400, "No rows came: choose some graphs first.")
        for row in (min(rows), max(rows)):
            if not 0 <= row < len(self.atlas):
                raise Refusal(404, f"There is no graph {row}: rows are 0 to {len(self.atlas) - 1:,}.")
        return np.array(list(dict.fromkeys(rows)), np.int64)

    def record(self, row: int) -> dict[str, Any]:
        """Row, id and the user's columns of a graph."""
        own = {name: plain(values[row]) for name, values in self.index.columns.items()}
        return {"row": row, "id": str(self.index.ids[row]), "columns": own}

    def draw(self, row: int, size: int, theme: str, scores: bool) -> str:
        """A graph of the index as SVG, with its nodes coloured by T(h_u, H(G)) if `scores`."""
        if self.graphs is None or self.index.graphs is None:
            raise Refusal(404, "This index holds vectors and no graphs to draw.")
        values = None
        if scores:
            if not self.scores_nodes:
                raise Refusal(404, "The model of this index does not score nodes.")
            with self.using_model:
                values = self.index.model.score_nodes(self.index.graphs[row])
        return draw(self.graphs, row, size=size, theme=theme, scores=values)

    def nearest(self, graphs: GraphSet, k: int) -> Hits:
        """The nearest graphs of graphs that fit the model."""
        with self.using_model:
            return self.index.search(graphs, k)

    def predicted(self, graph: GraphSet) -> dict[str, Any]:
        """What the model predicts for a graph, by the names of the map's columns; nothing if it does not."""
        if not isinstance(self.index.model, GraphPredictor):
            return {}
        with self.using_model:
            columns = predict_table(self.index.model, graph).columns
        first = {name: values[:1].tolist()[0] for name, values in columns.items() if name != ID}
        return {
            own_name(f"predicted {name}", self.index.columns): v if isinstance(v, float) else class_name(v)
            for name, v in first.items()
        }

    def place(self, hits: Hits) -> NDArray[np.float64]:
        """A point per query: the mean of its nearest graphs' points. (Q, 2).

        A weight is 1 / distance^2, with the cosine distance 1 - cos or the Euclidean one; a graph with the
        vector of a stored one is put onto its point.
        """
        distances = np.asarray(hits.scores[:, :N_NEAREST], np.float64)  # (Q, K)
        if hits.metric == "cosine":
            distances = np.maximum(1 - distances, 0)
        typical = np.maximum(distances.max(axis=1, keepdims=True), 1e-12)
        weights = 1 / np.maximum(distances / typical, SAME) ** 2
        weights /= weights.sum(axis=1, keepdims=True)
        points = self.atlas.points[hits.rows[:, :N_NEAREST]].astype(np.float64)  # (Q, K, 2)
        return np.asarray((weights[:, :, None] * points).sum(axis=1))

    # ---- graphs that come with a request

    def read(self, graphs: Sequence[Any]) -> GraphSet:
        """SMILES, or JSON graphs as `infograph.data.network_files` reads them.

        Of several, those that cannot be used are in `rejected`.
        """
        if not graphs:
            raise Refusal(400, "No graphs came: expected a list of SMILES or of JSON graphs.")
        self.check(len(graphs))
        errors: Errors = "skip" if len(graphs) > 1 else "raise"
        reader = partial(as_graphset, schema=self.schema, errors=errors)
        smiles = [graph for graph in graphs if isinstance(graph, str)]
        if not smiles:
            self.check_json(graphs)
            try:
                lines = "\n".join(json.dumps(graph, allow_nan=False) for graph in graphs)
            except (ValueError, RecursionError) as error:
                raise Refusal(400, f"The graphs are no JSON: {error}.") from error
            return self.read_file(lines.encode(), ".jsonl", "the request", reader)
        if any(isinstance(graph, dict) and "nodes" in graph for graph in graphs):
            raise Refusal(400, "Expected all graphs as SMILES, or all as JSON objects.")
        if not self.takes_smiles:
            raise Refusal(422, "The model of this index reads no SMILES: give graphs as JSON objects.")
        self.check_lines(smiles, self.limits.smiles)
        rows = [g if isinstance(g, str) else Rejected(r, r, NO_SMILES) for r, g in enumerate(graphs)]
        try:
            return self.checked(reader(rows))
        except InfoGraphError as error:
            raise Refusal(422, str(error)) from error

    def read_upload(self, name: str, body: bytes) -> GraphSet:
        """The graphs of a file, those that cannot be used in `rejected`; its name gives only the ending."""
        ending = PurePosixPath(name.replace("\\", "/")).suffix.casefold()
        if ending not in ENDINGS:
            known = ", ".join(ENDINGS)
            raise Refusal(415, f"Files of the kind {ending[:20]!r} are not taken; known are {known}.")
        if not body.strip():
            raise Refusal(400, "The file is empty.")
        lines = io.TextIOWrapper(io.BytesIO(body), "utf-8-sig", "replace")  # those of the readers
        if ending in JSON_LINES:
            self.check_json(lines)
        elif ending not in (*SDF_FILES, *XML, *TEXTS):  # their lines may be long
            self.check_lines(lines, 4 * self.limits.smiles)
        reader, limits = partial(as_graphset, schema=self.schema, errors="skip"), self.limits
        child = partial(limited, reader, seconds=limits.seconds, megabytes=limits.megabytes)
        return self.read_file(body, ending, "the file", child)

    def read_file(self, text: bytes, ending: str, name: str, reader: Callable[[Path], GraphSet]) -> GraphSet:
        """A text by the package's own readers, from a temporary file that nobody else names."""
        with tempfile.TemporaryDirectory(prefix="infograph-") as folder:
            path = Path(folder) / f"graphs{ending}"
            path.write_bytes(text)
            try:
                graphs = reader(path)
            except (OverLimit, JobStopped) as error:
                most = f"{self.limits.seconds:g} seconds or {self.limits.megabytes:,} MB"
                raise Refusal(413, f"Reading {name} takes more than {most}; give less at a time.") from error
            except InfoGraphError as error:
                raise Refusal(status_of(error), str(error).replace(str(path), name)) from error
            except Exception as error:  # a reader that stumbles over a user's file is no defect of the server
                logging.getLogger(__name__).warning("%s file not read", ending, exc_info=error)
                problem = f"{name.capitalize()} could not be read as {ending} ({type(error).__name__})."
                raise Refusal(400, problem) from error
            return self.checked(graphs)

    def check_json(self, graphs: Iterable[Any]) -> None:
        """Refuse graphs that announce too much, before any of them is built; the reader refuses the rest."""
        nodes = edges = 0
        for graph in graphs:
            if isinstance(graph, str):
                with suppress(ValueError, RecursionError):
                    graph = json.loads(graph)
            own, arcs = (graph.get("nodes"), graph.get("edges")) if isinstance(graph, dict) else (0, 0)
            nodes += len(own) if isinstance(own, list) else max(own, 0) if isinstance(own, int) else 0
            edges += len(arcs) if isinstance(arcs, list) else 0
        self.check(0, nodes, edges)

    def check_lines(self, lines: Iterable[str], longest: int) -> None:
        """Refuse texts that readers would take too long for."""
        most = self.limits.nodes + self.limits.edges
        for number, line in enumerate(lines, start=1):
            if len(line) > longest:
                raise Refusal(413, f"A line of {len(line):,} characters; at most {longest:,} are taken.")
            if number > most:
                raise Refusal(413, f"At most {most:,} lines are taken at a time.")

    def checked(self, graphs: GraphSet) -> GraphSet:
        """Graphs that were read, if they are not too many."""
        self.check(len(graphs) + len(graphs.rejected), graphs.n_nodes, graphs.n_edges // 2)
        return graphs

    def check(self, graphs: int, nodes: int = 0, edges: int = 0) -> None:
        """Refuse too many graphs, nodes or edges."""
        for what, came in {"graphs": graphs, "nodes": nodes, "edges": edges}.items():
            most = getattr(self.limits, what)
            if came > most:
                raise Refusal(413, f"At most {most:,} {what} are taken at a time; there are {came:,}.")


async def _explorer(request: Request) -> Any:
    return request.app.state.explorer


async def _body(request: Request) -> bytes:
    return await request.body()


Asked = Annotated[Explorer, Depends(_explorer)]


class Strict(BaseModel):
    """A JSON body that is what it says: no text for a number, nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Rows(Strict):
    """Rows of the index."""

    rows: list[int]


class Search(Strict):
    """What is looked for: an id, a SMILES, or a JSON graph as text."""

    query: str = Field(min_length=1)
    k: int = Field(N_NEAREST, ge=1)
    theme: Literal["light", "dark"] = "light"


class Graphs(Strict):
    """SMILES, or graphs as `{"nodes": 3, "edges": [[0, 1], [1, 2]]}`; nodes may be a list of attributes."""

    graphs: list[Any]  # each is judged by itself: a bad one costs its own row


class GraphSearch(Graphs):
    """Graphs, and how many neighbours of each."""

    k: int = Field(10, ge=1)


# ---- the map


@routes.get("/api/atlas")
async def the_atlas(explorer: Asked) -> JSONResponse:
    """Title, columns and what is possible. `colour` is the column coloured first, -1 for none."""
    return JSONResponse(
        {
            **explorer.atlas.summary(explorer.index),
            "drawings": explorer.graphs is not None,
            "smiles": explorer.takes_smiles,
            "upload": explorer.index.has_model,
            "limits": {"body": explorer.limits.body, "graphs": explorer.limits.graphs},
        }
    )


@routes.get("/api/points", response_class=Response)
async def points(explorer: Asked) -> Response:
    """x and y of every graph in -1 ... 1, as little-endian float32."""
    return Response(as_floats(explorer.atlas.points), media_type="application/octet-stream")


@routes.get("/api/column/{number}", response_class=Response)
async def column(explorer: Asked, number: int) -> Response:
    """Values of a column, little-endian float32: numbers or category codes; NaN where one is missing."""
    columns = explorer.atlas.columns
    if not 0 <= number < len(columns):
        raise Refusal(404, f"There is no column {number}: there are {len(columns)}.")
    return Response(as_floats(columns[number].values), media_type="application/octet-stream")


@routes.get("/api/graph/{row}")
def graph(explorer: Asked, row: int) -> JSONResponse:
    """One graph: its columns, what was found out about it, its nearest graphs."""
    explorer.rows([row])
    found = {c.name: c.cell(row) for c in explorer.atlas.columns if c.found}
    facts = {} if explorer.graphs is None else facts_of(explorer.graphs[row])
    facts = {name: value for name, value in facts.items() if name not in explorer.index.columns}
    return JSONResponse(
        {
            **explorer.record(row),
            "facts": {name: plain(value) for name, value in {**facts, **found}.items()},
            "neighbours": hits_of(explorer.index.search_id(explorer.index.ids[row], N_NEAREST)),
            "contributions": explorer.scores_nodes,
        }
    )


@routes.get("/api/graph/{row}/drawing", response_class=Response)
def drawing(
    explorer: Asked,
    row: int,
    size: int = 160,
    theme: Literal["light", "dark"] = "light",
    scores: bool = False,
) -> Response:
    """One graph as SVG; with `scores` its nodes are coloured by T(h_u, H(G)), what each contributes."""
    explorer.rows([row])
    if size not in SIZES:
        raise Refusal(400, f"size={size}: expected 160 or 400.")
    svg = explorer.drawing(row, size, theme, scores)
    return Response(svg, media_type="image/svg+xml", headers=SVG_HEADERS)


@routes.post("/api/rows")
async def listed(explorer: Asked, body: Rows) -> JSONResponse:
    """The first 200 of some rows: their ids and columns; and how many there are."""
    rows = explorer.rows(body.rows)
    return JSONResponse(
        {"rows": [explorer.record(row) for row in rows[:MAX_LISTED].tolist()], "total": len(rows)}
    )


@routes.post("/api/describe")
def describe(explorer: Asked, body: Rows) -> JSONResponse:
    """What is special about some graphs, compared with all: `text`, one line, and `facts`, sentences."""
    with explorer.working():
        return JSONResponse(describe_region(explorer.graphs, explorer.atlas.points, explorer.rows(body.rows)))


@routes.post("/api/export", response_class=Response)
def export(explorer: Asked, body: Rows) -> Response:
    """Some graphs as CSV: id, columns, cluster, outlier score, map_x, map_y."""
    with explorer.working():
        table = region_table(explorer.index, explorer.atlas, explorer.rows(body.rows))
    headers = {"Content-Disposition": 'attachment; filename="region.csv"'}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@routes.post("/api/search")
def search(explorer: Asked, body: Search) -> JSONResponse:
    """The nearest graphs of an id or a molecule of the index (`kind` "id"), or of a new graph ("graph").

    What is neither is looked for in ids and columns ("rows"). A new graph has no place of its own on the map:
    it is put at the mean of its nearest graphs' points, weighted by similarity.
    """
    query, k = body.query.strip(), min(body.k, explorer.limits.hits)
    if query in explorer.index:
        return chosen(explorer, explorer.index.row(query), k)
    with explorer.working():
        try:
            graphs = read_query(explorer, query)
        except Refusal:
            rows = matching(explorer.index, query)
            if not rows:
                raise
            return JSONResponse({"kind": "rows", "rows": rows})
        known, smiles = explorer.index.columns.get(SMILES.name), graphs.graph.get(SMILES.name)
        if known is not None and smiles is not None and (known == smiles[0]).any():
            return chosen(explorer, int((known == smiles[0]).argmax()), k)
        hits = explorer.nearest(graphs, max(k, N_NEAREST))
        facts = {**facts_of(graphs), **explorer.predicted(graphs), "placed": PLACED}
        return JSONResponse(
            {
                "kind": "graph",
                "point": explorer.place(hits)[0].tolist(),
                "drawing": draw(graphs, 0, size=400, theme=body.theme),
                "facts": {name: plain(value) for name, value in facts.items()},
                "hits": hits_of(hits)[:k],
            }
        )


def chosen(explorer: Explorer, row: int, k: int) -> JSONResponse:
    """A graph of the index that was looked for."""
    hits = explorer.index.search_id(explorer.index.ids[row], k)
    return JSONResponse({"kind": "id", "row": row, "hits": hits_of(hits)})


def read_query(explorer: Explorer, query: str) -> GraphSet:
    """A text that is no id, as a graph."""
    if query.startswith("{"):
        try:
            return explorer.read([json.loads(query)])
        except (ValueError, RecursionError) as error:
            raise Refusal(400, f"The graph is not JSON: {error}.") from error
    if not explorer.takes_smiles:
        raise Refusal(404, f"No graph of this index has the id {query[:60]!r}; its model reads no SMILES.")
    try:
        return explorer.read([query])
    except Refusal as error:
        if error.status == 422:
            error.text = f"There is no such id, and as a molecule it cannot be used: {error.text}"
        raise


@routes.post("/api/upload")
def upload(
    explorer: Asked,
    name: Annotated[str, Query(max_length=1000, description="the file's name")],
    body: Annotated[bytes, Depends(_body)],
) -> JSONResponse:
    """Graphs of a file, in the body as it is: their places, and the nearest graph of each."""
    with explorer.working():
        graphs = explorer.read_upload(name, body)
        hits = explorer.nearest(graphs, N_NEAREST)
        points = explorer.place(hits).tolist()
    found = zip(graphs.ids.tolist(), points, hits, strict=True)
    placed = [{"id": str(i), "point": point, "nearest": hits_of(own)[0]} for i, point, own in found]
    return JSONResponse({"graphs": placed, "rejected": rejected_of(graphs), "placed": PLACED})


# ---- programs


@routes.post("/embed")
def embed(explorer: Asked, body: Graphs) -> JSONResponse:
    """The vectors of graphs, in their order; null for each of `rejected`, which cannot be used."""
    with explorer.working():
        graphs = explorer.read(body.graphs)
        with explorer.using_model:
            vectors = np.asarray(embedded(explorer.index.model, graphs), np.float32)
    found = {"vectors": by_row(graphs, vectors.tolist()), "dim": int(vectors.shape[1])}
    return JSONResponse({**found, "rejected": rejected_of(graphs)})


@routes.post("/search")
def neighbours(explorer: Asked, body: GraphSearch) -> JSONResponse:
    """The `k` nearest graphs of the index for each graph, best first; null for each of `rejected`."""
    with explorer.working():
        graphs = explorer.read(body.graphs)
        hits = explorer.nearest(graphs, min(body.k, explorer.limits.hits))
    found = {"metric": hits.metric, "hits": by_row(graphs, map(hits_of, hits))}
    return JSONResponse({**found, "rejected": rejected_of(graphs)})


@routes.post("/predict")
def predict(explorer: Asked, body: Graphs) -> JSONResponse:
    """What the model predicts, a list per target; classes have the probability of the predicted one.

    It is null for each of `rejected`.
    """
    with explorer.working():
        if not isinstance(explorer.index.model, GraphPredictor):
            raise Refusal(422, "The model of this index makes vectors and predicts nothing.")
        graphs = explorer.read(body.graphs)
        with explorer.using_model:
            table = predict_table(explorer.index.model, graphs)
    found = {name: by_row(graphs, plain(values)) for name, values in table.columns.items() if name != ID}
    return JSONResponse({"predictions": found, "units": table.units, "rejected": rejected_of(graphs)})


def by_row(graphs: GraphSet, answers: Iterable[Any]) -> list[Any]:
    """An answer for each graph that came, None for one that could not be used."""
    found, bad = iter(answers), {one.index for one in graphs.rejected}
    return [None if row in bad else next(found) for row in range(len(graphs) + len(bad))]


def rejected_of(graphs: GraphSet) -> list[dict[str, Any]]:
    """Graphs that came and could not be used: row, id and what is wrong with them."""
    return [{"row": o.index, "id": str(o.graph_id), "problem": o.problem} for o in graphs.rejected]


def hits_of(hits: Hits) -> list[dict[str, Any]]:
    """The hits of one query: row, id and score, of molecules the Tanimoto similarity, too; best first."""
    own = {"row": hits.rows, "score": hits.scores, "tanimoto": hits.tanimoto}
    told = [
        {name: plain(v[0, at]) for name, v in own.items() if v is not None}
        for at in range(hits.rows.shape[1])
    ]
    return [{**one, "id": str(graph_id)} for one, graph_id in zip(told, hits.ids[0].tolist(), strict=True)]

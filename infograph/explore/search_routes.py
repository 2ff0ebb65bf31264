"""Search and upload for the page: ids, and graphs that are not on the map."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from infograph.explore.explorer import Explorer
from infograph.explore.pictures import draw
from infograph.explore.placing import WORDS, place
from infograph.explore.queries import Graph, read_request
from infograph.explore.records import hits_of
from infograph.explore.refusals import Refusal
from infograph.explore.strict_json import StrictRoute, strict_json
from infograph.explore.uploads import read_upload
from infograph.understand.describe import edge_counts


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
        request: Request, name: Annotated[str, Query(max_length=1000, description="the file's name")]
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

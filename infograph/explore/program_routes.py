"""The same for programs: vectors, neighbours and predictions of graphs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from infograph.contract import GraphPredictor
from infograph.explore.explorer import Explorer
from infograph.explore.queries import Graph, read_request
from infograph.explore.records import hits_of, plain
from infograph.explore.refusals import Refusal
from infograph.explore.strict_json import StrictRoute
from infograph.learn.predictions import ID, predict_table


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

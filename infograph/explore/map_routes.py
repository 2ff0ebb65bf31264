"""What the page shows: the map, its colours, single graphs and their drawings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, StrictInt

from infograph.explore.drawings import Recent, draw_row
from infograph.explore.explorer import Explorer
from infograph.explore.records import facts, hits_of, record
from infograph.explore.refusals import Refusal
from infograph.explore.strict_json import StrictRoute

LISTED = 200  # rows that a list shows
NEAREST = 12
SVG_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}


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
        size: Annotated[int, Query(description="160 or 400 pixels wide")] = 160,
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

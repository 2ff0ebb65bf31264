"""Regions of the map: described, exported."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from infograph.explore.explorer import Explorer
from infograph.explore.map_routes import Rows
from infograph.explore.regions import describe_region, region_table
from infograph.explore.strict_json import StrictRoute


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

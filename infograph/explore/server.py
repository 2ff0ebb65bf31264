"""The server of the page and of programs, as a FastAPI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI

import infograph
from infograph.explore.atlas import Atlas
from infograph.explore.explorer import Explorer
from infograph.explore.guard import LOOPBACK, Guard
from infograph.explore.limits import Limits
from infograph.explore.map_routes import map_routes
from infograph.explore.page_files import PUBLIC
from infograph.explore.page_routes import page_routes
from infograph.explore.program_routes import program_routes
from infograph.explore.refusals import handle_errors
from infograph.explore.region_routes import region_routes
from infograph.explore.search_routes import search_routes
from infograph.index import GraphIndex

ABOUT = 'Every error is one sentence, {"error": "..."}.'


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

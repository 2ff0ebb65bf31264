"""The page itself: a fixed list of files of this package, and a description of the endpoints."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Response

from infograph.explore.page_files import NAMES, PAGE, TYPES, page_file


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

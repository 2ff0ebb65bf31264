"""Everything that goes wrong, as one sentence: {"error": "..."} and the right status."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from infograph.errors import InfoGraphError, InvalidGraph, MissingExtra, NothingLeft, SchemaMismatch

LONGEST = 500  # characters of a sentence; users' texts in it may be long
WORDS = {404: "There is nothing at this address.", 405: "This address does not take that method."}


class Refusal(HTTPException):
    """A request that is not answered: a status and a sentence for people."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, sentence, headers)


def status_of(error: InfoGraphError) -> int:
    """422 for graphs that the model cannot take, 501 for what is not installed, otherwise 400."""
    if isinstance(error, InvalidGraph | SchemaMismatch | NothingLeft):
        return 422
    return 501 if isinstance(error, MissingExtra) else 400


def sentence(text: object) -> str:
    """One line, not too long."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def answer(status: int, text: object, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response."""
    return JSONResponse({"error": sentence(text)}, status, dict(headers or {}))


def defect(path: str, error: Exception) -> JSONResponse:
    """The response to an error that is ours; the log has it whole."""
    logging.getLogger("infograph.explore").error("%s failed", path, exc_info=error)
    return answer(500, f"The server failed ({type(error).__name__}); its log says where.")


def invalid(errors: Sequence[Mapping[str, Any]]) -> str:
    """What a body or parameter should have been, from the first thing that was wrong with it."""
    if not errors:
        return "The request is not what was expected."
    first = errors[0]
    where = ".".join(str(part) for part in first.get("loc", ())[1:])
    if first.get("type") == "json_invalid":
        return "The body is not JSON."
    if not where:
        return "Expected a JSON object in the body, with Content-Type application/json."
    return f"{where}: {str(first.get('msg', 'not valid')).lower()}."


def handle_errors(app: FastAPI) -> None:
    """Let every error of `app` be one sentence."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        known = error if isinstance(error, HTTPException) else HTTPException(500)
        text = known.detail if isinstance(known, Refusal) else WORDS.get(known.status_code, known.detail)
        return answer(known.status_code, text, known.headers)

    async def not_valid(request: Request, error: Exception) -> JSONResponse:
        errors = error.errors() if isinstance(error, RequestValidationError) else ()
        return answer(400, invalid(errors))

    async def mistake(request: Request, error: Exception) -> JSONResponse:
        return answer(status_of(error) if isinstance(error, InfoGraphError) else 400, error)

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(InfoGraphError, mistake)

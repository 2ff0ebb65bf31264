"""JSON as its standard has it: no NaN, no endless numbers, no towers of brackets."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from infograph.explore.refusals import Refusal

LARGEST = 2**53  # whole numbers beyond are no doubles
DIGITS = 400


def strict_json(text: bytes | str) -> Any:
    """The content of a JSON text.

    Raises:
        Refusal: 400, it is not JSON, or holds NaN, infinity, a huge number or too many brackets in brackets.
    """
    try:
        return json.loads(text, parse_constant=_constant, parse_int=_whole, parse_float=_float)
    except RecursionError as error:
        raise Refusal(400, "The JSON is nested too deeply.") from error
    except (ValueError, UnicodeDecodeError) as error:
        raise Refusal(400, f"The body is not JSON: {error}.") from error


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS or abs(int(digits)) > LARGEST:
        raise ValueError(f"the number {digits[:20]}... is too large")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if len(digits) > DIGITS or value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]}... is too large")
    return value


class StrictRequest(Request):
    """A request whose body is read strictly."""

    async def json(self) -> Any:
        """The body."""
        if not hasattr(self, "_strict"):
            self._strict = strict_json(await self.body())
        return self._strict


class StrictRoute(APIRoute):
    """A route whose bodies are read strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a strict request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict

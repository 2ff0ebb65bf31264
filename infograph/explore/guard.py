"""What every request passes first: host, origin, token, size, time; strict JSON, and refusals."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infograph.errors import InfoGraphError, InvalidGraph, MissingExtra, NothingLeft, SchemaMismatch
from infograph.explore.serving import Limits

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SAFE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
DRAIN = (
    5.0  # seconds that a body which is too large is read on after the answer: its sender may not have read it
)
LONGEST = 500  # characters of a sentence; users' texts in it may be long
WORDS = {404: "There is nothing at this address.", 405: "This address does not take that method."}
LARGEST = 2**53  # whole numbers beyond are no doubles
DIGITS = 400
T = TypeVar("T")


class Guard:
    """ASGI middleware.

    Args:
        app: what is guarded.
        limits: of size and time.
        token: without it in the header X-Token or the parameter `token`, only `public` paths are answered.
        hosts: names that the header Host may have, None for any. A page of another name that resolves to this
            machine (DNS rebinding) sends its own name.
        public: paths that hold no data.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        token: str | None = None,
        hosts: Collection[str] | None = LOOPBACK,
        public: Collection[str] = (),
    ) -> None:
        self.app, self.limits, self.token, self.hosts, self.public = app, limits, token, hosts, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begun = [False]
        body = _Body(receive, self.limits.body, _length(Headers(scope=scope)))
        safe_send = _with_headers(send, begun, body)
        refused = self._refused(scope)
        if refused is not None:
            await answer(refused.status_code, refused.detail, refused.headers)(scope, receive, safe_send)
            return
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self.app(scope, body.receive, safe_send)
        except TimeoutError:
            if not begun[0]:
                text = f"This took longer than {self.limits.seconds:g} seconds; ask for less at a time."
                await answer(504, text, {"Connection": "close"})(scope, receive, safe_send)
        except Exception as error:
            if begun[0]:
                raise
            await defect(scope["path"], error)(scope, receive, safe_send)

    def _refused(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        host = _host(headers.get("host", ""))
        if self.hosts is not None and host not in self.hosts:
            return Refusal(421, f"This server answers to {' and '.join(self.hosts)} only.")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != headers.get("host", "").lower():
            return Refusal(403, "Other pages may not ask this server.")
        if self.token is not None and scope["path"] not in self.public and not self._known(scope, headers):
            return Refusal(401, "This server needs its token, as ?token= or in the header X-Token.")
        length = _length(headers)
        if length is None:
            return Refusal(400, "The header Content-Length is no number.")
        return None

    def _known(self, scope: Scope, headers: Headers) -> bool:
        given = headers.get("x-token") or _parameter(scope, "token")
        expected = (self.token or "").encode()
        return hmac.compare_digest(given.encode(errors="replace"), expected)


class _Body:
    """A body that ends with a refusal once it is too large."""

    def __init__(self, receive: Receive, most: int, announced: int | None) -> None:
        self._receive, self._most, self._announced = receive, most, announced or 0
        self._size, self._more = 0, True
        self.refused = False

    async def receive(self) -> Message:
        if self._announced <= self._most:
            message = await self._receive()
            self._count(message)
            if self._size <= self._most:
                return message
        self.refused = True
        text = f"The body is larger than {self._most / (1 << 20):.3g} MB, the most that is taken at a time."
        raise Refusal(413, text, {"Connection": "close"})

    def _count(self, message: MutableMapping[str, object]) -> None:
        chunk = message.get("body", b"")
        self._size += len(chunk) if isinstance(chunk, bytes) else 0
        self._more = message["type"] == "http.request" and bool(message.get("more_body"))

    async def drain(self) -> None:
        """Read on for a while, and forget it."""
        until = time.monotonic() + DRAIN
        while self._more and (left := until - time.monotonic()) > 0:
            try:
                self._count(await asyncio.wait_for(self._receive(), left))
            except TimeoutError:
                return


def _with_headers(send: Send, begun: list[bool], body: _Body) -> Send:
    """Adds the headers. The answer to a body that is too large ends only when the body does."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun[0] = True
            headers = MutableHeaders(scope=message)
            for name, value in SAFE.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        elif body.refused and not message.get("more_body"):
            await send({**message, "more_body": True})
            await body.drain()
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    return sending


def _place(origin: str) -> str:
    """Host and port of an origin; nothing where it is no address, as of a page without one ("null")."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _parameter(scope: Scope, name: str) -> str:
    """A parameter of the address; nothing where it is not there, or there are too many to look through."""
    try:
        text: str = scope.get("query_string", b"").decode("latin-1")
        return parse_qs(text, max_num_fields=20).get(name, [""])[0]
    except ValueError:
        return ""


def _host(header: str) -> str:
    """The name without the port, which may stand behind an IPv6 address in brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _length(headers: Headers) -> int | None:
    """The announced length, 0 where there is none; None where it is no number."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


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


class Workers:
    """A pool that takes so many tasks at once, running or waiting, and refuses more with 429.

    A request that ran out of time keeps its place until its thread is through: threads cannot be stopped.
    """

    def __init__(self, threads: int, most: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="infograph-explore")
        self._most, self._busy = most, 0

    async def run(self, task: Callable[..., T], *arguments: Any) -> T:
        """The result of `task`, or its error.

        Raises:
            Refusal: 429, too many are at work.
        """
        if self._busy >= self._most:
            raise Refusal(429, "The server is busy; try again in a moment.", {"Retry-After": "2"})
        loop = asyncio.get_running_loop()
        self._busy += 1
        future = self._pool.submit(task, *arguments)
        future.add_done_callback(lambda done: self._tell(loop, done))
        return await asyncio.shield(asyncio.wrap_future(future, loop=loop))

    def _tell(self, loop: asyncio.AbstractEventLoop, done: Future[Any]) -> None:
        if loop.is_closed():
            self._busy -= 1
            return
        loop.call_soon_threadsafe(self._free)

    def _free(self) -> None:
        self._busy -= 1

    def close(self) -> None:
        """Take nothing more; threads that are at work are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

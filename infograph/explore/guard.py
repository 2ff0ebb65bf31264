"""What every request passes first: host, origin, token, size and time; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Collection, MutableMapping
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infograph.explore.limits import Limits
from infograph.explore.refusals import Refusal, answer, defect

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

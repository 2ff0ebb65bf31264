"""Who may ask for what: host, origin, token, size, time. Serving an index until Ctrl-C.

Nothing here needs FastAPI, so that a missing package is named before the work.
"""

from __future__ import annotations

import asyncio
import hmac
import importlib.util
import ipaddress
import json
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from infograph.errors import (
    InfoGraphError,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    NothingLeft,
    SchemaMismatch,
)
from infograph.explore.atlas import Atlas
from infograph.index import GraphIndex

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NEEDED = ("fastapi", "uvicorn")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_SENTENCE = 500  # characters; users' texts in it may be long
SAFE = {
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Limits:
    """What a server takes; more is refused with one sentence."""

    body: int = 10 << 20  # bytes of a request
    graphs: int = 1_000  # of a request
    nodes: int = 100_000  # of all its graphs together
    edges: int = 400_000
    smiles: int = 3_000  # characters of a SMILES; RDKit needs half a second for 5,000
    hits: int = 100  # graphs that one search gives
    seconds: float = 30.0  # until a request that is still at work is answered with 504
    megabytes: int = 2_000  # of memory for reading a file; 400,000 edges take 400
    at_once: int = 4  # requests that embed, describe or export at the same time; 429 beyond


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is not answered: a status and a sentence for people."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Guard:
    """ASGI middleware that every request passes first, and that words every error as one sentence.

    Without `token` in the header X-Token or the parameter `token`, only `public` paths are answered. `hosts`
    are names that the header Host may have, None for any: a page of another name that resolves to this
    machine (DNS rebinding) sends its own name.
    """

    app: ASGIApp
    limits: Limits
    token: str | None = None
    hosts: Collection[str] | None = LOOPBACK
    public: Collection[str] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begun = False

        async def safe_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = dict(message["headers"])
                added = {name.encode(): value.encode() for name, value in SAFE.items()}
                message = {**message, "headers": list({**added, **given}.items())}
            await send(message)

        try:
            self.check(scope)
            async with asyncio.timeout(self.limits.seconds):
                await self.app(scope, await self.read_body(receive), safe_send)
        except Exception as error:
            if begun:
                raise
            await _answer(self.refusal(scope, error), safe_send)

    def check(self, scope: Scope) -> None:
        """Refuse who may not ask."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        name = (_address(f"//{host}").hostname or "").rstrip(".")
        if self.hosts is not None and name not in self.hosts:
            raise Refusal(421, f"This server answers to {' and '.join(self.hosts)} only.")
        if origin is not None and _address(origin).netloc.lower() != host.lower():
            raise Refusal(403, "Other pages may not ask this server.")
        if self.token is not None and scope["path"] not in self.public:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            given = headers.get("x-token") or query.get("token", [""])[0]
            if not hmac.compare_digest(given.encode(errors="replace"), self.token.encode()):
                raise Refusal(401, "This server needs its token, as ?token= or in the header X-Token.")
        self.check_body(int(headers.get("content-length", 0)))

    def check_body(self, size: int) -> None:
        """Refuse a body that is too large."""
        if size > self.limits.body:
            text = f"The body is larger than {self.limits.body / (1 << 20):.3g} MB, the most that is taken."
            raise Refusal(413, text, {"connection": "close"})

    async def read_body(self, receive: Receive) -> Receive:
        """The whole body, which is then received at once."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            self.check_body(len(body))
        received = iter([{**message, "body": bytes(body)}])

        async def replayed() -> Message:
            return next(received, None) or await receive()

        return replayed

    def refusal(self, scope: Scope, error: Exception) -> Refusal:
        """What an error means for who asked; the log has those that are ours."""
        if isinstance(error, Refusal):
            return error
        if isinstance(error, InfoGraphError):
            return Refusal(status_of(error), str(error))
        if isinstance(error, TimeoutError):
            text = f"This took longer than {self.limits.seconds:g} seconds; ask for less at a time."
            return Refusal(504, text, {"connection": "close"})
        logging.getLogger(__name__).error("%s failed", scope["path"], exc_info=error)
        return Refusal(500, f"The server failed ({type(error).__name__}); its log says where.")


def _address(text: str) -> SplitResult:
    """An address in its parts; none where it is none, as of a page without one ("null")."""
    try:
        return urlsplit(text)
    except ValueError:
        return urlsplit("")


async def _answer(refusal: Refusal, send: Send) -> None:
    line = " ".join(refusal.text.split())[:MAX_SENTENCE]
    body = json.dumps({"error": line}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def status_of(error: InfoGraphError) -> int:
    """422 for graphs that the model cannot take, 501 for what is not installed, otherwise 400."""
    if isinstance(error, InvalidGraph | SchemaMismatch | NothingLeft):
        return 422
    return 501 if isinstance(error, MissingExtra) else 400


def check_server() -> None:
    """Refuse before the work what would fail after it: a package of the server is not installed."""
    for name in NEEDED:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name, "explore")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    if not 0 <= port <= 65535:
        raise InvalidParameter(f"port={port}: expected 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Of sockets that say TCP, asyncio turns Nagle's delay off: without it every answer comes 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        problem = f"cannot listen on port {port} of {host}: {error.strerror}; 0 takes any that is free"
        raise InvalidParameter(problem) from error
    return listening


def serve(
    index: GraphIndex,
    atlas: Atlas,
    *,
    host: str = "127.0.0.1",
    port: int | socket.socket = 8765,
    token: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    browser: bool = False,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Serve the page and the endpoints for programs.

    Args:
        index: the index.
        atlas: made from it.
        host: this machine's address to listen on. Any but a loopback one lets others in, and needs a token.
        port: the port, 0 for any that is free, or what `open_socket` gave, which is closed at the end.
        token: what others must give.
        limits: on what one request may ask for.
        browser: whether to open the page.
        tell: called with the address once the server listens.
    """
    check_server()
    if not is_loopback(host) and not token:
        raise InvalidParameter(f"host={host}: others can reach this address, so the server needs a token")

    def read_model() -> None:
        with suppress(InfoGraphError):  # told to who asks for what needs it
            _ = index.model

    with open_socket(host, port) if isinstance(port, int) else port as listening:
        import uvicorn

        from infograph.explore.server import configured, make_app

        hosts = {*LOOPBACK, host} if is_loopback(host) else None
        app = make_app(index, atlas, token=token, limits=limits, hosts=hosts)
        address = page_address(host, listening.getsockname()[1], token)
        if tell is not None:
            tell(address)
        if browser:
            webbrowser.open(address)  # the socket listens already: the page waits for the server
        threading.Thread(target=read_model, daemon=True).start()  # meanwhile: nobody waits for torch
        with suppress(KeyboardInterrupt):
            uvicorn.Server(configured(app)).run(sockets=[listening])


def page_address(host: str, port: int, token: str | None = None) -> str:
    """The address of the page; 0.0.0.0 is this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")

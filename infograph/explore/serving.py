"""Serve an index on an address of this machine, until Ctrl-C."""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from infograph.errors import InvalidParameter, MissingExtra
from infograph.explore.atlas import Atlas
from infograph.index import GraphIndex

NEEDED = ("fastapi", "uvicorn")
CONNECTIONS = 200  # at a time; 503 beyond


def check_server() -> None:
    """Refuse before the work what would fail after it.

    Raises:
        MissingExtra: a package of the server is not installed.
    """
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
    """A socket that listens; port 0 is any that is free.

    Raises:
        InvalidParameter: the port is in use or not allowed, or the host is none of this machine.
    """
    if not 0 <= port <= 65535:
        raise InvalidParameter(f"port={port}: expected 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Of sockets that say TCP, asyncio turns Nagle's delay off: without it every answer comes 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise InvalidParameter(
                f"port {port} of {host} is in use: choose another with --port, or --port 0 for any"
            ) from error
        reason = getattr(error, "strerror", None) or error
        raise InvalidParameter(f"cannot listen on port {port} of {host}: {reason}") from error
    return listening


@dataclass(frozen=True)
class Limits:
    """What a server takes; more is refused with one sentence, before the work.

    Attributes:
        body: bytes of a request.
        graphs, nodes, edges: of all graphs of a request together.
        smiles: characters of a SMILES; RDKit needs half a second for 5,000.
        hits: graphs that one search gives.
        seconds: until a request that is still at work is answered with 504.
        at_once: requests that embed, describe or export at the same time, running or waiting; 429 beyond.
    """

    body: int = 10 << 20
    graphs: int = 1_000
    nodes: int = 100_000
    edges: int = 400_000
    smiles: int = 3_000
    hits: int = 100
    seconds: float = 30.0
    at_once: int = 4


def serve(
    index: GraphIndex,
    atlas: Atlas,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
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
        port: the port, 0 for any that is free.
        token: what others must give.
        limits: on what one request may ask for.
        browser: whether to open the page.
        tell: called with the address once the server listens.

    Raises:
        InvalidParameter: the port is in use, or others could come in without a token.
        MissingExtra: FastAPI or uvicorn is not installed.
    """
    check_server()
    if not is_loopback(host) and not token:
        raise InvalidParameter(f"host={host}: others can reach this address, so the server needs a token")
    listening = open_socket(host, port)
    import uvicorn

    from infograph.explore.guard import LOOPBACK
    from infograph.explore.server import make_app

    hosts = {*LOOPBACK, host} if is_loopback(host) else None
    app = make_app(index, atlas, token=token, limits=limits, hosts=hosts)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, limit_concurrency=CONNECTIONS
    )
    address = page_address(host, listening.getsockname()[1], token)
    if tell is not None:
        tell(address)
    if browser:
        webbrowser.open(address)  # the socket listens already: the page waits for the server
    with suppress(KeyboardInterrupt), listening:
        uvicorn.Server(config).run(sockets=[listening])


def page_address(host: str, port: int, token: str | None = None) -> str:
    """The address of the page; 0.0.0.0 is this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")

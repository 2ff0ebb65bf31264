"""Graphs that every part of the package is tried on."""

from __future__ import annotations

import functools
import ipaddress
import socket
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from infograph.data.graphset import GraphSet
from infograph.data.records import Record, assemble
from infograph.data.schema import Column, Schema

# No clock of Hypothesis decides: neither how long an example takes, nor how long it takes to make some.
slow = [HealthCheck.too_slow]
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=slow
)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Let PyG be imported: it still compiles with torch.jit, which torch deprecates."""
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit:DeprecationWarning")


@pytest.fixture(autouse=True)
def nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that looks up or connects to anything but this machine, even if the error is caught."""
    asked: list[str] = []

    def guard(owner, name: str, host_of) -> None:
        real = getattr(owner, name)

        def guarded(*args, **options):
            host = host_of(*args)
            if host is not None and not _is_here(host):
                asked.append(f"{name} {host!r}")
                pytest.fail(f"a test must not reach beyond this machine: {asked[-1]}")
            return real(*args, **options)

        monkeypatch.setattr(owner, name, guarded)

    def peer(own: socket.socket, address: object) -> str | None:
        sends = own.family in (socket.AF_INET, socket.AF_INET6) and own.type != socket.SOCK_DGRAM
        return address[0] if sends else None

    guard(socket.socket, "connect", peer)
    guard(socket.socket, "connect_ex", peer)
    guard(socket, "getaddrinfo", lambda host, *_: host)
    yield
    assert not asked, asked


def _is_here(host: str | bytes | None) -> bool:
    text = host.decode() if isinstance(host, bytes) else host or ""
    if text in ("", "localhost", socket.gethostname(), *_own_addresses()):
        return True
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@functools.cache
def _own_addresses() -> tuple[str, ...]:
    """The address that others know this machine by: Ray's processes talk over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a datagram socket sends nothing; the address is nobody's
            return (probe.getsockname()[0],)
        except OSError:
            return ()


LABELS = ("a", "b", "c")
BONDS = ("single", "double")


def _graph(name: str, n_nodes: int, arcs: Sequence[tuple[int, int]], undirected: bool = True) -> Record:
    """Arcs in both directions unless told otherwise; labels and bonds repeat in a fixed order."""
    both = [arc for u, v in arcs for arc in ([(u, v), (v, u)] if undirected and u != v else [(u, v)])]
    edges = np.array(both, dtype=np.int64).reshape(-1, 2).T
    labels = np.array([LABELS[i % 3] for i in range(n_nodes)], dtype=object)
    bonds = np.array([BONDS[(u + v) % 2] for u, v in both], dtype=object)
    return Record(n_nodes, edges, node={"label": labels}, edge={"bond": bonds}, graph_id=name)


@pytest.fixture(scope="session")
def corner_cases() -> GraphSet:
    """No edges, one node, isolated nodes, self-loops, repeated edges, a huge hub, directed, two plain graphs.

    Nodes have a categorical column "label", arcs a categorical column "bond" that is not used by default.
    """
    records = [
        _graph("no edges", 4, []),
        _graph("one node", 1, []),
        _graph("isolated nodes", 5, [(0, 1), (1, 2)]),
        _graph("self-loops", 3, [(0, 0), (0, 1), (1, 2), (2, 2)]),
        _graph("one node with a loop", 1, [(0, 0)]),
        _graph("repeated edges", 3, [(0, 1), (0, 1), (0, 1), (1, 2), (2, 2), (2, 2)]),
        _graph("huge hub", 301, [(0, i) for i in range(1, 301)]),
        _graph("directed", 4, [(0, 1), (1, 2), (2, 0), (2, 3)], undirected=False),
        _graph("two pieces", 6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
        _graph("ring", 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]),
    ]
    columns = Schema(
        node=(Column("label", "categorical", categories=LABELS),),
        edge=(Column("bond", "categorical", categories=BONDS, used=False),),
    )
    return assemble(records, columns=columns)

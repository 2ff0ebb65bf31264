"""Ray: a cluster that is started here for a job, or one that is running."""

from __future__ import annotations

import os
import socket
import warnings
from typing import Any

from infograph.errors import InvalidParameter, JobStopped, MissingExtra

STORE = 80_000_000  # bytes of Ray's object store, near the least there is: only paths and records go through
PATIENCE = 5.0  # seconds for a cluster to answer
SETTINGS = b"\x04"  # the kind of the first frame that both sides of HTTP/2, which gRPC speaks, send
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"


def connect(on: str, workers: int) -> Any:
    """The package ray, connected.

    Args:
        on: "ray" starts a cluster on this machine, which ends with this process or with `ray.shutdown`;
            "ray://host:port" is that of a cluster's client server, "ray://auto" the cluster that this machine
            belongs to.
        workers: cores of the cluster that is started here.

    Raises:
        MissingExtra: Ray is not installed.
        JobStopped: the cluster cannot be reached.
        InvalidParameter: `on` is none of these.
    """
    scheme, _, address = on.partition("://")
    if scheme != "ray" or (("://" in on) and not address):
        raise InvalidParameter(f"on={on!r}: expected 'local', 'ray', or a cluster such as 'ray://host:10001'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no figures leave the machine
    os.environ.setdefault("RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S", str(round(PATIENCE)))  # of three attempts
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray's own imports
            import ray
    except ImportError as error:
        raise MissingExtra("ray", "scale") from error
    given: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if not address:
        given |= {"address": "local", "num_cpus": workers, "num_gpus": 0, "include_dashboard": False}
        given["object_store_memory"] = STORE
    else:
        if address != "auto":
            _check_reachable(on, address)
        given["address"] = "auto" if address == "auto" else on
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray announces what later versions will do
            ray.init(**given)
    except Exception as error:
        hint = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" if address else ""
        raise JobStopped(f"no Ray cluster at {on!r} ({one_line(error)}){hint}") from error
    return ray


def _check_reachable(on: str, address: str) -> None:
    """Refuse at once what Ray would wait for, for half a minute."""
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise InvalidParameter(f"on={on!r}: expected a host and a port, such as 'ray://host:10001'")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            connection.sendall(HELLO)
            answer = connection.recv(9)
        problem = (
            "" if answer[3:4] == SETTINGS or os.environ.get("RAY_USE_TLS") else "something else is there"
        )
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise JobStopped(
            f"no Ray cluster answers at {on!r} ({problem}): is it up, and is this the port of its "
            f"client server?"
        )


def one_line(error: Exception) -> str:
    """What an error says, in one short line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0][:200]

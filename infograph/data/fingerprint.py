"""A short text that is the same only for the same graphs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet

ROWS = 1_000_000  # in memory at a time


def fingerprint(graphs: GraphSet) -> str:
    """A checksum of all that an encoder sees: sizes, arcs, and the node and edge columns in use."""
    digest = hashlib.sha256()
    for pointers in (graphs.node_ptr, graphs.edge_ptr, *graphs.edges):
        _update(digest, pointers, np.int64)
    for stored, columns in ((graphs.node, graphs.schema.node), (graphs.edge, graphs.schema.edge)):
        for column in columns:
            if column.used:
                digest.update(f"{column.name} {column.categories}".encode(errors="surrogatepass"))
                _update(digest, stored[column.name])
    return digest.hexdigest()[:16]


def _update(digest: hashlib._Hash, values: NDArray[Any], dtype: Any = None) -> None:
    """Add an array, some rows at a time: it may be a memory map of more than fits into memory."""
    for start in range(0, len(values), ROWS):
        digest.update(np.ascontiguousarray(values[start : start + ROWS], dtype=dtype).data)

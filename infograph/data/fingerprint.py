"""A short text that is the same only for the same graphs."""

from __future__ import annotations

import hashlib

import numpy as np

from infograph.data.graphset import GraphSet


def fingerprint(graphs: GraphSet) -> str:
    """A checksum of all that an encoder sees: sizes, arcs, and the node and edge columns in use."""
    digest = hashlib.sha256()
    for pointers in (graphs.node_ptr, graphs.edge_ptr, graphs.edges):
        digest.update(np.ascontiguousarray(pointers, dtype=np.int64).data)
    for stored, columns in ((graphs.node, graphs.schema.node), (graphs.edge, graphs.schema.edge)):
        for column in columns:
            if column.used:
                digest.update(f"{column.name} {column.categories}".encode(errors="surrogatepass"))
                digest.update(np.ascontiguousarray(stored[column.name]).data)
    return digest.hexdigest()[:16]

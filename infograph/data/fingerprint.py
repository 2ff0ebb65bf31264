"""A short text that is the same only for the same graphs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.networks import POSITIONS
from infograph.data.schema import Column

ROWS = 1_000_000  # in memory at a time


def fingerprint(graphs: GraphSet, *, scaling: bool = False) -> str:
    """A checksum of what encoders learn from: sizes, arcs, and the node and edge columns in use.

    Args:
        graphs: the graphs.
        scaling: whether what standardises float columns counts, too. It does for whoever keeps an encoder's
            inputs; not for checkpoints, where it follows from the graphs.
    """
    digest = hashlib.sha256()
    for pointers in (graphs.node_ptr, graphs.edge_ptr, *graphs.edges):
        _update(digest, pointers, np.int64)
    for stored, columns in ((graphs.node, graphs.schema.node), (graphs.edge, graphs.schema.edge)):
        for column in columns:
            if column.used:
                digest.update(_describe(column, scaling).encode(errors="surrogatepass"))
                _update(digest, stored[column.name])
    return digest.hexdigest()[:16]


def _describe(column: Column, scaling: bool) -> str:
    """A column in words; of kind, role and scaling only what is not as usual, so that checksums last."""
    kind = "categorical" if column.categories else "float"
    role = "position" if column.kind == "float" and column.name in POSITIONS else "feature"
    words = [column.name, str(column.categories)]
    words += [own for own, usual in ((column.kind, kind), (column.role, role)) if own != usual]
    if scaling and column.mean:
        words += [str(column.mean), str(column.scale)]
    return " ".join(words)


def _update(digest: hashlib._Hash, values: NDArray[Any], dtype: Any = None) -> None:
    """Add an array, some rows at a time: it may be a memory map of more than fits into memory."""
    for start in range(0, len(values), ROWS):
        digest.update(np.ascontiguousarray(values[start : start + ROWS], dtype=dtype).data)

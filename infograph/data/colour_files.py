"""A Colouring as a folder of `.npy` files, opened as memory maps: many processes share one copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data.colours import Colouring, Round
from infograph.data.storage import (
    FolderKind,
    described,
    in_memory,
    listed_arrays,
    open_arrays,
    replaced_folder,
)

FORMAT = "infograph-colours-1"
MARKER = "colours.json"
AGAIN = "colour the graphs again"
COLOURS = FolderKind("a folder of colours", MARKER, FORMAT, listed_arrays)
Named = dict[str, NDArray[Any]]


def save_colouring(colouring: Colouring, folder: str | Path) -> Path:
    """Write it; the folder appears whole or not at all. A round that changed nothing is not written again."""
    arrays: Named = {
        "node_ptr": colouring.node_ptr,
        "node_table": colouring.node_table,
        "edge_table": colouring.edge_table,
        "graph_kinds": colouring.graph_kinds,
    }
    shapes: dict[str, list[int]] = {}
    for k, (colours, counts) in enumerate(zip(colouring.node_colours, colouring.graph_counts, strict=True)):
        if not k or counts is not colouring.graph_counts[k - 1]:
            arrays[f"colours_{k}"] = colours
            arrays |= _sparse(f"counts_{k}", counts, shapes)
    for k, made in enumerate(colouring.rounds, start=1):
        if k == 1 or made is not colouring.rounds[k - 2]:
            arrays[f"parent_{k}"] = made.parent
            arrays |= _sparse(f"incoming_{k}", made.incoming, shapes)
    with replaced_folder(folder, COLOURS) as work:
        for name, values in arrays.items():
            np.save(work / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        of_arrays = {name: list(values.shape) for name, values in arrays.items()}
        write_marker(work, len(colouring.rounds), shapes, of_arrays)
    return Path(folder)


def write_marker(
    work: Path, rounds: int, sparse: Mapping[str, list[int]], arrays: Mapping[str, list[int]]
) -> None:
    """Say in a file what a folder holds: how many rounds, the shapes of sparse matrices and of arrays."""
    content = {"format": FORMAT, "rounds": rounds, "sparse": dict(sparse), "arrays": dict(arrays)}
    (work / MARKER).write_text(json.dumps(content, indent=1))


def open_colouring(folder: str | Path) -> Colouring:
    """A saved Colouring; nothing is read before it is used.

    Raises:
        FileMissing: the folder, or a file in it, is not there.
        InvalidFile: a file is damaged or of another format.
    """
    folder = Path(folder)
    with described(folder / MARKER, FORMAT, "a folder of colours", AGAIN) as content:
        arrays = open_arrays(folder, content["arrays"], AGAIN)
        shapes, n_rounds = content["sparse"], content["rounds"]
        colours, counts, made = [], [], []  # type: list[Any], list[csr_matrix], list[Round]
        for k in range(n_rounds + 1):
            new = f"colours_{k}" in arrays
            colours.append(arrays[f"colours_{k}"] if new else colours[-1])
            counts.append(_opened(f"counts_{k}", arrays, shapes) if new else counts[-1])
        for k in range(1, n_rounds + 1):
            new = f"parent_{k}" in arrays
            made.append(
                Round(arrays[f"parent_{k}"], _opened(f"incoming_{k}", arrays, shapes)) if new else made[-1]
            )
        return Colouring(
            in_memory(arrays["node_ptr"]),
            tuple(colours),
            tuple(made),
            arrays["node_table"],
            np.array(arrays["edge_table"]),
            tuple(counts),
            arrays["graph_kinds"],
            folder.absolute(),
        )


def _sparse(name: str, matrix: csr_matrix, shapes: dict[str, list[int]]) -> Named:
    shapes[name] = [int(size) for size in matrix.shape]
    return {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}


def _opened(name: str, arrays: Named, shapes: dict[str, list[int]]) -> csr_matrix:
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=tuple(shapes[name]), copy=False)

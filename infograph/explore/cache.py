"""What was found about an index, as a folder of JSON and `.npy` files beside it.

`atlas.json` has the format, the fingerprint of what it was made from, descriptions and the predicted columns;
`points.npy`, `clusters.npy`, `outliers.npy` and `predicted_0.npy` ... the numbers.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.storage import clear_cache, json_ready, read_json, replaced_folder
from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.explore.columns import MapColumn
from infograph.index import GraphIndex
from infograph.index.folder import ATLAS_ARRAYS, ATLAS_FOLDER


@dataclass(frozen=True, eq=False)
class Findings:
    """The slow part of an atlas; `infograph.explore.atlas.Atlas` explains each."""

    points: NDArray[np.float32]
    clusters: NDArray[np.int64]
    descriptions: tuple[str, ...]
    outliers: NDArray[np.float64]
    predicted: tuple[MapColumn, ...]


def fingerprint(index: GraphIndex, folder: Path | None, settings: dict[str, Any]) -> str:
    """A text that changes with the vectors, ids and columns, the files of a saved index, and the settings."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([ATLAS_FOLDER.form, settings, index.metric], sort_keys=True).encode())
    digest.update(np.ascontiguousarray(index.vectors).data)
    for name, values in {"id": index.ids, **index.columns}.items():
        digest.update(f"{name} {values.dtype} {values.shape}".encode(errors="surrogatepass"))
        plain = np.ascontiguousarray(values)
        if plain.dtype.kind in "OUT":
            digest.update(json.dumps(json_ready(plain), default=str).encode())
        else:
            digest.update(plain.tobytes())
    marker = None if folder is None else folder / "index.json"  # lists the checksums of the model, too
    if marker is not None and marker.is_file():
        digest.update(marker.read_bytes())
    return digest.hexdigest()


def read_findings(folder: Path, key: str) -> Findings | None:
    """What was found before; None where there is nothing, or it is of another index, or damaged."""
    try:
        content = read_json(folder / ATLAS_FOLDER.marker)
        if content.get("format") != ATLAS_FOLDER.form or content.get("fingerprint") != key:
            return None
        points, clusters, outliers = (_load(folder / f"{name}.npy") for name in ATLAS_ARRAYS)
        predicted = tuple(
            MapColumn(
                name=str(about["name"]),
                kind=about["kind"],
                values=_load(folder / f"predicted_{place}.npy"),
                categories=tuple(map(str, about["categories"])),
                unit=str(about["unit"]),
            )
            for place, about in enumerate(content["predicted"])
        )
        descriptions = tuple(map(str, content["descriptions"]))
    except (FileMissing, InvalidFile, OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    lengths = {len(values) for values in (points, clusters, outliers, *(p.values for p in predicted))}
    fits = len(lengths) == 1 and points.shape[1:] == (2,) and clusters.max(initial=-1) < len(descriptions)
    return Findings(points, clusters, descriptions, outliers, predicted) if fits else None


def write_findings(folder: Path, key: str, found: Findings) -> None:
    """Keep what was found, whole or not at all; a warning where the folder cannot be written to."""
    content = {
        "format": ATLAS_FOLDER.form,
        "fingerprint": key,
        "descriptions": list(found.descriptions),
        "predicted": [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories), "unit": c.unit}
            for c in found.predicted
        ],
    }
    try:
        clear_cache(folder, rf"{ATLAS_FOLDER.marker}|({'|'.join(ATLAS_ARRAYS)}|predicted_\d+)\.npy")
        with replaced_folder(folder, ATLAS_FOLDER) as work:
            for name in ATLAS_ARRAYS:
                np.save(work / f"{name}.npy", getattr(found, name), allow_pickle=False)
            for place, column in enumerate(found.predicted):
                np.save(work / f"predicted_{place}.npy", column.values, allow_pickle=False)
            (work / ATLAS_FOLDER.marker).write_text(json.dumps(content, indent=1) + "\n")
    except (OSError, InvalidParameter) as error:
        reason = getattr(error, "strerror", None) or error
        warnings.warn(
            f"the map could not be kept in {folder} ({reason}): it is made anew next time",
            stacklevel=2,
        )


def _load(path: Path) -> NDArray[Any]:
    return np.asarray(np.load(path, allow_pickle=False))

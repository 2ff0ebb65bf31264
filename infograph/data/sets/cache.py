"""Parsed data sets on disk, so that only the first load parses: memory maps in `CACHE/parsed/NAME/KEY/`."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from infograph.data.graphset import GraphSet
from infograph.data.sets.catalogue import Entry
from infograph.data.storage import GRAPHSET, clear_cache, open_graphs, remove_folder, save_graphs
from infograph.data.tu.files import DEPTH
from infograph.errors import InfoGraphError, InvalidParameter


def cache_folder() -> Path:
    """`INFOGRAPH_CACHE`, or `infograph` in the platform's folder for caches; it need not exist yet."""
    chosen = os.environ.get("INFOGRAPH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    try:
        home = Path.home()
    except RuntimeError:  # an account without a home folder
        home = Path(tempfile.gettempdir())
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "infograph"


def downloads_folder() -> Path:
    """Where downloaded zips are kept, and where `NAME.zip` can be placed by hand."""
    return cache_folder() / "downloads"


def parsed_folder(entry: Entry, source: Path) -> Path:
    """Where the parsed form of `source` belongs: another path, size, date or reader is another place."""
    source = source.resolve()
    inside = [path for depth in range(DEPTH + 1) for path in source.glob("*/" * depth + entry.pattern)]
    files = sorted(inside) if source.is_dir() else [source]
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return cache_folder() / "parsed" / entry.name / f"v{entry.version}-{_digest(source)}-{_digest(stamps)}"


def open_parsed(entry: Entry, folder: Path) -> GraphSet | None:
    """The set in a cache folder, or None if it is not there, damaged or something else."""
    try:
        graphs = open_graphs(folder)
        entry.verify(graphs, folder)
    except (InfoGraphError, OSError, ValueError, KeyError, TypeError):
        return None
    return graphs


def orphans(entry: Entry) -> list[Path]:
    """Parsed forms of a set with known counts, newest first: good even where their source has gone."""
    if entry.counts is None:
        return []
    dated: list[tuple[int, Path]] = []
    for marker in (cache_folder() / "parsed" / entry.name).glob(f"v{entry.version}-*/schema.json"):
        with suppress(OSError):  # another process may be replacing it
            dated.append((marker.stat().st_mtime_ns, marker.parent))
    return [folder for _, folder in sorted(dated, reverse=True)]


def store_parsed(entry: Entry, graphs: GraphSet, folder: Path) -> GraphSet:
    """Save a parsed set and open it as a memory map; where the cache cannot be written it stays in memory.

    The folder appears by one rename, so that processes that parse the same set at once do not clash. What was
    parsed from an earlier state of the same source is removed.
    """
    # Read-only, full, or another process was faster: its result is the same.
    with suppress(OSError, InvalidParameter):
        if open_parsed(entry, folder) is None:
            clear_cache(folder, r"schema\.json|(node_ptr|edge_ptr|edges|ids|(node|edge|graph)_\d+)\.npy")
            save_graphs(graphs, folder)
        source = folder.name.split("-")[1]
        for outdated in set(folder.parent.glob(f"v*-{source}-*")) - {folder}:
            remove_folder(outdated, GRAPHSET)
    stored = open_parsed(entry, folder)
    return graphs if stored is None else stored


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder; it is made first if need be."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    return False


def _digest(content: object) -> str:
    return hashlib.sha256(str(content).encode("utf-8", "surrogateescape")).hexdigest()[:12]

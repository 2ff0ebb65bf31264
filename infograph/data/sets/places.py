"""Where a data set may be on this machine, in the order in which the places are searched."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infograph.data.sets.cache import cache_folder, downloads_folder, orphans
from infograph.data.sets.catalogue import Entry


@dataclass(frozen=True)
class Source:
    """A data set that was found.

    Attributes:
        path: its zip, folder, or parsed form.
        where: "root", "INFOGRAPH_DATA", "cache" or "PACKAGE wheel".
        parsed: whether `path` is a saved GraphSet.
    """

    path: Path
    where: str
    parsed: bool = False


def folders(root: str | Path | None) -> list[tuple[str, Path]]:
    """The folders that may hold data files, whether they exist or not: (where, folder)."""
    chosen = [
        ("root", str(root) if root is not None else ""),
        ("INFOGRAPH_DATA", os.environ.get("INFOGRAPH_DATA", "")),
    ]
    own = [(where, Path(folder).expanduser()) for where, folder in chosen if folder]
    return [*own, ("cache", cache_folder()), ("cache", downloads_folder())]


def sources(entry: Entry, root: str | Path | None = None) -> Iterator[Source]:
    """All places that hold the set, best first: `root`, `INFOGRAPH_DATA`, the cache, an installed wheel."""
    for where, folder in folders(root):
        path = entry.find(folder, entry.name)
        if path is not None:
            yield Source(path, where)
    for path in orphans(entry):
        yield Source(path, "cache", parsed=True)
    wheel = wheel_folder(entry)
    if wheel is not None and entry.wheel is not None:
        path = entry.find(wheel, entry.name)
        if path is not None:
            yield Source(path, f"{entry.wheel.package} wheel")


def wheel_folder(entry: Entry) -> Path | None:
    """The folder of the set inside an installed package, which is located without being imported."""
    if entry.wheel is None:
        return None
    try:
        spec = importlib.util.find_spec(entry.wheel.package)
    except ValueError:  # a stand-in module without a spec
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / entry.wheel.folder


def searched(entry: Entry, root: str | Path | None) -> str:
    """The places that were searched in vain, for an error message."""
    tried = [
        f"{where} {folder}{'' if folder.is_dir() else ' (no such folder)'}" for where, folder in folders(root)
    ]
    if not os.environ.get("INFOGRAPH_DATA"):
        tried.append("INFOGRAPH_DATA (not set)")
    if entry.wheel is not None:
        tried.append(f"the {entry.wheel.package} package{'' if wheel_folder(entry) else ' (not installed)'}")
    return ", ".join(tried)

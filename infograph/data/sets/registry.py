"""Benchmark data sets by name: find, parse once, verify, and open as a memory map from then on."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infograph.data.graphset import GraphSet
from infograph.data.sets.cache import downloads_folder, open_parsed, parsed_folder, store_parsed, writable
from infograph.data.sets.catalogue import CATALOGUE, Counts, Entry, entry_for, is_known, unknown
from infograph.data.sets.download import DownloadFailed, Progress, fetch_zip
from infograph.data.sets.places import Source, folders, searched, sources
from infograph.data.tu.files import list_tu
from infograph.errors import FileMissing, UnknownDataset


def load_dataset(
    name: str,
    *,
    root: str | Path | None = None,
    download: bool = True,
    node: Sequence[str] | None = None,
    edge: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> GraphSet:
    """A benchmark data set by name: MUTAG, PTC_MR, REDDIT-BINARY ... or any of the TU collection.

    Looks in `root`, in the folder that the environment variable `INFOGRAPH_DATA` names, in the cache
    (`INFOGRAPH_CACHE`, or the platform's) and in an installed package that carries the set (MUTAG: grakel),
    and downloads it otherwise. The parsed set is cached; a set whose counts are known is verified. Classes
    are the graph column "y", coded 0 ... C-1, with their original names as the column's categories.

    Args:
        name: the set's name; case does not matter.
        root: a folder with `NAME.zip` or `NAME/`, searched first; PyG's layout is understood.
        download: whether the network may be used.
        node, edge: names of the columns that encoders see; by default all node columns and no edge column.
        progress: called during a download with bytes done and bytes in all (0 if unknown).

    Raises:
        UnknownDataset: no set of that name could be found.
        FileMissing: a known set is on no place searched and could not be downloaded.
        InvalidFile: its files are damaged, or hold something else.
        SchemaMismatch: it has no such column.
    """
    entry = entry_for(name)
    graphs = _find_and_open(entry, root)
    if graphs is None and not (download and entry.url):
        raise _not_found(entry, root, "downloads are off" if entry.url else "it cannot be downloaded")
    if graphs is None:
        try:
            graphs = _download_and_open(entry, progress)
        except DownloadFailed as error:
            raise _not_found(entry, root, str(error)) from error
    return replace(graphs, schema=graphs.schema.select("node", node).select("edge", edge))


def _find_and_open(entry: Entry, root: str | Path | None) -> GraphSet | None:
    for source in sources(entry, root):
        graphs = open_parsed(entry, source.path) if source.parsed else _open(entry, source.path)
        if graphs is not None:
            return graphs
    return None


def _open(entry: Entry, path: Path) -> GraphSet:
    """The set at `path`, from the cache if it was parsed before."""
    folder = parsed_folder(entry, path)
    cached = open_parsed(entry, folder)
    if cached is not None:
        return cached
    return store_parsed(entry, _read(entry, path), folder)


def _read(entry: Entry, path: Path) -> GraphSet:
    graphs = entry.read(path, entry.name)
    entry.verify(graphs, path)
    return graphs


def _download_and_open(entry: Entry, progress: Progress | None) -> GraphSet:
    if writable(downloads_folder()):
        return _open(entry, fetch_zip(entry.url, downloads_folder() / f"{entry.name}.zip", progress))
    with tempfile.TemporaryDirectory() as work:  # the cache is read-only
        return _read(entry, fetch_zip(entry.url, Path(work) / f"{entry.name}.zip", progress))


def _not_found(entry: Entry, root: str | Path | None, reason: str) -> FileMissing | UnknownDataset:
    searched_places = (
        f"Searched: {searched(entry, root)}; {reason}. To place it by hand, put {entry.name}.zip into "
        f"a folder and give that as root= or in INFOGRAPH_DATA."
    )
    if is_known(entry):
        return FileMissing(f"the data set {entry.name} is not on this machine. {searched_places}")
    return UnknownDataset(f"{unknown(entry.name)} {searched_places}")


@dataclass(frozen=True)
class DatasetInfo:
    """One line of the list of data sets; numbers are None where the set was never parsed.

    Attributes:
        name: the set's name.
        found: its path on this machine, empty if it is not there.
        where: "root", "INFOGRAPH_DATA", "cache", "PACKAGE wheel", or "download" for what would be fetched.
        graphs, classes, node_labels, edge_labels: how many there are.
        mean_nodes, mean_edges: per graph; an undirected edge counts once.
    """

    name: str
    found: str
    where: str
    graphs: int | None = None
    mean_nodes: float | None = None
    mean_edges: float | None = None
    classes: int | None = None
    node_labels: int | None = None
    edge_labels: int | None = None


def describe_datasets(*, root: str | Path | None = None) -> list[DatasetInfo]:
    """The known data sets, and others found on this machine: where each is, and its statistics.

    Parses nothing and never uses the network: figures come from the catalogue, or from the cache.
    """
    known = {entry.name for entry in CATALOGUE}
    others = {
        entry_for(name).name for _, folder in folders(root) for name in list_tu(folder) if _is_name(name)
    }
    return [_describe(entry, root) for entry in (*CATALOGUE, *map(entry_for, sorted(others - known)))]


def _is_name(name: str) -> bool:
    try:
        entry_for(name)
    except UnknownDataset:
        return False
    return True


def _describe(entry: Entry, root: str | Path | None) -> DatasetInfo:
    source = next(sources(entry, root), None)
    counts = entry.counts or _counts(entry, source)
    info = DatasetInfo(entry.name, str(source.path) if source else "", source.where if source else "download")
    if counts is None:
        return info
    return replace(
        info,
        graphs=counts.graphs,
        mean_nodes=counts.nodes / counts.graphs,
        mean_edges=counts.arcs / counts.graphs / 2,
        classes=counts.classes,
        node_labels=counts.node_labels,
        edge_labels=counts.edge_labels,
    )


def _counts(entry: Entry, source: Source | None) -> Counts | None:
    parsed = open_parsed(entry, parsed_folder(entry, source.path)) if source else None
    return Counts.of(parsed) if parsed is not None else None

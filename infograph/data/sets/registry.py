"""Benchmark data sets by name: find, parse once, verify, and open as a memory map from then on."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infograph.data.graphset import GraphSet
from infograph.data.progress import Progress
from infograph.data.qm9.targets import HARTREE, atomisation_energies, in_units
from infograph.data.sets.cache import downloads_folder, open_parsed, parsed_folder, store_parsed, writable
from infograph.data.sets.catalogue import CATALOGUE, Counts, Entry, Wheel, entry_for, is_known, unknown
from infograph.data.sets.download import DownloadFailed, fetch_zip
from infograph.data.sets.places import Source, folders, searched, sources
from infograph.data.tu.files import list_tu
from infograph.errors import FileMissing, InvalidParameter, UnknownDataset


def load_dataset(
    name: str,
    *,
    root: str | Path | None = None,
    download: bool | None = None,
    node: Sequence[str] | None = None,
    edge: Sequence[str] | None = None,
    units: str | None = None,
    atomisation: bool = False,
    progress: Progress | None = None,
) -> GraphSet:
    """A benchmark data set by name: MUTAG, PTC_MR, REDDIT-BINARY ... or any of the TU collection, or QM9.

    Looks in `root`, in the folder that the environment variable `INFOGRAPH_DATA` names, in the cache
    (`INFOGRAPH_CACHE`, or the platform's) and in an installed package that carries the set (MUTAG: grakel,
    QM9: qm9pack), and downloads it otherwise. The parsed set is cached; a set whose counts are known is
    verified. Classes are the graph column "y", coded 0 ... C-1, with their original names as the column's
    categories. QM9 has twelve targets instead, graph columns with units (`qm9/read.py` lists all columns).

    Args:
        name: the set's name; case does not matter.
        root: a folder with `NAME.zip` or `NAME/`, searched first; PyG's layout is understood. For QM9 a
            folder with the CSV files of qm9pack.
        download: whether the network may be used: None for the names of the catalogue, True for any name of
            the TU collection, False for none. The logger "infograph" has a line for each download.
        node, edge: names of the columns that encoders see; by default all node columns and no edge column.
        units: the unit of QM9's energies: "hartree" (as stored), "eV", "kcal/mol" or "kJ/mol".
        atomisation: whether U0, U, H and G of QM9 are relative to the free atoms.
        progress: called during a download with bytes done and bytes in all (0 if unknown), and while QM9 is
            parsed with molecules done and molecules in all.

    Raises:
        UnknownDataset: no set of that name could be found.
        FileMissing: a known set is on no place searched and could not be downloaded.
        InvalidFile: its files are damaged, or hold something else.
        SchemaMismatch: it has no such column.
        InvalidParameter: a unit or atomisation energies of a set without energies, or an unknown unit.
        MissingExtra: QM9 has to be parsed and RDKit is not installed.
    """
    entry = entry_for(name)
    _check_energies(entry, units, atomisation)
    graphs = _find_and_open(entry, root, progress)
    if graphs is None and not entry.url:
        raise _not_found(entry, root, "it cannot be downloaded")
    if graphs is None and not (is_known(entry) if download is None else download):
        raise _not_found(entry, root, f"load_dataset({entry.name!r}, download=True) would look for it there")
    if graphs is None:
        try:
            graphs = _download_and_open(entry, progress)
        except DownloadFailed as error:
            raise _not_found(entry, root, str(error)) from error
    if atomisation:
        graphs = atomisation_energies(graphs)
    if units is not None:
        graphs = in_units(graphs, units)
    return replace(graphs, schema=graphs.schema.select("node", node).select("edge", edge))


def _check_energies(entry: Entry, units: str | None, atomisation: bool) -> None:
    if (units is not None or atomisation) and not entry.energies:
        option = f"units={units!r}" if units is not None else f"atomisation={atomisation}"
        raise InvalidParameter(f"{option}: {entry.name} has no energies; leave it out, or load QM9")
    if units is not None and units not in HARTREE:
        raise InvalidParameter(f"units={units!r}: energies come in {', '.join(HARTREE)}")


def _find_and_open(entry: Entry, root: str | Path | None, progress: Progress | None) -> GraphSet | None:
    for source in sources(entry, root):
        graphs = open_parsed(entry, source.path) if source.parsed else _open(entry, source.path, progress)
        if graphs is not None:
            return graphs
    return None


def _open(entry: Entry, path: Path, progress: Progress | None = None) -> GraphSet:
    """The set at `path`, from the cache if it was parsed before."""
    folder = parsed_folder(entry, path)
    cached = open_parsed(entry, folder)
    if cached is not None:
        return cached
    return store_parsed(entry, _read(entry, path, progress), folder)


def _read(entry: Entry, path: Path, progress: Progress | None = None) -> GraphSet:
    graphs = entry.read(path, entry.name, progress)
    entry.verify(graphs, path)
    return graphs


def _download_and_open(entry: Entry, progress: Progress | None) -> GraphSet:
    logging.getLogger("infograph").warning("Downloading %s from %s", entry.name, entry.url)
    if writable(downloads_folder()):
        return _open(entry, fetch_zip(entry.url, downloads_folder() / f"{entry.name}.zip", progress))
    with tempfile.TemporaryDirectory() as work:  # the cache is read-only
        return _read(entry, fetch_zip(entry.url, Path(work) / f"{entry.name}.zip", progress))


def _not_found(entry: Entry, root: str | Path | None, reason: str) -> FileMissing | UnknownDataset:
    comes = "" if entry.url or entry.wheel is None else f" It comes with {_installs(entry.wheel)}."
    by_hand = f"{entry.name}.zip" if entry.url else f"its files {entry.pattern}"
    searched_places = (
        f"Searched: {searched(entry, root)}; {reason}.{comes} To place it by hand, put {by_hand} into "
        f"a folder and give that as root= or in INFOGRAPH_DATA."
    )
    if is_known(entry):
        return FileMissing(f"the data set {entry.name} is not on this machine. {searched_places}")
    return UnknownDataset(f"{unknown(entry.name)} {searched_places}")


def _installs(wheel: Wheel) -> str:
    return f"the package {wheel.package}: pip install 'infograph[{wheel.extra}]'"


@dataclass(frozen=True)
class DatasetInfo:
    """One line of the list of data sets; numbers are None where the set was never parsed.

    Attributes:
        name: the set's name.
        found: its path on this machine, empty if it is not there.
        where: "root", "INFOGRAPH_DATA", "cache", "PACKAGE wheel", "download" for what would be fetched, or
            "infograph[qm9]" for what this extra would bring.
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
    missing = "download" if entry.url or entry.wheel is None else f"infograph[{entry.wheel.extra}]"
    info = DatasetInfo(entry.name, str(source.path) if source else "", source.where if source else missing)
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

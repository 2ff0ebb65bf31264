"""Data sets by name: find, parse once, verify, and open as a memory map from then on."""

from __future__ import annotations

import difflib
import hashlib
import http.client
import importlib.util
import logging
import os
import re
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from infograph.data.graphset import GRAPHSET, GraphSet, open_graphs, save_graphs
from infograph.data.molecules import BOND, ELEMENT
from infograph.data.qm9 import HARTREE, atomisation_energies, find_qm9, in_units, read_qm9
from infograph.data.qm9 import PATTERN as QM9_FILES
from infograph.data.schema import Column, Level
from infograph.data.tu import DEPTH, find_tu, list_tu, read_tu
from infograph.errors import FileMissing, InfoGraphError, InvalidFile, InvalidParameter, UnknownDataset
from infograph.io import clear_cache, remove_folder
from infograph.progress import OnProgress

TU_COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"
# More of the TU collection, to recognise misspelt names. Sets that are not listed load as well.
# fmt: off
OTHERS = (
    "AIDS", "BZR", "COIL-DEL", "COLLAB", "COX2", "Cuneiform", "DD", "DHFR", "ENZYMES", "FRANKENSTEIN",
    "Letter-high", "Letter-low", "Letter-med", "MSRC_21", "MSRC_9", "Mutagenicity", "NCI1", "NCI109",
    "PROTEINS", "PROTEINS_full", "PTC_FM", "PTC_FR", "PTC_MM", "REDDIT-MULTI-12K", "SYNTHETIC",
    "Synthie", "TRIANGLES", "alchemy_full", "deezer_ego_nets", "github_stargazers", "reddit_threads",
    "twitch_egos",
)
# fmt: on
TIMEOUT = 30.0  # seconds without an answer
CHUNK = 1 << 18
ATOMS = {
    "MUTAG": ("C", "N", "O", "F", "I", "Cl", "Br"),
    "PTC_MR": (
        *("In", "P", "O", "N", "Na", "C", "Cl", "S", "Br"),
        *("F", "K", "Cu", "Zn", "I", "Ba", "Sn", "Pb", "Ca"),
    ),
}
BONDS = {
    "MUTAG": ("aromatic", "single", "double", "triple"),
    "PTC_MR": ("triple", "double", "single", "aromatic"),
}


def load_dataset(
    name: str,
    *,
    root: str | Path | None = None,
    download: bool | None = None,
    node: Sequence[str] | None = None,
    edge: Sequence[str] | None = None,
    units: str | None = None,
    atomisation: bool = False,
    progress: OnProgress | None = None,
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


def _find_and_open(entry: Entry, root: str | Path | None, progress: OnProgress | None) -> GraphSet | None:
    for source in sources(entry, root):
        graphs = open_parsed(entry, source.path) if source.parsed else _open(entry, source.path, progress)
        if graphs is not None:
            return graphs
    return None


def _open(entry: Entry, path: Path, progress: OnProgress | None = None) -> GraphSet:
    """The set at `path`, from the cache if it was parsed before."""
    folder = parsed_folder(entry, path)
    cached = open_parsed(entry, folder)
    if cached is not None:
        return cached
    return store_parsed(entry, _read(entry, path, progress), folder)


def _read(entry: Entry, path: Path, progress: OnProgress | None = None) -> GraphSet:
    graphs = entry.read(path, entry.name, progress)
    entry.verify(graphs, path)
    return graphs


def _download_and_open(entry: Entry, progress: OnProgress | None) -> GraphSet:
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


@dataclass(frozen=True)
class Counts:
    """What a data set holds; `arcs` counts an undirected edge twice."""

    graphs: int
    nodes: int
    arcs: int
    classes: int
    node_labels: int = 0
    edge_labels: int = 0

    @classmethod
    def of(cls, graphs: GraphSet) -> Counts:
        """Count; reads only the schema and the pointers, so it is instant on a memory map."""
        columns = (
            graphs.schema.column("graph", "y"),
            *(graphs.schema.column(lvl, "label") for lvl in ("node", "edge")),
        )
        classes, node_labels, edge_labels = (len(column.categories) if column else 0 for column in columns)
        return cls(len(graphs), graphs.n_nodes, graphs.n_edges, classes, node_labels, edge_labels)


@dataclass(frozen=True)
class Wheel:
    """A Python package that carries a data set in one of its folders; `extra` of this package brings it."""

    package: str
    folder: str
    extra: str = ""


def _read_tu(path: Path, name: str, progress: OnProgress | None) -> GraphSet:
    return read_tu(path, name)


def _read_qm9(path: Path, name: str, progress: OnProgress | None) -> GraphSet:
    return read_qm9(path, progress=progress)


@dataclass(frozen=True)
class Entry:
    """One data set. The defaults describe any set of the TU collection; another kind brings its own reader.

    Attributes:
        name: as its makers spell it.
        counts: what it must hold, None if that is not known.
        wheel: the package that carries it, if one does.
        read: (path, name, progress) -> graphs.
        find: (folder, name) -> its path in that folder, None if it is not there.
        pattern: its files where its path is a folder; a change of one of them is noticed.
        url: where its zip is downloaded from; empty if it cannot be.
        energies: whether it has energies as graph columns, which come in other units on request.
        version: of the reader; raise it when the same files give another GraphSet, and caches are rebuilt.
    """

    name: str
    counts: Counts | None = None
    wheel: Wheel | None = None
    read: Callable[[Path, str, OnProgress | None], GraphSet] = _read_tu
    find: Callable[[Path, str], Path | None] = find_tu
    pattern: str = "*.txt"
    url: str = ""
    energies: bool = False
    version: int = 1

    def verify(self, graphs: GraphSet, where: Path) -> None:
        """Refuse graphs that are not this data set.

        Raises:
            InvalidFile: says which counts differ.
        """
        if self.counts is None:
            return
        found, wanted = vars(Counts.of(graphs)), vars(self.counts)
        wrong = [
            f"{found[k]:,} {k.replace('_', ' ')} instead of {wanted[k]:,}"
            for k in wanted
            if found[k] != wanted[k]
        ]
        if wrong:
            raise InvalidFile(
                f"{where} is not the {self.name} it should be: {', '.join(wrong)}. Replace or remove it; "
                f"graphs of your own under that name are read by their path"
            )


def _tu(name: str, counts: Counts | None = None, wheel: Wheel | None = None) -> Entry:
    return Entry(name, counts, wheel, url=f"{TU_COLLECTION}/{name}.zip")


CATALOGUE: tuple[Entry, ...] = (
    _tu("MUTAG", Counts(188, 3_371, 7_442, 2, 7, 4), Wheel("grakel", "tests/data/MUTAG", "baselines")),
    _tu("PTC_MR", Counts(344, 4_915, 10_108, 2, 18, 4)),
    _tu("IMDB-BINARY", Counts(1_000, 19_773, 193_062, 2)),
    _tu("IMDB-MULTI", Counts(1_500, 19_502, 197_806, 3)),
    _tu("REDDIT-BINARY", Counts(2_000, 859_254, 1_991_016, 2)),
    _tu("REDDIT-MULTI-5K", Counts(4_999, 2_542_071, 5_947_556, 5)),
    Entry(
        "QM9",
        Counts(130_831, 2_359_210, 4_880_720, 0),
        Wheel("qm9pack", "data", "qm9"),
        read=_read_qm9,
        find=find_qm9,
        pattern=QM9_FILES,
        energies=True,
    ),
)


def entry_for(name: str) -> Entry:
    """The entry of that name; case and the choice of "-" or "_" do not matter for names known here.

    Raises:
        UnknownDataset: it cannot be a data set's name, for instance because it is a path.
    """
    known = {_plain(entry.name): entry for entry in (*CATALOGUE, *map(_tu, OTHERS))}
    if _plain(name) in known:
        return known[_plain(name)]
    if not re.fullmatch(r"[A-Za-z0-9][\w+-]*", name, re.ASCII):
        raise UnknownDataset(unknown(name))
    return _tu(name)


def is_known(entry: Entry) -> bool:
    """Whether a data set of that name certainly exists."""
    return entry.name in OTHERS or any(entry.name == known.name for known in CATALOGUE)


def unknown(name: str) -> str:
    """The sentence for a name that leads nowhere, with the nearest known name."""
    plain = {_plain(known): known for known in (*(entry.name for entry in CATALOGUE), *OTHERS)}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    guess = f" Did you mean {plain[near[0]]}?" if near else ""
    listed = ", ".join(entry.name for entry in CATALOGUE)
    return f"no data set {name!r}.{guess} Known are {listed} and any other name of the TU collection."


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")


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


class DownloadFailed(FileMissing):
    """An address that cannot be reached, or answers with something else than a complete zip."""


def fetch_zip(url: str, target: Path, progress: OnProgress | None = None) -> Path:
    """Download a zip to `target`; it appears whole or not at all.

    Args:
        url: its address.
        target: the file to make, in a folder that exists.
        progress: called with bytes done and bytes in all (0 if the server does not say).

    Raises:
        DownloadFailed: the message says why.
    """
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as work:
        try:
            _copy(url, work, progress)
            work.close()
            if not zipfile.is_zipfile(work.name):
                raise DownloadFailed(f"{url} did not give a complete zip file")
            Path(work.name).replace(target)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, DownloadFailed):
                raise
            raise DownloadFailed(f"{url} could not be downloaded ({error})") from error
        finally:
            work.close()
            Path(work.name).unlink(missing_ok=True)
    return target


def _copy(url: str, work: tempfile._TemporaryFileWrapper[bytes], progress: OnProgress | None) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        total, done = int(answer.headers.get("Content-Length") or 0), 0
        while chunk := answer.read(CHUNK):
            work.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)


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


# Benchmark sets whose nodes are atoms under numbers: the numbers' meaning.
#
# MUTAG and PTC_MR come as graphs with labels 0, 1, 2 ... Which element a number is stands only in the notes
# of the TU collection. Nothing else is guessed: a set is recognised by all its counts, or named by the user.


def name_atoms(graphs: GraphSet, dataset: str) -> GraphSet:
    """MUTAG or PTC_MR with columns `element` and `bond`, so that descriptions and drawings show molecules.

    Encoders do not see the new columns: models that were fitted on the set as it is take these graphs, too.

    Args:
        graphs: the set or some of its graphs.
        dataset: "MUTAG" or "PTC_MR".

    Raises:
        InvalidParameter: another name, or graphs without that set's labels.
    """
    if dataset not in ATOMS:
        raise InvalidParameter(f"dataset={dataset!r}: the atoms of {' and '.join(ATOMS)} are known")
    known: tuple[tuple[Level, tuple[str, ...]], ...] = (("node", ATOMS[dataset]), ("edge", BONDS[dataset]))
    for level, names in known:
        column = graphs.schema.column(level, "label")
        if column is None or column.categories != tuple(range(len(names))):
            raise InvalidParameter(
                f"these graphs are not of {dataset}: expected {len(names)} numbers as {level} column 'label'"
            )
    element = np.array([ELEMENT.categories.index(name) for name in ATOMS[dataset]], np.int32)
    bond = np.array([BOND.categories.index(name) for name in BONDS[dataset]], np.int32)
    graphs = graphs.with_column("node", _unused(ELEMENT), element[graphs.node["label"]])
    return graphs.with_column("edge", _unused(BOND), bond[graphs.edge["label"]])


def recognise_atoms(graphs: GraphSet) -> GraphSet:
    """The graphs with atoms named if this is all of MUTAG or PTC_MR; as they came otherwise."""
    if "element" in graphs.node or "label" not in graphs.node or "label" not in graphs.edge:
        return graphs
    counts = Counts.of(graphs)
    for entry in CATALOGUE:
        if entry.name in ATOMS and entry.counts == counts:
            return name_atoms(graphs, entry.name)
    return graphs


def _unused(column: Column) -> Column:
    return replace(column, used=False)

"""Data sets by name: find, parse once, verify, and open as a memory map from then on."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import logging
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import platformdirs

from infograph.data.graphset import GraphSet, open_graphs, save_graphs
from infograph.data.qm9 import PATTERN as QM9_FILES
from infograph.data.qm9 import atomisation_energies, check_energy_unit, find_qm9, in_units, read_qm9
from infograph.data.schema import Column, Level
from infograph.data.tu import DEPTH, find_tu, list_tu, read_tu
from infograph.data.units import LABEL
from infograph.errors import (
    FileMissing,
    InfoGraphError,
    InvalidFile,
    InvalidParameter,
    JobStopped,
    UnknownDataset,
)
from infograph.progress import OnProgress

TU_COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"
DEEPCHEM = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
# More of the TU collection: names that may be asked for over the network, as they are no SMILES.
OTHERS = """
AIDS BZR COIL-DEL COLLAB COX2 Cuneiform DD DHFR ENZYMES FRANKENSTEIN Letter-high Letter-low Letter-med MSRC_21
MSRC_9 Mutagenicity NCI1 NCI109 PROTEINS PROTEINS_full PTC_FM PTC_FR PTC_MM REDDIT-MULTI-12K SYNTHETIC Synthie
TRIANGLES alchemy_full deezer_ego_nets github_stargazers reddit_threads twitch_egos
"""
NAME = re.compile(r"[A-Za-z0-9][\w+-]*", re.ASCII)
FOLDER = "moleculenet"  # below a folder of data sets, where the files of MoleculeNet may be
PARSED = "parsed"  # where a set is of which only the parsed form is left


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
    """A benchmark data set by name: MUTAG, REDDIT-BINARY ... or any of the TU collection, QM9, ESOL ...

    Looks in `root`, in the folder that the environment variable `INFOGRAPH_DATA` names, in the cache
    (`INFOGRAPH_CACHE`, or the platform's) and in an installed package that carries the set (MUTAG: this one,
    QM9: qm9pack), and downloads it otherwise. The parsed set is cached; a set whose counts are known is
    verified. Classes are the graph column "y", coded 0 ... C-1, with their original names as the column's
    categories. QM9 has twelve targets instead, graph columns with units (`read_qm9` lists all columns), and
    the six sets of MoleculeNet have their measured values (`MoleculeSet` lists them).

    Args:
        name: the set's name; case does not matter.
        root: a folder with `NAME.zip` or `NAME/`, searched first; PyG's layout is understood. For QM9 a
            folder with the CSV files of qm9pack.
        download: whether the network may be used: None for the names of the catalogue, True for any name of
            the TU collection, False for none. The logger "infograph" has a line for each download.
        node, edge: names of the columns that encoders see; by default all node columns and no edge column.
        units: the unit of QM9's energies: "hartree" (as stored), "eV", "kcal/mol" or "kJ/mol".
        atomisation: whether U0, U, H and G of QM9 are relative to the free atoms.
        progress: called while QM9 is parsed with molecules done and molecules in all.
    """
    entry = entry_for(name)
    if (units is not None or atomisation) and not entry.is_qm9:
        option = f"units={units!r}" if units is not None else f"atomisation={atomisation}"
        raise InvalidParameter(f"{option}: {entry.name} has no energies; leave it out, or load QM9")
    check_energy_unit(units)
    found = (
        _open_parsed(entry, path) if where == PARSED else _open(entry, path, progress)
        for where, path in _sources(entry, root)
    )
    graphs = next((each for each in found if each is not None), None)
    if graphs is None:
        graphs = _download(entry, root, download, progress)
    if atomisation:
        graphs = atomisation_energies(graphs)
    if units is not None:
        graphs = in_units(graphs, units)
    return replace(graphs, schema=graphs.schema.select("node", node).select("edge", edge))


@dataclass(frozen=True)
class DatasetInfo:
    """One line of the list of data sets; numbers are None where the set was never parsed."""

    name: str
    found: str  # its path on this machine, if it is there
    where: str  # "root", "INFOGRAPH_DATA", "cache", "PACKAGE wheel", "download" or "infograph[qm9]"
    graphs: int | None = None
    mean_nodes: float | None = None  # per graph
    mean_edges: float | None = None  # an undirected edge counts once
    classes: int | None = None
    node_labels: int | None = None
    edge_labels: int | None = None


def describe_datasets(*, root: str | Path | None = None) -> list[DatasetInfo]:
    """The known data sets, and others found on this machine: where each is, and its statistics.

    Parses nothing and never uses the network: figures come from the catalogue, or from the cache.
    """
    found = {name for _, folder in _folders(root) for name in list_tu(folder) if NAME.fullmatch(name)}
    others = {entry_for(name).name for name in found} - {entry.name for entry in CATALOGUE}
    return [_describe(entry, root) for entry in (*CATALOGUE, *map(entry_for, sorted(others)))]


def _describe(entry: Entry, root: str | Path | None) -> DatasetInfo:
    missing = "infograph[qm9]" if entry.is_qm9 else "download"
    where, path = next(_sources(entry, root), (missing, None))
    found = (entry.name, str(path or ""), "cache" if where == PARSED else where)
    counts = entry.counts
    if counts is None and path is not None:
        parsed = _open_parsed(entry, _parsed_folder(entry, path))
        counts = Counts.of(parsed) if parsed is not None else None
    if counts is None:
        return DatasetInfo(*found)
    means = (counts.nodes / counts.graphs, counts.arcs / counts.graphs / 2)
    return DatasetInfo(*found, counts.graphs, *means, counts.classes, counts.node_labels, counts.edge_labels)


class Counts(NamedTuple):
    """What a data set holds; `arcs` counts an undirected edge twice."""

    graphs: int
    nodes: int
    arcs: int
    classes: int
    node_labels: int = 0
    edge_labels: int = 0

    @classmethod
    def of(cls, graphs: GraphSet) -> Counts:
        levels: tuple[tuple[Level, str], ...] = (("graph", "y"), ("node", "label"), ("edge", "label"))
        columns = (graphs.schema.column(level, name) for level, name in levels)
        labels = (len(column.categories) if column else 0 for column in columns)
        return cls(len(graphs), graphs.n_nodes, graphs.n_edges, *labels)


@dataclass(frozen=True)
class MoleculeSet:
    """A set of MoleculeNet (Wu et al. 2018): a file of molecules with measured values, and what it must hold.

    | set      | molecules | tasks                            | usual figure | MoleculeNet's split |
    |----------|----------:|----------------------------------|--------------|---------------------|
    | ESOL     |     1,128 | log10 of solubility in mol/L     | RMSE         | random              |
    | FreeSolv |       642 | hydration free energy, kcal/mol  | RMSE         | random              |
    | BACE     |     1,513 | inhibitor or not                 | ROC-AUC      | scaffold            |
    | ClinTox  |     1,478 | approved, failed by toxicity     | ROC-AUC      | random              |
    | SIDER    |     1,427 | 27 groups of side effects        | ROC-AUC      | random              |
    | Tox21    |     7,831 | 12 assays, with gaps             | ROC-AUC      | random              |

    Three splits are in use, and figures of one say nothing of another: `random_split`, `scaffold_split`
    (balanced) and `deterministic_scaffold_split` (the order of DeepChem and OGB).
    """

    files: tuple[str, ...]  # names of the file, as chemprop and DeepChem publish it
    molecules: int
    tasks: int
    url: str
    target: tuple[str, ...] = ()  # the column of a single task by its names in these files
    unit: str = ""

    def find(self, folder: Path) -> Path | None:
        """The file in a folder of data sets, or in its folder `moleculenet`."""
        places = (
            where / f"{name}{packed}"
            for where in (folder, folder / FOLDER)
            for name in self.files
            for packed in ("", ".gz")
        )
        return next((path for path in places if path.is_file()), None)

    def read(self, path: Path) -> GraphSet:
        """The molecules; a single task is the graph column `y`, several have their own names."""
        from infograph.data.read import read_graphs

        graphs = read_graphs(path, errors="skip", stereo=False)  # some SMILES of Tox21 do not parse
        names = [column.name for column in graphs.schema.graph if column.name not in IGNORED]
        if self.tasks == 1:
            own = next((name for name in names if name in self.target), "")
            names = [own] if own else []
        rows = len(graphs) + len(graphs.rejected)
        if rows != self.molecules or len(names) != self.tasks:
            raise InvalidFile(
                f"{path} has {rows:,} molecules and {len(names)} tasks instead of {self.molecules:,} and "
                f"{self.tasks}. Replace or remove it"
            )
        smiles = graphs.schema.column("graph", "smiles")
        kept = {"smiles": graphs.graph["smiles"]}
        columns = [] if smiles is None else [smiles]
        for name in names:
            title = LABEL if self.tasks == 1 else name
            kept[title] = graphs.values("graph", name).astype(np.float64)
            columns.append(Column(title, "float", unit=self.unit))
        return replace(graphs, graph=kept, schema=graphs.schema.replace("graph", columns))


IGNORED = {"smiles", "mol_id", "stripped", "id"}
MOLECULENET = {
    "ESOL": MoleculeSet(
        ("delaney.csv", "delaney-processed.csv"),
        1_128,
        1,
        f"{DEEPCHEM}/delaney-processed.csv",
        ("logp", "measured log solubility in mols per litre"),
        "log(mol/L)",
    ),
    "FreeSolv": MoleculeSet(
        ("freesolv.csv", "SAMPL.csv"), 642, 1, f"{DEEPCHEM}/SAMPL.csv", ("freesolv", "expt"), "kcal/mol"
    ),
    "BACE": MoleculeSet(("bace.csv",), 1_513, 1, f"{DEEPCHEM}/bace.csv", ("Class",)),
    "ClinTox": MoleculeSet(("clintox.csv",), 1_478, 2, f"{DEEPCHEM}/clintox.csv.gz"),
    "SIDER": MoleculeSet(("sider.csv",), 1_427, 27, f"{DEEPCHEM}/sider.csv.gz"),
    "Tox21": MoleculeSet(("tox21.csv",), 7_831, 12, f"{DEEPCHEM}/tox21.csv.gz"),
}


@dataclass(frozen=True)
class Entry:
    """One data set: of the TU collection, of MoleculeNet, or QM9."""

    name: str
    counts: Counts | None = None  # what it must hold
    package: str = ""  # that carries it
    folder: str = ""  # in the package
    version: int = 1  # of the reader; raise it when the same files give another GraphSet

    @property
    def is_qm9(self) -> bool:
        return self.name == "QM9"

    @property
    def molecules(self) -> MoleculeSet | None:
        return MOLECULENET.get(self.name)

    @property
    def url(self) -> str:
        return self.molecules.url if self.molecules else f"{TU_COLLECTION}/{self.name}.zip"

    @property
    def file(self) -> str:
        """What it is called once it is downloaded."""
        return self.molecules.url.rpartition("/")[2] if self.molecules else f"{self.name}.zip"

    def find(self, folder: Path) -> Path | None:
        if self.molecules:
            return self.molecules.find(folder)
        return find_qm9(folder) if self.is_qm9 else find_tu(folder, self.name)

    def read(self, path: Path, progress: OnProgress | None) -> GraphSet:
        if self.molecules:
            return self.molecules.read(path)
        return read_qm9(path, progress=progress) if self.is_qm9 else read_tu(path, self.name)

    def verify(self, graphs: GraphSet, where: Path) -> GraphSet:
        """The graphs; refused if they are not this data set."""
        wrong = [
            f"{own:,} {name.replace('_', ' ')} instead of {wanted:,}"
            for name, own, wanted in zip(
                Counts._fields, Counts.of(graphs), self.counts or Counts.of(graphs), strict=True
            )
            if own != wanted
        ]
        if wrong:
            raise InvalidFile(
                f"{where} is not the {self.name} it should be: {', '.join(wrong)}. Replace or remove it"
            )
        return graphs


CATALOGUE: tuple[Entry, ...] = (
    Entry("MUTAG", Counts(188, 3_371, 7_442, 2, 7, 4), "infograph", "data/mutag"),
    Entry("PTC_MR", Counts(344, 4_915, 10_108, 2, 18, 4)),
    Entry("IMDB-BINARY", Counts(1_000, 19_773, 193_062, 2)),
    Entry("IMDB-MULTI", Counts(1_500, 19_502, 197_806, 3)),
    Entry("REDDIT-BINARY", Counts(2_000, 859_254, 1_991_016, 2)),
    Entry("REDDIT-MULTI-5K", Counts(4_999, 2_542_071, 5_947_556, 5)),
    Entry("ESOL", Counts(1_128, 14_991, 30_856, 0)),
    Entry("FreeSolv", Counts(642, 5_600, 10_770, 0)),
    Entry("BACE", Counts(1_513, 51_577, 111_536, 0)),
    Entry("ClinTox", Counts(1_478, 38_661, 82_418, 0)),
    Entry("SIDER", Counts(1_427, 48_006, 100_912, 0)),
    Entry("Tox21", Counts(7_823, 145_256, 301_802, 0)),
    Entry("QM9", Counts(130_831, 2_359_210, 4_880_720, 0), "qm9pack", "data", version=2),
)


def entry_for(name: str) -> Entry:
    """The entry of that name; case and the choice of "-" or "_" do not matter for names known here."""
    found = _known().get(_plain(name))
    if found is None and not NAME.fullmatch(name):
        raise UnknownDataset(_unknown(name))
    return found or Entry(name)


def _known() -> dict[str, Entry]:
    return {_plain(entry.name): entry for entry in (*CATALOGUE, *map(Entry, OTHERS.split()))}


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(_plain(name), _known(), n=1, cutoff=0.6)
    guess = f" Did you mean {_known()[near[0]].name}?" if near else ""
    listed = ", ".join(entry.name for entry in CATALOGUE)
    return f"no data set {name!r}.{guess} Known are {listed} and any other name of the TU collection."


def _folders(root: str | Path | None) -> list[tuple[str, Path]]:
    """The folders that may hold data files, whether they exist or not: (where, folder)."""
    chosen = {"root": root, "INFOGRAPH_DATA": os.environ.get("INFOGRAPH_DATA")}
    own = [(where, Path(folder).expanduser()) for where, folder in chosen.items() if folder]
    return [*own, ("cache", cache_folder()), ("cache", cache_folder() / "downloads")]


def _sources(entry: Entry, root: str | Path | None = None) -> Iterator[tuple[str, Path]]:
    """All places that hold the set, best first: (where, its zip, its folder, or its parsed form)."""
    places = [(where, entry.find(folder)) for where, folder in _folders(root)]
    if entry.counts is not None:  # it can be verified, so its parsed form is good where its source has gone
        parsed = (cache_folder() / "parsed" / entry.name).glob(f"v{entry.version}-*")
        places += [(PARSED, folder) for folder in sorted(parsed)]
    carrier = wheel_folder(entry)
    places += [(f"{entry.package} wheel", entry.find(carrier) if carrier is not None else None)]
    return ((where, path) for where, path in places if path is not None)


def wheel_folder(entry: Entry) -> Path | None:
    """The folder of the set inside an installed package, which is located without being imported."""
    try:
        spec = importlib.util.find_spec(entry.package) if entry.package else None
    except ValueError:  # a stand-in module without a spec
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / entry.folder


def _download(
    entry: Entry, root: str | Path | None, allowed: bool | None, progress: OnProgress | None
) -> GraphSet:
    """The set from the network, or an error that names all places where it is not."""
    is_known = _plain(entry.name) in _known()
    by_hand, cause = f"put {entry.file}", None
    if entry.is_qm9:
        by_hand = f"pip install 'infograph[qm9]', or put its files {QM9_FILES}"
        reason = "it cannot be downloaded"
    elif is_known if allowed is None else allowed:
        import pooch

        logging.getLogger("infograph").warning("Downloading %s from %s", entry.name, entry.url)
        pooch.get_logger().setLevel(logging.WARNING)  # one line for a download is enough
        try:  # the collection publishes no checksums: what a set holds is verified by its counts
            fetch = pooch.HTTPDownloader(timeout=30)
            folder = cache_folder() / "downloads"
            path = Path(pooch.retrieve(entry.url, None, entry.file, folder, downloader=fetch))
            if not entry.molecules and not zipfile.is_zipfile(path):
                path.unlink()
                raise zipfile.BadZipFile("the answer is not a complete zip file")
            return _open(entry, path, progress)
        except (OSError, zipfile.BadZipFile) as error:
            reason, cause = f"{entry.url} could not be downloaded ({error})", error
    else:
        reason = f"load_dataset({entry.name!r}, download=True) would look for {entry.url}"
    searched = [
        f"{where} {folder}{'' if folder.is_dir() else ' (no such folder)'}"
        for where, folder in _folders(root)
    ]
    if not os.environ.get("INFOGRAPH_DATA"):
        searched.append("INFOGRAPH_DATA (not set)")
    places = (
        f"Searched: {', '.join(searched)}; {reason}. To place it by hand, {by_hand} into a folder and give "
        f"that as root= or in INFOGRAPH_DATA."
    )
    if is_known:
        raise FileMissing(f"the data set {entry.name} is not on this machine. {places}") from cause
    raise UnknownDataset(f"{_unknown(entry.name)} {places}") from cause


def cache_folder() -> Path:
    """`INFOGRAPH_CACHE`, or `infograph` in the platform's folder for caches; it need not exist yet."""
    chosen = os.environ.get("INFOGRAPH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("infograph", appauthor=False, opinion=False)


def _open(entry: Entry, path: Path, progress: OnProgress | None) -> GraphSet:
    """The set at `path`, from the cache if it was parsed before; in memory where that cannot be written."""
    folder = _parsed_folder(entry, path)
    cached = _open_parsed(entry, folder)
    if cached is not None:
        return cached
    graphs = entry.verify(entry.read(path, progress), path)
    # Read-only, full, or another process was faster: its result is the same.
    with suppress(OSError, InvalidParameter, JobStopped):
        if _open_parsed(entry, folder) is None:
            shutil.rmtree(folder, ignore_errors=True)  # damaged
            save_graphs(graphs, folder)
        source = folder.name.split("-")[1]  # of which earlier states are of no use
        for outdated in set(folder.parent.glob(f"v*-{source}-*")) - {folder}:
            shutil.rmtree(outdated, ignore_errors=True)
    stored = _open_parsed(entry, folder)
    return graphs if stored is None else stored


def _parsed_folder(entry: Entry, source: Path) -> Path:
    """Where the parsed form of `source` belongs: another path, size, date or reader is another place."""
    source = source.resolve()
    pattern = QM9_FILES if entry.is_qm9 else "*.txt"
    inside = [path for depth in range(DEPTH + 1) for path in source.glob("*/" * depth + pattern)]
    files = sorted(inside) if source.is_dir() else [source]
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    texts = (str(content).encode("utf-8", "surrogateescape") for content in (source, stamps))
    digests = [hashlib.sha256(text).hexdigest()[:12] for text in texts]
    return cache_folder() / "parsed" / entry.name / "-".join([f"v{entry.version}", *digests])


def _open_parsed(entry: Entry, folder: Path) -> GraphSet | None:
    """The set in a cache folder, or None if it is not there, damaged or something else."""
    try:
        return entry.verify(open_graphs(folder), folder)
    except (InfoGraphError, OSError, ValueError, KeyError, TypeError):
        return None

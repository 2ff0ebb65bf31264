"""The benchmark data sets by name: how each is read, where it may be, and what it must look like."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infograph.data.graphset import GraphSet
from infograph.data.progress import Progress
from infograph.data.qm9.read import find_qm9, read_qm9
from infograph.data.qm9.rows import PATTERN as QM9_FILES
from infograph.data.tu.files import find_tu
from infograph.data.tu.read import read_tu
from infograph.errors import InvalidFile, UnknownDataset

TU_COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"


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


def _read_tu(path: Path, name: str, progress: Progress | None) -> GraphSet:
    return read_tu(path, name)


def _read_qm9(path: Path, name: str, progress: Progress | None) -> GraphSet:
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
    read: Callable[[Path, str, Progress | None], GraphSet] = _read_tu
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

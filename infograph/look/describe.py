"""What the graphs of a cluster have in common, in words that are tested first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc
from scipy.stats import hypergeom, rankdata

from infograph.data.graphset import GraphSet
from infograph.data.labels import class_name, count_classes, is_continuous, is_known
from infograph.data.molecules import ELEMENT
from infograph.data.vectors import data_frame, graph_values
from infograph.errors import InvalidParameter
from infograph.look.clusters import Clusters, medoid, percent
from infograph.look.molecules import has_molecules, molecules_of, recognise_atoms
from infograph.look.project import Floats
from infograph.notebook import Drawing, as_html, drawn

Kind = Literal["class", "number", "size", "node type", "group"]
MOST_CLASSES = 50  # of a column, and categories of a node column, that are looked at; the most frequent ones
FEWEST_GROUPS = 3  # graphs that have a functional group; a rarer one cannot be significant
ALPHA = 0.01  # the chance of one false finding or more of a kind, among all clusters of a call
RATIO = 1.25  # a share that is larger by less is true, perhaps, but not worth a word
LARGER = 0.64  # likelihood of the larger value at Cohen's d = 0.5, a "medium" difference
NAMED: dict[Kind, int] = {"class": 2, "size": 1, "number": 2, "node type": 3, "group": 3}  # in a line
# An ester is no ether, and an amide no amine; otherwise a molecule may count for several.
GROUPS = {
    "nitro groups": "[$([NX3](=O)=O),$([NX3+](=O)[O-])]",
    "nitroso groups": "[#6,#7][NX2]=[OX1]",
    "azo groups": "[#6][NX2]=[NX2][#6]",
    "diazo compounds or azides": "[$([#6]=[N+]=[N-]),$(N=[N+]=[N-])]",
    "nitriles": "[NX1]#[CX2]",
    "isocyanates": "N=C=[O,S]",
    "aldehydes": "[CX3H1](=O)[#6,#1]",
    "ketones": "[#6][CX3](=O)[#6]",
    "carboxylic acids": "[CX3](=O)[OX2H1,OX1-]",
    "esters": "[#6][CX3](=O)[OX2][#6]",
    "acyl halides": "[CX3](=O)[F,Cl,Br,I]",
    "amides": "[NX3;!$(N=*)][CX3](=[OX1])[#6,#1]",
    "ureas or carbamates": "[NX3][CX3](=[OX1])[NX3,OX2]",
    "imines": "[CX3;!$(C-[N,O,S])]=[NX2;!$(N-[N,O])]",
    "amidines": "[NX3][CX3]=[NX2]",
    "hydrazines": "[NX3;!$(N=*);!$(N-C=O)]-[NX3;!$(N=*)]",
    "oximes": "[CX3]=[NX2][OX2]",
    "alcohols": "[OX2H][CX4]",
    "phenols": "[OX2H]c",
    "ethers": "[OX2;!r3]([#6;!$(C=[O,N,S])])[#6;!$(C=[O,N,S])]",
    "epoxides": "C1OC1",
    "aziridines": "C1NC1",
    "peroxides": "[OX2][OX2]",
    "primary amines": "[NX3;H2;!$(N-C=[O,N,S]);!$(N-[N,O,S])][#6]",
    "secondary amines": "[NX3;H1;!$(N-C=[O,N,S]);!$(N-[N,O,S])]([#6])[#6]",
    "tertiary amines": "[NX3;H0;!$(N-C=[O,N,S]);!$(N-[N,O,S])]([#6])([#6])[#6]",
    "ammonium": "[NX4+]",
    "alkenes": "[CX3;!$(C=C-[O,N])]=[CX3]",
    "alkynes": "[CX2]#[CX2]",
    "thiols": "[SX2H]",
    "thioethers": "[SX2]([#6])[#6]",
    "sulfoxides": "[SX3](=O)([#6])[#6]",
    "sulfones": "[SX4](=O)(=O)([#6])[#6]",
    "sulfonamides": "[SX4](=O)(=O)[NX3]",
    "sulfonic acids or esters": "[SX4](=O)(=O)[OX2,OX1-]",
    "phosphates": "[PX4](=O)([O,N])[O,N]",
    "fluorides": "[#6]F",
    "chlorides": "[#6]Cl",
    "bromides": "[#6]Br",
    "iodides": "[#6]I",
    "trifluoromethyl groups": "[CX4](F)(F)F",
    "benzene rings": "c1ccccc1",
    "heteroaromatic rings": "[a;!#6;r5,r6]",
    "three-membered rings": "[r3]",
    "four-membered rings": "[r4]",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is different in a cluster.

    Attributes:
        kind: "class" of a graph column, "number" of a graph column, "size", "node type", or "group" of atoms.
        name: of the column, size ("nodes", "edges"; of molecules "atoms", "bonds"), group or node column.
        value: the class or node category; None for the others.
        inside: share (of graphs; for node types, of nodes) or median in the cluster.
        overall: the same of all graphs.
        count: graphs (for node types, nodes) of the cluster that have it; known values for a median.
        larger: how likely a graph of the cluster has more of it than another graph; 0.5 is chance. For
            classes and groups simply 1.
        p_value: corrected for everything of that kind that was tested in the call.
    """

    kind: Kind
    name: str
    value: str | None
    inside: float
    overall: float
    count: int
    larger: float
    p_value: float

    @property
    def ratio(self) -> float:
        """Inside over overall."""
        return self.inside / self.overall if self.overall else float("nan")

    @property
    def notable(self) -> bool:
        """Significant, and large enough to be worth a word."""
        if not self.p_value < ALPHA:
            return False
        if self.kind in ("number", "size"):
            return max(self.larger, 1 - self.larger) >= LARGER and self.inside != self.overall
        return self.larger > 0.5 and self.ratio >= RATIO


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster in words; `str()` is one line.

    Attributes:
        label: the cluster's number, from 1.
        size: its graphs.
        share: of all graphs.
        representative: the position of its medoid, the member nearest to all others.
        representative_id: the user's id of that graph.
        findings: what is significantly different here, and notably so, the surest first of each kind.
    """

    label: int
    size: int
    share: float
    representative: int
    representative_id: str | int
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return cluster_sentence(self.size, self.share, self.findings)


class Descriptions(list[ClusterDescription]):
    """The descriptions of all clusters, the largest first."""

    def __init__(self, graphs: GraphSet) -> None:
        super().__init__()
        self._graphs = graphs

    def to_pandas(self) -> Any:
        """A DataFrame with a row per finding, by cluster; one row without finding where there is none."""
        own = ("size", "share", "representative_id")
        rows = [
            {
                "cluster": one.label,
                **{name: getattr(one, name) for name in own},
                **(vars(found) if found else {}),
            }
            for one in self
            for found in one.findings or (None,)
        ]
        names = (*own, *(field.name for field in fields(Finding)))
        columns = {name: [row.get(name) for row in rows] for name in names}
        return data_frame(columns, [row["cluster"] for row in rows], "cluster")

    def _repr_html_(self) -> str:
        pictures = drawn(self._graphs, [each.representative for each in self])
        rows: list[tuple[str | int | Drawing, ...]] = [
            (each.label, picture, each.representative_id, str(each))
            for each, picture in zip(self, pictures, strict=True)
        ]
        return as_html("Clusters", tables=[(("cluster", "most central", "id", "what it has"), rows)])


def describe_clusters(
    clusters: Clusters, graphs: GraphSet, columns: Iterable[str] | None = None
) -> Descriptions:
    """Say what is special about every cluster, the largest first.

    Looked at are classes and numbers of graph columns, sizes, kinds of nodes (of molecules their elements)
    and, where RDKit is installed and these are molecules, functional groups. Each is compared with all
    graphs. A finding is named only if
      * it is significant at 1 % for all clusters and everything of its kind together (Holm's correction), by
        the hypergeometric test for classes and groups, and Mann and Whitney's rank test, with graphs as
        observations, for numbers, sizes and shares of nodes; and
      * it is large: a share at least 1.25 times that of all graphs, or a "medium" shift of numbers.

    Labels that the encoder never saw are evidence from outside. Sizes and nodes are what vectors are made
    from, so that clusters differ in them is no discovery; the tests only say which differences are solid.

    Args:
        clusters: of these graphs, in this order.
        graphs: the graphs.
        columns: graph columns to describe; None for all that are no texts.
    """
    if len(clusters.labels) != len(graphs):
        raise InvalidParameter(
            f"clusters of {len(clusters.labels):,} graphs, but {len(graphs):,} graphs came"
        )
    graphs = recognise_atoms(graphs)
    if columns is None:
        columns = [c.name for c in graphs.schema.graph if c.kind != "text" and c.width == 1]
    values = {name: graph_values(graphs, name) for name in columns}
    tested = _corrected(list(_candidates(graphs, values, clusters))) if len(clusters) else []
    found = Descriptions(graphs)
    for label, size in enumerate(clusters.sizes, 1):
        members = clusters.members(label)
        centre = int(members[medoid(clusters.points[members])])
        own = (row[label - 1] for row in tested)
        notable = sorted((f for f in own if f.notable), key=lambda f: f.p_value)
        own_id = graphs.ids[[centre]].tolist()[0]
        found.append(ClusterDescription(label, size, size / len(graphs), centre, own_id, tuple(notable)))
    return found


def edge_counts(graphs: GraphSet) -> Floats:
    """Edges per graph; a pair of opposite arcs, and a self-loop, is one. (G,)."""
    source, target = graphs.edge_index
    keys = np.minimum(source, target) * max(graphs.n_nodes, 1) + np.maximum(source, target)
    counted = source <= target
    counted[~counted] = ~np.isin(keys[~counted], keys[source < target])  # an arc without its opposite
    return np.bincount(graphs.edge_graph[counted], minlength=len(graphs)).astype(np.float64)


def _candidates(
    graphs: GraphSet, values: dict[str, NDArray[Any]], clusters: Clusters
) -> Iterator[list[Finding]]:
    """What is looked at: per candidate one finding for each cluster, not yet corrected."""
    labels, n = clusters.codes, len(clusters)
    for name, column in values.items():
        known = is_known(column)
        if is_continuous(column):
            yield number_findings("number", name, column[known].astype(np.float64), labels[known], n)
            continue
        spelled = np.array([class_name(value) for value in column[known].tolist()], dtype=object)
        for value, _ in count_classes(column)[:MOST_CLASSES]:
            yield share_findings("class", name, value, spelled == value, labels[known], n)
    molecules = has_molecules(graphs)
    sizes = (graphs.sizes.astype(np.float64), edge_counts(graphs))
    for name, counts in zip(("atoms", "bonds") if molecules else ("nodes", "edges"), sizes, strict=True):
        yield number_findings("size", name, counts, labels, n)
    # Of molecules only the elements: charges and hydrogens follow from them and from the groups.
    element = [c for c in graphs.schema.node if c.name == ELEMENT.name and c.kind == "categorical"]
    for c in element or [c for c in graphs.schema.features("node") if c.kind == "categorical"]:
        codes = np.asarray(graphs.node[c.name])
        frequency = np.bincount(codes, minlength=c.unknown)[: c.unknown]
        for code in np.argsort(-frequency, kind="stable")[:MOST_CLASSES]:
            if frequency[code]:
                own = np.bincount(graphs.node_graph[codes == code], minlength=len(graphs))
                value = class_name(c.categories[code])
                yield node_type_findings(c.name, value, own, graphs.sizes, labels, n)
    if molecules:
        for name, has_group in zip(GROUPS, _groups(graphs).T, strict=True):
            if has_group.sum() >= FEWEST_GROUPS:
                yield share_findings("group", name, None, has_group, labels, n)


def _groups(graphs: GraphSet) -> NDArray[np.bool_]:
    """Which molecule has which functional group. (G, groups). 40 seconds for all of QM9."""
    from rdkit import Chem

    patterns = [Chem.MolFromSmarts(smarts) for smarts in GROUPS.values()]
    found = [[mol.HasSubstructMatch(pattern) for pattern in patterns] for mol in molecules_of(graphs)]
    return np.array(found, bool)


def share_findings(
    kind: Kind, name: str, value: str | None, marked: NDArray[np.bool_], labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Is it in more graphs of a cluster than chance would put there? Fisher's one-sided exact test.

    The chance that a draw without replacement has at least as many marked graphs,
        p = sum_{i >= inside} C(all marked, i) C(total - all marked, drawn - i) / C(total, drawn)
    """
    drawn, inside = _sums(labels, n), _sums(labels, n, marked)
    p_values = hypergeom.sf(inside - 1, len(marked), marked.sum(), drawn)
    overall = _share(marked.sum(), len(marked))
    return [
        Finding(kind, name, value, _share(k, m), overall, int(k), 1.0, float(p))
        for k, m, p in zip(inside, drawn, p_values, strict=True)
    ]


def number_findings(
    kind: Kind, name: str, values: Floats, labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Are numbers larger or smaller in a cluster than elsewhere?"""
    members = [values[labels == label] for label in range(n)]
    overall, *medians = (float(np.median(v)) if len(v) else float("nan") for v in (values, *members))
    return [
        Finding(kind, name, None, median, overall, len(own), float(more), float(p))
        for median, own, more, p in zip(medians, members, *rank_sum(values, labels, n), strict=True)
    ]


def node_type_findings(
    name: str, value: str, counts: NDArray[Any], sizes: NDArray[Any], labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Is a kind of node, with `counts` (G,) of the `sizes` (G,) nodes, more frequent in a cluster?

    The ratio is of shares of nodes. The test compares the shares of whole graphs by rank, because nodes of
    one graph are not independent: one huge graph is one observation.
    """
    tests = rank_sum(counts / np.maximum(sizes, 1), labels, n)
    inside, nodes = _sums(labels, n, counts), _sums(labels, n, sizes)
    overall = _share(counts.sum(), sizes.sum())
    return [
        Finding("node type", name, value, _share(k, m), overall, int(k), float(more), float(p))
        for k, m, more, p in zip(inside, nodes, *tests, strict=True)
    ]


def _sums(labels: NDArray[np.int64], n: int, values: NDArray[Any] | None = None) -> Floats:
    """Sums of values, or graphs, by cluster. (n,)."""
    known = labels >= 0
    weights = np.ones(known.sum()) if values is None else values[known]
    return np.asarray(np.bincount(labels[known], weights=weights, minlength=n), np.float64)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def rank_sum(values: Floats, labels: NDArray[np.int64], n_clusters: int) -> tuple[Floats, Floats]:
    """Mann and Whitney's test of each cluster against all other graphs, by the normal approximation.

    Values (G,) are ranked once for all clusters; ties have their mean rank and reduce the variance.

    Returns:
        (K,) how likely a graph of the cluster has a larger value than another graph (a tie is half; 0.5 is
        no difference), and (K,) two-sided p-values; 0.5 and 1 where there is nothing to compare.
    """
    total, drawn, sums = len(values), _sums(labels, n_clusters), _sums(labels, n_clusters, rankdata(values))
    pairs = drawn * (total - drawn)
    wins = sums - drawn * (drawn + 1) / 2
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    tied = (ties**3 - ties).sum() / (total * (total - 1.0)) if total > 1 else 0.0
    deviation = np.sqrt(np.maximum(pairs / 12 * (total + 1 - tied), 0.0))
    usable = deviation > 0
    distance = np.maximum(np.abs(wins - pairs / 2) - 0.5, 0.0)  # continuity correction
    z = np.divide(distance, deviation, out=np.zeros(n_clusters), where=usable)
    larger = np.divide(wins, pairs, out=np.full(n_clusters, 0.5), where=usable)
    return larger, np.where(usable, erfc(z / np.sqrt(2)), 1.0)


def _corrected(candidates: list[list[Finding]]) -> list[list[Finding]]:
    """The same with p-values corrected, each kind by itself: fifty groups do not silence the labels."""
    table = np.array([[finding.p_value for finding in row] for row in candidates])
    for kind in {row[0].kind for row in candidates}:
        family = [place for place, row in enumerate(candidates) if row[0].kind == kind]
        table[family] = holm(table[family].ravel()).reshape(len(family), -1)
    return [
        [replace(finding, p_value=p) for finding, p in zip(row, p_values, strict=True)]
        for row, p_values in zip(candidates, table.tolist(), strict=True)
    ]


def holm(p_values: Floats) -> Floats:
    """Holm's (1979) correction: below alpha afterwards, with at most alpha for one mistake or more in all."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def cluster_sentence(size: int, share: float, findings: Sequence[Finding]) -> str:
    """Such as "312 graphs (8 %): y = 1 (94 %, 60 % of all), larger than most (23 nodes, median 17), more N".

    Of all `findings` the surest of each kind are named; of a column only one class.
    """
    told: dict[Kind, dict[tuple[str, str | None], str]] = {kind: {} for kind in NAMED}
    for f in findings:
        told[f.kind].setdefault((f.name, None if f.kind == "class" else f.value), _words(f))
    for nodes, edges in (("nodes", "edges"), ("atoms", "bonds")):  # edges only where nodes say nothing
        if (nodes, None) in told["size"]:
            told["size"].pop((edges, None), None)
    shown = {kind: list(found.values())[: NAMED[kind]] for kind, found in told.items()}
    *first, last = shown["node type"] or [""]
    shown["node type"] = [f"more {', '.join(first)}{' and ' * bool(first)}{last}"] * bool(last)
    parts = [part for words in shown.values() for part in words]
    head = f"{size:,} {'graph' if size == 1 else 'graphs'} ({percent(share)})"
    return f"{head}: {', '.join(parts) or 'no significant difference from the others'}"


def _words(f: Finding) -> str:
    times = f"{f.ratio:.0f}x" if f.ratio >= 9.5 else f"{f.ratio:.1f}x".replace(".0x", "x")
    more = f.larger > 0.5
    if f.kind == "class":
        return f"{f.name} = {f.value} ({percent(f.inside)}, {percent(f.overall)} of all)"
    if f.kind == "number":
        return f"{'high' if more else 'low'} {f.name} (median {f.inside:.4g}, {f.overall:.4g} of all)"
    if f.name in ("edges", "bonds") and f.kind == "size":
        return f"{'more' if more else 'fewer'} {f.name} than most ({f.inside:.4g}, median {f.overall:.4g})"
    if f.kind == "size":
        return (
            f"{'larger' if more else 'smaller'} than most ({f.inside:.4g} {f.name}, median {f.overall:.4g})"
        )
    if f.kind == "node type":
        return f"{f.value if f.name == ELEMENT.name else f'{f.name} {f.value}'} ({times})"
    return f"{f.name} {times}"

"""What the graphs of a cluster have in common, in words that are tested first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.embeddings import graph_values
from infograph.data.graphset import GraphSet
from infograph.data.label_columns import class_name, count_classes, is_continuous, is_known
from infograph.errors import InvalidParameter
from infograph.understand.clusters import Clusters
from infograph.understand.findings import (
    Finding,
    correct,
    node_type_findings,
    number_findings,
    share_findings,
)
from infograph.understand.groups import group_table
from infograph.understand.medoid import medoid
from infograph.understand.named_atoms import recognise_atoms
from infograph.understand.sentence import cluster_sentence

MOST = 50  # classes of a column, and categories of a node column, that are looked at; the most frequent ones
FEWEST = 3  # graphs that have a functional group; a rarer one cannot be significant
ELEMENT = "element"


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster in words; `str()` is one line.

    Attributes:
        label: the cluster's number.
        size: its graphs.
        share: of all graphs.
        representative: the position of its medoid, the member nearest to all others.
        representative_id: the user's id of that graph.
        nodes, edges: medians in the cluster (an undirected edge counts once).
        majority: class column -> its most frequent class here and that class's share of the known values.
        medians: number column -> its median here and among all graphs.
        findings: what is significantly different here, and notably so, the surest first of each kind.
    """

    label: int
    size: int
    share: float
    representative: int
    representative_id: str | int
    nodes: float
    edges: float
    majority: dict[str, tuple[str, float]]
    medians: dict[str, tuple[float, float]]
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return cluster_sentence(self.size, self.share, self.findings)


def describe_clusters(
    clusters: Clusters, graphs: GraphSet, columns: Iterable[str] | None = None
) -> list[ClusterDescription]:
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

    Raises:
        InvalidParameter: clusters of another number of graphs.
        SchemaMismatch: there is no such column.
    """
    if len(clusters.labels) != len(graphs):
        raise InvalidParameter(
            f"clusters of {len(clusters.labels):,} graphs, but {len(graphs):,} graphs came: give those whose "
            f"vectors were clustered, in the same order"
        )
    named = recognise_atoms(graphs)
    chosen = _columns(named) if columns is None else list(columns)
    values = {name: graph_values(named, name) for name in chosen}
    edges = edge_counts(named)
    tested = correct(_candidates(named, values, edges, clusters), len(clusters))
    return [
        _describe(clusters, named, values, edges, label, findings) for label, findings in enumerate(tested)
    ]


def _columns(graphs: GraphSet) -> list[str]:
    return [c.name for c in graphs.schema.graph if c.kind != "text" and c.width == 1]


def _candidates(
    graphs: GraphSet, values: dict[str, NDArray[Any]], edges: NDArray[np.float64], clusters: Clusters
) -> Iterator[list[Finding]]:
    """Everything that is looked at: per candidate one finding per cluster, not yet corrected."""
    labels, n = clusters.labels, len(clusters)
    for name, column in values.items():
        known = is_known(column)
        if is_continuous(column):
            yield number_findings("number", name, column[known].astype(np.float64), labels[known], n)
            continue
        spelled = np.array([class_name(value) for value in column[known].tolist()], dtype=object)
        for value, _ in count_classes(column)[:MOST]:
            yield share_findings("class", name, value, spelled == value, labels[known], n)
    yield number_findings("size", "nodes", graphs.sizes.astype(np.float64), labels, n)
    yield number_findings("size", "edges", edges, labels, n)
    for name, value, counts in node_counts(graphs):
        yield node_type_findings(name, value, counts, graphs.sizes, labels, n)
    groups = group_table(graphs)
    for name, marked in zip(groups[0], groups[1].T, strict=True) if groups else ():
        if marked.sum() >= FEWEST:
            yield share_findings("group", name, None, marked, labels, n)


def node_counts(graphs: GraphSet) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Node column, category, and such nodes per graph (G,), of the categories that occur.

    Of molecules only the elements: charges and hydrogens follow from them and from the groups.
    """
    columns = [c for c in graphs.schema.node if c.kind == "categorical" and (c.used or c.name == ELEMENT)]
    columns = [c for c in columns if c.name == ELEMENT] or columns
    owner = graphs.node_graph
    for column in columns:
        codes = np.asarray(graphs.node[column.name])
        frequency = np.bincount(codes, minlength=column.unknown)[: column.unknown]
        for code in np.argsort(-frequency, kind="stable")[:MOST]:
            if frequency[code]:
                counts = np.bincount(owner[codes == code], minlength=len(graphs))
                yield column.name, class_name(column.categories[code]), counts


def edge_counts(graphs: GraphSet) -> NDArray[np.float64]:
    """Edges per graph; a pair of opposite arcs, and a self-loop, is one. (G,)."""
    source, target = graphs.edge_index
    keys = np.minimum(source, target) * max(graphs.n_nodes, 1) + np.maximum(source, target)
    there, back = source <= target, source > target
    counts = np.bincount(graphs.edge_graph[there], minlength=len(graphs)).astype(np.float64)
    if np.array_equal(np.sort(keys[back]), np.sort(keys[source < target])):
        return counts
    lonely = back & ~np.isin(keys, keys[source < target])  # an arc without its opposite
    return counts + np.bincount(graphs.edge_graph[lonely], minlength=len(graphs))


def _describe(
    clusters: Clusters,
    graphs: GraphSet,
    values: dict[str, NDArray[Any]],
    edges: NDArray[np.float64],
    label: int,
    findings: list[Finding],
) -> ClusterDescription:
    members = clusters.members(label)
    centre = int(members[medoid(clusters.points[members])])
    majority = {}
    for name in (name for name, column in values.items() if not is_continuous(column)):
        classes = count_classes(values[name][members])
        if classes:
            majority[name] = (classes[0][0], classes[0][1] / sum(count for _, count in classes))
    return ClusterDescription(
        label=label,
        size=len(members),
        share=len(members) / len(graphs),
        representative=centre,
        representative_id=graphs.ids[centre].item()
        if hasattr(graphs.ids[centre], "item")
        else graphs.ids[centre],
        nodes=float(np.median(graphs.sizes[members])),
        edges=float(np.median(edges[members])),
        majority=majority,
        medians={f.name: (f.inside, f.overall) for f in findings if f.kind == "number"},
        findings=tuple(sorted((f for f in findings if f.notable), key=lambda finding: finding.p_value)),
    )

"""What sets clusters apart: every candidate is tested, the correction counts them all, few are left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.understand.statistics import enrichment_p, holm, rank_sum

Kind = Literal["class", "number", "size", "node type", "group"]
ALPHA = 0.01  # the chance of one false finding or more of a kind, among all clusters of a call
RATIO = 1.25  # a share that is larger by less is true, perhaps, but not worth a word
LARGER = 0.64  # likelihood of the larger value at Cohen's d = 0.5, a "medium" difference


@dataclass(frozen=True)
class Finding:
    """One thing that is different in a cluster.

    Attributes:
        kind: "class" of a graph column, "number" of a graph column, "size", "node type", or "group" of atoms.
        name: of the column, size ("nodes", "edges") or functional group; of node types the node column.
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


Tested = list[list[Finding]]  # per cluster


def share_findings(
    kind: Kind, name: str, value: str | None, marked: NDArray[np.bool_], labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Is it in more graphs of a cluster than chance would put there? One candidate per cluster.

    Args:
        kind, name, value: what it is.
        marked: (g,) which of the graphs that can have it do.
        labels: (g,) their clusters.
        n: clusters.
    """
    known = labels >= 0
    drawn = np.bincount(labels[known], minlength=n)
    inside = np.bincount(labels[known & marked], minlength=n)
    total, all_marked = len(marked), int(marked.sum())
    p_values = enrichment_p(inside, drawn, np.asarray(all_marked), total)
    return [
        Finding(kind, name, value, _share(k, m), _share(all_marked, total), int(k), 1.0, float(p))
        for k, m, p in zip(inside, drawn, p_values, strict=True)
    ]


def number_findings(
    kind: Kind, name: str, values: NDArray[np.float64], labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Are numbers larger or smaller in a cluster than elsewhere? One candidate per cluster."""
    larger, p_values = rank_sum(values, labels, n)
    overall = float(np.median(values)) if len(values) else float("nan")
    members = [values[labels == label] for label in range(n)]
    medians = [float(np.median(own)) if len(own) else float("nan") for own in members]
    return [
        Finding(kind, name, None, median, overall, len(own), float(more), float(p))
        for median, own, more, p in zip(medians, members, larger, p_values, strict=True)
    ]


def node_type_findings(
    name: str, value: str, counts: NDArray[Any], sizes: NDArray[Any], labels: NDArray[np.int64], n: int
) -> list[Finding]:
    """Is a kind of node more frequent in the graphs of a cluster? One candidate per cluster.

    The ratio is of shares of nodes. The test compares the shares of whole graphs by rank, because nodes of
    one graph are not independent: one huge graph is one observation.

    Args:
        name, value: the node column and category.
        counts: (G,) such nodes per graph.
        sizes: (G,) nodes per graph.
        labels: (G,) clusters.
        n: clusters.
    """
    shares = counts / np.maximum(sizes, 1)
    larger, p_values = rank_sum(shares, labels, n)
    known = labels >= 0
    inside = np.bincount(labels[known], weights=counts[known], minlength=n)
    nodes = np.bincount(labels[known], weights=sizes[known], minlength=n)
    overall = _share(counts.sum(), sizes.sum())
    return [
        Finding("node type", name, value, _share(k, m), overall, int(k), float(more), float(p))
        for k, m, more, p in zip(inside, nodes, larger, p_values, strict=True)
    ]


def correct(candidates: Iterable[list[Finding]], n: int) -> Tested:
    """Candidates, each a list of one finding per cluster, -> per cluster with corrected p-values.

    Each kind of finding is a family of its own, so that fifty functional groups do not silence the labels.
    """
    rows = [row for row in candidates if n]
    table = np.array([[finding.p_value for finding in row] for row in rows]).reshape(len(rows), n)
    for kind in {row[0].kind for row in rows}:
        family = [place for place, row in enumerate(rows) if row[0].kind == kind]
        table[family] = holm(table[family].ravel()).reshape(len(family), n)
    return [
        [replace(row[label], p_value=float(p)) for row, p in zip(rows, table[:, label], strict=True)]
        for label in range(n)
    ]


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0

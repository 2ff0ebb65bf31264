"""Groups of graphs with similar vectors, found without saying how many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.cluster import HDBSCAN
from threadpoolctl import threadpool_limits

from infograph.data.graphset import IntArray
from infograph.errors import InvalidParameter
from infograph.look.project import Floats, principal_components
from infograph.notebook import as_html
from infograph.progress import OnProgress

COMPONENTS = 5  # of 3, 5 and 10 the one with the fewest graphs in no cluster on MUTAG and IMDB-BINARY
NEIGHBOURS = 5  # HDBSCAN's min_samples: how many neighbours make a place dense
SAMPLE = 30_000  # graphs that are clustered themselves; time grows with their square
SMALLEST = 5  # of any cluster
NOISE = -1
REACHED = 95  # per cent of a cluster's members have their nearest fellow within its reach
MEDOID_SAMPLE = 1000  # members to which distances are summed, spread evenly over a larger cluster


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which graphs belong together.

    Attributes:
        labels: (G,) the cluster of every graph, 0 for the largest; -1 for graphs in none.
        probability: (G,) how central a graph is in its cluster, 1 at most; 0 in none.
        sizes: graphs per cluster, the largest first.
        points: (G, c) the principal components in which they were found.
        min_size: graphs that a cluster was to have at least; in proportion where a sample was clustered.
        n_clustered: graphs that were clustered themselves; the others joined the nearest cluster.
    """

    labels: NDArray[np.int64]
    probability: Floats
    sizes: tuple[int, ...]
    points: Floats
    min_size: int
    n_clustered: int

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_noise(self) -> int:
        """Graphs in no cluster."""
        return len(self.labels) - sum(self.sizes)

    def members(self, label: int) -> NDArray[np.intp]:
        """Positions of the graphs of one cluster (-1: of none)."""
        return np.flatnonzero(self.labels == label)

    def _repr_html_(self) -> str:
        rows = [
            (label, f"{size:,}", f"{size / len(self.labels):.0%}") for label, size in enumerate(self.sizes)
        ]
        return as_html(str(self), tables=[(("cluster", "graphs", "share"), rows)] if rows else ())

    def __str__(self) -> str:
        total, none = len(self.labels), self.n_noise
        if not self.sizes:
            return f"no clusters among {total:,} graphs"
        count = f"{len(self)} {'cluster' if len(self) == 1 else 'clusters'}"
        span = f"{self.sizes[-1]:,} to {self.sizes[0]:,}" if len(self) > 1 else f"{self.sizes[0]:,}"
        return f"{count} of {span} graphs; {none:,} of {total:,} ({none / total:.0%}) in none"


def find_clusters(
    vectors: NDArray[Any],
    *,
    components: int = COMPONENTS,
    min_size: int | None = None,
    random_state: int = 0,
    progress: OnProgress | None = None,
) -> Clusters:
    """Find groups of graphs with similar vectors by HDBSCAN (Campello et al. 2013).

    Columns are standardised and reduced to principal components. A cluster is a place that is denser than
    what lies around it and has at least `min_size` graphs; graphs elsewhere are in none, and so are graphs
    that only seem to be in a cluster because what is odd about them lies in a direction that the components
    leave out. The number of clusters is found, and may be 0.

    Of more than 30,000 graphs a random sample of 30,000 is clustered, because the time grows with the square
    of their number. Every other graph joins the cluster of the nearest graph of the sample that is in one, if
    that is as near as members of that cluster are to each other (19 of 20 of them); else it is in none.

    Args:
        vectors: one row per graph, finite.
        components: principal components. With many, all graphs are about equally far apart.
        min_size: graphs of a cluster at least, counted in proportion where a sample is clustered; None takes
            the square root of G, at least 5.
        random_state: seed of the sample. The same vectors and seed give the same clusters.
        progress: called with graphs done and graphs in all.
    """
    coordinates = principal_components(vectors, components, residual=True)  # (G, c + 1)
    points, distance = coordinates[:, :-1], coordinates[:, -1]
    total = len(points)
    min_size = max(SMALLEST, math.isqrt(total)) if min_size is None else min_size
    if min_size < 2:
        raise InvalidParameter(f"min_size={min_size}: expected 2 or more graphs, or None")
    tell = progress or (lambda done, total: None)
    tell(0, total)
    chosen = np.arange(total)
    if total > SAMPLE:
        chosen = np.sort(np.random.default_rng(random_state).choice(total, SAMPLE, replace=False))
    labels, probability = np.full(total, NOISE, np.int64), np.zeros(total)
    in_sample = max(2, round(min_size * len(chosen) / total))
    if len(chosen) >= in_sample and points.shape[1]:
        found = HDBSCAN(
            min_cluster_size=in_sample,
            min_samples=min(NEIGHBOURS, len(chosen)),
            algorithm="kd_tree",  # O(G) memory; "brute" holds all distances
            n_jobs=1,
            copy=True,
        )
        with threadpool_limits(1):
            found.fit(points[chosen])
        labels[chosen], probability[chosen] = found.labels_, found.probabilities_
    tell(len(chosen), total)
    if len(chosen) < total:
        _join_nearest(points, np.setdiff1d(np.arange(total), chosen), labels, probability)
        tell(total, total)
    odd = _are_odd(labels, distance)
    labels[odd], probability[odd] = NOISE, 0.0
    names, first, counts = np.unique(labels[labels != NOISE], return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))  # the largest first; of equal ones the one whose first graph is
    number = {int(names[place]): rank for rank, place in enumerate(order)}
    labels = np.array([number.get(int(label), NOISE) for label in labels], np.int64)
    return Clusters(labels, probability, tuple(counts[order].tolist()), points, min_size, len(chosen))


def _join_nearest(points: Floats, rest: IntArray, labels: NDArray[np.int64], probability: Floats) -> None:
    """Give the rest label and probability of the nearest point in a cluster, if that reaches so far."""
    inside = np.flatnonzero(labels != NOISE)
    if not len(inside):
        return
    reach = np.zeros(int(labels.max()) + 1)
    for label in np.unique(labels[inside]):
        members = points[labels == label]
        distances = cKDTree(members).query(members, k=[2])[0][:, 0]
        reach[label] = np.percentile(distances[np.isfinite(distances)], REACHED)
    distance, nearest = cKDTree(points[inside]).query(points[rest])
    near = inside[nearest]
    reached = distance <= reach[labels[near]]
    labels[rest[reached]], probability[rest[reached]] = labels[near[reached]], probability[near[reached]]


def _are_odd(labels: NDArray[np.int64], distance: Floats) -> NDArray[np.bool_]:
    """Members much farther from the plane of the components than their cluster: Tukey's outer fence. (G,).

    Where members are equal there is no spread of their own, and that of all graphs is allowed instead.
    """
    spread = float(np.subtract(*np.percentile(distance, [75, 25])))
    odd = np.zeros(len(labels), bool)
    for label in np.unique(labels[labels != NOISE]):
        members = np.flatnonzero(labels == label)
        lower, upper = np.percentile(distance[members], [25, 75])
        odd[members] = distance[members] > upper + max(3 * (upper - lower), spread)
    return odd


def medoid(points: Floats) -> int:
    """The position of the point with the smallest sum of distances to all points (to 1,000 of many)."""
    others = points
    if len(points) > MEDOID_SAMPLE:
        others = points[np.linspace(0, len(points) - 1, MEDOID_SAMPLE).astype(np.int64)]
    sums = np.zeros(len(points))
    for other in others:
        sums += np.sqrt(((points - other) ** 2).sum(axis=1))
    return int(sums.argmin())

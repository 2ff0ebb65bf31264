"""Groups of graphs with similar vectors: as many as come again from half of the graphs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from infograph.data.vectors import data_frame
from infograph.errors import InvalidParameter
from infograph.look.project import Floats, principal_components
from infograph.notebook import as_html
from infograph.progress import OnProgress

COMPONENTS = 5
MOST = 12  # clusters: as many as a map has colours
ROOM = 20  # graphs per cluster, in the mean, at least
SMALLEST = 5  # graphs of any cluster
AGREED = 0.7  # normally distributed vectors reach 0.52, the sets of benchmarks/maps.py 0.7 to 1
AGAIN = 0.6  # below, a cluster should not be trusted (Hennig 2007)
SPLITS, STARTS = 15, 3  # times that the graphs are halved, and beginnings of k-means
SAMPLE = 4_000  # graphs of which the number of clusters is chosen
NOISE = -1
MEDOID_SAMPLE = 1000  # members to which distances are summed, spread evenly over a larger cluster


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which graphs belong together.

    Attributes:
        labels: (G,) the cluster of every graph, 1 for the largest; -1 for graphs in none.
        probability: (G,) how clearly a graph belongs there, from 1 at the centre to 0 half way to the next.
        sizes: graphs per cluster, the largest first.
        points: (G, c) the principal components in which they were found.
        agreement: adjusted Rand index of divisions by two halves of the graphs; 1 is the same, 0 chance.
    """

    labels: NDArray[np.int64]
    probability: Floats
    sizes: tuple[int, ...]
    points: Floats
    agreement: float = float("nan")

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def codes(self) -> NDArray[np.int64]:
        """(G,) clusters counted from 0, as positions in `sizes`; -1 for graphs in none."""
        return np.where(self.labels == NOISE, NOISE, self.labels - 1)

    @property
    def n_noise(self) -> int:
        """Graphs in no cluster."""
        return len(self.labels) - sum(self.sizes)

    def members(self, label: int) -> NDArray[np.intp]:
        """Positions of the graphs of one cluster (-1: of none)."""
        return np.flatnonzero(self.labels == label)

    def _repr_html_(self) -> str:
        shares = [percent(size / len(self.labels)) for size in self.sizes]
        rows = [
            (label, f"{size:,}", share)
            for label, (size, share) in enumerate(zip(self.sizes, shares, strict=True), 1)
        ]
        return as_html(str(self), tables=[(("cluster", "graphs", "share"), rows)] if rows else ())

    def __str__(self) -> str:
        total, none = len(self.labels), self.n_noise
        if not self.sizes:
            return f"no clusters among {total:,} graphs"
        count = f"{len(self)} {'cluster' if len(self) == 1 else 'clusters'}"
        span = f"{self.sizes[-1]:,} to {self.sizes[0]:,}" if len(self) > 1 else f"{self.sizes[0]:,}"
        share = f" ({percent(none / total)})" if none else ""
        return f"{count} of {span} graphs; {none:,} of {total:,}{share} in none"

    def to_pandas(self, ids: Sequence[Any] | NDArray[Any] | None = None) -> Any:
        """A DataFrame with `cluster` (missing in none) and `probability`; `ids`, or positions, as index."""
        index = range(len(self.labels)) if ids is None else ids
        found = data_frame({"cluster": self.labels, "probability": self.probability}, index)
        found["cluster"] = found["cluster"].astype("Int64").mask(self.labels == NOISE)
        return found


def find_clusters(
    vectors: NDArray[Any],
    *,
    n_clusters: int | None = None,
    components: int = COMPONENTS,
    random_state: int = 0,
    progress: OnProgress | None = None,
) -> Clusters:
    """Divide graphs into groups with similar vectors by k-means, or find that there are none.

    Columns are standardised and reduced to principal components. The number of clusters is the largest, up to
    12 and with 20 graphs for each, that comes again from half of the graphs. They are halved 15 times, and
    all graphs divided by what k-means learned on either half: the two divisions must agree (adjusted Rand
    index of 0.7 or more), and every cluster be found again by both (Jaccard index of 0.6 or more, Hennig
    2007), in the mean. Where no number does, there are no clusters: normally distributed vectors have none.
    A graph much farther from its centre than the others (Tukey's outer fence) is in none, and so are groups
    of fewer than 5. All others are in one, and `probability` says how clearly: this is a division that comes
    again, not a proof of gaps between clusters.

    Not HDBSCAN: of molecules, which lie about as dense everywhere, it leaves many in no cluster or puts most
    into one, and of small sets another sample gives other clusters (docs/explorer.md has the figures).

    Args:
        vectors: one row per graph, finite.
        n_clusters: how many, small ones too; None chooses, of more than 4,000 graphs by 4,000 of them.
        components: principal components. With many, all graphs are about equally far apart.
        random_state: seed. The same vectors and seed give the same clusters.
        progress: called with graphs done and graphs in all.
    """
    coordinates = principal_components(vectors, components, residual=True)  # (G, c + 1)
    points, total = coordinates[:, :-1], len(coordinates)
    if n_clusters is not None and not 1 <= n_clusters <= total:
        raise InvalidParameter(
            f"n_clusters={n_clusters}: expected 1 to {total:,}, the number of graphs, or None"
        )
    tell = progress or (lambda done, total: None)
    tell(0, total)
    rng = np.random.default_rng(random_state)
    some = points if total <= SAMPLE else points[np.sort(rng.choice(total, SAMPLE, replace=False))]
    distinct = len(np.unique(some.round(6), axis=0)) if points.shape[1] else 0
    most = min(MOST, total // ROOM, distinct)
    numbers = range(2, most + 1) if n_clusters is None else [min(n_clusters, distinct)] if distinct else []
    labels, probability = np.full(total, NOISE, np.int64), np.zeros(total)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a half has fewer different points than centres
        agreed = {k: _agreement(some, k, random_state) for k in numbers}
        chosen = [k for k, (rand, worst) in agreed.items() if rand >= AGREED and worst >= AGAIN]
        chosen = chosen if n_clusters is None else list(agreed)
        if chosen:
            found = KMeans(max(chosen), n_init=STARTS, random_state=random_state).fit(points)
            distances = found.transform(points)  # (G, K)
            labels, probability = found.labels_.astype(np.int64), _margin(distances)
            far = np.hypot(distances.min(axis=1), coordinates[:, -1])
            labels[_are_odd(labels, far)] = NOISE
    tell(total, total)
    names, first, counts = np.unique(labels[labels != NOISE], return_index=True, return_counts=True)
    order = [o for o in np.lexsort((first, -counts)) if counts[o] >= SMALLEST or n_clusters is not None]
    number = {int(names[place]): rank for rank, place in enumerate(order, 1)}  # the largest first
    labels = np.array([number.get(int(label), NOISE) for label in labels], np.int64)
    sizes = tuple(counts[order].tolist())
    agreement = agreed[max(chosen)][0] if chosen else float("nan")
    return Clusters(labels, np.where(labels == NOISE, 0.0, probability), sizes, points, agreement)


def _agreement(points: Floats, k: int, random_state: int) -> tuple[float, float]:
    """How well k clusters come again from half of the points, in the mean over several halvings.

    The adjusted Rand index of both divisions, and the Jaccard index of the cluster that is found again worst.
    """
    if len(points) < 2 * k:  # a half has no k points
        return float("nan"), float("nan")
    own = KMeans(k, n_init=STARTS, random_state=random_state).fit_predict(points)
    rand, again = [], []
    for split in range(SPLITS):
        order = np.random.default_rng([random_state, split]).permutation(len(points))
        halves = (order[: len(order) // 2], order[len(order) // 2 :])
        fits = [KMeans(k, n_init=STARTS, random_state=split).fit(points[half]) for half in halves]
        labels = [fit.predict(points) for fit in fits]
        rand.append(adjusted_rand_score(*labels))
        for other in labels:
            common = np.bincount(own.astype(np.int64) * k + other, minlength=k * k).reshape(k, k)
            either = common.sum(axis=1)[:, None] + common.sum(axis=0) - common
            again.append((common / np.maximum(either, 1)).max(axis=1))  # (K,)
    return float(np.mean(rand)), float(np.mean(again, axis=0).min())


def _margin(distances: Floats) -> Floats:
    """1 - nearest / second nearest centre. (G, K) -> (G,)."""
    if distances.shape[1] < 2:
        return np.ones(len(distances))
    nearest, second = np.partition(distances, 1, axis=1)[:, :2].T
    return np.asarray(1 - nearest / np.maximum(second, 1e-300))


def _are_odd(labels: NDArray[np.int64], distance: Floats) -> NDArray[np.bool_]:
    """Members much farther from their centre than the others of their cluster: Tukey's outer fence. (G,).

    Where members are equal there is no spread of their own, and that of all graphs is allowed instead.
    """
    spread = float(np.subtract(*np.percentile(distance, [75, 25])))
    odd = np.zeros(len(labels), bool)
    for label in np.unique(labels):
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


def percent(share: float) -> str:
    """94 %; one digit below 1 %."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.1g} %"

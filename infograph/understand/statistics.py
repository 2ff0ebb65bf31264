"""The tests behind every sentence on a cluster: is it more than chance, given how much was looked at?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc
from scipy.stats import hypergeom, rankdata

Floats = NDArray[np.float64]


def enrichment_p(inside: NDArray[Any], drawn: NDArray[Any], marked: NDArray[Any], total: int) -> Floats:
    """The chance that a draw without replacement has at least as many marked graphs: Fisher's one-sided test.

        p = sum_{i >= inside} C(marked, i) C(total - marked, drawn - i) / C(total, drawn)

    Args:
        inside: marked graphs among those drawn (a cluster).
        drawn: graphs drawn.
        marked: marked graphs in all.
        total: graphs in all. The first three are broadcast against each other.
    """
    return np.asarray(hypergeom.sf(np.asarray(inside) - 1, total, marked, drawn), dtype=np.float64)


def rank_sum(values: Floats, labels: NDArray[np.int64], n_clusters: int) -> tuple[Floats, Floats]:
    """Mann and Whitney's test of each cluster against all other graphs, by the normal approximation.

    Values are ranked once for all clusters; ties have their mean rank and reduce the variance.

    Args:
        values: (G,) finite numbers.
        labels: (G,) the cluster of each; negative for none.
        n_clusters: how many clusters there are.

    Returns:
        (K,) how likely a graph of the cluster has a larger value than another graph (a tie is half; 0.5 is
        no difference), and (K,) two-sided p-values; 0.5 and 1 where there is nothing to compare.
    """
    total, known = len(values), labels >= 0
    ranks = rankdata(values)
    drawn = np.bincount(labels[known], minlength=n_clusters).astype(np.float64)  # (K,)
    sums = np.bincount(labels[known], weights=ranks[known], minlength=n_clusters)
    others = total - drawn
    pairs = drawn * others
    wins = sums - drawn * (drawn + 1) / 2
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    tied = (ties**3 - ties).sum() / (total * (total - 1.0)) if total > 1 else 0.0
    deviation = np.sqrt(np.maximum(pairs / 12 * (total + 1 - tied), 0.0))
    usable = deviation > 0
    distance = np.maximum(np.abs(wins - pairs / 2) - 0.5, 0.0)  # continuity correction
    z = np.divide(distance, deviation, out=np.zeros(n_clusters), where=usable)
    larger = np.divide(wins, pairs, out=np.full(n_clusters, 0.5), where=usable)
    return larger, np.where(usable, erfc(z / np.sqrt(2)), 1.0)


def holm(p_values: Floats) -> Floats:
    """Holm's (1979) correction: below alpha afterwards, with at most alpha for one mistake or more in all."""
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(count, 0, -1))
    corrected = np.empty(count)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected

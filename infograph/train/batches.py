"""Which graphs go into which batch."""

from __future__ import annotations

import numpy as np

from infograph.data.graphset import IntArray


def shuffled(n_graphs: int, seed: int, epoch: int) -> IntArray:
    """The order of the graphs in an epoch, from seed and epoch alone: a resumed run repeats it."""
    return np.random.default_rng([seed, epoch]).permutation(n_graphs)


def cut(order: IntArray, sizes: IntArray, batch_size: int, max_nodes: int, least: int = 1) -> list[IntArray]:
    """Cut an order into batches of at most `batch_size` graphs and, from `least` graphs on, `max_nodes`
    nodes.

    A last batch of fewer than `least` graphs joins the one before: contrast needs two graphs.
    """
    if 0 < len(order) <= batch_size and sizes[order].sum() <= max_nodes:
        return [np.array(order)]
    batches: list[list[int]] = [[]]
    nodes = 0
    for graph in order.tolist():
        size = int(sizes[graph])
        full = len(batches[-1]) >= batch_size or nodes + size > max_nodes
        if full and len(batches[-1]) >= least:
            batches.append([])
            nodes = 0
        batches[-1].append(graph)
        nodes += size
    if len(batches) > 1 and len(batches[-1]) < least:
        batches[-2].extend(batches.pop())
    return [np.array(batch) for batch in batches if batch]

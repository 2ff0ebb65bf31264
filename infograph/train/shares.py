"""One update by several workers: who takes which graphs, and one gradient from all shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from infograph.data.graphset import IntArray
from infograph.methods.terms import LossTerms
from infograph.nn.peers import Peers
from infograph.train.feeds import GraphFeed


def deal(graphs: IntArray, costs: IntArray, workers: int, least: int = 1) -> list[IntArray]:
    """Divide graphs among workers so that all have about the same to do: the costliest first, each to the
    worker with the least so far, but `least` graphs to everyone. The same on every worker.
    """
    parts: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for dealt, place in enumerate(np.argsort(-costs[graphs], kind="stable")):
        lacking = [worker for worker in range(workers) if len(parts[worker]) < least]
        reserved = sum(least - len(parts[worker]) for worker in lacking)
        among = lacking if len(graphs) - dealt <= reserved else range(workers)
        worker = min(among, key=lambda each: (loads[each], each))
        parts[worker].append(int(place))
        loads[worker] += int(costs[graphs[place]]) + 1
    return [graphs[sorted(part)] for part in parts]


@dataclass(frozen=True)
class PartFeed:
    """One worker's part of every update of a feed.

    Attributes:
        whole: gives the updates, the same for all workers.
        costs: (G,) what a graph costs.
        rank: the number of this worker.
        workers: how many there are.
    """

    whole: GraphFeed
    costs: IntArray
    rank: int
    workers: int

    def updates(self, epoch: int) -> list[IntArray]:
        """Positions of the graphs of all workers."""
        return self.whole.updates(epoch)

    def batch(self, update: IntArray) -> Any:
        """The batch of this worker's graphs."""
        least = max(1, self.whole.least // self.workers)
        return self.whole.batch(deal(update, self.costs, self.workers, least)[self.rank])

    def size(self, update: IntArray) -> int:
        """How many graphs all workers have."""
        return self.whole.size(update)


class SharedLoss:
    """The loss of a batch whose graphs are on several workers, for `train`.

    Its value is that of the whole batch. Its gradient is that of this worker's share, times the number of
    workers, because DistributedDataParallel averages what should be added up.
    """

    def __init__(self, network: nn.Module, peers: Peers) -> None:
        self._peers = peers
        self._network = DistributedDataParallel(network)

    def __call__(self, batch: Any) -> LossTerms:
        """The loss of a batch, of which this is the part with this worker's graphs."""
        terms: LossTerms = self._network(batch)
        scaled = terms.total * self._peers.size
        whole = self._peers.sum(terms.total)
        return LossTerms(scaled + (whole - scaled.detach()), terms.shown)

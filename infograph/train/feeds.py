"""Which graphs each update of an epoch sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from infograph.data.graphset import IntArray
from infograph.methods.objective import Source, Step
from infograph.train.batches import cut, shuffled


class Feed(Protocol):
    """Gives the updates of an epoch, from the epoch's number alone, so that a resumed run repeats them."""

    def updates(self, epoch: int) -> Sequence[Any]:
        """What the updates of an epoch are made of."""
        ...

    def batch(self, update: Any) -> Any:
        """What the network is called with."""
        ...

    def size(self, update: Any) -> int:
        """How many graphs an update counts for in the means of an epoch."""
        ...


@dataclass(frozen=True)
class GraphFeed:
    """All graphs, shuffled, in batches of at least two.

    Attributes:
        source: makes batches.
        sizes: (G,) nodes per graph.
        batch_size: graphs per update.
        max_nodes: nodes per update, as long as the least number of graphs remains.
        seed: of the order.
        least: graphs per update, at least.
    """

    source: Source
    sizes: IntArray
    batch_size: int
    max_nodes: int
    seed: int
    least: int = 2

    def updates(self, epoch: int) -> list[IntArray]:
        """Positions of graphs."""
        order = shuffled(len(self.sizes), self.seed, epoch)
        return cut(order, self.sizes, self.batch_size, self.max_nodes, least=self.least)

    def batch(self, update: IntArray) -> Any:
        """The batch of these graphs."""
        return self.source.batch(update)

    def size(self, update: IntArray) -> int:
        """How many they are."""
        return len(update)


@dataclass(frozen=True)
class StepFeed:
    """Labelled graphs, each about once per epoch, and as many others beside them.

    Attributes:
        source: makes batches.
        targets: (G, T) or (G,) targets of all graphs; those of unlabelled graphs are never looked at.
        labelled: positions of the labelled graphs.
        everyone: positions of all graphs to learn from without labels, the labelled ones included.
        batch_size: labelled graphs per update, and unlabelled ones.
        n_updates: updates per epoch; the labelled graphs come round as often as needed.
        seed: of the order.
        unlabelled: whether unlabelled graphs are needed.
    """

    source: Source
    targets: Tensor
    labelled: IntArray
    everyone: IntArray
    batch_size: int
    n_updates: int
    seed: int
    unlabelled: bool = True

    def updates(self, epoch: int) -> list[tuple[IntArray, IntArray]]:
        """Positions of labelled and of unlabelled graphs."""
        rng = np.random.default_rng([self.seed, epoch])
        size = min(self.batch_size, len(self.labelled))
        labelled = _rounds(rng, self.labelled, size, self.n_updates)
        if not self.unlabelled:
            nobody = np.zeros(0, np.int64)
            return [(graphs, nobody) for graphs in labelled]
        size = min(self.batch_size, len(self.everyone))
        others = _rounds(rng, self.everyone, size, self.n_updates)
        return list(zip(labelled, others, strict=True))

    def batch(self, update: tuple[IntArray, IntArray]) -> Step:
        """The update's graphs and targets."""
        labelled, unlabelled = update
        return Step(self.source, labelled, unlabelled, self.targets[torch.from_numpy(labelled)])

    def size(self, update: tuple[IntArray, IntArray]) -> int:
        """How many labelled graphs there are."""
        return len(update[0])


def _rounds(rng: np.random.Generator, graphs: IntArray, size: int, n_batches: int) -> list[IntArray]:
    """Batches of `size` graphs: all of them in random order, then all again in another.

    No graph is twice in a batch, where it would be its own negative: what the end of a round gave to a batch
    comes last in the next round.
    """
    drawn = [rng.permutation(graphs)]
    for rounds in range(1, -(-size * n_batches // len(graphs))):
        n_begun = rounds * len(graphs) % size  # graphs in the batch that the next round completes
        order = rng.permutation(graphs)
        late = np.isin(order, drawn[-1][len(graphs) - n_begun :])
        drawn.append(np.concatenate([order[~late], order[late]]))
    return np.split(np.concatenate(drawn)[: size * n_batches], n_batches)

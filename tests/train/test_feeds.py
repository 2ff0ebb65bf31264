"""Which graphs an update sees: labelled ones in rounds, others beside them, from seed and epoch alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph.train.loop import StepFeed


class Recorder:
    """A source that gives back what it was asked for."""

    def batch(self, graphs, *, nodes=False):
        return list(graphs)


def feed(n_labelled=13, n_graphs=40, batch_size=5, n_updates=7, seed=0, unlabelled=True) -> StepFeed:
    labelled = np.arange(0, 3 * n_labelled, 3)
    targets = torch.arange(3.0 * n_graphs)[:, None]
    everyone = np.union1d(labelled, np.arange(n_graphs))
    return StepFeed(Recorder(), targets, labelled, everyone, batch_size, n_updates, seed, unlabelled)


@given(
    st.integers(1, 30),
    st.integers(0, 30),
    st.integers(2, 12),
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_rounds(n_labelled, n_others, batch_size, n_updates, seed, epoch):
    made = feed(n_labelled, n_labelled + n_others, batch_size, n_updates, seed)
    updates = made.updates(epoch)
    for one, other in zip(updates, made.updates(epoch), strict=True):  # a function of seed and epoch
        assert all(map(np.array_equal, one, other))
    assert [number for number, *_ in updates] == list(range((epoch - 1) * n_updates, epoch * n_updates))
    for side, pool in ((1, made.labelled), (2, made.everyone)):
        size = min(batch_size, len(pool))
        assert {len(update[side]) for update in updates} == {size}
        assert all(len(set(update[side].tolist())) == size for update in updates)  # nobody's own negative
        counts = Counter(graph for update in updates for graph in update[side].tolist())
        assert set(counts) <= set(pool.tolist())
        times = [counts[graph] for graph in pool.tolist()]
        assert max(times) - min(times) <= 1  # as often as all others


def test_labelled_graphs_are_the_same_with_and_without_others():
    """So that objectives are compared on the same updates."""
    alone, beside = feed(unlabelled=False), feed()
    for (_, graphs, nobody), (_, same, _) in zip(alone.updates(2), beside.updates(2), strict=True):
        assert graphs.tolist() == same.tolist()
        assert len(nobody) == 0


def test_an_update_has_the_targets_of_its_labelled_graphs_alone():
    made = feed()
    for update in made.updates(1):
        step = made.batch(update)
        assert step.targets[:, 0].tolist() == [float(graph) for graph in update[1]]
        assert step.labelled == update[1].tolist()
        assert step.unlabelled == update[2].tolist()
        assert step.both == step.labelled + step.unlabelled
        assert step.n_labelled == made.size(update) == 5

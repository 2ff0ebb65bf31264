"""Which graphs an update sees: labelled ones in rounds, others beside them, from seed and epoch alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph.train.loop import GraphFeed, StepFeed


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
    assert [number for number, *_ in updates] == list(range((epoch - 1) * n_updates, epoch * n_updates))
    for side, pool in ((1, made.labelled), (2, made.everyone)):
        size = min(batch_size, len(pool))
        assert {len(update[side]) for update in updates} == {size}
        assert all(len(set(update[side].tolist())) == size for update in updates)  # nobody's own negative
        counts = Counter(graph for update in updates for graph in update[side].tolist())
        assert set(counts) <= set(pool.tolist())
        times = [counts[graph] for graph in pool.tolist()]
        assert max(times) - min(times) <= 1  # as often as all others


def test_an_epoch_is_about_one_pass_over_the_labelled_graphs():
    made = feed(n_labelled=13, batch_size=5, n_updates=3)
    counts = Counter(np.concatenate([labelled for _, labelled, _ in made.updates(1)]).tolist())
    assert set(counts) == set(made.labelled.tolist())
    assert sum(counts.values()) == 15


def test_the_order_is_a_function_of_seed_and_epoch():
    def flat(made, epoch):
        return [np.concatenate(update[1:]).tolist() for update in made.updates(epoch)]

    assert flat(feed(), 3) == flat(feed(), 3)
    assert flat(feed(), 3) != flat(feed(), 4)
    assert flat(feed(), 3) != flat(feed(seed=1), 3)


def test_labelled_graphs_are_the_same_with_and_without_others():
    """So that objectives are compared on the same updates."""
    alone, beside = feed(unlabelled=False), feed()
    for (_, graphs, nobody), (_, same, _) in zip(alone.updates(2), beside.updates(2), strict=True):
        assert graphs.tolist() == same.tolist()
        assert len(nobody) == 0


def test_the_unlabelled_pool_includes_the_labelled_graphs():
    made = feed(n_labelled=4, n_graphs=12, batch_size=6, n_updates=2)
    seen = np.concatenate([others for *_, others in made.updates(1)])
    assert sorted(seen.tolist()) == made.everyone.tolist()
    assert set(made.labelled.tolist()) <= set(seen.tolist())


def test_an_update_has_the_targets_of_its_labelled_graphs_alone():
    made = feed()
    for update in made.updates(1):
        step = made.batch(update)
        assert step.targets[:, 0].tolist() == [float(graph) for graph in update[1]]
        assert step.labelled == update[1].tolist()
        assert step.unlabelled == update[2].tolist()
        assert step.both == step.labelled + step.unlabelled
        assert step.n_labelled == made.size(update) == 5


def test_fewer_graphs_than_a_batch():
    made = feed(n_labelled=2, n_graphs=3, batch_size=20, n_updates=4)
    for _, labelled, others in made.updates(1):
        assert sorted(labelled.tolist()) == [0, 3]
        assert sorted(others.tolist()) == made.everyone.tolist()


@pytest.mark.parametrize("batch_size", [2, 4, 100])
def test_graphs_without_labels_come_once(batch_size):
    made = GraphFeed(Recorder(), np.full(11, 5), batch_size, 1000, 0)
    updates = made.updates(1)
    assert sorted(np.concatenate(updates).tolist()) == list(range(11))
    assert sum(made.size(update) for update in updates) == 11
    assert made.batch(updates[0]) == updates[0].tolist()

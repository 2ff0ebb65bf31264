"""The loop: who is in a batch, learning rates, resume, divergence, watchers, checkpoints."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import save_file

from infograph import GIN, InfoGraph, MutualInformation, Plateau, load_dataset
from infograph.cli.output import explain
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, TrainingDiverged
from infograph.train.checkpoint import FILE, kept_epochs, read_checkpoint, write_checkpoint
from infograph.train.loop import best_epoch, cut, drop_tiny, shuffled, step_loader

SMALL = {"dim": 12, "batch_size": 16, "epochs": 4, "encoder": GIN(layers=2)}


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:40]


# ---- batches


@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=40),
    st.integers(2, 9),
    st.integers(1, 120),
    st.integers(0, 9),
)
def test_batches_cover_every_graph_once(sizes, batch_size, max_nodes, seed):
    sizes = np.array(sizes)
    batches = cut(shuffled(len(sizes), seed, 1), sizes, batch_size, max_nodes, least=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(sizes)))
    assert min(map(len, batches)) >= 2
    for batch in batches[:-1]:
        assert len(batch) <= batch_size
        assert sizes[batch].sum() <= max_nodes or len(batch) == 2


@given(
    st.integers(1, 30),
    st.integers(0, 30),
    st.integers(2, 12),
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_labelled_graphs_come_in_rounds(n_labelled, n_others, batch_size, n_updates, seed, epoch):
    labelled = np.arange(0, 3 * n_labelled, 3)
    everyone = np.union1d(labelled, np.arange(n_labelled + n_others))
    targets = torch.arange(float(everyone.max() + 1))[:, None]

    def steps(beside):
        settings = {"batch_size": batch_size, "n_updates": n_updates, "seed": seed}
        sizes, made = step_loader(None, targets, labelled, beside, **settings)(epoch)
        made = list(made)
        assert sizes == [step.n_labelled for step in made]
        return made

    updates = steps(everyone)
    assert [step.number for step in updates] == list(range((epoch - 1) * n_updates, epoch * n_updates))
    for step, alone in zip(updates, steps(everyone[:0]), strict=True):  # objectives see the same labels
        assert step.labelled_graphs.tolist() == alone.labelled_graphs.tolist()
        assert len(alone.unlabelled_graphs) == 0
        assert step.targets[:, 0].tolist() == step.labelled_graphs.tolist()
    for side, pool in (("labelled_graphs", labelled), ("unlabelled_graphs", everyone)):
        drawn, size = [getattr(step, side).tolist() for step in updates], min(batch_size, len(pool))
        assert all(len(set(each)) == len(each) == size for each in drawn)  # nobody is its own negative
        counts = Counter(graph for each in drawn for graph in each)
        times = [counts[graph] for graph in pool.tolist()]
        assert set(counts) <= set(pool.tolist()) and max(times) - min(times) <= 1


# ---- the learning rate

errors = st.one_of(
    st.lists(st.floats(0, 10), max_size=60),
    st.lists(st.integers(1, 4).map(float), max_size=60),  # many ties
    st.lists(st.floats(0.9998, 1.0001), max_size=60),  # around the threshold
    st.lists(st.sampled_from([1.0, 2.0, math.inf, math.nan]), max_size=30),
)


@given(errors, st.sampled_from([1e-2, 1e-3, 2e-6]), st.sampled_from([0.1, 0.7]), st.integers(0, 6))
@example([1.0] * 60, 1e-3, 0.7, 0)
@example([1.0] * 10, 1e-7, 0.7, 0)  # a rate below the floor does not rise
def test_rates_are_those_of_torch(seen, lr, factor, patience):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=factor, patience=patience, min_lr=1e-6
    )
    expected = [lr]
    for error in seen:
        plateau.step(error)
        expected.append(optimiser.param_groups[0]["lr"])
    rates = [Plateau(factor, patience).rate(lr, seen[:epoch], 60) for epoch in range(len(seen) + 1)]
    assert rates == pytest.approx(expected, rel=1e-12) and rates == sorted(rates, reverse=True)


def test_the_best_epoch_is_the_first_with_the_least_error():
    assert [best_epoch(seen) for seen in ([], [math.nan, math.nan], [2.0, 1.0, 1.0])] == [-1, 0, 1]
    assert best_epoch([math.nan, 3.0, math.nan, 2.0, 2.0]) == 3


# ---- going on


def timeless(model):
    return [{k: v for k, v in record.items() if "second" not in k} for record in model.history_]


@pytest.mark.parametrize(
    "objective", ["infograph", MutualInformation(prior=0.1, discriminator="conditioned")]
)
def test_a_resumed_run_ends_with_the_same_bits(graphs, tmp_path, objective):
    """Stopped in the first step, in a later one, or begun with fewer epochs."""
    settings = {**SMALL, "objective": objective}
    straight = InfoGraph(**settings).fit(graphs)
    for at in ((1, 1), (3, 2)):

        def stop(now, at=at):
            if (now.epoch, now.step) == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            InfoGraph(**settings).fit(graphs, checkpoint=tmp_path / str(at), watchers=[stop])
    InfoGraph(**{**settings, "epochs": 2}).fit(graphs, checkpoint=tmp_path / "shorter")
    for folder in tmp_path.iterdir():
        resumed = InfoGraph(**settings).fit(graphs, checkpoint=folder, resume=True)
        assert timeless(straight) == timeless(resumed)
        for (name, a), b in zip(straight._state().items(), resumed._state().values(), strict=True):
            assert np.array_equal(a, b), name


def test_what_cannot_be_resumed(graphs, tmp_path):
    with pytest.raises(FileMissing, match="start without resume"):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)
    InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path)
    assert kept_epochs(tmp_path) == 4 and kept_epochs(tmp_path / "nowhere") is None
    for settings, known, folder, said in (
        ({"lr": 0.01}, graphs, tmp_path, r"lr was 0\.001, now it is 0\.01"),
        ({"epochs": 2}, graphs, tmp_path, "has 4 epochs, more than epochs=2"),
        ({}, graphs[:30], tmp_path, "graphs was 40, now it is 30"),
        ({}, graphs[::-1], tmp_path, "checksum of the graphs"),
        ({}, graphs, None, "pass checkpoint="),
    ):
        with pytest.raises(InvalidParameter, match=said):
            InfoGraph(**{**SMALL, **settings}).fit(known, checkpoint=folder, resume=True)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:200])
    with pytest.raises(InvalidFile, match="is damaged"):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)


def test_nested_json_in_a_checkpoint(tmp_path):
    save_file({}, tmp_path / FILE, metadata={"run": "[" * 100_000})
    with pytest.raises(InvalidFile, match=rf"{FILE} is damaged .* start without resume"):
        read_checkpoint(tmp_path)


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch, capsys):
    network = torch.nn.Linear(2, 1)
    optimiser = torch.optim.Adam(network.parameters())
    write_checkpoint(tmp_path, network, optimiser, {"history": [1]})

    def full(tensors, path, metadata):
        path.write_bytes(b"some")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("infograph.train.checkpoint.save_file", full)
    with pytest.raises(
        OSError, match=r"the disk is full: .*before is kept; make room and .* resume"
    ) as raised:
        write_checkpoint(tmp_path, network, optimiser, {"history": [1, 2]})
    assert kept_epochs(tmp_path) == 1 and [path.name for path in tmp_path.iterdir()] == [FILE]
    assert explain(raised.value) == 2 and "Error: the disk is full" in capsys.readouterr().err


def test_tied_weights_are_kept(tmp_path):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    network[1].weight = network[0].weight
    write_checkpoint(tmp_path, network, torch.optim.Adam(network.parameters()), {})
    tensors, _ = read_checkpoint(tmp_path)
    torch.testing.assert_close(tensors["network.1.weight"], network[0].weight.detach())


# ---- updates


def test_a_loss_that_is_not_finite_names_epoch_and_rate(graphs):
    with pytest.raises(TrainingDiverged, match=r"in epoch \d+ at learning rate 1e\+30"):
        InfoGraph(**{**SMALL, "epochs": 20}, lr=1e30).fit(graphs)


def test_weights_that_decay_to_nothing_become_zero_and_not_denormal():
    for decay, left in ((1e-3, 0.0), (0.0, 1e-35)):  # without weight decay nothing is touched
        layer = torch.nn.Linear(30, 20)
        optimiser = torch.optim.Adam(layer.parameters(), weight_decay=decay)
        layer(torch.zeros(1, 30)).sum().backward()
        optimiser.step()
        with torch.no_grad():
            layer.weight[:10] = 1e-35
        drop_tiny(optimiser)
        assert torch.equal(layer.weight[:10], torch.full((10, 30), left)) and (layer.weight[10:] != 0).all()


def test_a_watcher_uses_the_model_and_stops_it(graphs):
    """It may transform in the middle of an epoch without a trace, and end training with the model kept."""
    straight = InfoGraph(**{**SMALL, "epochs": 2}).fit(graphs)
    assert [record["epoch"] for record in straight.history_] == [1, 2]
    assert {"loss", "mi", "accuracy", "seconds", "graphs_per_second"} <= set(straight.history_[0])
    seen, places = [], []

    def watch(now):
        seen.append(now.model.transform(graphs))
        places.append((now.epoch, now.step))
        if places[-1] == (2, now.steps):
            now.stop()

    model = InfoGraph(**{**SMALL, "epochs": 50}).fit(graphs, watchers=[watch])
    assert places == [(epoch, step) for epoch in (1, 2) for step in (1, 2, 3)]  # 40 graphs in batches of 16
    assert len(model.history_) == 2 and np.array_equal(model.transform(graphs), straight.transform(graphs))
    assert np.array_equal(seen[-1], model.transform(graphs)) and not np.array_equal(seen[0], seen[1])


def test_an_own_loop_trains_what_the_estimator_uses(graphs):
    """`prepare` gives the network and its batches; the same updates give the weights of `fit`."""
    settings = {**SMALL, "epochs": 3, "batch_size": len(graphs)}
    expected = InfoGraph(**settings).fit(graphs)
    model = InfoGraph(**settings).fit(graphs[:9])
    net, source = model.prepare(graphs)
    assert model.n_graphs_ == len(graphs)
    optimiser = torch.optim.Adam(net.parameters(), lr=model.lr, fused=True)
    for epoch in range(3):
        net.train()
        terms = model.objective_.loss(net, source.batch(shuffled(len(graphs), 0, epoch + 1)))
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
    assert np.array_equal(model.transform(graphs), expected.transform(graphs))

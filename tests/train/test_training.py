"""The loop: batches, resume, divergence, interrupts, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import GIN, InfoGraph, MutualInformation, load_dataset
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, TrainingDiverged
from infograph.train.checkpoint import FILE, kept_epochs, read_checkpoint, write_checkpoint
from infograph.train.loop import cut, drop_tiny, shuffled

SMALL = {"dim": 12, "batch_size": 16, "epochs": 4, "encoder": GIN(layers=2)}


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:40]


@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=40),
    st.integers(2, 9),
    st.integers(1, 120),
    st.integers(0, 9),
)
def test_batches_cover_every_graph_once(sizes, batch_size, max_nodes, seed):
    sizes = np.array(sizes)
    assert np.array_equal(shuffled(len(sizes), seed, 1), shuffled(len(sizes), seed, 1))
    batches = cut(shuffled(len(sizes), seed, 1), sizes, batch_size, max_nodes, least=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(sizes)))
    assert min(map(len, batches)) >= 2
    for batch in batches[:-1]:
        assert len(batch) <= batch_size
        assert sizes[batch].sum() <= max_nodes or len(batch) == 2


@pytest.mark.parametrize("objective", [None, MutualInformation(prior=0.1, discriminator="conditioned")])
def test_a_resumed_run_ends_with_the_same_bits(graphs, tmp_path, objective):
    """Stopped in the first step, in a later one, or begun with fewer epochs."""
    settings = SMALL if objective is None else {**SMALL, "objective": objective}
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


def timeless(model):
    return [{k: v for k, v in record.items() if "second" not in k} for record in model.history_]


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
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(InvalidFile, match="is damaged"):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)


def test_tied_weights_are_kept(tmp_path):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    network[1].weight = network[0].weight
    optimiser = torch.optim.Adam(network.parameters())
    write_checkpoint(tmp_path, network, optimiser, {"identity": {}, "history": []})
    tensors, _ = read_checkpoint(tmp_path)
    torch.testing.assert_close(tensors["network.1.weight"], network[0].weight.detach())


def test_a_loss_that_is_not_finite_names_epoch_and_rate(graphs):
    with pytest.raises(TrainingDiverged, match=r"in epoch \d+ at learning rate 1e\+30"):
        InfoGraph(**{**SMALL, "epochs": 20}, lr=1e30).fit(graphs)


def test_history_and_watchers(graphs):
    seen = []
    model = InfoGraph(**SMALL).fit(graphs, watchers=[seen.append])
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4]
    assert {"loss", "mi", "accuracy", "seconds", "graphs_per_second"} <= set(model.history_[0])
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]
    assert len(seen) == 4 * 3  # 40 graphs in batches of 16
    assert (seen[-1].epoch, seen[-1].step, seen[-1].steps) == (4, 3, 3)


def test_weights_that_decay_to_nothing_become_zero_and_not_denormal():
    layer = torch.nn.Linear(30, 20)
    optimiser = torch.optim.Adam(layer.parameters(), lr=1e-3, weight_decay=1e-3)
    with torch.no_grad():
        layer.weight[:10] = 1e-35
        before = layer.weight[10:].clone()
    layer(torch.zeros(1, 30)).sum().backward()
    optimiser.step()
    with torch.no_grad():
        layer.weight[:10] = 1e-35
    drop_tiny(optimiser)
    assert (layer.weight[:10] == 0).all() and (optimiser.state[layer.weight]["exp_avg"][:10] == 0).all()
    assert (layer.weight[10:] != 0).all() and not torch.equal(layer.weight[10:], before)
    plain = torch.optim.Adam(layer.parameters())
    with torch.no_grad():
        layer.weight[:10] = 1e-35
    drop_tiny(plain)  # without weight decay nothing is touched
    assert (layer.weight[:10] != 0).all()


def test_a_watcher_uses_the_model_and_stops_it(graphs):
    """It may transform in the middle of an epoch without a trace, and end training with the model kept."""
    straight = InfoGraph(**{**SMALL, "epochs": 2}).fit(graphs)
    seen = []

    def watch(now):
        seen.append(now.model.transform(graphs))
        if (now.epoch, now.step) == (2, now.steps):
            now.stop()

    model = InfoGraph(**{**SMALL, "epochs": 50}).fit(graphs, watchers=[watch])
    assert len(model.history_) == 2
    assert np.array_equal(model.transform(graphs), straight.transform(graphs))
    assert np.array_equal(seen[-1], model.transform(graphs)) and not np.array_equal(seen[0], seen[1])


def test_an_own_loop_trains_what_the_estimator_uses(graphs):
    """`prepare` gives the network and its batches; the same updates give the weights of `fit`."""
    settings = {**SMALL, "epochs": 3, "batch_size": len(graphs)}
    expected = InfoGraph(**settings).fit(graphs)
    model = InfoGraph(**settings)
    net, source = model.prepare(graphs)
    optimiser = torch.optim.Adam(net.parameters(), lr=model.lr, fused=True)
    for epoch in range(3):
        net.train()
        terms = model.objective_.loss(net, source.batch(shuffled(len(graphs), 0, epoch + 1)))
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
    assert np.array_equal(model.transform(graphs), expected.transform(graphs))

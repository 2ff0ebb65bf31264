"""The loop: batches, resume, divergence, interrupts, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import GIN, InfoGraph, MutualInformation, load_dataset
from infograph.errors import CheckpointMismatch, FileMissing, InvalidFile, InvalidParameter, TrainingDiverged
from infograph.train.checkpoint import FILE, kept_epochs, read_checkpoint, write_checkpoint
from infograph.train.loop import Plan, cut, drop_tiny, shuffled, train

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
    batches = cut(shuffled(len(sizes), seed, 1), sizes, batch_size, max_nodes, least=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(sizes)))
    assert min(map(len, batches)) >= 2
    for batch in batches[:-1]:
        assert len(batch) <= batch_size
        assert sizes[batch].sum() <= max_nodes or len(batch) == 2


def test_the_order_is_a_function_of_seed_and_epoch():
    assert np.array_equal(shuffled(50, 3, 7), shuffled(50, 3, 7))
    assert not np.array_equal(shuffled(50, 3, 7), shuffled(50, 3, 8))
    assert not np.array_equal(shuffled(50, 3, 7), shuffled(50, 4, 7))


class Stop(BaseException):
    pass


@pytest.mark.parametrize(
    "extra", [{}, {"objective": MutualInformation(prior=0.1, discriminator="conditioned")}]
)
def test_a_resumed_run_ends_with_the_same_bits(graphs, tmp_path, extra):
    straight = InfoGraph(**SMALL, **extra).fit(graphs)

    def stop_in_epoch_3(standing):
        if standing.epoch == 3 and standing.step == 2:
            raise Stop

    with pytest.raises(Stop):
        InfoGraph(**SMALL, **extra).fit(graphs, checkpoint=tmp_path, watchers=[stop_in_epoch_3])
    resumed = InfoGraph(**SMALL, **extra).fit(graphs, checkpoint=tmp_path, resume=True)
    for (name, a), b in zip(straight._state().items(), resumed._state().values(), strict=True):
        assert np.array_equal(a, b), name
    strip = [{k: v for k, v in e.items() if "second" not in k} for e in straight.history_]
    assert strip == [{k: v for k, v in e.items() if "second" not in k} for e in resumed.history_]


def test_an_interrupt_in_the_first_step_leaves_a_checkpoint(graphs, tmp_path):
    def interrupt(standing):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, watchers=[interrupt])
    resumed = InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)
    assert np.array_equal(resumed.transform(graphs), InfoGraph(**SMALL).fit(graphs).transform(graphs))


def test_more_epochs_continue_a_finished_run(graphs, tmp_path):
    InfoGraph(**{**SMALL, "epochs": 2}).fit(graphs, checkpoint=tmp_path)
    longer = InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)
    assert np.array_equal(longer.transform(graphs), InfoGraph(**SMALL).fit_transform(graphs))


def test_a_checkpoint_of_another_run_is_refused(graphs, tmp_path):
    InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path)
    with pytest.raises(InvalidParameter, match=r"lr was 0\.001, now it is 0\.01"):
        InfoGraph(**SMALL, lr=0.01).fit(graphs, checkpoint=tmp_path, resume=True)
    with pytest.raises(InvalidParameter, match="graphs was 40, now it is 30"):
        InfoGraph(**SMALL).fit(graphs[:30], checkpoint=tmp_path, resume=True)
    with pytest.raises(InvalidParameter, match="pass checkpoint="):
        InfoGraph(**SMALL).fit(graphs, resume=True)


def test_a_checkpoint_of_more_epochs_is_refused(graphs, tmp_path):
    InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path)
    assert kept_epochs(tmp_path) == 4 and kept_epochs(tmp_path / "nowhere") is None
    with pytest.raises(CheckpointMismatch, match="has 4 epochs, more than epochs=2"):
        InfoGraph(**{**SMALL, "epochs": 2}).fit(graphs, checkpoint=tmp_path, resume=True)


def test_whatever_a_checkpoint_knows_of_its_run_must_agree(tmp_path):
    network, plan = torch.nn.Linear(2, 2), Plan(1, 0, tmp_path, resume=True, identity={"lr": 1})
    optimiser = torch.optim.Adam(network.parameters())
    write_checkpoint(tmp_path, network, optimiser, {"identity": {"lr": 1, "seed": 3}, "history": []})
    with pytest.raises(CheckpointMismatch, match="seed was 3, now it is None"):
        train(network, optimiser, [], plan, loss=network)


def test_tied_weights_are_kept(tmp_path):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    network[1].weight = network[0].weight
    optimiser = torch.optim.Adam(network.parameters())
    write_checkpoint(tmp_path, network, optimiser, {"identity": {}, "history": []})
    tensors, _ = read_checkpoint(tmp_path)
    torch.testing.assert_close(tensors["network.1.weight"], network[0].weight.detach())


def test_a_missing_or_damaged_checkpoint_says_so(graphs, tmp_path):
    with pytest.raises(FileMissing, match="start without resume"):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)
    InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path)
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(InvalidFile, match="is damaged"):
        InfoGraph(**SMALL).fit(graphs, checkpoint=tmp_path, resume=True)


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


def test_training_leaves_the_global_random_state_alone(graphs):
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)
    InfoGraph(**SMALL, objective=MutualInformation(prior=0.1)).fit(graphs)
    torch.testing.assert_close(torch.rand(3), expected)


def test_training_tells_pairs_apart(graphs):
    model = InfoGraph(
        dim=32,
        epochs=60,
        batch_size=40,
        lr=1e-3,
        encoder=GIN(layers=2),
        objective=MutualInformation(discriminator="conditioned"),
    ).fit(graphs)
    assert model.history_[-1]["accuracy"] > 0.6
    assert model.history_[-1]["mi"] > 0.1


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

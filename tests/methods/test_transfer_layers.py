"""The transfer term sees every layer over many updates, and a seed repeats the choice."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from infograph import load_dataset
from infograph.objectives.contrast import LocalGlobal
from infograph.objectives.infograph_star import InfoGraphStar, transfer_loss
from infograph.objectives.objective import Regression
from tests.methods.loops import World, toy_molecules, world

VALUES = torch.tensor([[0.3], [1.0], [2.0]])
N_UPDATES = 36


@pytest.fixture(scope="module", params=["gin", "enn"])
def made(request) -> World:
    if request.param == "enn":
        return world(toy_molecules([4, 1, 6, 3, 5, 2]), 1, encoder="enn-s2s")
    return world(load_dataset("MUTAG")[:6], 1, encoder="gin")


def train(made: World, seed: int, **settings) -> tuple[list[int], InfoGraphStar]:
    """The layer of every update, told by which projections get gradients."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = InfoGraphStar(made.make, Regression(1), LocalGlobal, **settings).train()
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        step, layers, learned = made.step([0, 1, 2], [3, 4, 5, 0], VALUES), [], set()
        for _ in range(N_UPDATES):
            optimiser.zero_grad(set_to_none=True)
            network(step).total.backward()
            slopes = [[p.grad for p in pair.parameters()] for pair in network.projections]
            found = [k for k, own in enumerate(slopes) if all(slope is not None for slope in own)]
            assert len(found) == 1
            layers += found
            learned |= {k for k in found if all(slope.any() for slope in (slopes[k][0], slopes[k][8]))}
            optimiser.step()
            network.after_update()
    assert learned == set(layers)  # both projections of a layer get gradients that are not 0
    return layers, network


def test_every_layer_has_its_turn(made):
    layers, network = train(made, 0)
    counts = Counter(layers)
    assert set(counts) == {0, 1, 2}
    assert min(counts.values()) > N_UPDATES / 3 - 4 * (N_UPDATES * 2 / 9) ** 0.5  # four deviations
    assert int(network.updates) == N_UPDATES
    again, twin = train(made, 0)
    assert again == layers
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, twin.state_dict()[name]), name


def test_the_last_layer_only(made):
    layers, _ = train(made, 1, transfer="last")
    assert set(layers) == {2}


def test_an_untold_pair_is_at_chance_and_a_told_one_at_the_floor():
    """-I is 2 log 2 where scores say nothing, 0 where they say all; 1/|G| weighs every graph."""
    sizes = torch.tensor([1, 2, 4])
    nothing = transfer_loss(torch.zeros(3, 3, dtype=torch.float64), sizes, "mean")
    assert nothing.item() == pytest.approx(2 * torch.log(torch.tensor(2.0, dtype=torch.float64)).item())
    scaled = transfer_loss(torch.zeros(3, 3, dtype=torch.float64), sizes, "graph")
    assert scaled.item() == pytest.approx(nothing.item() * (1 + 1 / 2 + 1 / 4) / 3)
    told = 80 * torch.eye(3, dtype=torch.float64) - 40
    assert transfer_loss(told, sizes, "mean").item() == pytest.approx(0, abs=1e-15)

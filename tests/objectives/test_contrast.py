"""Bounds on mutual information against short loops written from the equations."""

from __future__ import annotations

import copy
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import GIN, Bound, Discriminator, MutualInformation, load_dataset
from infograph.nn.norm import WeightedBatchNorm
from infograph.objectives.bounds import BOUNDS, Pairs
from infograph.objectives.discriminator import (
    ConditionedDiscriminator,
    FeedForward,
    patches_of,
)
from infograph.objectives.infograph import ColourDecoder, PriorMatcher


class Bilinear(Discriminator):
    """One of a user's own: nothing but `forward`."""

    def __init__(self, patch_dim: int, graph_dim: int) -> None:
        super().__init__()
        self.matrix = torch.nn.Linear(patch_dim, graph_dim)

    def forward(self, patches: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        return self.matrix(patches) @ graphs.T / 10


class NWJ(Bound):
    """One of a user's own."""

    def __repr__(self) -> str:
        return "NWJ()"  # the name of a test is the same in every process

    def rows(self, scores: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        return (pairs.negative * (scores - 1).exp() - pairs.positive * scores).sum()


def small_batch(seed: int = 0, **settings):
    """Four MUTAG graphs, two of them the same, and a small network for them."""
    graphs = load_dataset("MUTAG")[[0, 3, 30, 3]]
    torch.manual_seed(seed)
    net = MutualInformation(**settings).build(GIN(layers=3).build(graphs.schema, 6)).double().train()
    for parameter in net.parameters():  # zero biases would hide mistakes
        parameter.data += 0.1 * torch.randn_like(parameter)
    return net, net.encoder.source(graphs).batch(np.arange(4), nodes=True), graphs.node_graph.tolist()


def node_scores(net, batch):
    """T of every node and every graph, by the discriminator's own definition. (N, B)."""
    states = net.encoder(batch)
    vectors = net.encoder.vectors(states, batch)
    discriminator = net.local_global.discriminator
    patches = patches_of(states, batch) if net.local_global.patches == "all" else states[-1]
    if isinstance(discriminator, ConditionedDiscriminator):  # its norm counts equal graphs
        vectors = discriminator.project(vectors, batch.copies)
        return (discriminator.local(patches) @ vectors.T)[batch.node_colour][:, batch.which]
    return discriminator(patches, vectors)[batch.node_colour][:, batch.which]


def plain(scores, graph: list[int], bound: str, weighting: str):
    """Loss and accuracy from dense scores of all nodes (Eq. 4 and 5), by autograd alone."""
    own = torch.nn.functional.one_hot(torch.tensor(graph), scores.shape[1]).double()
    sizes = own.sum(0)[torch.tensor(graph)]
    weight = 1 / (scores.shape[1] * sizes) if weighting == "graph" else torch.full_like(sizes, 1 / len(graph))
    positive = own * weight[:, None]
    negative = (1 - own) * weight[:, None] / (scores.shape[1] - 1)
    accuracy = ((positive * (scores > 0)).sum() + (negative * (scores <= 0)).sum()) / 2
    if bound == "jsd":
        softplus = torch.nn.functional.softplus
        loss = positive * softplus(-scores, threshold=50) + negative * softplus(scores, threshold=50)
    elif bound == "dv":
        return (negative * scores.exp()).sum().log() - (positive * scores).sum(), accuracy
    elif bound == "nwj":
        loss = negative * (scores - 1).exp() - positive * scores
    else:
        loss = positive * (scores.logsumexp(1, keepdim=True) - math.log(scores.shape[1]) - scores)
    return loss.sum(), accuracy


CASES = [
    {"bound": bound, "weighting": weighting, "discriminator": discriminator}
    for bound in ("jsd", "dv", "infonce", NWJ())
    for weighting in ("graph", "node")
    for discriminator in ("paper", "conditioned", Bilinear)
] + [{"patches": "last"}, {"patches": "last", "discriminator": Bilinear, "bound": "infonce"}]


@pytest.mark.parametrize("memory_mb", [1e-9, 512])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_loss_and_gradients_are_those_of_all_pairs(case, memory_mb):
    """Chunks of 16 rows or one of all, any bound and discriminator, weights 1/|G| or 1/N."""
    net, batch, graph = small_batch(**case, memory_mb=memory_mb)
    states = net.encoder(batch)
    found = net.local_global(states, net.encoder.vectors(states, batch), batch)
    name = case.get("bound", "jsd")
    name = name if isinstance(name, str) else "nwj"
    expected, accuracy = plain(node_scores(net, batch), graph, name, case.get("weighting", "graph"))
    assert found.loss.item() == pytest.approx(expected.item(), rel=1e-10)
    assert found.accuracy.item() == pytest.approx(accuracy.item(), rel=1e-10)
    parameters = list(net.parameters())
    slopes = torch.autograd.grad(3 * found.loss, parameters, allow_unused=True)
    wanted = torch.autograd.grad(3 * expected, parameters, allow_unused=True)
    largest = max(float(slope.abs().max()) for slope in wanted if slope is not None)
    for slope, other in zip(slopes, wanted, strict=True):
        slope, other = (torch.zeros(()) if each is None else each for each in (slope, other))
        torch.testing.assert_close(slope, other.expand_as(slope), rtol=1e-8, atol=1e-11 * largest)


@pytest.mark.parametrize("weighting", ["graph", "node"])
@pytest.mark.parametrize("bound", ["jsd", "infonce"])
def test_drawn_patches_give_the_loss_in_the_mean(bound, weighting):
    net, batch, _ = small_batch(bound=bound, weighting=weighting, discriminator="conditioned")
    states = net.encoder(batch)
    vectors = net.encoder.vectors(states, batch)
    whole = net.local_global(states, vectors, batch).loss
    net.local_global.max_patches = int(batch.sizes.max())
    assert net.local_global(states, vectors, batch).loss.item() == whole.item()  # nothing is drawn
    net.local_global.max_patches = 3
    torch.manual_seed(0)
    found = torch.stack([net.local_global(states, vectors, batch).loss.detach() for _ in range(2000)])
    assert abs(found.mean() - whole.detach()) < 4 * found.std() / 2000**0.5 and found.std() > 0


@pytest.mark.parametrize("most", [1, 4, 16])
@pytest.mark.parametrize("patches", ["all", "last"])
def test_loss_and_gradients_of_drawn_patches(patches, most):
    """The nodes with the least noise of every graph are drawn, and stand for the others."""
    net, batch, _ = small_batch(patches=patches, max_patches=most)
    states = net.encoder(batch)
    torch.manual_seed(5)
    found = net.local_global(states, net.encoder.vectors(states, batch), batch).loss
    torch.manual_seed(5)
    noise = torch.rand(int(batch.sizes.sum()), dtype=torch.float64)
    positive = torch.zeros(batch.members.shape[1], len(batch.sizes), dtype=torch.float64)  # (C, G)
    start = 0
    for g, size in enumerate(batch.sizes.tolist()):
        part = slice(*batch.members.ptr[g : g + 2].tolist())
        colours = torch.repeat_interleave(batch.members.index[part], batch.members.value[part].long())
        drawn = colours[noise[start : start + size].argsort()[:most]].tolist()
        for colour in drawn:
            positive[colour, g] += batch.copies[g] / len(drawn) / 4
        start += size
    negative = (batch.copies * positive.sum(1, keepdim=True) - positive) / 3
    patches = patches_of(states, batch) if patches == "all" else states[-1]
    scores = net.local_global.discriminator(patches, net.encoder.vectors(states, batch))
    softplus = torch.nn.functional.softplus
    expected = (positive * softplus(-scores) + negative * softplus(scores)).sum()
    assert found.item() == pytest.approx(expected.item(), rel=1e-10)
    slopes, wanted = (
        torch.autograd.grad(loss, net.parameters(), retain_graph=True) for loss in (found, expected)
    )
    for slope, other in zip(slopes, wanted, strict=True):
        torch.testing.assert_close(slope, other, rtol=1e-8, atol=1e-12)


def test_workers_share_the_loss_of_colours(monkeypatch):
    """Two threads with half of the graphs each; what they find adds up to loss and gradient of all."""
    torch.manual_seed(0)
    graphs, decoder, vectors = load_dataset("MUTAG")[:9], ColourDecoder(6).double(), torch.randn(9, 6)
    source = GIN(layers=2).build(graphs.schema, 8).source(graphs)
    meet, given = threading.Barrier(2), {}

    def all_sum(values):
        if threading.current_thread() is threading.main_thread():
            return values
        given[threading.get_ident()] = values.detach()
        meet.wait(60)
        total = sum(given.values())
        meet.wait(60)
        return total

    for module in ("nn.norm", "objectives.infograph"):
        monkeypatch.setattr(f"infograph.{module}.all_sum", all_sum)

    def outcome(batch):
        own, kinds = copy.deepcopy(decoder), source.colouring.graph_kinds[batch.distinct]
        loss = own(vectors[kinds].double(), batch)
        return [loss.detach(), *torch.autograd.grad(loss, own.parameters())]

    expected = outcome(source.batch(np.arange(9)))
    with ThreadPoolExecutor(2) as threads:
        shares = threads.map(outcome, [source.batch(part) for part in (np.arange(5), np.arange(5, 9))])
    for whole, *parts in zip(expected, *shares, strict=True):
        torch.testing.assert_close(sum(parts), whole, rtol=1e-6, atol=1e-9)


def test_colours_are_given_back():
    graphs = load_dataset("MUTAG")[:60]
    torch.manual_seed(0)
    encoder = GIN(layers=2).build(graphs.schema, 64)
    batch = encoder.source(graphs).batch(np.arange(60))
    decoder = ColourDecoder(64)
    sketch = decoder.sketch(batch).reshape(len(batch.distinct), decoder.ROUNDS, decoder.BUCKETS)
    for k, counts in enumerate(np.expm1(sketch).sum(2).T):  # every round counts every node once
        np.testing.assert_allclose(counts, batch.sizes.numpy() * np.ones(1), rtol=1e-3, err_msg=str(k))
    vectors = encoder.vectors(encoder(batch), batch).detach()
    optimiser = torch.optim.Adam(decoder.parameters(), 0.05)
    losses = []
    for _ in range(200):
        loss = decoder(vectors, batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 < 0.8 < losses[0]


class Silent(Discriminator):
    def __init__(self, patch_dim: int, graph_dim: int) -> None:
        super().__init__()

    def forward(self, patches: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        return 0 * patches[:, :1] * graphs[:, 0]


@given(st.integers(0, 1000))
def test_jsd_is_bounded(seed):
    """The estimate never exceeds 2 log 2, and is 0 for a discriminator that says nothing."""
    for discriminator in ("paper", Silent):
        net, batch, _ = small_batch(seed, discriminator=discriminator)
        states = net.encoder(batch)
        found = net.local_global(states, net.encoder.vectors(states, batch), batch).information.item()
        assert found <= 2 * math.log(2)
    assert found == pytest.approx(0, abs=1e-12)


def test_huge_scores_stay_finite_and_normal():
    scores, weight, none = torch.tensor([[-500.0, -95.0, 500.0]]), torch.full((1, 3), 1e-6), torch.zeros(1, 3)
    loss, slope = BOUNDS["jsd"].slope(scores, Pairs(none, weight, torch.ones(3), torch.zeros(())))
    assert loss.item() == pytest.approx(500e-6)
    assert slope.min() > torch.finfo(torch.float32).tiny  # no denormal numbers
    torch.testing.assert_close(slope, torch.tensor([[0.0, 0.0, 1e-6]]))
    loss, slope = BOUNDS["jsd"].slope(scores, Pairs(weight, none, torch.ones(3), torch.zeros(())))
    assert loss.item() == pytest.approx(595e-6)
    torch.testing.assert_close(slope, torch.tensor([[-1e-6, -1e-6, 0.0]]))


def test_the_slopes_written_down_are_those_of_autograd():
    scores = torch.randn(7, 5, dtype=torch.float64) * 20
    pairs = Pairs(*torch.rand(2, 7, 5, dtype=torch.float64), torch.ones(5), torch.zeros(()))
    jsd = BOUNDS["jsd"]
    for found, expected in zip(jsd.slope(scores, pairs), Bound.slope(jsd, scores, pairs), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)


def test_the_shortcut_and_three_layers_of_the_discriminator():
    torch.manual_seed(0)
    network, x = FeedForward(3, 4), torch.randn(5, 3)
    hidden = x
    for layer in (network.first, network.second, network.third):
        hidden = (hidden @ layer.weight.T + layer.bias).clamp(min=0)
    torch.testing.assert_close(network(x), hidden + x @ network.shortcut.weight.T + network.shortcut.bias)


def test_the_conditioned_discriminator_normalises_and_scales():
    torch.manual_seed(0)
    discriminator = ConditionedDiscriminator(4, 4)
    assert isinstance(discriminator.norm, WeightedBatchNorm)
    vectors = torch.randn(6, 4) * 1000
    normal = (vectors - vectors.mean(0)) / torch.sqrt(vectors.var(0, unbiased=False) + 1e-5)
    torch.testing.assert_close(discriminator.project(vectors, torch.ones(6)), discriminator.whole(normal) / 2)


def test_the_prior_sets_encoder_against_discriminator():
    """D minimises -E log D(u) - E log(1 - D(sigmoid H)); the encoder gets the opposite gradient."""
    torch.manual_seed(0)
    matcher, vectors = PriorMatcher(8), torch.randn(6, 8, requires_grad=True)
    torch.manual_seed(5)
    found = matcher(vectors, torch.ones(6))
    found.backward()
    torch.manual_seed(5)
    noise = torch.sigmoid(matcher.network(torch.rand(6, 8)))
    real = torch.sigmoid(matcher.network(torch.sigmoid(vectors)))
    expected = -noise.log().mean() - (1 - real).log().mean()
    torch.testing.assert_close(found, expected)
    parameters = list(matcher.parameters())
    gradients = torch.autograd.grad(expected, [vectors, *parameters])
    torch.testing.assert_close(vectors.grad, -gradients[0])
    for parameter, gradient in zip(parameters, gradients[1:], strict=True):
        torch.testing.assert_close(parameter.grad, gradient)

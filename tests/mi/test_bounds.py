"""Bounds on mutual information against short loops written from the equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import load_dataset
from infograph.data.colours import refine
from infograph.methods.infograph import InfoGraphObjective
from infograph.mi.bounds import BOUNDS
from infograph.mi.contrast import chunk_rows_for, contrast, positives
from infograph.mi.discriminator import Discriminator, FeedForward
from infograph.mi.prior import PriorMatcher
from infograph.nn.batch import Batcher
from infograph.nn.gin import GIN


def loop(scores: torch.Tensor, graph: list[int], bound: str, weighting: str) -> float:
    """Eq. 4 and 5 node by node; `scores` (N, B), `graph` (N,)."""
    n_graphs = scores.shape[1]
    sizes = [graph.count(g) for g in range(n_graphs)]
    positive, negative, log_mean = 0.0, 0.0, 0.0
    for u, own in enumerate(graph):
        weight = 1 / (n_graphs * sizes[own]) if weighting == "graph" else 1 / len(graph)
        t = float(scores[u, own])
        positive += weight * (math.log1p(math.exp(-t)) if bound == "jsd" else -t)
        log_mean += weight * math.log(sum(math.exp(float(s)) for s in scores[u]) / n_graphs)
        for g in range(n_graphs):
            if g != own:
                s = float(scores[u, g])
                negative += (
                    weight / (n_graphs - 1) * (math.log1p(math.exp(s)) if bound == "jsd" else math.exp(s))
                )
    return positive + {"jsd": negative, "dv": math.log(max(negative, 1e-300)), "infonce": log_mean}[bound]


def small_batch(seed: int = 0):
    """Three MUTAG graphs through a small network, and the scores of every node."""
    graphs = load_dataset("MUTAG")[[0, 3, 30]]
    colouring = refine(graphs, 2)
    torch.manual_seed(seed)
    network = InfoGraphObjective(GIN(7, [3, 3]), [3, 3]).double().train()
    batch = Batcher(colouring).batch(np.arange(3), nodes=True)
    states, vectors = network.encode(batch)
    projected = network.discriminator.project(vectors)
    patches = network.discriminator.patches(states, batch, projected)
    local = network.discriminator.local(torch.cat([(batch.rounds[1].own @ states[0]), states[1]], 1))
    scores = (local @ projected.T)[batch.node_colour]
    return network, batch, patches.detach(), projected.detach(), scores.detach(), graphs.node_graph.tolist()


@pytest.mark.parametrize("weighting", ["graph", "node"])
@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
@pytest.mark.parametrize("chunk_rows", [3, 1000])
def test_a_bound_is_its_loop(bound, weighting, chunk_rows):
    network, batch, patches, projected, scores, graph = small_batch()
    weights = positives(batch.members, batch.sizes, weighting, torch.float64)
    found = contrast(patches, projected, network.discriminator.tail(), weights, BOUNDS[bound], chunk_rows)
    assert found.loss.item() == pytest.approx(loop(scores, graph, bound, weighting), rel=1e-10)
    told_apart = [
        (float(scores[u, g]) > 0) == (g == own) for u, own in enumerate(graph) for g in range(3) if g == own
    ]
    assert 0 <= found.accuracy.item() <= 1
    if all(told_apart):
        assert found.accuracy.item() >= 0.5


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_chunks_do_not_change_gradients(bound):
    gradients = []
    for rows in (4, 10_000):
        network, batch, patches, projected, *_ = small_batch()
        weights = positives(batch.members, batch.sizes, "graph", torch.float64)
        leaves = [patches.requires_grad_(), projected.requires_grad_(), *network.discriminator.tail()]
        result = contrast(leaves[0], leaves[1], leaves[2:], weights, BOUNDS[bound], rows)
        gradients.append(torch.autograd.grad(3 * result.loss, leaves))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_gradients_are_those_of_the_loss(bound):
    network, batch, patches, projected, *_ = small_batch()
    weights = positives(batch.members, batch.sizes, "graph", torch.float64)
    tail = [p.detach().requires_grad_() for p in network.discriminator.tail()]

    def loss(*leaves: torch.Tensor) -> torch.Tensor:
        return contrast(leaves[0], leaves[1], leaves[2:], weights, BOUNDS[bound], 5).loss

    inputs = (patches.requires_grad_(), projected.requires_grad_(), *tail)
    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-6)


@given(st.integers(0, 1000))
def test_jsd_is_bounded(seed):
    """The estimate never exceeds 2 log 2, and is 0 for a discriminator that says nothing."""
    network, batch, patches, projected, *_ = small_batch(seed % 5)
    weights = positives(batch.members, batch.sizes, "graph", torch.float64)
    rng = torch.Generator().manual_seed(seed)
    noisy = patches + 5 * torch.randn(patches.shape, generator=rng, dtype=patches.dtype)
    tail = network.discriminator.tail()
    assert contrast(noisy, projected, tail, weights, BOUNDS["jsd"], 50).information <= 2 * math.log(2)
    silent = contrast(
        torch.zeros_like(patches), torch.zeros_like(projected), tail, weights, BOUNDS["jsd"], 50
    )
    assert silent.information.item() == pytest.approx(0, abs=1e-12)


def test_weights_add_up_to_one_and_weigh_graphs_alike():
    _, batch, *_ = small_batch()
    for weighting in ("graph", "node"):
        weights = positives(batch.members, batch.sizes, weighting, torch.float64)
        per_graph = torch.zeros(3, dtype=torch.float64).index_add_(0, weights.index, weights.value)
        expected = torch.full((3,), 1 / 3) if weighting == "graph" else batch.sizes / batch.sizes.sum()
        torch.testing.assert_close(per_graph, expected.double())


def test_huge_scores_stay_finite_and_normal():
    scores = torch.tensor([[-500.0, -95.0, 500.0]], requires_grad=True)
    weight = torch.full((1, 3), 1e-6)
    loss = BOUNDS["jsd"].loss(scores, weight, weight, None)
    (slope,) = torch.autograd.grad(loss, scores)
    assert torch.isfinite(loss)
    assert slope.abs().min() > torch.finfo(torch.float32).tiny or bool((slope == 0).any())
    torch.testing.assert_close(slope, torch.tensor([[-1e-6, -1e-6, 1e-6]]))


def test_the_shortcut_and_three_layers_of_the_discriminator():
    torch.manual_seed(0)
    network, x = FeedForward(3, 4), torch.randn(5, 3)
    hidden = x
    for layer in (network.first, network.second, network.third):
        hidden = (hidden @ layer.weight.T + layer.bias).clamp(min=0)
    torch.testing.assert_close(network(x), hidden + x @ network.shortcut.weight.T + network.shortcut.bias)


def test_the_conditioned_discriminator_normalises_and_scales():
    torch.manual_seed(0)
    discriminator = Discriminator(4, conditioned=True)
    vectors = torch.randn(6, 4) * 1000
    normal = (vectors - vectors.mean(0)) / torch.sqrt(vectors.var(0, unbiased=False) + 1e-5)
    torch.testing.assert_close(discriminator.project(vectors), discriminator.whole(normal) / 2)


def test_the_prior_sets_encoder_against_discriminator():
    """D minimises -E log D(u) - E log(1 - D(sigmoid H)); the encoder gets the opposite gradient."""
    torch.manual_seed(0)
    matcher, vectors = PriorMatcher(8), torch.randn(6, 8, requires_grad=True)
    torch.manual_seed(5)
    found = matcher(vectors)
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


def test_a_memory_budget_becomes_rows():
    assert chunk_rows_for(512, 512, 128, 4) == 2048
    assert chunk_rows_for(1, 512, 128, 4) == 58
    assert chunk_rows_for(1e-9, 512, 128, 4) == 16

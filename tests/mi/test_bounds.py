"""Bounds on mutual information against short loops written from the equations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import load_dataset
from infograph.data.colours import refine
from infograph.nn.batch import Batcher
from infograph.nn.gin import GIN
from infograph.objectives.bounds import BOUNDS, Pairs
from infograph.objectives.contrast import chunk_rows_for, contrast, pair_weights
from infograph.objectives.discriminator import Discriminator, FeedForward, Scorer, Tail
from infograph.objectives.infograph import InfoGraphObjective, PriorMatcher


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


def accuracy_loop(scores: torch.Tensor, graph: list[int], weighting: str) -> float:
    """Pairs told apart by the sign of T; positives and negatives count half each."""
    n_graphs, right = scores.shape[1], 0.0
    for u, own in enumerate(graph):
        weight = 1 / (n_graphs * graph.count(own)) if weighting == "graph" else 1 / len(graph)
        wrong_graphs = [g for g in range(n_graphs) if g != own]
        right += weight * (scores[u, own] > 0).item() / 2
        right += weight * sum((scores[u, g] <= 0).item() for g in wrong_graphs) / (n_graphs - 1) / 2
    return right


def small_batch(seed: int = 0):
    """Four MUTAG graphs, two of them the same, through a small network, and the scores of every node."""
    graphs = load_dataset("MUTAG")[[0, 3, 30, 3]]
    torch.manual_seed(seed)
    network = InfoGraphObjective(GIN(7, [3, 3])).double().train()
    batch = Batcher(refine(graphs, 2)).batch(np.arange(4), nodes=True)
    with torch.no_grad():
        states, vectors = network.encode(batch)
        scorer = network.local_global.discriminator(states, vectors, batch)
        local = network.local_global.discriminator.local(
            torch.cat([batch.rounds[1].own @ states[0], states[1]], 1)
        )
        scores = (local @ network.local_global.discriminator.whole(vectors).T)[batch.node_colour][
            :, batch.which
        ]
    return batch, scorer, scores, graphs.node_graph.tolist()


def leaves_of(scorer: Scorer) -> list[torch.Tensor]:
    tensors = (scorer.hidden, scorer.direct, scorer.projected, *scorer.tail)
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def scorer_of(leaves: Sequence[torch.Tensor]) -> Scorer:
    return Scorer(leaves[0], leaves[1], leaves[2], Tail(*leaves[3:]))


@pytest.mark.parametrize("weighting", ["graph", "node"])
@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
@pytest.mark.parametrize("chunk_rows", [3, 1000])
def test_a_bound_is_its_loop(bound, weighting, chunk_rows):
    batch, scorer, scores, graph = small_batch()
    weights = pair_weights(batch, weighting, torch.float64)
    found = contrast(scorer, weights, BOUNDS[bound], chunk_rows)
    assert found.loss.item() == pytest.approx(loop(scores, graph, bound, weighting), rel=1e-10)
    assert found.accuracy.item() == pytest.approx(accuracy_loop(scores, graph, weighting), rel=1e-10)


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_chunks_do_not_change_gradients(bound):
    batch, scorer, *_ = small_batch()
    weights = pair_weights(batch, "graph", torch.float64)
    gradients = []
    for rows in (4, 10_000):
        leaves = leaves_of(scorer)
        result = contrast(scorer_of(leaves), weights, BOUNDS[bound], rows)
        gradients.append(torch.autograd.grad(3 * result.loss, leaves))
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_gradients_are_those_of_the_loss(bound):
    batch, scorer, *_ = small_batch()
    weights = pair_weights(batch, "graph", torch.float64)

    def loss(*leaves: torch.Tensor) -> torch.Tensor:
        return contrast(scorer_of(leaves), weights, BOUNDS[bound], 5).loss

    assert torch.autograd.gradcheck(loss, leaves_of(scorer), eps=1e-6, atol=1e-6)


@given(st.integers(0, 1000))
def test_jsd_is_bounded(seed):
    """The estimate never exceeds 2 log 2, and is 0 for a discriminator that says nothing."""
    batch, scorer, *_ = small_batch(seed % 5)
    weights = pair_weights(batch, "graph", torch.float64)
    noise = torch.randn(scorer.direct.shape, generator=torch.Generator().manual_seed(seed)).double()
    noisy = Scorer(scorer.hidden, scorer.direct + 5 * noise, scorer.projected, scorer.tail)
    assert contrast(noisy, weights, BOUNDS["jsd"], 50).information <= 2 * math.log(2)
    silent = Scorer(scorer.hidden, 0 * scorer.direct, 0 * scorer.projected, scorer.tail)
    assert contrast(silent, weights, BOUNDS["jsd"], 50).information.item() == pytest.approx(0, abs=1e-12)


def test_weights_add_up_to_one_and_weigh_graphs_alike():
    batch, *_ = small_batch()
    for weighting in ("graph", "node"):
        weights = pair_weights(batch, weighting, torch.float64)
        rows = weights.positive
        per_graph = torch.zeros(3, dtype=torch.float64).index_add_(0, rows.index, rows.value)
        nodes = batch.sizes * batch.copies
        expected = batch.copies / 4 if weighting == "graph" else nodes / nodes.sum()
        torch.testing.assert_close(per_graph, expected.double())


def test_huge_scores_stay_finite_and_normal():
    scores, weight, none = torch.tensor([[-500.0, -95.0, 500.0]]), torch.full((1, 3), 1e-6), torch.zeros(1, 3)
    loss, slope = BOUNDS["jsd"].loss(Pairs(scores, none, weight, torch.ones(3)), torch.zeros(()))
    assert loss.item() == pytest.approx(500e-6)
    assert slope.min() > torch.finfo(torch.float32).tiny  # no denormal numbers
    torch.testing.assert_close(slope, torch.tensor([[0.0, 0.0, 1e-6]]))
    loss, slope = BOUNDS["jsd"].loss(Pairs(scores, weight, none, torch.ones(3)), torch.zeros(()))
    assert loss.item() == pytest.approx(595e-6)
    torch.testing.assert_close(slope, torch.tensor([[-1e-6, -1e-6, 0.0]]))


def test_the_shortcut_and_three_layers_of_the_discriminator():
    torch.manual_seed(0)
    network, x = FeedForward(3, 4), torch.randn(5, 3)
    hidden = x
    for layer in (network.first, network.second, network.third):
        hidden = (hidden @ layer.weight.T + layer.bias).clamp(min=0)
    torch.testing.assert_close(network(x), hidden + x @ network.shortcut.weight.T + network.shortcut.bias)


def test_the_conditioned_discriminator_normalises_and_scales():
    torch.manual_seed(0)
    discriminator = Discriminator(4, 4, 4, conditioned=True)
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


def test_a_memory_budget_becomes_rows():
    assert chunk_rows_for(512, 512, 128, 4) == 2048
    assert chunk_rows_for(1, 512, 128, 4) == 58
    assert chunk_rows_for(1e-9, 512, 128, 4) == 16

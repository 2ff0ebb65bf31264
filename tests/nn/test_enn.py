"""enn-s2s against PyG's NNConv, GRU and Set2Set with the same weights: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks.enn_reference import EnnReference
from infograph.nn.enn import ENNEncoder, LinkBatcher, link_widths
from tests.objectives.loops import toy_molecules


def outputs(network: nn.Module, states: list[Tensor], vectors: Tensor) -> list[Tensor]:
    """States and vectors; the network then has the gradients of one function of both."""
    generator, found = torch.Generator().manual_seed(1), [*states, vectors]
    network.zero_grad()
    sum((t * torch.rand(t.shape, generator=generator, dtype=t.dtype)).sum() for t in found).backward()
    return found


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        *(([*sizes], {}) for sizes in ((1,), (5,), (1, 2, 3), (9, 9, 9), (4, 30, 12, 5, 1, 17))),
        *(([6, 1, 11, 4], {"positions": False, "floats": floats}) for floats in (0, 1, 3)),
        ([6, 8, 7], {"floats": 2}),
    ],
)
def test_equals_pyg(sizes: list[int], options: dict[str, int]) -> None:
    """Pairs of nodes with positions, or arcs; bonds with numbers of their own."""
    graphs, order = toy_molecules(sizes, **options), np.arange(len(sizes))[::-1]
    torch.manual_seed(0)
    ours = ENNEncoder(2, sum(link_widths(graphs.schema)), dim=8).double()
    for parameter in ours.parameters():
        parameter.data.normal_(std=0.4)
    reference = EnnReference.like(ours)
    batch = LinkBatcher(graphs, 3).batch(order)
    states = ours(batch)
    values = outputs(ours, states, ours.vectors(states, batch.to(torch.float64)))
    expected = outputs(reference, *reference(graphs[order], torch.float64))
    for value, wanted in zip(values, expected, strict=True):
        torch.testing.assert_close(value, wanted, rtol=1e-9, atol=1e-10)
    for name, wanted in reference.gradients().items():
        torch.testing.assert_close(dict(ours.named_parameters())[name].grad, wanted, rtol=1e-8, atol=1e-9)

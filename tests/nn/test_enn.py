"""enn-s2s against PyG's NNConv, GRU and Set2Set with the same weights: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks.enn_reference import EnnReference
from infograph.data.convert import Record, assemble
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema
from infograph.nn.enn import ENNEncoder
from infograph.nn.pairs import LinkBatcher, link_width

BONDS = ("single", "double", "triple", "aromatic")


def random_molecules(sizes: list[int], seed: int = 0, *, floats: int = 0, positions: bool = True) -> GraphSet:
    """Random atoms in space with random bonds, some of them repeated or missing."""
    rng = np.random.default_rng(seed)
    records = []
    for size in sizes:
        bonded = rng.random((size, size)) < 0.3
        source, target = np.nonzero(np.triu(bonded, 1))
        kinds = rng.choice(BONDS, len(source))
        node = {"element": rng.choice(["H", "C", "N"], size).astype(object)}
        if positions:
            node["position"] = rng.normal(size=(size, 3)) * 2
        edge = {"bond": np.tile(kinds, 2).astype(object)}
        if floats:
            edge["strength"] = np.tile(rng.normal(size=(len(source), floats)), (2, 1))
        edges = np.hstack([[source, target], [target, source]])
        records.append(Record(size, edges, node=node, edge=edge))
    known = Schema(
        node=(
            Column("element", "categorical", categories=("H", "C", "N")),
            Column("position", "float", width=3, role="position", used=True),
        ),
        edge=(Column("bond", "categorical", categories=BONDS),),
    )
    return assemble(records, columns=known)


def outputs(network: nn.Module, states: list[Tensor], vectors: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Everything to compare: states, vectors, and the gradients of one function of both."""
    generator = torch.Generator().manual_seed(1)
    value = sum(
        (t * torch.rand(t.shape, generator=generator, dtype=t.dtype)).sum() for t in (*states, vectors)
    )
    network.zero_grad()
    value.backward()
    return [*states, vectors], [p.grad for p in network.parameters()]


def compare(graphs: GraphSet, chosen: list[int], seed: int = 0, dim: int = 8) -> None:
    torch.manual_seed(seed)
    ours = ENNEncoder(3, link_width(graphs.schema), dim=dim, hidden=16).double()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(std=0.4)
    reference = EnnReference.like(ours)
    batch = LinkBatcher(graphs, 3).batch(np.array(chosen))
    states = ours(batch)
    values, gradients = outputs(ours, states, ours.vectors(states, batch.to(torch.float64)))
    expected = outputs(reference, *reference(graphs[np.array(chosen)], torch.float64))
    for value, wanted in zip(values, expected[0], strict=True):
        torch.testing.assert_close(value, wanted, rtol=1e-9, atol=1e-10)
    for name, wanted in reference.gradients().items():
        torch.testing.assert_close(dict(ours.named_parameters())[name].grad, wanted, rtol=1e-8, atol=1e-9)
    assert len(gradients) == len(expected[1])


@pytest.mark.parametrize("sizes", [[5], [1, 2, 3], [9, 9, 9], [4, 30, 12, 5, 1, 17]])
def test_all_pairs_equal_pyg(sizes: list[int]) -> None:
    graphs = random_molecules(sizes)
    compare(graphs, list(range(len(sizes))))


@pytest.mark.parametrize("floats", [0, 1, 3])
def test_arcs_equal_pyg(floats: int) -> None:
    compare(random_molecules([6, 1, 11, 4], positions=False, floats=floats), [3, 0, 2, 1])


def test_continuous_edge_columns_beside_positions_equal_pyg() -> None:
    compare(random_molecules([6, 8, 7], floats=2), [2, 0])

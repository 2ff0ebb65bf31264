"""Per colour equals per node: outputs, loss, gradients and BatchNorm statistics against PyG's layers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from benchmarks.reference import PerNode
from infograph import MutualInformation, as_graphset, load_dataset
from infograph.data.colours import Colouring, refine
from infograph.data.graphset import GraphSet
from infograph.nn.batch import Batcher
from infograph.nn.gin import GINEncoder, split_width
from infograph.objectives.contrast import node_vectors

WIDTHS = split_width(22, 3)


def both_sides(colouring: Colouring, readout: str, objective: MutualInformation):
    torch.manual_seed(1)
    node_dim, edge_dim = colouring.node_table.shape[1], colouring.edge_table.shape[1]
    ours = objective.build(GINEncoder(node_dim, WIDTHS, edge_dim, readout=readout)).double().train()
    for p in ours.parameters():  # zero biases and unit scales would hide mistakes
        p.data += 0.1 * torch.randn_like(p)
    theirs = PerNode(node_dim, WIDTHS, edge_dim, readout).double()
    return ours, theirs.copy_from(ours.encoder, ours.local_global.discriminator)


def per_node_inputs(graphs: GraphSet, colouring: Colouring) -> tuple[torch.Tensor, ...]:
    x = torch.from_numpy(colouring.node_table[colouring.node_colours[0]]).double()
    edge_index = torch.from_numpy(graphs.edge_index.astype(np.int64))
    columns = graphs.schema.features("edge")
    attributes = [torch.from_numpy(c.encode(graphs.edge[c.name])).double() for c in columns]
    return (
        x,
        edge_index,
        torch.from_numpy(graphs.node_graph),
        torch.cat(attributes, 1) if attributes else None,
    )


def assert_equal_everywhere(graphs: GraphSet, readout: str = "sum", weighting: str = "graph") -> None:
    colouring = refine(graphs, 3)
    objective = MutualInformation(weighting=weighting)
    ours, theirs = both_sides(colouring, readout, objective)
    batch = Batcher(colouring).batch(np.arange(len(graphs)), nodes=True)
    x, edge_index, graph, edge_attr = per_node_inputs(graphs, colouring)

    loss = objective.loss(ours, batch).total
    expected = theirs.loss(x, edge_index, graph, edge_attr, weighting)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)

    loss.backward()
    expected.backward()
    scale = max(float(p.grad.abs().max()) for p in theirs.parameters())
    for a, b in theirs.paired_parameters(ours.encoder, ours.local_global.discriminator):
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-8, atol=1e-10 * scale)
    for layer, norm in zip(ours.encoder.layers, theirs.norms, strict=True):
        torch.testing.assert_close(layer.norm.running_mean, norm.running_mean)
        torch.testing.assert_close(layer.norm.running_var, norm.running_var)

    ours.eval()
    theirs.eval()
    states = theirs.encode(x, edge_index, edge_attr)
    own_states = ours.encoder(batch)
    vectors = ours.encoder.vectors(own_states, batch)
    torch.testing.assert_close(node_vectors(own_states, batch), states)
    torch.testing.assert_close(vectors[batch.which], theirs.pool(states, graph))
    scores = theirs.local(states) @ theirs.whole(theirs.pool(states, graph)).T
    own = scores[torch.arange(len(graph)), graph]
    torch.testing.assert_close(ours.local_global.score_nodes(own_states, vectors, batch), own)


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
@pytest.mark.parametrize("weighting", ["graph", "node"])
def test_corner_cases(corner_cases, readout, weighting):
    assert_equal_everywhere(corner_cases, readout, weighting)


@pytest.mark.parametrize("readout", ["sum", "max"])
def test_corner_cases_with_edge_labels(corner_cases, readout):
    schema = corner_cases.schema.select("edge", ["bond"])
    assert_equal_everywhere(dataclasses.replace(corner_cases, schema=schema), readout)


def test_corner_cases_without_features(corner_cases):
    schema = corner_cases.schema.select("node", [])
    assert_equal_everywhere(dataclasses.replace(corner_cases, schema=schema))


@pytest.mark.parametrize("edge", [[], ["label"]])
def test_mutag(edge):
    graphs = load_dataset("MUTAG")[:40]
    assert_equal_everywhere(dataclasses.replace(graphs, schema=graphs.schema.select("edge", edge)))


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_graphs_that_are_there_twice(corner_cases, readout):
    assert_equal_everywhere(corner_cases[[0, 3, 3, 5, 6, 3, 0, 9]], readout)


def test_equal_graphs_are_computed_once(corner_cases):
    batch = Batcher(refine(corner_cases, 2)).batch(np.array([3, 5, 3, 3]))
    assert len(batch.sizes) == 2
    assert batch.copies[batch.which].tolist() == [3, 1, 3, 3]
    assert batch.sizes[batch.which].tolist() == corner_cases.sizes[[3, 5, 3, 3]].tolist()


def test_learned_eps_counts_the_own_state_once_more(corner_cases):
    colouring = refine(corner_cases, 2)
    torch.manual_seed(0)
    encoder = GINEncoder(3, [4, 4], norm=False, learn_eps=True).double()
    batch = Batcher(colouring).batch(np.arange(len(corner_cases)), nodes=True)
    for layer in encoder.layers:
        layer.eps.data.fill_(0.7)
    states = encoder(batch)
    x, edge_index, _, _ = per_node_inputs(corner_cases, colouring)
    for k, layer in enumerate(encoder.layers):
        total = (1 + 0.7) * x + torch.zeros_like(x).index_add_(0, edge_index[1], x[edge_index[0]])
        x = torch.relu(layer.second(torch.relu(layer.first(total))))
        assert len(states[k]) == colouring.n_colours(k + 1)
    torch.testing.assert_close(states[-1][batch.node_colour], x)


def test_weights_multiply_messages():
    edges = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]])
    weight = torch.tensor([0.5, 2.0, 1.5, 3.0])
    x = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))
    graphs = as_graphset([Data(x=x, edge_index=edges, edge_weight=weight)] * 2)
    torch.manual_seed(0)
    encoder = GINEncoder(2, [5], norm=False)
    batch = Batcher(refine(graphs, 1)).batch(np.arange(2), nodes=True)
    layer = encoder.layers[0]
    total = x + torch.zeros_like(x).index_add_(0, edges[1], weight[:, None] * x[edges[0]])
    expected = torch.relu(layer.second(torch.relu(layer.first(total))))
    torch.testing.assert_close(encoder(batch)[0][batch.node_colour], torch.cat([expected, expected]))

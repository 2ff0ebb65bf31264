"""What the objectives are compared with: encoders and losses as loops, from the equations.

The loops take the weights of the real modules, so that gradients can be compared, too. Nothing here merges
equal graphs, pads molecules or contracts sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from infograph.data.colours import node_inputs
from infograph.data.graphset import GraphSet
from infograph.data.joining import align
from infograph.data.records import Record, assemble
from infograph.data.schema import Column, Schema
from infograph.estimators.architecture import EncoderSpec, schema_for
from infograph.nn.encoder import GraphEncoder
from infograph.nn.enn import ENNEncoder
from infograph.objectives.contrast import LocalGlobal
from infograph.objectives.objective import Predictor, Step

BONDS = ("single", "double", "aromatic")


@dataclass(frozen=True)
class World:
    """Graphs, and how predictors and updates for them are made."""

    graphs: GraphSet
    encoder: EncoderSpec
    dim: int
    n_outputs: int

    def make(self) -> Predictor:
        return Predictor(self.encoder.build(self.graphs.schema, self.dim), self.n_outputs)

    def step(
        self, labelled: Sequence[int], unlabelled: Sequence[int], targets: Tensor, number: int = 0
    ) -> Step:
        source = self.encoder.build(self.graphs.schema, self.dim).source(self.graphs)
        return Step(source, np.array(labelled), np.array(unlabelled, dtype=np.int64), targets, number)

    def some(self, chosen: Sequence[int]) -> GraphSet:
        return self.graphs[np.array(chosen)]


def world(graphs: GraphSet, n_outputs: int, encoder: EncoderSpec, dim: int = 8) -> World:
    return World(align(graphs, schema_for(encoder, graphs, None, None)), encoder, dim, n_outputs)


def toy_molecules(sizes: Sequence[int], *, floats: int = 0, positions: bool = True) -> GraphSet:
    """Random atoms, in space, with random bonds that have some more numbers."""
    rng = np.random.default_rng(0)
    records = []
    for size in sizes:
        source, target = np.nonzero(np.triu(rng.random((size, size)) < 0.4, 1))
        edge = {"bond": np.tile(rng.choice(BONDS, len(source)), 2).astype(object)}
        node = {"element": rng.choice(["H", "C"], size).astype(object)}
        if positions:
            node["position"] = rng.normal(size=(size, 3))
        if floats:
            edge["strength"] = np.tile(rng.normal(size=(len(source), floats)), (2, 1))
        records.append(Record(size, np.hstack([[source, target], [target, source]]), node=node, edge=edge))
    element = Column("element", "categorical", categories=("H", "C"))
    position = Column("position", "float", width=3, role="position", used=True)
    bonds = Column("bond", "categorical", categories=BONDS)
    return assemble(records, columns=Schema(node=(element, position), edge=(bonds,)))


# ---- encoders


def node_states(encoder: GraphEncoder, graphs: GraphSet) -> list[Tensor]:
    """States of every node after each layer, in training mode (Eq. 1). K x (N, D)."""
    colour, table = node_inputs(graphs)
    x = torch.from_numpy(table[colour]).double()
    return (enn_states if isinstance(encoder, ENNEncoder) else gin_states)(encoder, x, graphs)


def gin_states(gin: GraphEncoder, states: Tensor, graphs: GraphSet) -> list[Tensor]:
    source, target = torch.from_numpy(graphs.edge_index.astype(np.int64))
    heard = torch.zeros(len(states), len(states), dtype=torch.float64)
    for u, v in zip(target.tolist(), source.tolist(), strict=True):
        heard[u, v] += 1
    collected = []
    for layer in gin.layers:
        states = torch.relu(layer.second(torch.relu(layer.first(states + heard @ states))))
        if layer.norm is not None:
            variance = states.var(0, correction=0)
            normal = (states - states.mean(0)) / torch.sqrt(variance + 1e-5)
            states = normal * layer.norm.weight + layer.norm.bias
        collected.append(states)
    return collected


def enn_states(enn: ENNEncoder, x: Tensor, graphs: GraphSet) -> list[Tensor]:
    column = graphs.schema.column("edge", "bond")
    per_graph = []
    for g in range(len(graphs)):
        one = graphs[g]
        n, where = one.n_nodes, one.node["position"].astype(np.float32)
        bonds = column.encode(one.edge["bond"])
        vectors = {(u, v): np.zeros(len(BONDS)) for u in range(n) for v in range(n) if u != v}
        for (v, u), bond in zip(one.edges.T.tolist(), bonds, strict=True):
            vectors[u, v] = bond
        states = torch.relu(enn.input(x[graphs.node_ptr[g] : graphs.node_ptr[g + 1]]))
        collected = []
        for _ in enn.widths:
            messages = []
            for u in range(n):
                message = torch.zeros(enn.bias.shape, dtype=torch.float64)
                for v in range(n):
                    if v != u:
                        distance = np.sqrt(((where[u] - where[v]) ** 2).sum())
                        edge = torch.from_numpy(np.append(vectors[u, v], distance)).double()
                        matrix = enn.edge.second(torch.relu(enn.edge.first(edge)))
                        message = message + states[v] @ matrix.view(len(message), -1) / (n - 1)
                messages.append(torch.relu(message + enn.bias))
            states = enn.gru(torch.stack(messages), states)
            collected.append(states)
        per_graph.append(collected)
    return [torch.cat(layer) for layer in zip(*per_graph, strict=True)]


def graph_level(encoder: GraphEncoder, states: Tensor, graphs: GraphSet) -> Tensor:
    """H^k of every graph from the states of one layer: a sum, or Set2Set. (B, D)."""
    rows = [states[start:stop] for start, stop in zip(graphs.node_ptr[:-1], graphs.node_ptr[1:], strict=True)]
    return torch.stack([_set2set(encoder, r) if isinstance(encoder, ENNEncoder) else r.sum(0) for r in rows])


def _set2set(enn: ENNEncoder, rows: Tensor) -> Tensor:
    question = cell = torch.zeros(1, rows.shape[1], dtype=torch.float64)
    answer = torch.zeros(1, 2 * rows.shape[1], dtype=torch.float64)
    for _ in range(3):
        question, cell = enn.readout.lstm(answer, (question, cell))
        attention = torch.softmax(rows @ question[0], 0)
        answer = torch.cat([question, (attention @ rows)[None]], 1)
    return answer[0]


def graph_vectors(encoder: GraphEncoder, states: list[Tensor], graphs: GraphSet) -> Tensor:
    """H (Eq. 3): all levels side by side, of enn-s2s the last one. (B, dim)."""
    levels = [graph_level(encoder, state, graphs) for state in states]
    return levels[-1] if isinstance(encoder, ENNEncoder) else torch.cat(levels, 1)


def predictions(predictor: Predictor, graphs: GraphSet) -> Tensor:
    states = node_states(predictor.encoder, graphs)
    return predictor.head(graph_vectors(predictor.encoder, states, graphs))


# ---- losses


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean over all values that are known."""
    errors = [
        (outputs[g, t] - targets[g, t]) ** 2
        for g in range(len(targets))
        for t in range(targets.shape[1])
        if not targets[g, t].isnan()
    ]
    return sum(errors) / len(errors)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean of minus the logarithm of the own class's probability."""
    known = [g for g in range(len(targets)) if targets[g] >= 0]
    return sum(-outputs[g].softmax(0)[targets[g]].log() for g in known) / len(known)


def patch_loss(encoder: GraphEncoder, local_global: LocalGlobal, graphs: GraphSet) -> Tensor:
    """Minus Eq. 4 with Eq. 5, node by node, divided by the number of graphs."""
    states = node_states(encoder, graphs)
    patches = torch.cat(states, 1) if local_global.patches == "all" else states[-1]
    discriminator = local_global.discriminator
    scores = discriminator.local(patches) @ discriminator.whole(graph_vectors(encoder, states, graphs)).T
    total, n_graphs = torch.zeros((), dtype=torch.float64), len(graphs)
    for u, own in enumerate(graphs.node_graph.tolist()):
        others = [softplus(scores[u, g]) for g in range(n_graphs) if g != own]
        each = softplus(-scores[u, own]) + sum(others) / (n_graphs - 1)
        total = total + each / int(graphs.sizes[own])
    return total / n_graphs


def transfer_loop(
    first: Callable[[Tensor], Tensor],
    second: Callable[[Tensor], Tensor],
    student: Tensor,
    teacher: Tensor,
    sizes: Sequence[int],
) -> Tensor:
    """The last term of Eq. 8 at one layer, graph by graph, divided by the number of graphs."""
    each = []
    for j, size in enumerate(sizes):
        scores = [first(student[j]) @ second(teacher[i]) for i in range(len(sizes))]
        negatives = [softplus(score) for i, score in enumerate(scores) if i != j]
        each.append((softplus(-scores[j]) + sum(negatives) / len(negatives)) / size)
    return sum(each) / len(each)

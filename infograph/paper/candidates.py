"""Objectives that were tried as defaults and are none: docs/choosing_defaults.md has what came of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from infograph.data.graphset import GraphSet, pointer
from infograph.estimators.infograph import InfoGraph
from infograph.nn.batch import ColourBatch
from infograph.nn.encoder import GraphEncoder
from infograph.objectives.infograph import MutualInformation
from infograph.objectives.objective import LossTerms
from infograph.progress import Progress
from infograph.train import loop


def _graphs_of(batch: ColourBatch) -> GraphSet:
    if batch.source.graphs is None:
        raise ValueError("an objective that changes graphs needs them in memory")
    return batch.source.graphs[batch.distinct]


def _part(graphs: GraphSet, nodes: Any, arcs: Any) -> GraphSet:
    """The graphs with these nodes and arcs only, given as masks."""
    place = np.cumsum(nodes) - 1
    node_ptr = pointer(np.add.reduceat(nodes, graphs.node_ptr[:-1]))
    edge_ptr = pointer(np.bincount(graphs.edge_graph[arcs], minlength=len(graphs)))
    ends = place[graphs.edge_index[:, arcs]] - np.repeat(node_ptr[:-1], np.diff(edge_ptr))
    return replace(
        graphs,
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        edges=ends.astype(graphs.edges.dtype),
        node={name: values[nodes] for name, values in graphs.node.items()},
        edge={name: values[arcs] for name, values in graphs.edge.items()},
    )


def _hidden(graphs: GraphSet, share: float, rng: np.random.Generator) -> tuple[GraphSet, Any]:
    """Graphs in which the categories of a share of the nodes are unknown, and which nodes these are."""
    chosen = rng.random(graphs.n_nodes) < share
    for column in graphs.schema.features("node"):
        if column.kind == "categorical":
            codes = np.where(chosen, column.unknown, graphs.node[column.name]).astype(np.int32)
            graphs = graphs.with_column("node", column, codes)
    return graphs, chosen


def _seed() -> np.random.Generator:
    """numpy's generator from torch's, which a resumed run repeats."""
    return np.random.default_rng(int(torch.randint(2**31, ()).item()))


@dataclass
class Views(MutualInformation):
    """A second contrast: a graph finds itself, changed in another way, among the changed graphs of the batch.

    A change is one of three: a tenth of the nodes dropped, a tenth of the edges, or a tenth of the nodes'
    categories hidden. The term is NT-Xent (Chen et al. 2020) on a projection of the vectors.
    """

    views: float = 1.0
    share: float = 0.1
    temperature: float = 0.2

    def build(self, encoder: GraphEncoder) -> nn.ModuleDict:
        made = super().build(encoder)
        dim = encoder.dim
        made["projection"] = nn.Sequential(
            nn.BatchNorm1d(dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 128)
        )
        return made

    def loss(self, net: Any, batch: Any) -> LossTerms:
        total, shown = super().loss(net, batch)
        graphs, rng = _graphs_of(batch), _seed()
        one, two = (self._view(net, self.change(graphs, rng)) for _ in range(2))
        scores = one @ two.T / self.temperature  # (G, G)
        own = torch.arange(len(scores))
        apart = (cross_entropy(scores, own) + cross_entropy(scores.T, own)) / 2
        return LossTerms(
            total + self.views * apart / math.log(max(len(scores), 2)), {**shown, "views": apart}
        )

    def _view(self, net: Any, graphs: GraphSet) -> Tensor:
        batch = net.encoder.source(graphs).batch(np.arange(len(graphs)))
        vectors = net.encoder.vectors(net.encoder(batch), batch)[batch.which]
        return normalize(net.projection(vectors))

    def change(self, graphs: GraphSet, rng: np.random.Generator) -> GraphSet:
        """One change, of a kind that is drawn for all graphs of the batch."""
        kind = rng.integers(3 if graphs.schema.features("node") else 2)
        if kind == 2:
            return _hidden(graphs, self.share, rng)[0]
        source, target = graphs.edge_index
        kept = rng.random(graphs.n_nodes) >= (self.share if kind == 0 else 0)
        kept[graphs.node_ptr[:-1]] = True  # no graph is left without nodes
        drawn = rng.random(graphs.n_nodes)  # by their sum, both arcs of an edge fare alike
        left = ((drawn[source] + drawn[target]) % 1 >= self.share) | (kind == 0)
        return _part(graphs, kept, left & kept[source] & kept[target])


@dataclass
class Masked(MutualInformation):
    """A second term: categories that are hidden at some nodes are predicted from their states."""

    masked: float = 1.0
    share: float = 0.15

    def build(self, encoder: GraphEncoder) -> nn.ModuleDict:
        made = super().build(encoder)
        first: Any = encoder
        made["unmask"] = nn.Linear(sum(encoder.widths), first.layers[0].first.in_features)
        return made

    def loss(self, net: Any, batch: Any) -> LossTerms:
        total, shown = super().loss(net, batch)
        graphs = _graphs_of(batch)
        column = next((c for c in graphs.schema.features("node") if c.kind == "categorical"), None)
        if column is None:
            return LossTerms(total, shown)
        changed, chosen = _hidden(graphs, self.share, _seed())
        masked = net.encoder.source(changed).batch(np.arange(len(graphs)), nodes=True)
        states = net.encoder(masked)
        patches = states[0]
        for state, round_ in zip(states[1:], masked.rounds[1:], strict=True):
            patches = torch.cat([round_.own @ patches, state], 1)
        places = np.flatnonzero(chosen & (graphs.node[column.name] < column.unknown))
        if not len(places):
            return LossTerms(total, shown)
        answers = net.unmask(patches[masked.node_colour[torch.from_numpy(places)]])[:, : column.unknown]
        wrong = cross_entropy(answers, torch.from_numpy(graphs.node[column.name][places].astype(np.int64)))
        return LossTerms(total + self.masked * wrong, {**shown, "masked": wrong})


class Averaged(InfoGraph):
    """InfoGraph with the exponential average of its weights at the end, decay 0.999 (0.99 in a short run)."""

    def _fit(self, graphs: Any, **given: Any) -> Any:
        average: dict[str, Tensor] = {}
        steps = 0

        def follow(now: Progress) -> None:
            nonlocal steps
            steps += 1
            decay = min(0.999, (1 + steps) / (10 + steps))
            for name, value in self.network_.state_dict().items():
                if value.is_floating_point():
                    kept = average.setdefault(name, value.clone())
                    kept.lerp_(value, 1 - decay)

        watchers = [*given.pop("watchers", ()), follow]
        source, known = super()._fit(graphs, watchers=watchers, **given)
        if average:
            self.network_.load_state_dict({**self.network_.state_dict(), **average})
            order = loop.cut(np.arange(len(known)), source.sizes, self.batch_size, loop.MAX_NODES, least=2)
            loop.collect_statistics(self.network_, self._encode, map(source.batch, order))
        return source, known

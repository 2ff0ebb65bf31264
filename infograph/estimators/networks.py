"""From settings and graphs to an encoder, and to the batches it takes; shared by all estimators with one."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from infograph.data.colour_blocks import refine_on_disk
from infograph.data.colour_files import MARKER, open_colouring
from infograph.data.colours import edge_width, node_width, refine
from infograph.data.fingerprint import fingerprint
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.nn.batch import Batcher
from infograph.nn.encoder import GraphEncoder
from infograph.nn.enn import ENN
from infograph.nn.gin import GIN, split_width
from infograph.nn.link_batch import LinkBatcher, link_width
from infograph.nn.nodes import NodeBatcher, NodeEncoder
from infograph.nn.readout import Readout

EncoderName = Literal["auto", "gin", "enn-s2s"]
NodeFeatures = Literal["auto", "constant", "degree"]
AnyBatcher = Batcher | NodeBatcher | LinkBatcher
DEFAULT_LAYERS = {"gin": 4, "enn-s2s": 3}  # the fewest the paper searches; Gilmer et al.
LARGE = 200  # nodes; where graphs are larger, "auto" takes no encoder that looks at all pairs of nodes


@dataclass(frozen=True)
class Architecture:
    """What an encoder is made with.

    Attributes:
        encoder: "auto", "gin", "enn-s2s", or a user's module per node.
        dim: length of graph vectors.
        layers: GIN layers or message steps; None for 4 and 3.
        readout, norm, learn_eps: GIN only, see `InfoGraph`.
        node_features: what nodes start with.
    """

    encoder: EncoderName | nn.Module = "gin"
    dim: int = 512
    layers: int | None = None
    readout: Readout = "sum"
    norm: bool = True
    learn_eps: bool = False
    node_features: NodeFeatures = "auto"

    @classmethod
    def of(cls, estimator: Any) -> Architecture:
        """As an estimator's parameters have it."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def resolved(self, graphs: GraphSet) -> Architecture:
        """With "auto" decided: enn-s2s for coordinates or continuous edge features, GIN otherwise."""
        if isinstance(self.encoder, nn.Module):
            return self
        name = _choose(graphs) if self.encoder == "auto" else self.encoder
        return replace(self, encoder=name, layers=self.layers or DEFAULT_LAYERS[name])

    def schema(self, graphs: GraphSet, node: Sequence[str] | None, edge: Sequence[str] | None) -> Schema:
        """What a resolved architecture asks of graphs: the chosen columns only, their scaling fitted."""
        schema = graphs.schema.select("node", node).select("edge", edge)
        if self.encoder == "enn-s2s" and schema.weight is not None:
            raise InvalidParameter(
                f"encoder='enn-s2s' has no use for the weight {schema.weight.name!r}: read it as an edge "
                f"feature instead, or take encoder='gin'"
            )
        position = schema.position if self.encoder == "enn-s2s" else None
        if position is None and schema.position is not None and schema.position.used:
            raise InvalidParameter(
                f"the node column {schema.position.name!r} holds coordinates, and of those only "
                f"encoder='enn-s2s' sees something (distances): take that, or leave the column out"
            )
        for level in ("node", "edge"):
            seen = (replace(c, used=True) if c == position else c for c in getattr(schema, level))
            kept = (c.fitted(getattr(graphs, level)[c.name]) for c in seen if c.used)
            schema = schema.replace(level, (c for c in kept if c.role != "position" or position))
        return schema

    def build(self, schema: Schema) -> GraphEncoder:
        """An encoder with fresh weights for graphs of that schema; the architecture must be resolved."""
        node_dim = node_width(schema, self.node_features)
        if isinstance(self.encoder, nn.Module):
            return NodeEncoder(copy.deepcopy(self.encoder), node_dim, self.readout)
        layers = self.layers or DEFAULT_LAYERS[self.encoder]
        if self.encoder == "enn-s2s":
            if self.dim % 2:
                raise InvalidParameter(
                    f"dim={self.dim}: expected an even number, Set2Set makes vectors of two halves"
                )
            return ENN(node_dim, link_width(schema), self.dim // 2, layers)
        widths = split_width(self.dim, layers)
        return GIN(
            node_dim,
            widths,
            edge_width(schema),
            readout=self.readout,
            norm=self.norm,
            learn_eps=self.learn_eps,
        )


def make_source(
    encoder: GraphEncoder,
    graphs: GraphSet,
    node_features: NodeFeatures,
    device: torch.device,
    scratch: str | Path | None = None,
) -> AnyBatcher:
    """Batches of graphs for an encoder; their colours go to the folder `scratch`, if there is one."""
    layers = len(encoder.widths)
    if isinstance(encoder, NodeEncoder):
        return NodeBatcher(graphs, layers, node_features, device)
    if isinstance(encoder, ENN):
        return LinkBatcher(graphs, layers, node_features, device)
    if scratch is None:
        return Batcher(refine(graphs, layers, node_features=node_features), device)
    folder = Path(scratch) / f"colours-{layers}-{node_features}-{fingerprint(graphs, scaling=True)}"
    if (folder / MARKER).is_file():
        return Batcher(open_colouring(folder), device)
    return Batcher(refine_on_disk(graphs, layers, folder, node_features=node_features), device)


def _choose(graphs: GraphSet) -> Literal["gin", "enn-s2s"]:
    continuous = any(column.kind == "float" for column in graphs.schema.features("edge"))
    position, largest = graphs.schema.position, int(graphs.sizes.max())
    placed = position is not None and (position.used or largest <= LARGE)
    if graphs.schema.weight is None and (continuous or placed):
        return "enn-s2s"
    if position is not None:
        reason = f"a graph has {largest} nodes" if graphs.schema.weight is None else "edges have weights"
        warnings.warn(
            f"encoder='auto' takes GIN, which does not see the coordinates of these graphs, because "
            f"{reason}; encoder='enn-s2s' looks at all pairs of nodes",
            stacklevel=6,
        )
    return "gin"

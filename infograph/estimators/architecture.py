"""Encoders as parameters of an estimator: small objects that build the network for a set of graphs."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from torch import nn

from infograph.data.colours import WIDE, edge_width, node_width, too_wide
from infograph.data.graphset import GraphSet
from infograph.data.molecules import ELEMENT
from infograph.data.schema import Column, Level, Schema
from infograph.errors import InvalidParameter, NotFitted
from infograph.estimators.base import GraphEstimator, load
from infograph.nn.encoder import GraphEncoder, NodeEncoder, NodeFeatures, Readout, Weights
from infograph.nn.enn import ENNEncoder, link_widths
from infograph.nn.gin import GINEncoder, split_width
from infograph.parameters import Spec

LARGE = 200  # nodes; where graphs are larger, "auto" takes no encoder that looks at all pairs of nodes


@dataclass
class EncoderSpec(Spec):
    """Base of encoders as parameters."""

    def resolved(self, graphs: GraphSet) -> EncoderSpec:
        """The encoder for these graphs, where that depends on them."""
        return self

    def build(self, schema: Schema, dim: int) -> GraphEncoder:
        """An encoder with fresh weights for graphs of a schema, whose vectors have `dim` numbers."""
        raise NotImplementedError

    def another(self, schema: Schema, dim: int) -> GraphEncoder:
        """The encoder of one more network of an ensemble, with weights of its own."""
        return self.build(schema, dim)


@dataclass
class GIN(EncoderSpec):
    """The graph isomorphism network (Xu et al. 2019); GINE (Hu et al. 2020) where edges have columns.

    Args:
        layers: the paper searches 4, 8, 12. Widths are as equal as possible and add up to `dim`.
        readout: "log" (sign(x) log(1 + abs(x)) of the sum), "sum" (paper), "mean", or "max".
        norm: BatchNorm after every layer.
        learn_eps: learn eps instead of fixing it at 0.
        node_features: "auto" (the node columns, a constant where there are none), "constant", "degree" (one
            number), or "degrees" (one category each).
    """

    layers: int = 4
    readout: Readout = "log"
    norm: bool = True
    learn_eps: bool = False
    node_features: NodeFeatures = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "layers": [Interval(Integral, 1, None, closed="left")],
        "readout": [StrOptions({"sum", "mean", "max", "log"})],
        "norm": ["boolean"],
        "learn_eps": ["boolean"],
        "node_features": [StrOptions({"auto", "constant", "degree", "degrees"})],
    }

    def build(self, schema: Schema, dim: int) -> GINEncoder:
        if dim < self.layers:
            raise InvalidParameter(f"dim={dim} is less than layers={self.layers}: a layer needs a width")
        n_inputs = node_width(schema, self.node_features)
        if n_inputs > WIDE and schema.features("edge"):
            raise too_wide(n_inputs)
        return GINEncoder(
            n_inputs,
            split_width(dim, self.layers),
            edge_width(schema),
            readout=self.readout,
            norm=self.norm,
            learn_eps=self.learn_eps,
            node_features=self.node_features,
        )


@dataclass
class ENN(EncoderSpec):
    """enn-s2s (Gilmer et al. 2017), the paper's encoder of molecules with coordinates.

    It also takes continuous edge features; node states are half as wide as graph vectors.

    Args:
        layers: message steps; 3 in the paper's code.
        node_features: as in `GIN`.
        weights: what linear maps start with, those of a head included: "torch" for its own, "xavier" with
            biases of zero in the paper's code.
    """

    layers: int = 3
    node_features: NodeFeatures = "auto"
    weights: Weights = "torch"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: GIN._parameter_constraints[name] for name in ("layers", "node_features")},
        "weights": [StrOptions({"torch", "xavier"})],
    }

    def build(self, schema: Schema, dim: int) -> ENNEncoder:
        if dim % 2:
            raise InvalidParameter(f"dim={dim}: expected an even number, Set2Set makes vectors of two halves")
        nodes = node_width(schema, self.node_features)
        beside: Any = {"node_features": self.node_features, "weights": self.weights}
        return ENNEncoder(nodes, sum(link_widths(schema)), dim // 2, self.layers, **beside)


@dataclass
class PerNode(EncoderSpec):
    """A module of your own, which works per node as PyG's do; `encoder=MyGNN` is short for `PerNode(MyGNN)`.

    Args:
        module: `forward(x, edge_index, batch) -> list of node states per layer`, or those of the last layer
            only, with `edge_attr` and `edge_weight` as further arguments if it wants them, and without
            `batch` if not. A module is copied, with its weights for the first network of an ensemble and with
            fresh ones (`reset_parameters`) for further ones; a class, or any function, is called with the
            number of inputs per node, once for each network. Its widths decide how long vectors are, not
            `dim`; but PyG's own models as classes (`encoder=torch_geometric.nn.GIN`) are made `dim` wide,
            with 4 layers.
        readout, node_features: as in `GIN`.
    """

    module: nn.Module | Callable[[int], nn.Module]
    readout: Readout = "sum"
    node_features: NodeFeatures = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: GIN._parameter_constraints[name] for name in ("readout", "node_features")
    }

    def build(self, schema: Schema, dim: int) -> NodeEncoder:
        width = node_width(schema, self.node_features)
        own = isinstance(self.module, nn.Module)
        module = copy.deepcopy(self.module) if own else self._made(width, dim)
        if not isinstance(module, nn.Module):
            raise InvalidParameter(f"encoder={self.module!r} made a {type(module).__name__}, no torch module")
        return NodeEncoder(module, schema, self.readout, self.node_features)

    def another(self, schema: Schema, dim: int) -> NodeEncoder:
        made = self.build(schema, dim)
        if isinstance(self.module, nn.Module):
            _reset(made.module)
        return made

    def _made(self, width: int, dim: int) -> Any:
        make: Any = self.module
        of_pyg = isinstance(make, type) and hasattr(make, "supports_edge_attr")
        return make(width, hidden_channels=dim, num_layers=GIN.layers) if of_pyg else make(width)


def _reset(module: nn.Module) -> None:
    """Give a module fresh weights; a part that cannot do that is refused."""
    reset = getattr(module, "reset_parameters", None)
    if callable(reset):
        reset()
    elif next(module.parameters(recurse=False), None) is not None:
        raise InvalidParameter(
            f"n_models: further networks start from weights of their own, and {type(module).__name__} has no "
            f"reset_parameters() for its weights; write one, or give a class or a function as encoder"
        )
    else:
        for part in module.children():
            _reset(part)


@dataclass
class Auto(EncoderSpec):
    """enn-s2s for graphs with coordinates or continuous edge features, GIN otherwise.

    GIN is also taken, with a warning, where graphs have more than 200 nodes or edge weights.

    Args:
        layers: None for 3 (enn-s2s) and 4 (GIN).
        readout, norm, learn_eps, node_features: as in `GIN`, where that is taken.
    """

    layers: int | None = None
    readout: Readout = "sum"
    norm: bool = True
    learn_eps: bool = False
    node_features: NodeFeatures = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GIN._parameter_constraints,
        "layers": [*GIN._parameter_constraints["layers"], None],
    }

    def resolved(self, graphs: GraphSet) -> EncoderSpec:
        continuous = any(column.kind == "float" for column in graphs.schema.features("edge"))
        position, largest = graphs.schema.position, int(graphs.sizes.max())
        placed = position is not None and (position.used or largest <= LARGE)
        if graphs.schema.weight is None and (continuous or placed):
            return ENN(self.layers or ENN.layers, self.node_features)
        if position is not None:
            reason = f"a graph has {largest} nodes" if graphs.schema.weight is None else "edges have weights"
            warnings.warn(
                f"encoder='auto' takes GIN, which does not see the coordinates of these graphs, because "
                f"{reason}; encoder='enn-s2s' looks at all pairs of nodes",
                stacklevel=6,
            )
        return GIN(self.layers or GIN.layers, self.readout, self.norm, self.learn_eps, self.node_features)


ENCODERS: dict[str, type[EncoderSpec]] = {"auto": Auto, "gin": GIN, "enn-s2s": ENN}
AnyEncoder = Literal["auto", "gin", "enn-s2s"] | EncoderSpec | nn.Module | Callable[[int], nn.Module]


def encoder_spec(encoder: AnyEncoder) -> EncoderSpec:
    """The object that a parameter stands for."""
    if isinstance(encoder, EncoderSpec):
        return encoder
    if isinstance(encoder, str) and encoder in ENCODERS:
        return ENCODERS[encoder]()
    if isinstance(encoder, nn.Module) or callable(encoder):
        return PerNode(encoder)
    raise InvalidParameter(
        f"encoder={encoder!r}: expected 'auto', 'gin', 'enn-s2s', GIN(...), ENN(...), or a torch module"
    )


def schema_for(
    encoder: EncoderSpec, graphs: GraphSet, node: Sequence[str] | None, edge: Sequence[str] | None
) -> Schema:
    """What an encoder asks of graphs: the chosen columns only, with the scaling and elements of these."""
    schema = graphs.schema.select("node", node).select("edge", edge)
    pairs = isinstance(encoder, ENN)
    if pairs and schema.weight is not None:
        raise InvalidParameter(
            f"encoder='enn-s2s' has no use for the weight {schema.weight.name!r}: read it as an edge feature "
            f"instead, or take encoder='gin'"
        )
    position = schema.position if pairs else None
    if position is None and schema.position is not None and schema.position.used:
        raise InvalidParameter(
            f"the node column {schema.position.name!r} holds coordinates, and of those only "
            f"encoder='enn-s2s' sees something (distances): take that, or leave the column out"
        )
    for level in ("node", "edge"):
        seen = (replace(c, used=True) if c == position else c for c in getattr(schema, level))
        kept = (_own(c, getattr(graphs, level)[c.name]) for c in seen if c.used)
        schema = schema.replace(level, (c for c in kept if c.role != "position" or position))
    return schema


def _own(column: Column, values: NDArray[Any]) -> Column:
    """A column as these values have it; of the periodic table only the elements that occur."""
    if column.categories != ELEMENT.categories:
        return column.fitted(values)
    codes = np.unique(values).tolist()
    there = tuple(column.categories[code] for code in codes if code != column.unknown)
    return replace(column, categories=there or column.categories)


def fitted_model(model: Any) -> Any:
    """The model that `init_from` names, or the one in the folder that it names; it must have an encoder."""
    model = load(model) if isinstance(model, str | Path) else model
    if hasattr(model, "encoder_"):
        return model
    if isinstance(model, GraphEstimator) and not hasattr(model, "schema_"):
        raise NotFitted(
            f"init_from={type(model).__name__}(...) is not fitted; scikit-learn's clone forgets what was "
            f"learned, so inside a search give the folder that the model was saved to"
        )
    raise InvalidParameter(
        f"init_from={model!r}: expected a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, "
        f"or the folder of one"
    )


def widened(schema: Schema, graphs: GraphSet) -> Schema:
    """A fitted schema with the categories that graphs have and it lacks, behind its own."""
    for level in ("node", "edge"):
        columns = []
        for column in getattr(schema, level):
            own = graphs.schema.column(level, column.name)
            if own is not None and own.kind == column.kind == "categorical":
                codes = np.unique(own.codes(getattr(graphs, level)[own.name])).tolist()
                there = dict.fromkeys(own.categories[code] for code in codes if code != own.unknown)
                column = replace(column, categories=tuple({**dict.fromkeys(column.categories), **there}))
            columns.append(column)
        schema = schema.replace(level, columns)
    return schema


@torch.no_grad()
def load_widened(encoder: GraphEncoder, start: GraphEncoder, before: Schema, after: Schema) -> None:
    """Give an encoder the weights of one for fewer categories.

    Where inputs that are new come in, weights stay as they are; where something is added to them, as edges
    are to nodes, it is nothing. So graphs without new categories have the vectors that they had.
    """
    places: dict[tuple[int, int], list[Sequence[int]]] = {}  # (old width, new one) -> where old inputs are
    for level in ("node", "edge"):
        kept, n_inputs = list[int](), 0
        both = (_input_widths(encoder, schema, level) for schema in (before, after))
        for width, wider in zip(*both, strict=True):
            kept += range(n_inputs, n_inputs + width)
            n_inputs += wider
        places.setdefault((len(kept), n_inputs), []).append(kept)
    own = encoder.state_dict()
    for name, old in start.state_dict().items():
        axes = []
        for axis, pair in enumerate(zip(old.shape, own[name].shape, strict=True)):
            fitting = places.get(pair, [range(pair[0])])  # of nodes and of edges there may be as many:
            axes.append(fitting[-1 if axis and "edge" in name else 0])  # names tell what comes in
        if old.dim() and old.shape[0] != own[name].shape[0]:
            own[name].zero_()
        own[name][np.ix_(*axes)] = old.to(own[name])


def _input_widths(encoder: GraphEncoder, schema: Schema, level: Level) -> list[int]:
    """Inputs of an encoder, in their order."""
    if level == "edge" and isinstance(encoder, ENNEncoder):
        return link_widths(schema)
    return [column.encoded_width for column in schema.features(level)]


def choose_device(device: str) -> torch.device:
    """ "auto" is a GPU if there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidParameter(
            f"device={device!r} cannot be used here ({reason}); use 'auto' or 'cpu'"
        ) from error
    return chosen

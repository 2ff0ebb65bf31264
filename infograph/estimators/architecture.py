"""From settings and graphs to an encoder, and to the batches it takes."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from infograph.data.colours import MARKER, edge_width, node_width, open_colouring, refine, refine_on_disk
from infograph.data.graphset import GraphSet, fingerprint
from infograph.data.labels import check_unlabelled
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter, NotFitted
from infograph.estimators.base import GraphEstimator, load
from infograph.nn.batch import Batcher
from infograph.nn.encoder import GraphEncoder, NodeBatcher, NodeEncoder, Readout
from infograph.nn.enn import ENN
from infograph.nn.gin import GIN, split_width
from infograph.nn.pairs import LinkBatcher, link_width
from infograph.objectives import ObjectiveName
from infograph.objectives.contrast import Patches
from infograph.objectives.infograph_star import Transfer, TransferScale
from infograph.train.checkpoint import load_weights
from infograph.train.loop import AnyBatcher

EncoderName = Literal["auto", "gin", "enn-s2s"]
NodeFeatures = Literal["auto", "constant", "degree"]
DEFAULT_LAYERS = {"gin": 4, "enn-s2s": 3}  # the fewest the paper searches; Gilmer et al.
LARGE = 200  # nodes; where graphs are larger, "auto" takes no encoder that looks at all pairs of nodes
CHOICES: dict[str, tuple[str, ...]] = {
    "objective": get_args(ObjectiveName),
    "transfer": get_args(Transfer),
    "transfer_scale": get_args(TransferScale),
    "patches": get_args(Patches),
    "readout": ("sum", "mean", "max"),
    "weighting": ("graph", "node"),
    "bound": ("jsd", "dv", "infonce"),
    "discriminator": ("paper", "conditioned"),
    "node_features": ("auto", "constant", "degree"),
}
LEAST: dict[str, float] = {
    "dim": 1,
    "layers": 1,
    "epochs": 0,
    "batch_size": 2,
    "max_nodes": 1,
    "random_state": 0,
    "ramp_up": 0,
    "patience": 0,
    "early_stopping": 1,
    "steps_per_epoch": 1,
    "n_models": 1,
}
MAY_BE_NONE = ("layers", "early_stopping", "steps_per_epoch", "noise")
LARGEST_SEED = 2**32 - 1  # numpy's
POSITIVE = ("lr", "memory_mb", "radius")
NOT_NEGATIVE = ("prior", "weight_decay", "lam", "consistency", "noise")
SHARES = ("factor", "decay", "threshold")


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


@dataclass(frozen=True)
class Donor:
    """A trained encoder: how it is made, what graphs it takes, and its weights."""

    architecture: Architecture
    schema: Schema
    weights: dict[str, Tensor]

    def give(self, encoder: GraphEncoder) -> None:
        """Copy the weights into another encoder of that architecture."""
        load_weights(encoder, self.weights)


def find_donor(model: Any) -> Donor | None:
    """The encoder of a fitted model, or of the folder of one; None for none.

    Raises:
        NotFitted: the model has learned nothing.
        InvalidParameter: it is no model with an encoder.
    """
    if model is None:
        return None
    model = load(model) if isinstance(model, str | Path) else model
    built = getattr(model, "_built", None)
    if built is None:
        if isinstance(model, GraphEstimator):
            name = type(model).__name__
            raise NotFitted(
                f"init_from is {'an' if name[0] in 'AEIOU' else 'a'} {name} that is not fitted; "
                f"scikit-learn's clone forgets what was learned, so inside a search give the folder that "
                f"the model was saved to"
            )
        raise InvalidParameter(
            f"init_from={model!r}: expected a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, "
            f"or the folder of one"
        )
    architecture = Architecture(**{field.name: built[field.name] for field in fields(Architecture)})
    weights = {name: tensor.detach().clone() for name, tensor in model._encoder.state_dict().items()}
    return Donor(architecture, model.schema_, weights)


def check_settings(estimator: Any) -> None:
    """Refuse settings that cannot work.

    Raises:
        InvalidParameter: says which, what it is and what it may be.
    """
    given = estimator.get_params(deep=False)
    settings = {k: v for k, v in given.items() if v is not None or k not in MAY_BE_NONE}
    for name, allowed in CHOICES.items():
        if name in settings and settings[name] not in allowed:
            raise InvalidParameter(
                f"{name}={settings[name]!r}: expected one of {', '.join(map(repr, allowed))}"
            )
    for name, least in LEAST.items():
        value = settings.get(name, least)
        if isinstance(value, bool) or not _whole(value) or value < least:
            raise InvalidParameter(f"{name}={value!r}: expected a whole number, at least {least:g}")
    if settings.get("random_state", 0) > LARGEST_SEED:
        raise InvalidParameter(f"random_state={settings['random_state']!r}: expected at most {LARGEST_SEED}")
    for name in POSITIVE + NOT_NEGATIVE:
        value = settings.get(name, 1.0)
        if not _finite(value) or value < 0 or (name in POSITIVE and value == 0):
            kind = "positive" if name in POSITIVE else "not negative"
            raise InvalidParameter(f"{name}={value!r}: expected a finite number that is {kind}")
    for name in SHARES:
        value = settings.get(name, 1.0)
        if not _finite(value) or not 0 <= value <= 1:
            raise InvalidParameter(f"{name}={value!r}: expected a number from 0 to 1")
    if settings["dim"] < settings.get("layers", 1):
        raise InvalidParameter(
            f"dim={settings['dim']} is less than layers={settings['layers']}: a layer needs a width"
        )
    _check_encoder(settings["encoder"])
    check_unlabelled(settings.get("unlabelled"))
    choose_device(settings["device"])


def check_epochs(epochs: object) -> None:
    """Refuse a number of epochs that is none; None stands for the estimator's own."""
    if epochs is not None and (isinstance(epochs, bool) or not _whole(epochs) or int(epochs) < 0):  # type: ignore[call-overload]
        raise InvalidParameter(f"epochs={epochs!r}: expected a whole number, at least 0")


def _check_encoder(encoder: object) -> None:
    if isinstance(encoder, nn.Module) or encoder in ("auto", "gin", "enn-s2s"):
        return
    hint = (
        "; this model was saved with one: pass it again, load(folder, encoder=...)"
        if encoder == "custom"
        else ""
    )
    raise InvalidParameter(f"encoder={encoder!r}: expected 'auto', 'gin', 'enn-s2s' or a torch module{hint}")


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


def _whole(value: object) -> bool:
    return hasattr(value, "__index__")


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)

"""`init_from`: an encoder that starts from what another model has learned."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from infograph.contract import GraphEstimator, load
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter, NotFitted
from infograph.estimators.networks import Architecture
from infograph.nn.encoder import GraphEncoder
from infograph.train.checkpoint import load_weights


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

"""The encoder of InfoGraph as it comes, without training: the reference that training has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from torch import nn

from infograph.errors import InvalidParameter
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.networks import EncoderName
from infograph.nn.readout import Readout


class UntrainedGIN(InfoGraph):
    """`InfoGraph(epochs=0)` by a name of its own: random weights, BatchNorm statistics from one pass.

        vectors = UntrainedGIN().fit_transform(graphs)

    The same seed gives the same weights as in `InfoGraph`, so the two differ by training alone. Whatever has
    to do with training is fixed.

    Args:
        dim, layers, batch_size, readout, node_columns, edge_columns, node_features, encoder, norm,
            max_nodes, device, random_state: as in `InfoGraph`, with its defaults.
    """

    def __init__(
        self,
        dim: int = 512,
        layers: int = 4,
        *,
        batch_size: int = 128,
        readout: Readout = "sum",
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: Literal["auto", "constant", "degree"] = "auto",
        encoder: EncoderName | nn.Module = "gin",
        norm: bool = True,
        max_nodes: int = 200_000,
        device: str = "auto",
        random_state: int = 0,
    ) -> None:
        super().__init__(
            dim,
            layers,
            epochs=0,
            batch_size=batch_size,
            readout=readout,
            node_columns=node_columns,
            edge_columns=edge_columns,
            node_features=node_features,
            encoder=encoder,
            norm=norm,
            max_nodes=max_nodes,
            device=device,
            random_state=random_state,
        )

    def partial_fit(self, graphs: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """`fit`, but for the weights, which stay.

        Raises:
            InvalidParameter: it is asked to train.
        """
        if epochs:
            raise InvalidParameter(f"epochs={epochs!r}: an untrained encoder stays one; take InfoGraph")
        return super().partial_fit(graphs, y, epochs=0)

    def _fitted_settings(self) -> dict[str, Any]:
        own = self._get_param_names()
        return {name: value for name, value in super()._fitted_settings().items() if name in own}

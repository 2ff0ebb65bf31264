"""Encoder and head: graphs to predictions."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder


@dataclass(frozen=True)
class Encoding:
    """What an encoder says about the G distinct graphs of a batch: states per layer, vectors (G, dim)."""

    states: list[Tensor]
    vectors: Tensor


class Predictor(nn.Module):
    """`head(H)`: two linear layers with a ReLU between, dim -> dim / 2 -> outputs, as in the paper's code."""

    def __init__(self, encoder: GraphEncoder, n_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        middle = max(encoder.dim // 2, 1)
        self.head = nn.Sequential(nn.Linear(encoder.dim, middle), nn.ReLU(), nn.Linear(middle, n_outputs))

    def encode(self, batch: Batch) -> Encoding:
        """States and vectors of the distinct graphs."""
        states: list[Tensor] = self.encoder(batch)
        return Encoding(states, self.encoder.vectors(states, batch))

    def outputs(self, encoding: Encoding, batch: Batch) -> Tensor:
        """The predictions for every graph asked for. (B, n_outputs)."""
        predicted: Tensor = self.head(encoding.vectors)
        return predicted[batch.which]

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> predictions, standardised numbers or class scores. (B, n_outputs)."""
        return self.outputs(self.encode(batch), batch)

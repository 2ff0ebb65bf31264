"""Vectors out of a trained network, batch by batch, and the places of graphs that have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infograph.data.graphset import GraphSet, Rejected
from infograph.errors import InvalidGraph
from infograph.estimators.networks import AnyBatcher
from infograph.train.batches import cut


@torch.inference_mode()
def compute(
    network: nn.Module,
    source: AnyBatcher,
    what: Callable[[Any], Tensor],
    *,
    nodes: bool = False,
) -> NDArray[np.float32]:
    """`what` of all graphs, joined, with the network in evaluation mode."""
    network.eval()
    n_graphs = len(source.loads)
    batches = cut(np.arange(n_graphs), source.loads, n_graphs, source.most)
    parts = [what(source.batch(chosen, nodes=nodes)).float().cpu() for chosen in batches]
    joined: NDArray[np.float32] = torch.cat(parts).numpy()
    return joined


def check_finite(vectors: NDArray[np.float32], graphs: GraphSet) -> NDArray[np.float32]:
    """The same vectors.

    Raises:
        InvalidGraph: one of them is not finite.
    """
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InvalidGraph(
            "its vector is not finite: a feature is far outside what the model was trained on, "
            "or the training went wrong (then lower lr)",
            index=int(bad[0]),
            graph_id=graphs.ids[bad[0]],
        )
    return vectors


def with_gaps(vectors: NDArray[np.float32], rejected: Sequence[Rejected]) -> NDArray[np.float32]:
    """Vectors in the places of the input: rows of NaN for what was rejected or is not finite."""
    vectors[~np.isfinite(vectors).all(axis=1)] = np.nan
    full = np.full((len(vectors) + len(rejected), vectors.shape[1]), np.nan, np.float32)
    full[np.delete(np.arange(len(full)), [entry.index for entry in rejected])] = vectors
    return full

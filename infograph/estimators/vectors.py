"""Vectors out of a trained network, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

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

"""One of several workers: writes the loss and the gradients of a batch that they share."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import distributed as dist

from infograph import InfoGraph
from infograph.data.convert import as_graphset
from infograph.estimators.distributed import deal, shared_loss
from infograph.nn.norm import sharing
from infograph.parameters import changed
from tests.scale.conftest import molecules


def build(settings):
    """An estimator in double precision with a random network, what makes batches, and graphs."""
    graphs = as_graphset(molecules(17) + molecules(4))  # some of them twice
    estimator = changed(InfoGraph(dim=12, epochs=0, random_state=1), {"layers": 2, **settings}).fit(graphs)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in estimator.network_.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    estimator.network_.double().train()
    graphs = as_graphset(graphs, schema=estimator.schema_)
    return estimator, estimator._source(graphs), graphs


def outcome(network, terms):
    """Loss, figures, gradients, and BatchNorm's statistics after a backward pass."""
    terms.total.backward()
    found = {name: weight.grad.numpy() for name, weight in network.named_parameters()}
    found |= {name: buffer.numpy() for name, buffer in network.named_buffers()}
    return found | {"loss": terms.total.item(), **{name: float(v) for name, v in terms.shown.items()}}


def main(store, rank, workers, cases):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(str(store), workers), rank=rank, world_size=workers)
    group = dist.new_group()
    for number, settings in enumerate(cases):
        estimator, source, graphs = build(settings)
        network = estimator.network_
        part = deal(np.arange(len(graphs)), source.costs, workers)[rank]
        loss = shared_loss(network, estimator.objective_.loss)  # joins gradients as long as it is there
        with sharing(group):
            found = outcome(network, loss(source.batch(part)))
        np.savez(store.with_name(f"case{number}-rank{rank}.npz"), **found)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))

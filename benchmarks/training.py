"""Seconds per training epoch: InfoGraph per colour against the per-node reference, taking turns.

    python -m benchmarks.training [--data MUTAG PTC_MR ...] [--out benchmarks/results]

Both sides start from the same weights, get the same batches, use the same threads and take Adam steps, an
epoch here, an epoch there; the median over all turns counts. Batches are cut from the colouring within the
measured time; the reference finds its tensors ready. Every run first checks in float64 that losses and
gradients agree. A third side contrasts at most 64 nodes of every graph, drawn at random, instead of all.
The last set has eight numbers on every node, so that no two nodes share a colour: the least favourable case.
"""

from __future__ import annotations

import copy
import json
import math
import platform
import resource
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.harness import matrix_product_peak, options_of, seconds, write
from benchmarks.reference import PerNode
from infograph import InfoGraph, MutualInformation, load_dataset
from infograph.data.colours import Colouring, refine
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Column, Schema
from infograph.nn.batch import Batcher
from infograph.nn.gin import GINEncoder, split_width
from infograph.train.loop import cut, shuffled

NUMBERS = ", numbers on nodes"
SETS = (
    "MUTAG",
    "PTC_MR",
    "IMDB-BINARY",
    "IMDB-MULTI",
    "REDDIT-BINARY",
    "REDDIT-MULTI-5K",
    "PROTEINS" + NUMBERS,
)
DIM, LAYERS, BATCH = 512, 4, 128
OBJECTIVE, DRAWN = MutualInformation(), MutualInformation(max_patches=64)


def load(name: str) -> GraphSet:
    """The graphs of a set, with eight random numbers on their nodes where its name says so."""
    graphs = load_dataset(name.removesuffix(NUMBERS))
    if not name.endswith(NUMBERS):
        return graphs
    numbers = np.random.default_rng(0).normal(size=(graphs.n_nodes, 8)).astype(np.float32)
    schema = Schema(node=(Column("x", "float", width=8),))
    return replace(graphs, node={"x": numbers}, edge={}, graph={}, schema=schema)


def networks(colouring: Colouring, dtype: torch.dtype) -> tuple[Any, PerNode]:
    """Both sides with the same weights."""
    torch.manual_seed(0)
    widths, node_dim = split_width(DIM, LAYERS), colouring.node_table.shape[1]
    ours: Any = OBJECTIVE.build(GINEncoder(node_dim, widths)).to(dtype).train()
    return ours, PerNode(node_dim, widths).to(dtype).copy_from(ours.encoder, ours.local_global.discriminator)


def reference_batch(
    graphs: GraphSet, colouring: Colouring, chosen: IntArray, dtype: torch.dtype
) -> tuple[Any, ...]:
    """What the per-node side needs: inputs, arcs, graph of each node."""
    part = graphs[chosen]
    rows = np.concatenate([np.arange(graphs.node_ptr[g], graphs.node_ptr[g + 1]) for g in chosen])
    x = torch.from_numpy(colouring.node_table[colouring.node_colours[0][rows]]).to(dtype)
    return x, torch.from_numpy(part.edge_index.astype(np.int64)), torch.from_numpy(part.node_graph)


def agreement(graphs: GraphSet, colouring: Colouring, chosen: IntArray) -> dict[str, float]:
    """The largest relative difference of losses and gradients in float64.

    A gradient below 1e-9 of all gradients together is zero but for rounding, and is compared with those.
    The reference takes the variance in two passes here: torch's own BatchNorm1d is ten times further from
    the exact value on REDDIT's hubs than either side.
    """
    ours, theirs = networks(colouring, torch.float64)
    theirs.norms = nn.ModuleList(TwoPassNorm(norm.num_features).double() for norm in theirs.norms)
    loss = OBJECTIVE.loss(ours, Batcher(colouring).batch(chosen)).total
    expected = theirs.loss(*reference_batch(graphs, colouring, chosen, torch.float64))
    loss.backward()
    expected.backward()
    pairs = theirs.paired_parameters(ours.encoder, ours.local_global.discriminator)
    everything = math.sqrt(sum(float(a.grad.square().sum()) for a, _ in pairs))
    worst = 0.0
    for a, b in pairs:
        norm = float(a.grad.norm())
        worst = max(
            worst, float((a.grad - b.grad).norm()) / (norm if norm > 1e-9 * everything else everything)
        )
    return {"loss": abs(loss.item() - expected.item()) / expected.item(), "gradients": worst}


class TwoPassNorm(nn.BatchNorm1d):
    """BatchNorm in training mode, written out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, D) -> (N, D)."""
        centred = x - x.mean(0)
        return centred * torch.rsqrt(centred.square().mean(0) + self.eps) * self.weight + self.bias


def compare(name: str, repeats: int) -> dict[str, Any]:
    """Epochs on one data set, the two sides taking turns."""
    graphs = load(name)
    refined, colouring = seconds(lambda: refine(graphs, LAYERS))
    batcher = Batcher(colouring)
    refined += seconds(lambda: batcher.batch(np.arange(2)))[0]  # counts per graph, once per data set
    check = agreement(graphs, colouring, np.arange(min(32, len(graphs))))
    ours, theirs = networks(colouring, torch.float32)
    drawn: Any = DRAWN.build(copy.deepcopy(ours.encoder)).train()
    epoch = cut(shuffled(len(graphs), 0, 1), graphs.sizes, BATCH, 10**9, least=2)
    scale = 1.0
    if len(epoch) > 12:  # large sets: a sample of batches, scaled to the epoch
        epoch, scale = epoch[:4], len(graphs) / sum(map(len, epoch[:4]))
    prepared = [reference_batch(graphs, colouring, chosen, torch.float32) for chosen in epoch]
    sides = (
        Side(
            ours,
            [lambda chosen=chosen: OBJECTIVE.loss(ours, batcher.batch(chosen)).total for chosen in epoch],
        ),
        Side(theirs, [lambda batch=batch: theirs.loss(*batch) for batch in prepared]),
        Side(
            drawn, [lambda chosen=chosen: DRAWN.loss(drawn, batcher.batch(chosen)).total for chosen in epoch]
        ),
    )
    times = [[side.epoch() for side in sides] for _ in range(repeats + 1)][1:]  # the first warms up
    took, reference, few = (statistics.median(column) for column in zip(*times, strict=True))
    flops = sum(count_flops(ours, batcher.batch(chosen)) for chosen in epoch)
    return {
        "data": name,
        "seconds_per_epoch": took * scale,
        "reference_seconds_per_epoch": reference * scale,
        "times_faster": reference / took,
        "drawn_seconds_per_epoch": few * scale,
        "drawn_times_faster": took / few,
        "colouring_seconds": refined,
        "float64_difference": check,
        "gflops_per_second": flops / took / 1e9,
        "transform_graphs_per_second": throughput(graphs),
    }


class Side:
    """A network in training: what it does in an epoch."""

    def __init__(self, network: nn.Module, losses: Sequence[Callable[[], torch.Tensor]]) -> None:
        self.losses = losses
        self.optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)

    def epoch(self) -> float:
        """Seconds of one epoch."""
        return seconds(self._steps)[0]

    def _steps(self) -> None:
        for loss in self.losses:
            value = loss()
            self.optimiser.zero_grad(set_to_none=True)
            value.backward()
            self.optimiser.step()


def count_flops(network: Any, batch: Any) -> float:
    """Floating-point operations of the matrix products of one step, forward and backward."""
    in_place = {torch.ops.aten.addmm_: product_flops}  # torch counts the others by itself
    with FlopCounterMode(display=False, custom_mapping=in_place) as counter:
        OBJECTIVE.loss(network, batch).total.backward()
    return float(counter.get_total_flops())


def product_flops(_: Any, a: Sequence[int], b: Sequence[int], **options: Any) -> int:
    return 2 * a[0] * a[1] * b[1]


def throughput(graphs: GraphSet) -> float:
    """Graphs per second of `transform`, colouring included."""
    model = InfoGraph.paper(epochs=0).fit(graphs[: min(len(graphs), 256)])
    return len(graphs) / seconds(lambda: model.transform(graphs))[0]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--data", nargs="+", default=SETS)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    rows, peak = [], matrix_product_peak()
    print(f"{torch.get_num_threads()} threads, matrix products at {peak:.0f} GFLOP/s")
    for name in options.data:
        row = compare(name, options.repeats if "REDDIT" not in name else max(2, options.repeats // 5))
        row["share_of_peak"] = row["gflops_per_second"] / peak
        rows.append(row)
        print(json.dumps(row), flush=True)
    machine = {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"machine": machine, "peak_gflops_per_second": peak, "peak_memory_mb": memory, "rows": rows}
    write(options.out, "training", result)


if __name__ == "__main__":
    main()

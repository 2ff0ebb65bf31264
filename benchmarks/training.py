"""Seconds per training epoch: InfoGraph per colour against the per-node reference, alternating, batch by
batch.

    python -m benchmarks.training [--data MUTAG PTC_MR ...] [--out benchmarks/results]

Both sides start from the same weights, get the same batches, use the same threads and take an Adam step.
Times are sums over the batches of one epoch; each batch is measured `repeats` times on either side and its
median counts. Every run first checks in float64 that losses and gradients of both sides agree.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.peak import matrix_product_peak
from benchmarks.reference import PerNode
from infograph import InfoGraph, load_dataset
from infograph.data.colours import Colouring, refine
from infograph.data.graphset import GraphSet, IntArray
from infograph.methods.infograph import InfoGraphObjective
from infograph.nn.batch import Batcher
from infograph.nn.gin import GIN, split_width
from infograph.train.batches import cut, shuffled

SETS = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K")
DIM, LAYERS, BATCH = 512, 4, 128


def networks(colouring: Colouring, dtype: torch.dtype) -> tuple[InfoGraphObjective, PerNode]:
    """Both sides with the same weights."""
    torch.manual_seed(0)
    widths, node_dim = split_width(DIM, LAYERS), colouring.node_table.shape[1]
    ours = InfoGraphObjective(GIN(node_dim, widths), widths).to(dtype)
    return ours, PerNode(node_dim, widths).to(dtype).copy_from(ours.encoder, ours.discriminator)


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

    A gradient below 1e-9 of all gradients together is zero but for rounding, and is compared with those. The
    reference takes the variance in two passes here: torch's own BatchNorm1d is ten times further from the
        exact
    value on REDDIT's hubs than either side.
    """
    ours, theirs = networks(colouring, torch.float64)
    theirs.norms = nn.ModuleList(TwoPassNorm(norm.num_features).double() for norm in theirs.norms)
    loss = ours(Batcher(colouring).batch(chosen)).total
    expected = theirs.loss(*reference_batch(graphs, colouring, chosen, torch.float64))
    loss.backward()
    expected.backward()
    pairs = theirs.paired_parameters(ours.encoder, ours.discriminator)
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
    """One epoch on one data set, both sides."""
    graphs = load_dataset(name)
    started = time.perf_counter()
    colouring = refine(graphs, LAYERS)
    batcher = Batcher(colouring)
    colouring.graph_counts  # noqa: B018 - computed once per data set, so not part of an epoch
    refined = time.perf_counter() - started
    check = agreement(graphs, colouring, np.arange(min(32, len(graphs))))
    ours, theirs = networks(colouring, torch.float32)
    sides = {
        side: torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
        for side, net in ((0, ours), (1, theirs))
    }
    epoch = cut(shuffled(len(graphs), 0, 1), graphs.sizes, BATCH, 10**9, least=2)
    if len(epoch) > 8:  # large sets: a sample of batches, scaled to the epoch
        epoch, scale = epoch[:4], len(graphs) / sum(map(len, epoch[:4]))
    else:
        scale = 1.0
    totals = [0.0, 0.0]
    for chosen in epoch:
        prepared = reference_batch(graphs, colouring, chosen, torch.float32)
        steps: list[Callable[[], torch.Tensor]] = [
            lambda chosen=chosen: ours(batcher.batch(chosen)).total,
            lambda prepared=prepared: theirs.loss(*prepared),
        ]
        times: list[list[float]] = [[], []]
        for _ in range(repeats):
            for side, step in enumerate(steps):
                times[side].append(timed(step, sides[side]))
        totals = [total + statistics.median(t) for total, t in zip(totals, times, strict=True)]
    flops = count_flops(ours, batcher.batch(epoch[0]))
    first = statistics.median(
        [timed(lambda: ours(batcher.batch(epoch[0])).total, sides[0]) for _ in range(3)]
    )
    return {
        "data": name,
        "seconds_per_epoch": totals[0] * scale,
        "reference_seconds_per_epoch": totals[1] * scale,
        "times_faster": totals[1] / totals[0],
        "colouring_seconds": refined,
        "float64_difference": check,
        "gflops_per_second": flops / first / 1e9,
        "transform_graphs_per_second": throughput(graphs),
    }


def timed(step: Callable[[], torch.Tensor], optimiser: torch.optim.Optimizer) -> float:
    """Seconds of one training step; the weights stay as they are, so that all repeats do the same work."""
    state = [p.detach().clone() for group in optimiser.param_groups for p in group["params"]]
    started = time.perf_counter()
    loss = step()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    elapsed = time.perf_counter() - started
    with torch.no_grad():
        for p, old in zip((p for g in optimiser.param_groups for p in g["params"]), state, strict=True):
            p.copy_(old)
    return elapsed


def count_flops(network: InfoGraphObjective, batch: Any) -> float:
    """Floating-point operations of the matrix products of one step, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        network(batch).total.backward()
    return float(counter.get_total_flops())


def throughput(graphs: GraphSet) -> float:
    """Graphs per second of `transform`, colouring included."""
    model = InfoGraph(epochs=0).fit(graphs[: min(len(graphs), 256)])
    started = time.perf_counter()
    model.transform(graphs)
    return len(graphs) / (time.perf_counter() - started)


def describe(row: dict[str, Any]) -> str:
    difference = row["float64_difference"]
    parts = (
        f"{row['data']:16}",
        f"{row['seconds_per_epoch']:8.3f} s",
        f"reference {row['reference_seconds_per_epoch']:8.3f} s",
        f"{row['times_faster']:5.2f}x",
        f"{row['share_of_peak']:4.0%} of peak",
        f"transform {row['transform_graphs_per_second']:,.0f} graphs/s",
        f"differences {difference['loss']:.0e} {difference['gradients']:.0e}",
    )
    return "  ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=SETS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    rows, peak = [], matrix_product_peak()
    print(f"{torch.get_num_threads()} threads, matrix products at {peak:.0f} GFLOP/s")
    for name in options.data:
        row = compare(name, options.repeats if "REDDIT" not in name else max(2, options.repeats // 2))
        row["share_of_peak"] = row["gflops_per_second"] / peak
        rows.append(row)
        print(describe(row), flush=True)
    machine = {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"machine": machine, "peak_gflops_per_second": peak, "peak_memory_mb": memory, "rows": rows}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "training.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

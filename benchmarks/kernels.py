"""Graph kernels: seconds and memory of every kernel on every data set, and GraKeL beside them.

    python -m benchmarks.kernels [--out benchmarks/results] [--sets MUTAG ...] [--theirs 600]

Every measurement is a process of its own, with one thread. Ours and GraKeL's for the same Gram matrix follow
each other; GraKeL is stopped after `--theirs` seconds. Seconds are those of fitting and the Gram matrix, once
compiled code is in its cache; reading the data set and turning it into GraKeL's form are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infograph import Graphlets, GraphSet, RandomWalk, ShortestPath, WeisfeilerLehman, load_dataset
from infograph.reproduce.measured import peak_mb

SETS = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K")
OURS: dict[str, Callable[[], Any]] = {
    "WL": WeisfeilerLehman,
    "SP": ShortestPath,
    "GK": Graphlets,
    "GK connected": lambda: Graphlets(connected_only=True, values="counts"),
    "GK five nodes": lambda: Graphlets(5),
    "RW": RandomWalk,
}
COMPARED = ("WL", "SP", "GK connected")


def theirs(name: str, graphs: GraphSet) -> Callable[[], Any]:
    """GraKeL's Gram matrix of the same kernel; unlabelled nodes have one label, as ours."""
    import grakel

    labels = "label" in graphs.node
    made = []
    for one in graphs:
        edges: dict[int, dict[int, float]] = {v: {} for v in range(one.n_nodes)}
        for u, v in zip(*one.edges.tolist(), strict=True):
            edges[u][v] = 1.0
        label = one.node["label"].tolist() if labels else [0] * one.n_nodes
        made.append([edges, dict(enumerate(label)), {}])
    kernels = {
        "WL": lambda: grakel.WeisfeilerLehman(n_iter=5),
        "SP": lambda: grakel.ShortestPath(with_labels=labels),
        "GK connected": lambda: grakel.GraphletSampling(k=4),
    }
    return lambda: kernels[name]().fit_transform(made)


def measure_here(side: str, name: str, dataset: str) -> dict[str, Any]:
    """One measurement in this process."""
    graphs = load_dataset(dataset)
    if side == "ours":
        OURS[name]().fit(load_dataset("MUTAG")[:3]).gram()  # compiles
        estimate = OURS[name]().estimate(graphs)
        started = time.perf_counter()
        OURS[name]().fit(graphs).gram()
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "peak_mb": peak_mb(), "estimate": list(estimate)}
    work = theirs(name, graphs)
    started = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - started, "peak_mb": peak_mb()}


def measure(side: str, name: str, dataset: str, limit: float | None) -> dict[str, Any]:
    """One measurement in a process of its own; without "seconds" where it was stopped or failed."""
    command = [sys.executable, "-m", "benchmarks.kernels", "--case", side, name, dataset]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    row = {"side": side, "kernel": name, "data": dataset}
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=limit, env=environment
        )
    except subprocess.TimeoutExpired:
        return {**row, "stopped_after": limit}
    except subprocess.CalledProcessError as error:
        return {**row, "failed": error.stderr.strip().splitlines()[-1]}
    return {**row, **json.loads(finished.stdout)}


def report(row: dict[str, Any], base: dict[str, Any] | None) -> None:
    """One line per measurement."""
    outcome = (
        f"stopped after {row.get('stopped_after')} s" if "stopped_after" in row else row.get("failed", "")
    )
    if "seconds" in row:
        outcome = f"{row['seconds']:9.2f} s {row['peak_mb']:7.0f} MB"
        if base is not None and "seconds" in base:
            outcome += f"  {row['seconds'] / base['seconds']:6.1f} times ours"
    print(f"{row['data']:16} {row['kernel']:14} {row['side']:7} {outcome}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--kernels", nargs="+", choices=OURS, default=tuple(OURS))
    parser.add_argument("--theirs", type=float, default=600.0, help="seconds for GraKeL; 0 leaves it out")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure_here(*options.case)))
        return
    rows = []
    for dataset in options.sets:
        for name in options.kernels:
            ours = measure("ours", name, dataset, None)
            rows.append(ours)
            report(ours, None)
            if name in COMPARED and options.theirs:
                rows.append(measure("grakel", name, dataset, options.theirs))
                report(rows[-1], ours)
    options.out.mkdir(parents=True, exist_ok=True)
    load = float(np.round(os.getloadavg()[2], 1))
    content = {"load_average": load, "threads": 1, "rows": rows}
    (options.out / "kernels.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()

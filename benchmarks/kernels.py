"""Graph kernels beside GraKeL: the same Gram matrix, one after the other.

    python -m benchmarks.kernels [--out benchmarks/results] [--sets IMDB-BINARY ...] [--theirs 600]

Every measurement is a process of its own, with one thread; ours is the best of three. GraKeL is stopped after
`--theirs` seconds. Seconds are those of fitting and the Gram matrix, once compiled code is in its cache;
reading the data set and turning it into GraKeL's form are left out. The matrices are compared as well.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import elsewhere, options_of, seconds, write
from infograph import Graphlets, GraphSet, ShortestPath, WeisfeilerLehman, load_dataset
from infograph.cells import peak_mb

SETS = ("IMDB-BINARY", "REDDIT-BINARY")
OURS: dict[str, Callable[[], Any]] = {
    "WL": WeisfeilerLehman,
    "SP": ShortestPath,
    "GK": lambda: Graphlets(connected_only=True, values="counts"),
}
TIMES = 3  # ours is measured as often as this, the best counts; GraKeL takes long enough for once


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
        "GK": lambda: grakel.GraphletSampling(k=4),
    }
    return lambda: kernels[name]().fit_transform(made)


def measure_here(side: str, name: str, dataset: str, out: str) -> dict[str, Any]:
    """One measurement in this process; the matrix goes to a file."""
    graphs = load_dataset(dataset)
    if side == "ours":
        OURS[name]().fit(load_dataset("MUTAG")[:3]).gram()  # compiles

    work = theirs(name, graphs) if side == "grakel" else lambda: OURS[name]().fit(graphs).gram()
    made = [seconds(work) for _ in range(1 if side == "grakel" else TIMES)]
    np.save(out, made[-1][1])
    return {"seconds": min(took for took, _ in made), "peak_mb": peak_mb()}


def measure(side: str, name: str, dataset: str, out: Path, limit: float | None) -> dict[str, Any]:
    """One measurement in a process of its own; {} where it was stopped."""
    case = ("--case", side, name, dataset, str(out))
    try:
        said = elsewhere("-m", "benchmarks.kernels", *case, timeout=limit, OMP_NUM_THREADS="1")
    except subprocess.TimeoutExpired:
        return {}
    return dict(json.loads(said))


def compare(name: str, dataset: str, limit: float) -> dict[str, Any]:
    """Both sides, and the largest difference of their matrices relative to the largest value."""
    row: dict[str, Any] = {"data": dataset, "kernel": name}
    with tempfile.TemporaryDirectory() as folder:
        mine, other = Path(folder, "ours.npy"), Path(folder, "grakel.npy")
        ours = measure("ours", name, dataset, mine, None)
        row |= ours
        them = measure("grakel", name, dataset, other, limit)
        if not them:
            return {**row, "grakel_stopped_after": limit, "times_faster": limit / ours["seconds"]}
        a, b = np.load(mine), np.load(other)
        difference = float(np.abs(a - b).max() / np.abs(b).max())
    return {
        **row,
        "grakel_seconds": them["seconds"],
        "grakel_peak_mb": them["peak_mb"],
        "times_faster": them["seconds"] / ours["seconds"],
        "difference": difference,
    }


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--case", nargs=4)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--theirs", type=float, default=600.0, help="seconds for GraKeL")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure_here(*options.case)))
        return
    rows = []
    for dataset in options.sets:
        for name in OURS:
            rows.append(compare(name, dataset, options.theirs))
            print(json.dumps(rows[-1]), flush=True)
    write(options.out, "kernels", {"threads": 1, "rows": rows})


if __name__ == "__main__":
    main()

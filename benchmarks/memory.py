"""Peak memory of training, each case in a process of its own.

    python -m benchmarks.memory [--out benchmarks/results]

An epoch of REDDIT-MULTI-5K with default settings, and an epoch over a batch that holds one graph of 200,000
nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness import elsewhere, options_of, seconds, write
from infograph import GraphSet, InfoGraph, as_graphset, load_dataset
from infograph.cells import peak_mb


def reddit() -> None:
    InfoGraph(epochs=1).fit(load_dataset("REDDIT-MULTI-5K"))


def huge_graph(n_nodes: int = 200_000) -> None:
    """One graph whose nodes all differ, beside three small ones: nothing is saved by colours here."""
    InfoGraph(epochs=1).fit(_huge(n_nodes))


def _huge(n_nodes: int) -> GraphSet:
    rng = np.random.default_rng(0)
    arcs = rng.integers(0, n_nodes, size=(2, 2 * n_nodes))
    small = [(np.array([[0, 1], [1, 0]]), rng.normal(size=(2, 4)))] * 3
    return as_graphset([(np.hstack([arcs, arcs[::-1]]), rng.normal(size=(n_nodes, 4))), *small])


CASES: dict[str, Callable[[], None]] = {
    "REDDIT-MULTI-5K, one epoch": reddit,
    "a graph of 200,000 nodes": huge_graph,
}


def measure(name: str) -> dict[str, float | str]:
    took, said = seconds(lambda: elsewhere("-m", "benchmarks.memory", "--case", name))
    return {"case": name, "peak_mb": float(said), "seconds": took}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    if options.case:
        CASES[options.case]()
        print(peak_mb())
        return
    rows = []
    for name in CASES:
        rows.append(measure(name))
        print(f"{name:30} {rows[-1]['peak_mb']:8.0f} MB  {rows[-1]['seconds']:6.1f} s", flush=True)
    write(options.out, "memory", rows)


if __name__ == "__main__":
    main()

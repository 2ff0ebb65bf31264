"""Search among as many vectors as QM9 has molecules: exact and by faiss, duplicates, opening, memory.

    python -m benchmarks.search [--vectors 130831] [--out benchmarks/results]

The vectors are random but clustered, as those of graphs are: 1,000 clusters in a space of 32 dimensions, with
noise in all 512. One in a hundred is a copy of another one but for roundings.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from benchmarks.harness import elsewhere, options_of, seconds, write
from infograph.cells import peak_mb
from infograph.data.vectors import Embeddings
from infograph.index import GraphIndex

DIM, INNER, CLUSTERS, QUERIES = 512, 32, 1_000, 100


def clustered(n_vectors: int) -> tuple[NDArray[np.float32], int]:
    """The vectors, and how many of them are copies of others."""
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((INNER, DIM)) / np.sqrt(DIM)
    centres = 3 * rng.standard_normal((CLUSTERS, INNER))
    vectors = np.empty((n_vectors, DIM), np.float32)
    for start in range(0, n_vectors, 8192):
        part = vectors[start : start + 8192]
        inner = centres[rng.integers(CLUSTERS, size=len(part))] + rng.standard_normal((len(part), INNER))
        part[:] = inner @ axes + 0.02 * rng.standard_normal(part.shape)
    chosen = rng.permutation(n_vectors)[: 2 * (n_vectors // 100)].reshape(2, -1)
    vectors[chosen[0]] = vectors[chosen[1]] * (1 + 1e-7 * rng.standard_normal((chosen.shape[1], DIM)))
    return vectors, chosen.shape[1]


def queries(index: GraphIndex, vectors: NDArray[np.float32]) -> dict[str, float]:
    """Milliseconds of one query at a time; of all at once, per query. New vectors near stored ones."""
    rng = np.random.default_rng(1)
    chosen = vectors[rng.choice(len(vectors), QUERIES)]
    near = (chosen + 0.02 * rng.standard_normal(chosen.shape)).astype(np.float32)
    index.search(near[:3])
    times = [1e3 * seconds(lambda query=query: index.search(query))[0] for query in near]
    together = 1e3 * seconds(lambda: index.search(near))[0] / QUERIES
    return {"median_ms": statistics.median(times), "slowest_ms": max(times), "of_many_at_once_ms": together}


def opening(folder: Path) -> dict[str, Any]:
    """Opening in a fresh process, and its memory; mapped files count as far as they were read."""
    times = {
        f"{name}_seconds": seconds(lambda verify=verify: GraphIndex.open(folder, verify=verify))[0]
        for name, verify in (("first", True), ("again", True), ("unverified", False))
    }
    before = peak_mb()
    index = GraphIndex.open(folder)
    index.search(index.vectors[:1])
    searched = peak_mb()
    index.near_duplicates()
    memory = {"opened_mb": before, "searched_mb": searched, "duplicates_mb": peak_mb()}
    return {"case": "opening in a process of its own", **times, **memory}


def measure(n_vectors: int, metric: str) -> list[dict[str, Any]]:
    """All rows of one metric."""
    vectors, copies = clustered(n_vectors)
    embeddings = Embeddings(np.arange(n_vectors), vectors)
    exact = GraphIndex.of(embeddings, metric=metric, approximate=False)
    built, near = seconds(lambda: GraphIndex.of(embeddings, metric=metric, approximate=True))
    took, groups = seconds(exact.near_duplicates)
    about = {"metric": metric, "vectors": n_vectors, "dim": DIM}
    rows: list[dict[str, Any]] = [
        {"case": "exact search", **about, **queries(exact, vectors)},
        {
            "case": "search by faiss",
            **about,
            "build_seconds": built,
            **queries(near, vectors),
            "recall_at_10": near.recall(),
        },
        {"case": "near duplicates", **about, "seconds": took, "groups": len(groups), "copies": copies},
    ]
    with tempfile.TemporaryDirectory() as place:
        for name, index in (("exact", exact), ("faiss", near)):
            folder = index.save(Path(place) / name)
            opened = json.loads(elsewhere("-m", "benchmarks.search", "--open", str(folder)))
            rows.append({**opened, **about, "form": name})
    return rows


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--vectors", type=int, default=130_831)
    parser.add_argument("--open", type=Path, help="only measure the opening of this folder")
    options = parser.parse_args()
    if options.open is not None:
        print(json.dumps(opening(options.open)))
        return
    rows = []
    for metric in ("cosine", "euclidean"):
        rows += measure(options.vectors, metric)
        for row in rows[-5:]:
            print(json.dumps(row), flush=True)
    threads = max(pool["num_threads"] for pool in threadpool_info())
    result = {"machine": {"threads": threads, "numpy": np.__version__}, "rows": rows}
    write(options.out, "search", result)


if __name__ == "__main__":
    main()

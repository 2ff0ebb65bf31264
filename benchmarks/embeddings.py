"""Seconds and peak memory of the embeddings, deep kernels and the multi-scale Laplacian; each in its process.

    python -m benchmarks.embeddings [--data MUTAG ...] [--methods node2vec ...] [--out benchmarks/results]

Beside each stands what `estimate` said, and node2vec's word2vec is run against gensim's one worker. A run
that takes longer than `--minutes` is stopped and its row says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infograph import (
    DeepGraphKernel,
    DegreeHistogram,
    Graph2Vec,
    LabelHistogram,
    MultiscaleLaplacian,
    Node2Vec,
    Sub2Vec,
    load_dataset,
)
from infograph.reproduce.measured import peak_mb

SETS = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K")
METHODS: dict[str, Callable[[], Any]] = {
    "node2vec": Node2Vec,
    "sub2vec": Sub2Vec,
    "sub2vec neighbourhood": lambda: Sub2Vec(variant="neighbourhood"),
    "graph2vec": Graph2Vec,
    "deep wl": lambda: DeepGraphKernel("wl"),
    "deep graphlet": lambda: DeepGraphKernel("graphlet"),
    "deep walk": lambda: DeepGraphKernel("walk"),
    "deep shortest path": lambda: DeepGraphKernel("shortest-path"),
    "multi-scale laplacian": MultiscaleLaplacian,
    "label histogram": LabelHistogram,
    "degree histogram": DegreeHistogram,
}


def run(data: str, method: str) -> dict[str, Any]:
    """Fit one method to one data set in this process: vectors, or the Gram matrix of a kernel."""
    graphs, model = load_dataset(data), METHODS[method]()
    estimate = model.estimate(graphs)
    started = time.perf_counter()
    if hasattr(model, "gram"):
        model.fit(graphs).gram()
    else:
        model.fit_transform(graphs)
    seconds = time.perf_counter() - started
    return {
        "data": data,
        "method": method,
        "seconds": seconds,
        "peak_mb": peak_mb(),
        "estimated_seconds": estimate.seconds,
        "estimated_mb": estimate.megabytes,
    }


def against_gensim(n_words: int = 20_000, dim: int = 512, window: int = 10) -> dict[str, float]:
    """Words per second of skip-gram on random walks through neighbouring words, both with one thread."""
    from gensim.models import Word2Vec

    from infograph.baselines.skipgram import word_vectors

    rng = np.random.default_rng(0)
    walks = rng.integers(0, 200, size=(2000, 80)) + rng.integers(0, n_words - 200, size=(2000, 1))
    word_vectors(walks[:10].astype(np.int32), n_words, dim=dim, window=window)  # compiles
    started = time.perf_counter()
    word_vectors(walks.astype(np.int32), n_words, dim=dim, window=window)
    ours = walks.size / (time.perf_counter() - started)
    model = Word2Vec(vector_size=dim, window=window, min_count=0, sg=1, negative=5, workers=1, sample=0)
    model.build_vocab_from_freq(dict(enumerate((1 + np.bincount(walks.ravel(), minlength=n_words)).tolist())))
    rows = walks.tolist()
    started = time.perf_counter()
    model.train(rows, total_examples=len(rows), epochs=1)
    theirs = walks.size / (time.perf_counter() - started)
    return {"words_per_second": ours, "gensim_words_per_second": theirs, "times_faster": ours / theirs}


def measure(data: str, method: str, minutes: float) -> dict[str, Any]:
    """`run` in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.embeddings", "--case", data, method]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        return {"data": data, "method": method, "stopped_after_minutes": minutes}
    row: dict[str, Any] = json.loads(finished.stdout)
    return row


def describe(row: dict[str, Any]) -> str:
    name = f"{row['data']:16} {row['method']:24}"
    if "seconds" not in row:
        return f"{name} stopped after {row['stopped_after_minutes']:g} minutes"
    return (
        f"{name} {row['seconds']:8.1f} s (estimate {row['estimated_seconds']:7.0f})  "
        f"{row['peak_mb']:6.0f} MB (estimate {row['estimated_mb']:6.0f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs=2)
    parser.add_argument("--data", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run(*options.case)))
        return
    rows = []
    for data in options.data:
        for method in options.methods:
            rows.append(measure(data, method, options.minutes))
            print(describe(rows[-1]), flush=True)
    result = {"skipgram": against_gensim(), "rows": rows}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "embeddings.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

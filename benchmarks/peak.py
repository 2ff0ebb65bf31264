"""How fast this machine multiplies matrices: what a training step is measured against."""

from __future__ import annotations

import time

import torch


def matrix_product_peak(rows: int = 2048, dim: int = 512, repeats: int = 200) -> float:
    """GFLOP/s of a (rows, dim) @ (dim, dim) product in float32, the best of some runs."""
    a, b = torch.randn(rows, dim), torch.randn(dim, dim)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - started)
    return 2 * rows * dim * dim / best / 1e9

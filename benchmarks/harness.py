"""What all benchmarks share: options, processes of their own, a stopwatch, and where results go."""

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


def options_of(description: str | None) -> argparse.ArgumentParser:
    """A parser with the option that all have."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=form)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    return parser


def write(out: Path, name: str, result: Any) -> None:
    """Keep a result as `name.json`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def elsewhere(*words: str, timeout: float | None = None, **environment: str) -> str:
    """What `python *words` prints, in a process of its own."""
    command, env = [sys.executable, *words], {**os.environ, **environment}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=timeout, env=env
    ).stdout


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and what came of it."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def matrix_product_peak(rows: int = 2048, dim: int = 512, repeats: int = 200) -> float:
    """GFLOP/s of a (rows, dim) @ (dim, dim) product in float32, the best of some runs."""
    import torch  # here: what is measured in a process of its own must not carry it along

    a, b = torch.randn(rows, dim), torch.randn(dim, dim)
    best = min(seconds(lambda: torch.mm(a, b))[0] for _ in range(repeats))
    return 2 * rows * dim * dim / best / 1e9

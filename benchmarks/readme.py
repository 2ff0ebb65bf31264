"""README's tables, made from the result files.

    python -m benchmarks.readme

Replaces what stands between `<!-- name -->` and `<!-- /name -->` in README.md. A test fails where README
differs from what the files give.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
STUDY = ROOT / "results" / "study-MUTAG.json"
TRAINING = ROOT / "benchmarks" / "results" / "training.json"
MEMORY = ROOT / "benchmarks" / "results" / "memory.json"


def study_table(study: dict[str, Any]) -> str:
    """Accuracies of a study."""
    lines = ["| method | accuracy, % | deviation over repeats |", "|---|---|---|"]
    for row in study["table"]:
        deviation = "" if row["std"] is None else f"{row['std']:.2f}"
        lines.append(f"| {row['method']} | {row['mean']:.2f} | {deviation} |")
    return "\n".join(lines)


def training_table(result: dict[str, Any]) -> str:
    """Seconds per epoch, and how many times faster than the reference."""
    lines = [
        "| data | infograph, s | PyG reference, s | times faster | share of peak | `transform`, graphs/s |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['data']} | {row['seconds_per_epoch']:.3g} | {row['reference_seconds_per_epoch']:.3g} "
            f"| {row['times_faster']:.1f} | {row['share_of_peak']:.0%} "
            f"| {row['transform_graphs_per_second']:,.0f} |"
        )
    machine, peak = result["machine"], result["peak_gflops_per_second"]
    worst = max(max(row["float64_difference"].values()) for row in result["rows"])
    lines += [
        "",
        f"{machine['threads']} threads, torch {machine['torch']}; the peak is this machine's matrix product, "
        f"{peak:.0f} GFLOP/s. In float64 losses and gradients differ by at most {worst:.0e}.",
    ]
    return "\n".join(lines)


def memory_table(rows: list[dict[str, Any]]) -> str:
    """Peak memory of training."""
    lines = ["| training | peak memory, MB |", "|---|---|"]
    return "\n".join(lines + [f"| {row['case']} | {row['peak_mb']:,.0f} |" for row in rows])


def render(readme: str) -> str:
    """README with all tables made anew."""
    blocks = {
        "study:MUTAG": study_table(json.loads(STUDY.read_text())),
        "benchmark:training": training_table(json.loads(TRAINING.read_text())),
        "benchmark:memory": memory_table(json.loads(MEMORY.read_text())),
    }
    for name, table in blocks.items():
        pattern = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
        if not pattern.search(readme):
            raise ValueError(f"README has no place for {name}")
        readme = pattern.sub(lambda _, n=name, t=table: f"<!-- {n} -->\n{t}\n<!-- /{n} -->", readme)
    return readme


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(render(path.read_text()))


if __name__ == "__main__":
    main()

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

from infograph.methods.objectives import TITLES
from infograph.reproduce.table2 import OBJECTIVES

ROOT = Path(__file__).parent.parent
STUDY = ROOT / "results" / "study-MUTAG.json"
TRAINING = ROOT / "benchmarks" / "results" / "training.json"
MEMORY = ROOT / "benchmarks" / "results" / "memory.json"
MOLECULES = ROOT / "benchmarks" / "results" / "molecules.json"
TABLE2 = ROOT / "results" / "table2"


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


def molecules_table(result: dict[str, Any]) -> str:
    """Seconds of enn-s2s and InfoGraph*, and how many times faster than the reference."""
    lines = ["| on QM9 | infograph, s | PyG reference, s | times faster |", "|---|---|---|---|"]
    for row in result["rows"]:
        reference = f"{row['reference_seconds']:.3g}" if "reference_seconds" in row else ""
        times = f"{row['times_faster']:.0f}" if "times_faster" in row else ""
        lines.append(f"| {row['case']} | {row['seconds']:.3g} | {reference} | {times} |")
    encoder, step, _, reading = result["rows"]
    lines += [
        "",
        f"{result['machine']['threads']} threads. Vectors differ by at most {encoder['difference']:.0e}; "
        f"{encoder['hidden_units_left']} of 128 hidden units of the edge network are left to compute; "
        f"{encoder['share_of_peak']:.0%} of this machine's matrix products. An update needs "
        f"{step['memory_mb']:.0f} MB. QM9 opens in {1000 * reading['again_seconds']:.0f} ms once read.",
    ]
    return "\n".join(lines)


REFERENCES = {
    "mean": "mean of the labels",
    "atom-counts": "least squares on atom counts",
    "fingerprints": "fingerprints, random forest",
}


def table2(results: list[dict[str, Any]]) -> str:
    """Test errors on QM9, by method and target, and their ratio to the supervised one's."""
    found = {(r["settings"]["objective"], r["settings"]["target"]): r for r in results}
    targets = sorted({target for _, target in found})
    heads = [f"{t}, {found['supervised', t]['unit']}" for t in targets]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(targets) + 1) + "|"]
    rows = REFERENCES | {objective: TITLES[objective] for objective in OBJECTIVES}
    for objective, name in rows.items():
        cells = []
        for target in targets:
            error = found[objective, target]["scores"]["test_mae"]
            ratio = error / found["supervised", target]["scores"]["test_mae"]
            cells.append(f"{error:.3g} ({ratio:.2f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def render(readme: str) -> str:
    """README with all tables made anew."""
    blocks = {
        "study:MUTAG": study_table(json.loads(STUDY.read_text())),
        "benchmark:training": training_table(json.loads(TRAINING.read_text())),
        "benchmark:memory": memory_table(json.loads(MEMORY.read_text())),
        "benchmark:molecules": molecules_table(json.loads(MOLECULES.read_text())),
        "table2": table2([json.loads(path.read_text()) for path in sorted(TABLE2.glob("*.json"))]),
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

"""The size of the house: files, lines, imports, parameters, start-up. `python -m benchmarks.house`.

With `--beside OLD NEW` it compares results of benchmarks of two commits that took turns: both are patterns of
folders, such as 'old-*', and of several runs the best counts.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "infograph"


def files_and_lines(folder: Path) -> tuple[int, int]:
    files = [path for path in folder.rglob("*.py") if ".scratch" not in path.parts]
    return len(files), sum(len(path.read_text().splitlines()) for path in files)


def importers() -> Counter[str]:
    """How many other modules of the package import each, anywhere in their code, for types or not."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    counts: Counter[str] = Counter()
    for own, path in names.items():
        seen = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                seen |= (inner & set(names)) or ({node.module} & set(names))
            elif isinstance(node, ast.Import):
                seen |= {alias.name for alias in node.names} & set(names)
        counts.update(seen - {own})
    return counts


def seconds(*command: str) -> float:
    """The least of five runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def figures(content: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """All times, sizes and speeds of a result, by their places in it."""
    if isinstance(content, list):
        for each in content:
            parts = (str(each.get(key, "")) for key in ("data", "case", "kernel", "vectors"))
            yield from figures(each, f"{name} {' '.join(part for part in parts if part)}")
    elif isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, dict | list):
                yield from figures(value, name if key == "rows" else f"{name} {key}")
            elif key.endswith(("seconds", "_ms", "_mb", "seconds_per_epoch")) and "reference" not in key:
                yield f"{name}, {key}", value


def beside(old: str, new: str) -> None:
    """A line per figure that both have: the better run of each, and their ratio."""
    sides: list[dict[str, float]] = []
    for pattern in (old, new):
        best: dict[str, float] = {}
        for path in sorted(path for folder in Path().glob(pattern) for path in folder.glob("*.json")):
            for name, value in figures(json.loads(path.read_text()), path.stem):
                best[name] = min(value, best.get(name, value))
        sides.append(best)
    for name, before in sides[0].items():
        if before and name in sides[1]:
            now = sides[1][name]
            print(f"| {name} | {before:.4g} | {now:.4g} | {now / before:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", nargs=2, metavar=("OLD", "NEW"))
    options = parser.parse_args()
    if options.beside:
        beside(*options.beside)
        return
    from infograph import InfoGraph, InfoGraphRegressor

    n_files, n_lines = files_and_lines(PACKAGE)
    n_tests, n_test_lines = files_and_lines(ROOT / "tests")
    once = [name for name, count in importers().items() if count == 1 and not name.endswith("__init__")]
    empty = seconds("-c", "")
    rows = [
        ("files / lines of infograph/", f"{n_files} / {n_lines:,}"),
        ("files / lines of tests/", f"{n_tests} / {n_test_lines:,}"),
        ("modules imported by exactly one other", len(once)),
        (
            "parameters of InfoGraph (+ fit)",
            f"{parameters(InfoGraph)} (+{parameters(InfoGraph.fit, keywords=True)})",
        ),
        ("parameters of InfoGraphRegressor", parameters(InfoGraphRegressor)),
        (
            "import infograph, seconds beyond an empty Python",
            f"{seconds('-c', 'import infograph') - empty:.2f}",
        ),
        ("infograph --help, seconds", f"{seconds('-m', 'infograph', '--help'):.2f}"),
    ]
    for name, value in rows:
        print(f"{name:<52} {value}")
    print("imported once:", ", ".join(sorted(once)))


def parameters(call: Callable[..., object], *, keywords: bool = False) -> int:
    own = [p for name, p in inspect.signature(call).parameters.items() if name != "self"]
    return sum(p.kind == p.KEYWORD_ONLY for p in own) if keywords else len(own)


if __name__ == "__main__":
    main()

"""Every method of Table 1 and every reference on every data set: seconds and peak memory.

    python -m benchmarks.methods [--out benchmarks/results] [--sets MUTAG ...] [--methods wl ...] [--again]

A method makes its vectors or its Gram matrix, with the settings and in the process of `infograph compare`,
for one seed; a method of several settings (deep graph kernels) makes them all. The limits are 30 minutes and
8 GB. Rows that the result file has are not measured again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import options_of, write
from infograph import load_dataset
from infograph.data.graphset import save_graphs
from infograph.evaluate.compare import METHODS, Limits, Stopped, represent_isolated

SETS = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K")
LIMITS = Limits(30 * 60, 8192)


def measure(dataset: str, name: str) -> dict[str, Any]:
    """One row; with "empty" and the reason where a limit was reached."""
    graphs, method = load_dataset(dataset), METHODS[name]
    row: dict[str, Any] = {"data": dataset, "method": name, "threads": threads()}
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "graphs"
        save_graphs(graphs, saved)
        try:
            made = [represent_isolated(saved, method, setting, 0, LIMITS) for setting in method.settings]
        except Stopped as reason:
            return {**row, "empty": str(reason)}
    return {
        **row,
        "seconds": sum(seconds for _, seconds, _ in made),
        "peak_mb": max(peak for _, _, peak in made),
    }


def threads() -> int:
    """How many each process may use."""
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--again", action="store_true", help="measure rows that are there already")
    options = parser.parse_args(arguments)
    path = options.out / "methods.json"
    rows = {}
    if path.is_file():
        rows = {(row["data"], row["method"]): row for row in json.loads(path.read_text())["rows"]}
    for dataset in options.sets:
        for name in options.methods:
            if (dataset, name) in rows and not options.again:
                continue
            rows[dataset, name] = measure(dataset, name)
            print(json.dumps(rows[dataset, name]), flush=True)
            ordered = [rows[each] for each in ((d, m) for d in SETS for m in METHODS) if each in rows]
            write(options.out, "methods", {"rows": ordered})


if __name__ == "__main__":
    main()

"""Support vector machines beside LIBSVM: the same cross-validation by both, one after the other.

    python -m benchmarks.judges [--out benchmarks/results]

Vectors of an untrained encoder, every C of the paper, one thread. Scores are compared as well.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from benchmarks.harness import options_of, seconds, write
from infograph import InfoGraph, cross_validate, load_dataset
from infograph.evaluate import Evaluation, judges

SETS, FOLDS, TURNS = ("REDDIT-BINARY", "REDDIT-MULTI-5K"), 5, 3


def judged(vectors: np.ndarray[Any, Any], y: Any, many: float) -> tuple[float, Evaluation]:
    """One cross-validation, LIBSVM's where graphs are not `many`, and how long it took."""
    with mock.patch.object(judges, "MANY", many):
        return seconds(lambda: cross_validate(vectors, y, repeats=1, folds=FOLDS, n_jobs=1))


def measure(dataset: str) -> dict[str, Any]:
    """Both sides in turns; the best of each."""
    graphs = load_dataset(dataset)
    vectors, y = InfoGraph.paper(epochs=0).fit_transform(graphs), graphs.graph["y"]
    judged(vectors[::10], y[::10], 0)  # compiles
    turns = [(judged(vectors, y, judges.MANY), judged(vectors, y, np.inf)) for _ in range(TURNS)]
    mine, other = (min(took for took, _ in side) for side in zip(*turns, strict=True))
    one, two = (found.candidates[0] for _, found in turns[0])
    same = np.array_equal(one.inner, two.inner) and np.array_equal(one.outer, two.outer)
    row = {"data": dataset, "graphs": len(graphs), "classes": len(np.unique(y)), "same": same}
    return {**row, "seconds": mine, "libsvm_seconds": other, "times_faster": other / mine}


def main() -> None:
    parser = options_of(__doc__)
    options = parser.parse_args()
    rows = []
    for dataset in SETS:
        rows.append(measure(dataset))
        print(rows[-1], flush=True)
    write(options.out, "judges", {"folds": FOLDS, "rows": rows})


if __name__ == "__main__":
    main()

"""`python -m infograph.evaluate.worker`: one method on saved graphs; `represent_isolated` starts it.

It is told one line of JSON, the job. It answers {"seconds": 1.5, ...}, or {"problem": [...]}: the class of an
error and what it says.
"""

from __future__ import annotations

import json
import time
import warnings
from typing import Any, TextIO

import numpy as np

from infograph.cells import peak_mb
from infograph.data.graphset import open_graphs
from infograph.errors import InfoGraphError
from infograph.evaluate.compare import METHODS
from infograph.evaluate.cross_validation import Gram
from infograph.jobs import Say, end_with_parent, run_child


def main(lines: TextIO, say: Say) -> None:
    """Do the job, and tell."""
    warnings.simplefilter("ignore")
    job = json.loads(lines.readline())
    end_with_parent(lines)
    try:
        say(represent_saved(job))
    except InfoGraphError as error:
        say({"problem": [type(error).__name__, " ".join(str(error).split())]})


def represent_saved(job: dict[str, Any]) -> dict[str, Any]:
    """Compute, store, and measure what it took."""
    graphs = open_graphs(job["graphs"])
    METHODS[job["method"]].settings[job["setting"]](0)  # imports what it needs before the clock runs
    began = time.perf_counter()
    values = METHODS[job["method"]].represent(graphs, job["setting"], job["seed"])
    seconds = time.perf_counter() - began
    gram = isinstance(values, Gram)
    np.savez(job["out"], values=values.matrix if isinstance(values, Gram) else values)
    return {"seconds": seconds, "peak_mb": peak_mb() or 0, "gram": gram}


if __name__ == "__main__":
    run_child(main)

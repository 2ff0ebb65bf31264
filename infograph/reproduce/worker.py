"""`python -m infograph.reproduce.worker JOB`: one method on saved graphs; what `isolated` starts."""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np

from infograph.data.storage import open_graphs
from infograph.errors import InfoGraphError
from infograph.evaluate.gram import Gram
from infograph.reproduce.measured import peak_mb
from infograph.reproduce.methods import METHODS


def main(job: dict[str, str]) -> None:
    """Compute, store, and print what it took as one line of JSON."""
    graphs = open_graphs(job["graphs"])
    METHODS[job["method"]].settings[job["setting"]](0)  # imports what it needs before the clock runs
    began = time.perf_counter()
    values = METHODS[job["method"]].represent(graphs, job["setting"], int(job["seed"]))
    seconds = time.perf_counter() - began
    gram = isinstance(values, Gram)
    np.savez(job["out"], values=values.matrix if isinstance(values, Gram) else values)
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb() or 0, "gram": gram}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        main(json.loads(sys.argv[1]))
    except InfoGraphError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(2)

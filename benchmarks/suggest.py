"""Labels that `infograph.suggest` asks for against as many drawn at random, by the test error they lead to.

    python -m benchmarks.suggest [--out benchmarks/results]

A fifth of the molecules is for testing. Both begin with the same molecules, whose labels are known, and ask
for more step by step. Vectors are those of the pre-trained encoder, made once; the head is a Gaussian
process, fitted anew at every step. Rules were compared on ESOL with the seeds 100 to 105, and not with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.harness import options_of, write
from infograph import InfoGraph, Vectors, as_graphset, load_dataset
from infograph.data.fingerprints import descriptor_names, rdkit_descriptors
from infograph.estimators.intervals import ErrorBars
from infograph.learn.suggest import LEVEL, choose
from infograph.objectives.objective import Regression

Floats = NDArray[np.float64]
SEEDS = range(5)


@dataclass(frozen=True)
class Task:
    """Numbers of molecules, and how many labels there are at first, more at each step, and at last."""

    inputs: str
    parts: dict[str, NDArray[Any]]
    values: Floats  # (G,)
    steps: range


def esol() -> Task:
    """1,128 molecules; vectors and descriptors."""
    graphs = load_dataset("ESOL")
    found = rdkit_descriptors(graphs, descriptor_names())
    parts = {"vectors": _vectors(graphs), "descriptors": np.sign(found) * np.log1p(np.abs(found))}
    return Task("vectors+descriptors", parts, graphs.values("graph", "y"), range(50, 301, 25))


def qm9() -> Task:
    """The gap of 10,000 molecules drawn at random, in eV; vectors of their SMILES."""
    graphs = load_dataset("QM9", units="eV")
    graphs = graphs[np.sort(np.random.default_rng(0).permutation(len(graphs))[:10_000])]
    molecules = as_graphset(graphs.values("graph", "smiles").tolist(), stereo=False)
    values = graphs.values("graph", "gap")
    return Task("vectors", {"vectors": _vectors(molecules)}, values, range(100, 601, 50))


def _vectors(graphs: Any) -> NDArray[Any]:
    return InfoGraph.from_pretrained("molecules").transform(graphs)


def curve(task: Task, seed: int, *, suggested: bool) -> list[tuple[float, float]]:
    """Mean absolute and root mean squared error of the test molecules after each step."""
    order = np.random.default_rng(seed).permutation(len(task.values))
    test, rest = np.split(order, [len(order) // 5])
    vectors, known, errors = task.parts["vectors"], rest[: task.steps[0]], []
    for _ in task.steps:
        predicted, bars = _fit(task, known)
        wrong = predicted[test] - task.values[test]
        errors.append((float(np.abs(wrong).mean()), float(np.sqrt(np.mean(wrong**2)))))
        pool, n_more = rest[~np.isin(rest, known)], task.steps.step  # in a random order
        wide = bars.widths(vectors[pool], LEVEL)[:, 0]
        more = [*range(n_more)]
        if suggested:
            more = choose(vectors[pool], wide / wide.mean(), n_more, vectors[known])
        known = np.append(known, pool[more])
    return errors


def _fit(task: Task, known: NDArray[Any]) -> tuple[Floats, ErrorBars]:
    """What is predicted for all molecules from the labels of some, and how wrong that is."""
    parts = {name: task.parts[name] for name in task.inputs.split("+")}
    mean, scale = task.values[known].mean(), task.values[known].std()
    given = ((task.values[known] - mean) / scale)[:, None]
    head = Vectors(inputs=task.inputs, head="gp")
    solved = head.solve({name: rows[known] for name, rows in parts.items()}, given, Regression(1), 0)
    with torch.no_grad():
        rows = torch.from_numpy(np.hstack([*parts.values()]).astype(np.float32))
        predicted = mean + scale * solved.head(rows).double().numpy()[:, 0]
    bars = ErrorBars.fit(task.parts["vectors"][known], scale * np.abs(solved.unseen - given))
    return predicted, bars


def main() -> None:
    """Both tasks and strategies, and the table."""
    out, result = options_of(__doc__).parse_args().out, {}
    for name, make in (("ESOL", esol), ("QM9 gap, eV", qm9)):
        task = make()
        result[name] = {"labels": list(task.steps), "seeds": list(SEEDS)}
        for strategy in ("random", "suggest"):
            errors = np.array([curve(task, s, suggested=strategy == "suggest") for s in SEEDS])  # (S, L, 2)
            for place, measure in enumerate(("mae", "rmse")):
                table = errors[:, :, place]
                about = {"mean": table.mean(axis=0).round(4).tolist(), "of_seeds": table.round(4).tolist()}
                result[name][f"{strategy} {measure}"] = about
                print(name, strategy, measure, *about["mean"], flush=True)
        write(out, "suggest", result)


if __name__ == "__main__":
    main()

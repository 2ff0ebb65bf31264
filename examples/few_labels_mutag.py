"""Twenty labels for 188 molecules: supervised, InfoGraph and InfoGraph* beside simple references.

python examples/few_labels_mutag.py [repeats] [epochs]
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from infograph import AtomCounts, InfoGraph, InfoGraphClassifier, MeanPredictor, load_dataset

N_LABELS = 20


def main(repeats: int = 3, epochs: int = 5) -> None:
    """Repeat r draws other labels; every method sees the same ones, and is judged on all the others."""
    graphs = load_dataset("MUTAG")
    classes = np.where(graphs.values("graph", "y") == 1, "mutagenic", "harmless")
    vectors = InfoGraph(dim=64, epochs=10).fit_transform(graphs)  # without any label
    shares: dict[str, list[float]] = {}
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(len(graphs))
        known, hidden = order[:N_LABELS], order[N_LABELS:]
        y = np.full(len(graphs), None, dtype=object)  # None is unlabelled
        y[known] = classes[known]

        def judge(name: str, predicted: np.ndarray, hidden: np.ndarray = hidden) -> None:
            shares.setdefault(name, []).append(float(np.mean(predicted == classes[hidden])))

        for name, reference in {
            "the larger class": MeanPredictor(task="classification"),
            "counts of atoms": AtomCounts(task="classification"),
        }.items():
            judge(name, reference.fit(graphs, y).predict(graphs[hidden]))
        linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
        judge("InfoGraph's vectors", linear.fit(vectors[known], classes[known]).predict(vectors[hidden]))
        for objective in ("supervised", "infograph", "infograph*"):
            model = InfoGraphClassifier(objective, epochs=epochs, dim=64, random_state=repeat)
            judge(objective, model.fit(graphs, y).predict(graphs[hidden]))

    print(
        f"accuracy on {len(hidden)} molecules without a label, mean of {repeats} draws of {N_LABELS} labels"
    )
    for name, found in shares.items():
        print(
            f"  {name:20} {100 * np.mean(found):5.1f} %   ({100 * min(found):.1f} to {100 * max(found):.1f})"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

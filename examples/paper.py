"""The paper's protocol on MUTAG: InfoGraph beside the untrained encoder, with a paired test.

python examples/paper.py [repeats]
"""

from __future__ import annotations

import sys

from infograph import InfoGraph, cross_validate, load_dataset, paired_test


def main(repeats: int = 5) -> None:
    """Repeat r trains with seed r and splits with seed r; C is chosen inside the training folds."""
    graphs = load_dataset("MUTAG")
    classes = graphs.graph["y"]

    def vectors(epochs: int) -> list[object]:
        return [InfoGraph.paper(epochs=epochs, random_state=r).fit_transform(graphs) for r in range(repeats)]

    trained = cross_validate({"InfoGraph": vectors(20)}, classes, repeats=repeats)
    untrained = cross_validate({"untrained": vectors(0)}, classes, repeats=repeats)
    print("InfoGraph ", trained)
    print("untrained ", untrained)
    print("difference", paired_test(trained, untrained))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

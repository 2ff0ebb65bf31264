"""A folder of networks, one file each: which are alike, and can a classifier tell the kinds apart?

python examples/networks.py
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np

from infograph import InfoGraph, cross_validate, read_graphs


def write_networks(folder: Path) -> None:
    """Sixty networks of three kinds as GraphML, and a table with the kind of each."""
    with (folder / "labels.csv").open("w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["id", "label"])
        for seed in range(20):
            kinds = {
                "random": nx.gnp_random_graph(30, 0.13, seed=seed),
                "small-world": nx.watts_strogatz_graph(30, 4, 0.1, seed=seed),
                "scale-free": nx.barabasi_albert_graph(30, 2, seed=seed),
            }
            for kind, network in kinds.items():
                nx.write_graphml(network, folder / f"{kind}-{seed:02}.graphml")
                rows.writerow([f"{kind}-{seed:02}", kind])


def main() -> None:
    """Embed the networks, list the nearest ones, and cross-validate a classifier."""
    with tempfile.TemporaryDirectory() as folder:
        write_networks(Path(folder))
        graphs = read_graphs(folder)
    print(graphs)

    vectors = InfoGraph(dim=128, epochs=10).fit_transform(graphs)

    scaled = (vectors - vectors.mean(0)) / (vectors.std(0) + 1e-6)
    distance = np.linalg.norm(scaled[:, None] - scaled[None], axis=2)
    for query in (0, 20, 40):
        nearest = np.argsort(distance[query])[1:4]
        print(f"{graphs.ids[query]:15} is most like {', '.join(graphs.ids[nearest])}")

    print("kind of network:", cross_validate(vectors, graphs.graph["y"], repeats=2))


if __name__ == "__main__":
    main()

"""Clusters of molecules by `find_clusters` and by HDBSCAN, and the map of 1,000 molecules as one file.

    INFOGRAPH_DATA=folder python -m benchmarks.maps [--out benchmarks/results]

Vectors are the pre-trained model's, of MUTAG those of a model of its own. Four fifths of the graphs are
clustered anew, number of clusters and all; the adjusted Rand index with the clusters of all graphs says how
much comes again. Needs playwright and Chromium for the time that the file takes to open.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchmarks.explorer import ARGUMENTS, CHROMIUM
from benchmarks.harness import options_of, seconds, write
from infograph import GraphIndex, InfoGraph, describe_clusters, find_clusters, load_dataset
from infograph.data.convert import as_graphset
from infograph.explore import make_atlas, write_map
from infograph.look.clusters import Clusters
from infograph.look.project import principal_components

SETS = {"MUTAG": 188, "ESOL": 1_128, "BACE": 1_513, "QM9": 20_000}  # and how many of their molecules
MAPPED, DRAWS, SAMPLE = 1_000, 3, 2_000


def vectors_of(name: str, count: int) -> GraphIndex:
    """The first molecules of a set, embedded."""
    model, graphs = InfoGraph.from_pretrained("molecules"), load_dataset(name)[:count]
    if "smiles" not in graphs.graph:  # MUTAG has atoms of its own
        return GraphIndex.build(InfoGraph().fit(graphs), graphs)
    columns = [column for column in graphs.schema.graph if column.name != "smiles"]
    read = as_graphset(graphs.graph["smiles"].tolist(), schema=model.schema_, keep=True, errors="skip")
    if not read.rejected:
        for column in columns:
            read = read.with_column("graph", column, graphs.graph[column.name])
    return GraphIndex.build(model, read)


def by_density(vectors: Any) -> np.ndarray:
    """HDBSCAN's clusters of the same five principal components, of at least the square root of all graphs."""
    points = principal_components(vectors, 5)
    least = max(5, math.isqrt(len(points)))
    return HDBSCAN(min_cluster_size=least, min_samples=5, algorithm="kd_tree", copy=True).fit(points).labels_


def judged(index: GraphIndex, divide: Callable[[Any], np.ndarray]) -> dict[str, Any]:
    """How many are in a cluster, how well these are apart, come again, and can be described."""
    vectors = np.asarray(index.vectors)
    took, labels = seconds(lambda: divide(vectors))
    points, inside = principal_components(vectors, 5), np.flatnonzero(labels >= 0)
    again, rng = [], np.random.default_rng(0)
    for _ in range(DRAWS):
        rows = np.sort(rng.choice(len(vectors), len(vectors) * 4 // 5, replace=False))
        again.append(adjusted_rand_score(labels[rows], divide(vectors[rows])))
    some = rng.choice(inside, min(SAMPLE, len(inside)), replace=False)
    sizes = np.sort(np.bincount(labels[inside]))[::-1]
    order = np.argsort(-np.bincount(labels[inside]), kind="stable")
    ranked = np.where(labels >= 0, np.argsort(order)[labels] + 1, -1)
    told = describe_clusters(
        Clusters(ranked, np.ones(len(labels)), tuple(sizes.tolist()), points), index.graphs
    )
    return {
        "clusters": len(sizes),
        "share": len(inside) / len(labels),
        "largest": int(sizes[0]) / len(labels),
        "again": float(np.mean(again)),
        "silhouette": float(silhouette_score(points[some], labels[some])),
        "described": sum(bool(one.findings) for one in told),
        "seconds": took,
    }


def mapped(folder: Path) -> dict[str, Any]:
    """Size of the file of a map, and how long it takes to open."""
    index = vectors_of("ESOL", MAPPED)
    path = write_map(index, make_atlas(index, method="pca"), folder / "map.html")
    about: dict[str, Any] = {"molecules": len(index), "bytes": path.stat().st_size}
    if CHROMIUM is None:
        return about
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()

        def opened() -> None:
            page.goto(path.as_uri())
            page.wait_for_selector("body[data-ready=true]")

        about["open_seconds"] = min(seconds(opened)[0] for _ in range(3))
        browser.close()
    return about


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__).parse_args(arguments)
    rows = []
    for name, count in SETS.items():
        index = vectors_of(name, count)
        for method, divide in {"HDBSCAN": by_density, "k-means": lambda v: find_clusters(v).codes}.items():
            rows.append({"set": name, "graphs": len(index), "method": method, **judged(index, divide)})
            print(json.dumps(rows[-1]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write(options.out, "map", {"clusters": rows, "file": mapped(Path(folder))})


if __name__ == "__main__":
    main()

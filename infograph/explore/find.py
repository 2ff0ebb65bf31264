"""The slow part of an atlas: layout, clusters, outliers and predictions of all graphs of an index."""

from __future__ import annotations

import numpy as np

from infograph.contract import GraphPredictor
from infograph.explore.cache import Findings
from infograph.explore.columns import MapColumn, typed_column
from infograph.explore.layout import lay_out
from infograph.index import GraphIndex
from infograph.learn.predictions import ID, predict_table
from infograph.maps.map2d import Method
from infograph.report.watch import Silent, Watch
from infograph.understand import Clusters, describe_clusters, find_clusters, outlier_scores
from infograph.understand.sentence import cluster_sentence


def find(index: GraphIndex, method: Method, random_state: int, watch: Watch | None) -> Findings:
    """Everything about an index that takes time; each part is a stage for `watch`."""
    watch = watch or Silent()
    watch.stage("map", 100)
    points = lay_out(
        index.vectors, method, random_state, progress=lambda done, total: watch.advance(100 * done // total)
    )
    watch.stage("clusters", len(index))
    clusters = find_clusters(
        index.vectors, random_state=random_state, progress=lambda done, total: watch.advance(done)
    )
    watch.advance(len(index), str(clusters))
    watch.stage("descriptions", 1)
    descriptions = describe(index, clusters)
    watch.stage("outliers", 1)
    outliers = outlier_scores(index.vectors)
    watch.stage("predictions", 1)
    return Findings(points, clusters.labels, descriptions, outliers, predict(index))


def describe(index: GraphIndex, clusters: Clusters) -> tuple[str, ...]:
    """A line per cluster; sizes alone where the index holds no graphs."""
    if index.graphs is not None:
        return tuple(str(one) for one in describe_clusters(clusters, index.graphs))
    total = len(clusters.labels)
    return tuple(cluster_sentence(size, size / total, ()).partition(":")[0] for size in clusters.sizes)


def predict(index: GraphIndex) -> tuple[MapColumn, ...]:
    """A column per target of a model that predicts, called "predicted ..."; none of other models."""
    if index.graphs is None or not isinstance(index.model, GraphPredictor):
        return ()
    table = predict_table(index.model, index.graphs)
    typed = (
        typed_column(f"predicted {name}", np.asarray(values), table.units.get(name, ""))
        for name, values in table.columns.items()
        if name != ID
    )
    return tuple(column for column in typed if column is not None)

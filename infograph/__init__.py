"""Whole graphs to vectors, a few labels to predictions.

    from infograph import InfoGraph, load_dataset

    graphs = load_dataset("MUTAG")
    vectors = InfoGraph().fit_transform(graphs)

Names are imported when first used, so that `import infograph` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infograph.baselines.deep_kernel import DeepGraphKernel as DeepGraphKernel
    from infograph.baselines.graph2vec import Graph2Vec as Graph2Vec
    from infograph.baselines.graph2vec import Sub2Vec as Sub2Vec
    from infograph.baselines.graphlets import Graphlets as Graphlets
    from infograph.baselines.laplacian import MultiscaleLaplacian as MultiscaleLaplacian
    from infograph.baselines.node2vec import Node2Vec as Node2Vec
    from infograph.baselines.random_walk import RandomWalk as RandomWalk
    from infograph.baselines.references import AtomCounts as AtomCounts
    from infograph.baselines.references import DegreeHistogram as DegreeHistogram
    from infograph.baselines.references import FingerprintForest as FingerprintForest
    from infograph.baselines.references import LabelHistogram as LabelHistogram
    from infograph.baselines.references import MeanPredictor as MeanPredictor
    from infograph.baselines.shortest_path import ShortestPath as ShortestPath
    from infograph.baselines.wl import WeisfeilerLehman as WeisfeilerLehman
    from infograph.data.cleaning import resolve_duplicates as resolve_duplicates
    from infograph.data.convert import as_graphset as as_graphset
    from infograph.data.convert import to_networkx as to_networkx
    from infograph.data.convert import to_pyg as to_pyg
    from infograph.data.datasets import load_dataset as load_dataset
    from infograph.data.graphset import GraphSet as GraphSet
    from infograph.data.graphset import concatenate as concatenate
    from infograph.data.graphset import open_graphs as open_graphs
    from infograph.data.graphset import save_graphs as save_graphs
    from infograph.data.read import read_graphs as read_graphs
    from infograph.data.read import write_rejected as write_rejected
    from infograph.data.schema import Column as Column
    from infograph.data.schema import Schema as Schema
    from infograph.data.splits import random_split as random_split
    from infograph.data.splits import scaffold_split as scaffold_split
    from infograph.data.splits import semi_supervised_split as semi_supervised_split
    from infograph.estimators.base import load as load
    from infograph.estimators.infograph import InfoGraph as InfoGraph
    from infograph.estimators.infograph import UntrainedGIN as UntrainedGIN
    from infograph.estimators.labelled import InfoGraphClassifier as InfoGraphClassifier
    from infograph.estimators.labelled import InfoGraphRegressor as InfoGraphRegressor
    from infograph.evaluate import cross_validate as cross_validate
    from infograph.evaluate import paired_test as paired_test
    from infograph.index import GraphIndex as GraphIndex
    from infograph.index import Hits as Hits
    from infograph.learn.tune import search_settings as search_settings
    from infograph.look import contribution_drawing as contribution_drawing
    from infograph.look import describe_clusters as describe_clusters
    from infograph.look import draw_graph as draw_graph
    from infograph.look import find_clusters as find_clusters
    from infograph.look import outlier_scores as outlier_scores

__version__ = "0.1.0"

_HOME = {
    "AtomCounts": "infograph.baselines.references",
    "Column": "infograph.data.schema",
    "DeepGraphKernel": "infograph.baselines.deep_kernel",
    "DegreeHistogram": "infograph.baselines.references",
    "FingerprintForest": "infograph.baselines.references",
    "Graph2Vec": "infograph.baselines.graph2vec",
    "GraphIndex": "infograph.index",
    "GraphSet": "infograph.data.graphset",
    "Graphlets": "infograph.baselines.graphlets",
    "Hits": "infograph.index",
    "InfoGraph": "infograph.estimators.infograph",
    "InfoGraphClassifier": "infograph.estimators.labelled",
    "InfoGraphRegressor": "infograph.estimators.labelled",
    "LabelHistogram": "infograph.baselines.references",
    "MeanPredictor": "infograph.baselines.references",
    "MultiscaleLaplacian": "infograph.baselines.laplacian",
    "Node2Vec": "infograph.baselines.node2vec",
    "RandomWalk": "infograph.baselines.random_walk",
    "Schema": "infograph.data.schema",
    "ShortestPath": "infograph.baselines.shortest_path",
    "Sub2Vec": "infograph.baselines.graph2vec",
    "UntrainedGIN": "infograph.estimators.infograph",
    "WeisfeilerLehman": "infograph.baselines.wl",
    "as_graphset": "infograph.data.convert",
    "concatenate": "infograph.data.graphset",
    "contribution_drawing": "infograph.look",
    "cross_validate": "infograph.evaluate",
    "describe_clusters": "infograph.look",
    "draw_graph": "infograph.look",
    "find_clusters": "infograph.look",
    "load": "infograph.estimators.base",
    "load_dataset": "infograph.data.datasets",
    "open_graphs": "infograph.data.graphset",
    "outlier_scores": "infograph.look",
    "paired_test": "infograph.evaluate",
    "random_split": "infograph.data.splits",
    "read_graphs": "infograph.data.read",
    "resolve_duplicates": "infograph.data.cleaning",
    "save_graphs": "infograph.data.graphset",
    "scaffold_split": "infograph.data.splits",
    "search_settings": "infograph.learn.tune",
    "semi_supervised_split": "infograph.data.splits",
    "to_networkx": "infograph.data.convert",
    "to_pyg": "infograph.data.convert",
    "write_rejected": "infograph.data.read",
}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'infograph' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

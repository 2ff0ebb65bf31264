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
    from infograph.baselines.atom_counts import AtomCounts as AtomCounts
    from infograph.baselines.deep_kernels import DeepGraphKernel as DeepGraphKernel
    from infograph.baselines.fingerprints import FingerprintForest as FingerprintForest
    from infograph.baselines.graph2vec import Graph2Vec as Graph2Vec
    from infograph.baselines.graphlets import Graphlets as Graphlets
    from infograph.baselines.histograms import DegreeHistogram as DegreeHistogram
    from infograph.baselines.histograms import LabelHistogram as LabelHistogram
    from infograph.baselines.laplacian import MultiscaleLaplacian as MultiscaleLaplacian
    from infograph.baselines.mean import MeanPredictor as MeanPredictor
    from infograph.baselines.node2vec import Node2Vec as Node2Vec
    from infograph.baselines.random_walk import RandomWalk as RandomWalk
    from infograph.baselines.shortest_path import ShortestPath as ShortestPath
    from infograph.baselines.sub2vec import Sub2Vec as Sub2Vec
    from infograph.baselines.wl import WeisfeilerLehman as WeisfeilerLehman
    from infograph.contract import load as load
    from infograph.data.align import concatenate as concatenate
    from infograph.data.chem.duplicates import resolve_duplicates as resolve_duplicates
    from infograph.data.chem.scaffolds import scaffold_split as scaffold_split
    from infograph.data.convert import as_graphset as as_graphset
    from infograph.data.export import to_networkx as to_networkx
    from infograph.data.export import to_pyg as to_pyg
    from infograph.data.files import read_graphs as read_graphs
    from infograph.data.graphset import GraphSet as GraphSet
    from infograph.data.rejected import write_rejected as write_rejected
    from infograph.data.schema import Column as Column
    from infograph.data.schema import Schema as Schema
    from infograph.data.sets.registry import load_dataset as load_dataset
    from infograph.data.splits import random_split as random_split
    from infograph.data.splits import semi_supervised_split as semi_supervised_split
    from infograph.data.storage import open_graphs as open_graphs
    from infograph.data.storage import save_graphs as save_graphs
    from infograph.estimators.classifier import InfoGraphClassifier as InfoGraphClassifier
    from infograph.estimators.infograph import InfoGraph as InfoGraph
    from infograph.estimators.regressor import InfoGraphRegressor as InfoGraphRegressor
    from infograph.estimators.search import search_settings as search_settings
    from infograph.estimators.untrained import UntrainedGIN as UntrainedGIN
    from infograph.evaluate import cross_validate as cross_validate
    from infograph.evaluate import paired_test as paired_test
    from infograph.index import GraphIndex as GraphIndex
    from infograph.index import Hits as Hits
    from infograph.understand import contribution_drawing as contribution_drawing
    from infograph.understand import describe_clusters as describe_clusters
    from infograph.understand import draw_graph as draw_graph
    from infograph.understand import find_clusters as find_clusters
    from infograph.understand import outlier_scores as outlier_scores

__version__ = "0.1.0"

_HOME = {
    "AtomCounts": "infograph.baselines.atom_counts",
    "Column": "infograph.data.schema",
    "DeepGraphKernel": "infograph.baselines.deep_kernels",
    "DegreeHistogram": "infograph.baselines.histograms",
    "FingerprintForest": "infograph.baselines.fingerprints",
    "Graph2Vec": "infograph.baselines.graph2vec",
    "GraphIndex": "infograph.index",
    "GraphSet": "infograph.data.graphset",
    "Graphlets": "infograph.baselines.graphlets",
    "Hits": "infograph.index",
    "InfoGraph": "infograph.estimators.infograph",
    "InfoGraphClassifier": "infograph.estimators.classifier",
    "InfoGraphRegressor": "infograph.estimators.regressor",
    "LabelHistogram": "infograph.baselines.histograms",
    "MeanPredictor": "infograph.baselines.mean",
    "MultiscaleLaplacian": "infograph.baselines.laplacian",
    "Node2Vec": "infograph.baselines.node2vec",
    "RandomWalk": "infograph.baselines.random_walk",
    "Schema": "infograph.data.schema",
    "ShortestPath": "infograph.baselines.shortest_path",
    "Sub2Vec": "infograph.baselines.sub2vec",
    "UntrainedGIN": "infograph.estimators.untrained",
    "WeisfeilerLehman": "infograph.baselines.wl",
    "as_graphset": "infograph.data.convert",
    "concatenate": "infograph.data.align",
    "contribution_drawing": "infograph.understand",
    "cross_validate": "infograph.evaluate",
    "describe_clusters": "infograph.understand",
    "draw_graph": "infograph.understand",
    "find_clusters": "infograph.understand",
    "load": "infograph.contract",
    "load_dataset": "infograph.data.sets.registry",
    "open_graphs": "infograph.data.storage",
    "outlier_scores": "infograph.understand",
    "paired_test": "infograph.evaluate",
    "random_split": "infograph.data.splits",
    "read_graphs": "infograph.data.files",
    "resolve_duplicates": "infograph.data.chem.duplicates",
    "save_graphs": "infograph.data.storage",
    "scaffold_split": "infograph.data.chem.scaffolds",
    "search_settings": "infograph.estimators.search",
    "semi_supervised_split": "infograph.data.splits",
    "to_networkx": "infograph.data.export",
    "to_pyg": "infograph.data.export",
    "write_rejected": "infograph.data.rejected",
}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'infograph' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

"""What a training run begins with, whatever it learns: graphs that fit, and what tells it from other runs."""

from __future__ import annotations

from typing import Any

from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.storage import json_ready
from infograph.errors import InvalidParameter
from infograph.estimators.networks import Architecture

BESIDE = ("epochs", "verbose", "device", "warm_start")  # parameters that runs of one kind may differ in


def read_for(estimator: Any, graphs: Any) -> tuple[GraphSet, Architecture]:
    """Graphs with the columns that an estimator's settings ask for, and what its encoder is made with."""
    read = as_graphset(graphs, node=estimator.node_columns, edge=estimator.edge_columns)
    architecture = Architecture.of(estimator).resolved(read)
    schema = architecture.schema(read, estimator.node_columns, estimator.edge_columns)
    return align(read, schema), architecture


def check_enough(graphs: GraphSet) -> None:
    """Refuse a single graph.

    Raises:
        InvalidParameter: there are fewer than two.
    """
    if len(graphs) < 2:
        raise InvalidParameter(f"{len(graphs)} graph: at least two are needed, each is the other's negative")


def run_settings(estimator: Any) -> dict[str, Any]:
    """The parameters that must not differ between a checkpoint and the run that goes on from it, as JSON."""
    ignored = (*BESIDE, *estimator._unsaved)
    return {k: json_ready(v) for k, v in estimator.get_params(deep=False).items() if k not in ignored}

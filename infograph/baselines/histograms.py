"""How many nodes of each label, or of each degree, a graph has: what structure has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.bounded import Estimate, check_bool
from infograph.baselines.counts import count_nodes, countable, seen_only
from infograph.contract import GraphTransformer, State
from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

Floats = NDArray[np.float64]


class Histogram(GraphTransformer):
    """Base of the two: `fit` learns the columns, `transform` counts nodes per column.

    Attributes:
        feature_names_: (F,) what the columns count.
    """

    share: bool
    feature_names_: tuple[str, ...]

    def _counts(self, graphs: GraphSet) -> Floats:
        raise NotImplementedError

    def fit_transform(self, graphs: Any, y: object = None) -> Floats:
        """`fit(graphs).transform(graphs)`."""
        return self.fit(graphs).transform(graphs)

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn which columns there are; `y` is ignored."""
        raise NotImplementedError

    def transform(self, graphs: Any) -> Floats:
        """Nodes of each kind, or their share of the graph's nodes. (G', F)."""
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        counts = self._counts(known)
        return counts / np.maximum(known.sizes, 1)[:, None] if self.share else counts

    def estimate(self, graphs: Any) -> Estimate:
        """Seconds and megabytes; next to nothing."""
        known = as_graphset(graphs)
        return Estimate(
            0.1 + 1e-7 * (known.n_nodes + known.n_edges), 50 + 5e-5 * known.n_nodes + 0.03 * len(known)
        )

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """What the columns count. (F,)."""
        self._check_fitted()
        return np.array(self.feature_names_, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.feature_names_)

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "features": list(self.feature_names_)}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.feature_names_ = tuple(map(str, learned["features"]))

    def _card(self) -> str:
        shown = ", ".join(self.feature_names_[:50])
        return f"# {type(self).__name__}\n\n{len(self.feature_names_)} columns: {shown}\n"


class LabelHistogram(Histogram):
    """How often each node label occurs in a graph.

        LabelHistogram().fit_transform(graphs)

    One column per category of the node columns that some fitted graph has; without node columns there is one,
    the number of nodes. Categories that are new in `transform` are counted nowhere, and one
    `UnknownCategoryWarning` says so. No paper: it is the reference row that shows what labels alone are
    worth.

    Args:
        columns: the node columns to count; None takes `element` of molecules, otherwise every categorical
            node column that encoders see.
        share: divide by the number of nodes.
    """

    def __init__(self, columns: Sequence[str] | None = None, *, share: bool = False) -> None:
        self.columns = columns
        self.share = share

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn which labels there are; `y` is ignored."""
        check_bool("share", self.share)
        read = as_graphset(graphs)
        known = align(read, seen_only(read, countable(read.schema, self.columns)))
        self.feature_names_ = count_nodes(known[:1])[0]
        self.schema_ = known.schema.replace("graph", ())
        return self

    def _counts(self, graphs: GraphSet) -> Floats:
        return count_nodes(graphs)[1]

    def _state(self) -> State:
        return {}

    def _set_state(self, state: State) -> None:
        pass


class DegreeHistogram(Histogram):
    """How many nodes of each degree a graph has.

        DegreeHistogram().fit_transform(graphs)

    One column per degree that some fitted node has, and a last one, "other", for degrees that are new in
    `transform`. The degree is the number of incoming arcs: repeated edges count each, a self-loop counts one.
    No paper: it is the reference row that shows what degrees alone are worth.

    Args:
        share: divide by the number of nodes.
    """

    degrees_: NDArray[np.int64]

    def __init__(self, *, share: bool = False) -> None:
        self.share = share

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn which degrees there are; `y` is ignored."""
        check_bool("share", self.share)
        self.degrees_ = np.unique(_degrees(as_graphset(graphs)))
        self.feature_names_ = (*(f"degree {degree}" for degree in self.degrees_), "other")
        self.schema_ = Schema()  # any graph will do
        return self

    def _counts(self, graphs: GraphSet) -> Floats:
        degree, width = _degrees(graphs), len(self.degrees_) + 1
        place = np.searchsorted(self.degrees_, degree)
        known = self.degrees_[np.minimum(place, width - 2)] == degree
        column = np.where(known, place, width - 1)
        pairs = np.bincount(graphs.node_graph * width + column, minlength=len(graphs) * width)
        return pairs.reshape(len(graphs), width).astype(np.float64)

    def _state(self) -> State:
        return {"degrees": self.degrees_}

    def _set_state(self, state: State) -> None:
        self.degrees_ = state["degrees"]


def _degrees(graphs: GraphSet) -> NDArray[np.int64]:
    return np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)

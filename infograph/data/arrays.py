"""`(edge_index, node_features)` tuples and PyG `Data` -> GraphSet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.assemble import Errors, Record, collect
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema


def from_edges(
    graphs: Iterable[tuple[Any, ...]],
    *,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
) -> GraphSet:
    """`(edge_index, node_features)` tuples -> GraphSet; arcs are taken as they are.

    `edge_index` is (2, e), or (e, 2) pairs in a list; `node_features` is (n, F) floats or integers, (n,)
    categories, or the number of nodes where there are no features.
    """
    return collect(graphs, _from_tuple, ids=ids, errors=errors)


def _from_tuple(pair: tuple[Any, ...]) -> Record:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        what = f"a {type(pair).__name__}" + (f" of {len(pair)}" if isinstance(pair, tuple | list) else "")
        raise ValueError(f"{what}, expected a tuple (edge_index, node_features)")
    edges, features = (_numpy(part) for part in pair)
    if isinstance(pair[0], list) and edges.ndim == 2 and edges.shape[1] == 2:
        edges = edges.T
    edges = edges.reshape(2, 0) if edges.size == 0 else edges
    _check_integers(edges)
    if features.ndim == 0 and features.dtype.kind not in "iu":
        raise TypeError(
            f"node_features of {type(pair[1]).__name__}, expected an array or the number of nodes"
        )
    if features.ndim == 0:
        return Record(int(features), edges.astype(np.int64))
    return Record(len(features), edges.astype(np.int64), node=_split("x", features))


def from_pyg(
    graphs: Iterable[Any], *, ids: Sequence[str | int] | None = None, errors: Errors = "raise"
) -> GraphSet:
    """PyG `Data` objects or a dataset -> GraphSet.

    `x`, `z` and `pos` become node columns, `edge_attr` edge columns, `edge_weight` the weight of messages,
    `y` a graph column and `id` the graph's id. Integers are categories, one column per dimension. `pos` is
    kept but not an encoder's input.
    """
    known = Schema(
        node=(Column("pos", "float", used=False, role="position"),),
        edge=(Column("edge_weight", "float", role="weight"),),
    )
    return collect(graphs, _from_data, ids=ids, errors=errors, columns=known)


def _from_data(data: Any) -> Record:
    if not hasattr(data, "edge_index"):
        raise TypeError(f"expected a PyG Data, got {type(data).__name__}")
    edges = np.zeros((2, 0)) if data.edge_index is None else _numpy(data.edge_index)
    _check_integers(edges)
    own = data["id"] if _has(data, "id") else None
    label = _numpy(data.y).ravel() if _has(data, "y") else np.zeros(0)
    return Record(
        n_nodes=int(data.num_nodes or 0),
        edges=edges.astype(np.int64),
        node=_columns(data, ("x", "z", "pos")),
        edge=_columns(data, ("edge_attr", "edge_weight")),
        graph={"y" if len(label) == 1 else f"y_{i}": value for i, value in enumerate(label.tolist())},
        graph_id=own if isinstance(own, str | int) else None,
    )


def _check_integers(edges: NDArray[Any]) -> None:
    if edges.dtype.kind not in "iu" and edges.size:
        raise TypeError(f"edge_index of {edges.dtype}, expected integers")


def _columns(data: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    parts = [_split(name, _numpy(data[name])) for name in names if _has(data, name)]
    return {name: values for part in parts for name, values in part.items()}


def _has(data: Any, name: str) -> bool:
    return name in data and data[name] is not None


def _numpy(values: Any) -> NDArray[Any]:
    """A tensor of any device, a list or an array -> numpy."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def _split(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Floats stay one column; integers become one categorical column per dimension."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and not values.shape[1]:
        return {}
    if values.dtype.kind == "f" or values.ndim == 1:
        return {name: values}
    return {f"{name}_{position}": column for position, column in enumerate(values.T)}

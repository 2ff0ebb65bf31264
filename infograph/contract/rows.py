"""One row of numbers per graph of a user's input, in the places that the user asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema
from infograph.errors import InvalidGraph, InvalidParameter, NothingLeft

BadRows = Literal["raise", "skip", "nan"]
Compute = Callable[[GraphSet], NDArray[Any]]


def rows_of(
    graphs: Any, schema: Schema, compute: Compute, *, width: int, errors: BadRows, what: str
) -> NDArray[Any]:
    """`compute` of graphs that are read by a schema.

    Args:
        graphs: anything `as_graphset` takes.
        schema: the one a model was fitted on.
        compute: gives rows of `width` numbers.
        width: that number.
        errors: at a graph that cannot be read "raise" or "skip" its row; "nan" keeps its place with a row of
            NaN, and that of a graph whose row is not finite.
        what: a row is, for errors: "vector" or "prediction".

    Raises:
        InvalidGraph: a graph cannot be read, or its row is not finite.
    """
    if errors not in ("raise", "skip", "nan"):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
    try:
        known = as_graphset(graphs, schema=schema, errors="raise" if errors == "raise" else "skip")
    except NothingLeft as error:
        if errors == "nan" and error.n_graphs:
            return np.full((error.n_graphs, width), np.nan)
        raise
    rows, places = compute(known), _places(known)
    if errors != "nan":
        return check_finite(rows, known, places, what)
    full = np.full((len(known) + len(known.rejected), width), np.nan, rows.dtype)
    finite = np.isfinite(rows).all(axis=1)
    full[places[finite]] = rows[finite]
    return full


def check_finite(
    rows: NDArray[Any], graphs: GraphSet, places: IntArray | None = None, what: str = "vector"
) -> NDArray[Any]:
    """The same rows, one per graph.

    Raises:
        InvalidGraph: one of them is not finite; it is named by its place in the input.
    """
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InvalidGraph(
            f"its {what} is not finite: a feature is far outside what the model was trained on, "
            "or the training went wrong (then lower lr)",
            index=int(bad[0] if places is None else places[bad[0]]),
            graph_id=graphs.ids[bad[0]],
        )
    return rows


def _places(graphs: GraphSet) -> IntArray:
    """Where the graphs stand in the input that some were rejected from."""
    everyone = np.arange(len(graphs) + len(graphs.rejected))
    return np.delete(everyone, [entry.index for entry in graphs.rejected])

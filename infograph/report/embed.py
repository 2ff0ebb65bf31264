"""Vectors of a user's graphs to a file, with everything that could go wrong looked at first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infograph.data.embedding_files import check_ending, check_names, write_embeddings
from infograph.data.embeddings import PROBLEM, Embeddings, graph_values
from infograph.data.graphset import GraphSet
from infograph.data.storage import check_writable
from infograph.errors import InvalidParameter
from infograph.learn.predictions import check_embeds


def embed_to_file(
    model: Any,
    graphs: GraphSet,
    path: str | Path,
    *,
    columns: Sequence[str] = (),
    keep_places: bool = False,
) -> Embeddings:
    """Write the vectors of `graphs` to a `.parquet`, `.csv` or `.npz` file, keyed by their ids.

    Args:
        model: a fitted model with vectors.
        graphs: read with the model's schema.
        path: the file; it appears whole or not at all.
        columns: graph columns to write beside the vectors.
        keep_places: whether rejected inputs keep their rows, with vectors of NaN and the column `problem`.

    Raises:
        InvalidParameter, SchemaMismatch: the model has no vectors, or the file's ending or a column's name is
            not possible.
        OSError: the file cannot be written.
    """
    check_embeds(model)
    check_ending(path)
    check_names(columns)
    if keep_places and PROBLEM in columns:
        raise InvalidParameter(
            f"the column {PROBLEM!r} says why a row is empty: leave the graphs' own one out"
        )
    for name in columns:
        graph_values(graphs, name)
    check_writable(path)
    vectors = model.transform(graphs)
    embeddings = Embeddings.of(graphs, vectors, columns=columns, keep_places=keep_places)
    write_embeddings(embeddings, path)
    return embeddings

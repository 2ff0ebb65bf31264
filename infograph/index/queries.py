"""Whatever a user asks with -> graphs or vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.index.metric import check_vectors

MOST = 4 << 30  # bytes of vectors that come sparse
SINGLE = ("Mol", "Data")  # RDKit's molecules, PyG's graphs


def as_vectors(query: Any, dim: int) -> NDArray[np.float32] | None:
    """The vectors that a query is, (D,) or (Q, D) -> (Q, D); None where it is something else.

    Raises:
        InvalidParameter: the vectors are not finite, or of another length.
    """
    if hasattr(query, "detach") and hasattr(query, "numpy"):  # a tensor of torch
        query = query.detach().cpu().numpy()
    if isinstance(query, list) and query and isinstance(query[0], int | float):
        query = np.asarray(query)
    if not isinstance(query, np.ndarray) or query.dtype.kind not in "iufb":
        return None
    vectors = check_vectors(query[None] if query.ndim == 1 else query)
    if vectors.shape[1] != dim:
        raise InvalidParameter(f"a query of {vectors.shape[1]} numbers, the vectors of the index have {dim}")
    return vectors


def as_queries(query: Any, schema: Schema | None, *, name: str | None = None) -> GraphSet:
    """The graphs that a query is, read the way `schema` asks for.

    Besides whatever `as_graphset` takes: one single graph, and a SMILES. A text that is the path of a file
    is that file; in a list, every text is a SMILES. `name` is the id of a single SMILES.

    Raises:
        InvalidGraph, InvalidParameter, SchemaMismatch: it is no graph, or not one the model can embed.
    """
    ids = None
    if isinstance(query, str) and not is_path(query):
        if schema is None or schema.option("hydrogens") is None:  # all readers of molecules set it
            raise InvalidParameter(
                f"{_short(query)} is no file, and no SMILES either, as this index does not hold molecules: "
                f"give a graph, a file of graphs, or the id of a stored graph to search_id"
            )
        query, ids = [query], None if name is None else [name]
    if isinstance(query, nx.Graph) or type(query).__name__ in SINGLE or _is_pair(query):
        query = [query]
    return as_graphset(query, schema=schema, ids=ids)


def schema_of(model: Any) -> Schema | None:
    """What the graphs of a model must look like; None where it does not say."""
    schema = getattr(model, "schema_", None)
    return schema if isinstance(schema, Schema) else None


def check_embeds(model: Any) -> None:
    """Refuse models that have no vectors."""
    if not hasattr(model, "transform"):
        raise InvalidParameter(
            f"a {type(model).__name__} has no transform(graphs) and so no vectors: expected a fitted "
            f"estimator such as InfoGraph"
        )


def embedded(model: Any, graphs: GraphSet) -> Any:
    """The vectors that a model gives; sparse ones, of kernels with many features, are filled with zeros.

    Raises:
        InvalidParameter: that would take more than 4 GB.
    """
    vectors = model.transform(graphs)
    if not hasattr(vectors, "toarray"):
        return vectors
    if vectors.shape[0] * vectors.shape[1] * 4 > MOST:
        raise InvalidParameter(
            f"{vectors.shape[0]:,} sparse vectors of {vectors.shape[1]:,} numbers would take more than "
            f"{MOST >> 30} GB: use a model with shorter vectors, such as InfoGraph"
        )
    return vectors.astype(np.float32).toarray()


def _is_pair(query: Any) -> bool:
    """Whether it is one `(edge_index, node_features)` tuple, and not a tuple of graphs."""
    if not isinstance(query, tuple) or len(query) != 2 or isinstance(query[0], GraphSet):
        return False
    return isinstance(query[0], list) or hasattr(query[0], "shape")


def is_path(text: str) -> bool:
    """Whether a text names a file or folder."""
    try:
        return bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a zero in it
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")

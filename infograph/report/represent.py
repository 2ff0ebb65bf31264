"""Vectors with their columns: of a saved model and graphs, of an index, or of a file of vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from infograph.contract import load
from infograph.data.embedding_files import ENDINGS, read_embeddings
from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import FileMissing, InvalidParameter
from infograph.index import GraphIndex
from infograph.index.folder import is_index
from infograph.learn.predictions import check_embeds

Reader = Callable[[Schema | None], GraphSet]


def represent(which: str | Path, read: Reader | None) -> Embeddings:
    """The vectors that `which` gives, with all columns that are known of the graphs.

    Args:
        which: a model folder, a file of vectors, or a folder that `infograph index` made.
        read: gives the graphs, read the way a schema asks for. A model needs it; to vectors that are there it
            adds the columns of the graphs with the same ids.

    Raises:
        FileMissing: there is no such file or folder.
        InvalidParameter: a model came without graphs.
    """
    path = Path(which)
    found = _stored(path)
    if found is not None:
        return found if read is None else found.with_columns_of(read(None))
    if not path.exists():
        raise FileMissing(f"there is no model folder and no file of vectors {path}")
    model = load(path)
    if read is None:
        raise InvalidParameter(f"{path} is a model: name the graphs it should turn into vectors, too")
    check_embeds(model)
    graphs = read(model.schema_)
    return Embeddings.of(graphs, model.transform(graphs), columns=None)


def _stored(path: Path) -> Embeddings | None:
    """Vectors that are there already; None where a model must make them."""
    if path.suffix in ENDINGS and not path.is_dir():
        return read_embeddings(path)
    if is_index(path):
        index = GraphIndex.open(path)
        return Embeddings(index.ids, index.vectors, index.columns)
    return None

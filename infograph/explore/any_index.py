"""An index out of whatever holds vectors, or can make them."""

from __future__ import annotations

from pathlib import Path

from infograph.contract import load
from infograph.data.embedding_files import ENDINGS
from infograph.index import GraphIndex
from infograph.index.folder import is_index
from infograph.report.represent import Reader, represent


def index_of(which: str | Path, read: Reader | None) -> tuple[GraphIndex, int]:
    """The index in a folder, or one that is made for now: of a model's graphs, or of a file of vectors.

    Also how many graphs have no vector and are left out.

    Args:
        which: a folder that `infograph index` made, a model folder, or a file of vectors.
        read: gives the graphs, read the way a schema asks for; see `represent`.

    Raises:
        FileMissing: there is no such file or folder.
        InvalidParameter: a model came without graphs, or an id stands twice.
    """
    path = Path(which)
    if is_index(path):
        return GraphIndex.open(path), 0
    if read is not None and path.is_dir() and path.suffix not in ENDINGS:
        model = load(path)
        return GraphIndex.build(model, read(model.schema_)), 0
    known = represent(path, read)
    usable = known.select(known.usable)
    return GraphIndex.of(usable), len(known) - len(usable)

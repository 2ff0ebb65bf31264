"""Some rows of a shard: graphs where they could be read, and every other row with its problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.scale.shards import Shard


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a shard. R rows, of which G are graphs.

    Attributes:
        start: the first one's place in the shard.
        ids: (R,) the user's ids.
        columns: what else is asked for, an Arrow array (R,) per name.
        graphs: those that could be read, None if there are none.
        rows: (G,) where in the block the graphs stand.
        rejected: the other rows; `index` counts from the start of the block, `problem` names the place.
    """

    start: int
    ids: Sequence[str]
    columns: dict[str, Any]
    graphs: GraphSet | None
    rows: IntArray
    rejected: tuple[Rejected, ...]

    @classmethod
    def of(
        cls,
        start: int,
        ids: Sequence[str],
        columns: dict[str, Any],
        graphs: GraphSet | None,
        rejected: tuple[Rejected, ...],
    ) -> Self:
        """A block in which every row that is not rejected is a graph, in their order."""
        rows = np.delete(np.arange(len(ids)), np.array([each.index for each in rejected], np.int64))
        graphs = None if graphs is None else replace(graphs, rejected=())
        return cls(start, ids, columns, graphs, rows, rejected)

    def __len__(self) -> int:
        return len(self.ids)


def numbered(shard: Shard, row: int) -> str:
    """The id of a row that has none of its own."""
    return f"{shard.name}:{row}"

"""What a search found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.index.metric import Metric

OWN = ("query", "rank", "id", "score")


@dataclass(frozen=True, eq=False)
class Hits:
    """The nearest graphs of Q queries, K each, best first. Iterating gives the hits of one query at a time.

    Attributes:
        ids: (Q, K) ids of the graphs found.
        scores: (Q, K) float32, cosine similarities (best is 1) or Euclidean distances (best is 0).
        rows: (Q, K) positions of the graphs in the index.
        columns: (Q, K) each, what the index knows of the graphs found.
        queries: (Q,) ids of the query graphs, or their positions where they have none.
        metric: "cosine" or "euclidean".
    """

    ids: NDArray[Any]
    scores: NDArray[np.float32]
    rows: IntArray
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    queries: NDArray[Any] = field(default_factory=lambda: np.zeros(1, np.int64))
    metric: Metric = "cosine"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Hits]:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, query: int) -> Hits:
        """The hits of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        place = query % len(self)
        part = slice(place, place + 1)
        columns = {name: values[part] for name, values in self.columns.items()}
        return Hits(
            self.ids[part], self.scores[part], self.rows[part], columns, self.queries[part], self.metric
        )

    def table(self) -> list[dict[str, Any]]:
        """A row per hit: `query`, `rank` from 1, `id`, `score`, and the columns.

        A column that has the name of one of these is called "its name (column)".
        """
        named = {f"{name} (column)" if name in OWN else name: v for name, v in self.columns.items()}
        return [
            {
                "query": self.queries[query].item(),
                "rank": rank + 1,
                "id": self.ids[query, rank].item(),
                "score": float(self.scores[query, rank]),
                **{name: _plain(values[query, rank]) for name, values in named.items()},
            }
            for query in range(len(self))
            for rank in range(self.rows.shape[1])
        ]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value

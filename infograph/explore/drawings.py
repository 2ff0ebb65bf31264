"""Drawings of graphs for the page, the last ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from infograph.explore.explorer import Explorer
from infograph.explore.pictures import draw
from infograph.explore.refusals import Refusal

KEPT = 64 << 20  # characters of drawings in memory; a molecule has some 5,000, a large network 300,000


class Recent:
    """The last results of something slow, by key, up to so many characters."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._size, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[Any, str] = OrderedDict()

    def get(self, key: Any, make: Callable[[], str]) -> str:
        """The result for a key, made if it is not known."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._size += len(made) - len(self._kept.pop(key, ""))
            self._kept[key] = made
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])
        return made


def draw_row(explorer: Explorer, row: int, *, size: int, theme: str, scores: bool) -> str:
    """A graph of the index, with its nodes coloured by T(h_u, H(G)) if `scores`.

    Raises:
        Refusal: 404, the index holds no graphs, or the model does not score nodes.
    """
    if explorer.graphs is None or explorer.index.graphs is None:
        raise Refusal(404, "This index holds vectors and no graphs to draw.")
    values = None
    if scores:
        if not explorer.scores_nodes:
            raise Refusal(404, "The model of this index does not score nodes.")
        with explorer.using_model:
            values = explorer.model.score_nodes(explorer.index.graphs[row])
    return draw(explorer.graphs, row, size=size, theme=theme, scores=values)

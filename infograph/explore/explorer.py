"""Explorer: an index, its atlas and its model, as all endpoints share them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema
from infograph.errors import InfoGraphError, InvalidParameter
from infograph.explore.atlas import Atlas
from infograph.explore.limits import Limits
from infograph.explore.refusals import Refusal
from infograph.explore.work import Workers
from infograph.index import GraphIndex
from infograph.index.queries import embedded, schema_of
from infograph.understand.named_atoms import recognise_atoms

DRAWERS, WAITING = 2, 200  # threads that draw, and drawings that may wait: a page asks for a dozen at once


class Explorer:
    """What endpoints need. All methods may be called from any thread.

    The model is used by one thread at a time, under `using_model`: estimators promise no more.
    """

    def __init__(self, index: GraphIndex, atlas: Atlas, limits: Limits) -> None:
        if len(index) != len(atlas):
            raise InvalidParameter(
                f"an atlas of {len(atlas):,} graphs for an index of {len(index):,}: make one with make_atlas"
            )
        self.index, self.atlas, self.limits = index, atlas, limits
        self.graphs: GraphSet | None = None if index.graphs is None else recognise_atoms(index.graphs)
        self.using_model = threading.Lock()
        self.heavy = Workers(2, limits.at_once)
        self.drawers = Workers(DRAWERS, WAITING)

    @property
    def model(self) -> Any:
        """The model of the index, None where there is none. Who asks first waits until it is read."""
        return self.index.model

    @property
    def schema(self) -> Schema | None:
        """What graphs of the model look like."""
        return schema_of(self.model)

    @property
    def takes_smiles(self) -> bool:
        """Whether the model reads molecules, as those of the index."""
        return self.graphs is not None and self.graphs.schema.option("hydrogens") is not None

    @property
    def scores_nodes(self) -> bool:
        """Whether nodes can be coloured by what they contribute; not where the model cannot be read."""
        with suppress(InfoGraphError):
            return self.graphs is not None and hasattr(self.model, "score_nodes")
        return False

    def start(self) -> None:
        """Read the model while the page is opened."""
        threading.Thread(target=lambda: self.scores_nodes, name="infograph-model", daemon=True).start()

    def check_row(self, row: int) -> int:
        """A row of the index.

        Raises:
            Refusal: 404, there is none.
        """
        if not 0 <= row < len(self.atlas):
            raise Refusal(404, f"There is no graph {row}: rows are 0 to {len(self.atlas) - 1:,}.")
        return row

    def check_rows(self, rows: Sequence[int]) -> IntArray:
        """Rows of the index, all different, in the order given.

        Raises:
            Refusal: 400, there are none; 404, one of them is not there.
        """
        if not rows:
            raise Refusal(400, "No rows came: choose some graphs first.")
        chosen = np.asarray(rows, np.int64)
        strange = (chosen < 0) | (chosen >= len(self.atlas))
        if strange.any():
            self.check_row(int(chosen[strange][0]))
        return chosen[np.sort(np.unique(chosen, return_index=True)[1])]

    def embed(self, graphs: GraphSet) -> NDArray[np.float32]:
        """The vectors of graphs that fit the model. (G, D).

        Raises:
            Refusal: 422, the index has no model.
        """
        if self.model is None:
            raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
        with self.using_model:
            return np.asarray(embedded(self.model, graphs), np.float32)

    def close(self) -> None:
        """Stop the threads."""
        self.heavy.close()
        self.drawers.close()

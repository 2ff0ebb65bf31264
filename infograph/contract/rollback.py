"""An estimator that fails to learn is what it was before."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Stateful(Protocol):
    """A network or an optimiser."""

    def state_dict(self) -> dict[str, Any]:
        """All that it has learned."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any:
        """Be as it was."""
        ...


@contextmanager
def unchanged_on_error(estimator: object, *changed: Stateful) -> Iterator[None]:
    """A block in which an estimator learns; whatever goes wrong in it, a fitted model stays that model.

    Args:
        estimator: the estimator.
        changed: networks and optimisers of it that learn further, in place.
    """
    before = dict(vars(estimator))
    states = [(each, copy.deepcopy(each.state_dict())) for each in changed]
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        for each, state in states:
            each.load_state_dict(state)
        raise

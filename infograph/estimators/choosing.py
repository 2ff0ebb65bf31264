"""What objective="auto" is: a head on vectors, or a network where that has clearly less error."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from infograph.data.graphset import IntArray
from infograph.data.targets import ClassTargets, Targets
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.progress import AREA, ERROR, Epoch

if TYPE_CHECKING:
    from infograph.estimators.labelled import SemiSupervised

SIMPLE, NETWORK = "vectors", "infograph*"  # what is tried
CLEARLY = 0.9  # of the error of vectors, at most, where a network is chosen instead
HELD_OUT = 0.2  # of the labelled graphs, to choose by


def choose(
    model: SemiSupervised, graphs: Any, y: Any, validation: Any, keep: dict[str, Any]
) -> tuple[SemiSupervised, dict[str, float]]:
    """The better of both, fitted, and their errors on graphs that were held out.

    These are the validation graphs, or a fifth of the labelled ones. With `n_splits` of 2 or more that fifth
    is drawn so many times, validation graphs have no part in the choice, and what is chosen is fitted again.
    """
    nested = model.n_splits > 1
    if nested and keep["checkpoint"] is not None:
        raise InvalidParameter(f"n_splits={model.n_splits} keeps no checkpoint: choose by one split, or none")
    inner = HELD_OUT if validation is None or (nested and isinstance(validation, tuple)) else validation
    tried = {name: copy.copy(model).set_params(objective=name) for name in (SIMPLE, NETWORK)}
    tried[SIMPLE].init_from = tried[SIMPLE]._donor(graphs, keep["watchers"])  # is fitted once
    fitted: dict[str, SemiSupervised] = {}
    found: dict[str, list[float]] = {name: [] for name in tried}
    for split in range(model.n_splits):
        for name, each in tried.items():
            fitted[name] = copy.copy(each)
            fitted[name].random_state = model.random_state + split
            beside = keep if name == NETWORK else {"watchers": keep["watchers"]}
            fitted[name].fit(graphs, y, validation=inner, **beside)
            found[name].append(_error(fitted[name].history_))
    errors = {name: float(np.mean(each)) for name, each in found.items()}
    chosen = NETWORK if errors[NETWORK] < CLEARLY * errors[SIMPLE] else SIMPLE
    everything = chosen == SIMPLE and validation is None  # nothing is left to choose: learn from all labels
    if nested or everything:
        own = validation if chosen == SIMPLE else inner if validation is None else validation
        fitted[chosen] = copy.copy(tried[chosen]).fit(graphs, y, validation=own, watchers=keep["watchers"])
    return fitted[chosen], errors


def in_words(errors: dict[str, float], chosen: str, n_splits: int) -> str:
    """Which was chosen, and why."""
    other = next(name for name in errors if name != chosen)
    splits = f", in the mean of {n_splits} splits" if n_splits > 1 else ""
    return (
        f"Chosen: {chosen}, whose error on graphs that were held out is {errors[chosen]:.3g} against "
        f"{errors[other]:.3g} of {other}{splits}; a network is taken where its error is a tenth lower."
    )


def _error(history: Sequence[Epoch]) -> float:
    """The error of the epoch that was kept, the mean over several networks: by ROC-AUC where there is one."""
    errors = []
    for network in {record.get("model") for record in history}:
        own = (record for record in history if record.get("model") == network)
        best = min(own, key=lambda record: record.get(ERROR, math.inf))
        area = best.get(AREA, math.nan)
        errors.append(best.get(ERROR, math.inf) if math.isnan(area) else 1 - area)
    return float(np.mean(errors)) if errors else math.inf  # without an epoch nothing is known


def hold_out(share: Any, targets: Targets | ClassTargets, labelled: IntArray, seed: int) -> IntArray:
    """Some of the labelled graphs, drawn at random; of classes about the same share each, never all."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        given = repr(share) if isinstance(share, Real | str) else f"a {type(share).__name__}"
        raise InvalidParameter(f"validation is {given}: expected a tuple (graphs, y), or a share such as 0.1")
    count = max(1, round(float(share) * len(labelled)))
    order = np.random.default_rng([seed, len(labelled)]).permutation(labelled)
    if isinstance(targets, ClassTargets):  # they take turns by their size, and the last of each class stays
        codes = targets.codes[order]
        rank, size = np.empty(len(codes)), np.bincount(codes)[codes]
        for code in np.unique(codes):
            rank[codes == code] = np.arange(np.sum(codes == code))
        turns = np.argsort((rank + 0.5) / size, kind="stable")
        order = order[turns[rank[turns] < size[turns] - 1]]
    if len(order) < count or len(labelled) - count < 2:
        raise InvalidTarget(
            f"validation={share}: {len(labelled)} labelled graphs are too few to hold {count} of them out"
        )
    return np.sort(order[:count])

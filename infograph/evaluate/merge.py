"""Evaluations made one repeat or one setting at a time, put together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from infograph.errors import InvalidParameter
from infograph.evaluate.candidate import Candidate
from infograph.evaluate.evaluation import Evaluation

Cell = tuple[Candidate, int]  # a candidate and which of its repeats


def merge(evaluations: Iterable[Evaluation]) -> Evaluation:
    """One evaluation from many of the same graphs and folds: other repeats, other settings, or both.

    Together they must form a full grid: every setting and classifier in every repeat, once. Repeats are in
    the order of their seeds, candidates as they first appear, as one call to `cross_validate` would have
    them.

    Raises:
        InvalidParameter: nothing to merge, other labels, folds or grids, a cell twice or a cell missing.
    """
    parts = list(evaluations)
    if not parts:
        raise InvalidParameter("merge got no evaluations; pass at least one")
    for part in parts[1:]:
        check_same_plan(parts[0], part)
    cells: dict[tuple[str, str], dict[int, Cell]] = {}
    for part in parts:
        for candidate in part.candidates:
            repeats = cells.setdefault((candidate.setting, candidate.classifier), {})
            for r, seed in enumerate(part.seeds):
                if seed in repeats:
                    raise InvalidParameter(
                        f"{_name(candidate)} comes twice with seed {seed}; pass each result once"
                    )
                repeats[seed] = (candidate, r)
    seeds = tuple(sorted({seed for part in parts for seed in part.seeds}))
    return Evaluation(parts[0].plan, seeds, tuple(_joined(repeats, seeds) for repeats in cells.values()))


def check_same_plan(a: Evaluation, b: Evaluation) -> None:
    """Refuse evaluations whose folds are not the same; the message says what differs."""
    for name, mine, other in (
        ("folds", a.plan.folds, b.plan.folds),
        ("inner_folds", a.plan.inner_folds, b.plan.inner_folds),
        ("numbers of graphs", a.plan.n_graphs, b.plan.n_graphs),
        ("classes", a.plan.class_sizes, b.plan.class_sizes),
    ):
        if mine != other:
            raise InvalidParameter(
                f"the evaluations differ in {name}: {mine} and {other}; evaluate both alike"
            )
    if a.plan.labels != b.plan.labels:
        raise InvalidParameter(
            "the evaluations have the labels in another order; evaluate both on the same graphs"
        )


def _joined(repeats: dict[int, Cell], seeds: tuple[int, ...]) -> Candidate:
    first = next(iter(repeats.values()))[0]
    missing = [seed for seed in seeds if seed not in repeats]
    if missing:
        raise InvalidParameter(
            f"{_name(first)} has no repeat with seed {missing[0]}; evaluate it or leave it out"
        )
    for candidate, _ in repeats.values():
        for field in ("grid", "scale", "max_iter"):
            mine, other = getattr(first, field), getattr(candidate, field)
            if mine != other:
                raise InvalidParameter(
                    f"{_name(first)} has {field} {mine} in one repeat and {other} in another"
                )
    ordered = [repeats[seed] for seed in seeds]
    return Candidate(
        setting=first.setting,
        classifier=first.classifier,
        grid=first.grid,
        scale=first.scale,
        max_iter=first.max_iter,
        inner=np.stack([candidate.inner[r] for candidate, r in ordered]),
        outer=np.stack([candidate.outer[r] for candidate, r in ordered]),
        stopped=np.stack([candidate.stopped[r] for candidate, r in ordered]),
    )


def _name(candidate: Candidate) -> str:
    return f"setting {candidate.setting!r} with {candidate.classifier}"

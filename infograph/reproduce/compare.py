"""Any list of methods on any graphs, judged alike: accuracy, deviation, time and memory."""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.fingerprint import fingerprint
from infograph.data.graphset import GraphSet
from infograph.data.storage import check_folder, save_graphs
from infograph.errors import InvalidParameter
from infograph.evaluate import Evaluation, cross_validate
from infograph.reproduce.cells import Cell, Result, run_cell
from infograph.reproduce.isolated import Failed, Limits, Stopped, represent_isolated
from infograph.reproduce.methods import METHODS, Method
from infograph.workers.side_by_side import Lost, side_by_side


@dataclass(frozen=True)
class Protocol:
    """How methods are judged.

    Attributes:
        repeats, folds, inner_folds: of the cross-validation; the paper's are 5 and 10.
        seed: of the first repeat.
    """

    repeats: int = 5
    folds: int = 10
    inner_folds: int = 5
    seed: int = 0


@dataclass(frozen=True)
class Compared:
    """One line of a comparison: accuracies in per cent, or the reason why there are none.

    Attributes:
        method: its title.
        mean, std: leak-free accuracy and its deviation over repeats; NaN where there is none.
        paper: the same with the setting chosen on the test folds, as the paper reports it.
        seconds: for all representations that were made, classifier excluded.
        peak_mb: the most that one of their processes had.
        empty: why there is no figure.
    """

    method: str
    mean: float = math.nan
    std: float = math.nan
    paper: float = math.nan
    seconds: float = math.nan
    peak_mb: float = math.nan
    empty: str = ""


Watch = Callable[[str, int, int, str], None]  # method, how many are done, of how many, what happens


def compare(
    graphs: GraphSet,
    labels: NDArray[Any],
    methods: Sequence[str],
    results: str | Path,
    *,
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    watch: Watch = lambda *_: None,
    workers: int = 1,
    on: str = "local",
) -> list[Compared]:
    """Judge methods on graphs; what was judged before with the same settings is read.

    Args:
        graphs: the graphs, all labelled.
        labels: (G,) their classes.
        methods: names in `infograph.reproduce.methods.METHODS`.
        results: a folder that keeps one file per method.
        protocol: how methods are judged.
        limits: what each method may take; one that takes more is stopped, and its line says so.
        watch: told before and after every method.
        workers: methods at a time; those that share a machine take longer than alone.
        on: "local", or a Ray cluster (`infograph.workers.cluster.connect`), on all machines of which
            `results` is under the same path.

    Raises:
        InvalidParameter: a method is unknown.
    """
    chosen = [find_method(method) for method in methods]
    results = Path(results).absolute()
    found: dict[str, Compared] = {}
    check_folder(results)
    near = None if on == "local" else results  # on a cluster, where all machines see it
    with tempfile.TemporaryDirectory(prefix=".graphs-", dir=near) as folder:
        saved = save_graphs(graphs, Path(folder) / "graphs")
        given = (labels, protocol, limits, results)

        def jobs() -> Iterator[_Job]:
            for method in chosen:
                watch(method.title, len(found), len(chosen), "")
                yield _Job(_cell(method, graphs, labels, protocol), method.name, saved, *given)

        outcomes = (
            ((job, _do(job)) for job in jobs())
            if workers == 1 and on == "local"
            else side_by_side(_do, jobs(), workers=workers, on=on)
        )
        for job, result in outcomes:
            method = METHODS[job.method]
            found[job.method] = _row(method, result)
            watch(method.title, len(found), len(chosen), found[job.method].empty)
    return [found[method.name] for method in chosen]


@dataclass(frozen=True, eq=False)
class _Job:
    """One method to judge: plain values, for a process that may be far away."""

    cell: Cell
    method: str
    graphs: Path
    labels: NDArray[Any]
    protocol: Protocol
    limits: Limits
    results: Path


def _do(job: _Job) -> Result | Lost:
    """The result of a method: read, if it is there, else computed and kept; a failure is kept by nobody."""
    try:
        return run_cell(
            job.cell,
            lambda _, work: _judge(
                METHODS[job.method], job.graphs, job.labels, work, job.protocol, job.limits
            ),
            job.results,
            again=lambda found: bool(found["empty"]) and _more(job.limits, found["limits"]),
        )
    except Failed as reason:
        return Lost(str(reason))


def majority_line(labels: NDArray[Any]) -> Compared:
    """What always answering the largest class gives."""
    sizes = np.unique(labels, return_counts=True)[1]
    share = 100 * float(sizes.max() / sizes.sum())
    return Compared("majority class", share, paper=share)


def find_method(name: str) -> Method:
    """The method of that name."""
    if name.casefold() not in METHODS:
        raise InvalidParameter(f"no method {name!r}; there are: all, {', '.join(METHODS)}")
    return METHODS[name.casefold()]


def _cell(method: Method, graphs: GraphSet, labels: NDArray[Any], protocol: Protocol) -> Cell:
    settings = {
        "method": method.name,
        "settings": method.describe(),
        "graphs": fingerprint(graphs),
        "labels": hashlib.sha256("\n".join(map(str, labels)).encode()).hexdigest()[:16],
        **vars(protocol),
    }
    return Cell("methods", method.name, settings)


def _judge(
    method: Method, graphs: Path, labels: NDArray[Any], work: Path, protocol: Protocol, limits: Limits
) -> Result:
    seconds, peaks = 0.0, [0.0]
    given = {"seconds": limits.seconds, "megabytes": limits.megabytes}
    representations: dict[str, Any] = {}
    try:
        for setting in method.settings:
            made = []
            for repeat in range(protocol.repeats if method.random else 1):
                left = None if limits.seconds is None else limits.seconds - seconds
                if left is not None and left <= 0:
                    raise Stopped(f"stopped after {seconds / 60:.3g} minutes, the budget")
                one = represent_isolated(
                    graphs, method.name, setting, protocol.seed + repeat, work, Limits(left, limits.megabytes)
                )
                seconds, peaks = seconds + one.seconds, [*peaks, one.peak_mb]
                made.append(one.values)
            representations[setting] = made if method.random else made * protocol.repeats
    except Failed:
        raise
    except Stopped as reason:
        took = {"seconds": seconds, "peak_mb": max(peaks)}
        return {"empty": str(reason), "limits": given, "scores": {}, "took": took}
    evaluation = cross_validate(
        representations,
        labels,
        repeats=protocol.repeats,
        folds=protocol.folds,
        inner_folds=protocol.inner_folds,
        random_state=protocol.seed,
    )
    return {
        "empty": "",
        "limits": given,
        "scores": _scores(evaluation),
        "evaluation": evaluation.to_dict(),
        "took": {"seconds": seconds, "peak_mb": max(peaks)},
    }


def _scores(evaluation: Evaluation) -> dict[str, float | None]:
    """In per cent; None for a deviation over one repeat."""
    score = evaluation.leak_free()
    figures = {
        "mean": score.mean,
        "std": score.std,
        "std_folds": score.std_folds,
        "paper": evaluation.paper().mean,
        "majority": evaluation.plan.majority,
    }
    return {name: None if math.isnan(value) else 100 * value for name, value in figures.items()}


def _more(limits: Limits, before: dict[str, float | None]) -> bool:
    """Whether more is allowed now than when a method was stopped."""
    pairs = ((limits.seconds, before["seconds"]), (limits.megabytes, before["megabytes"]))
    return any(old is not None and (new is None or new > old) for new, old in pairs)


def _row(method: Method, result: Result | Lost) -> Compared:
    if isinstance(result, Lost):
        return Compared(method.title, empty=result.reason)
    took, scores = result["took"], result["scores"]
    names = ("mean", "std", "paper")
    shown = {key: math.nan if scores.get(key) is None else scores[key] for key in names}
    return Compared(method.title, **shown, **took, empty=result["empty"])

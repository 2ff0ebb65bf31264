"""Any list of methods on any graphs, judged alike: accuracy, deviation, time and memory."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.base import GraphKernel
from infograph.cells import Cell, Result, parameters_of, peak_mb, run_cell
from infograph.data.graphset import GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import as_classes, encode_labels, is_continuous, is_known
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings
from infograph.errors import (
    CheckpointMismatch,
    InfoGraphError,
    InvalidGraph,
    InvalidParameter,
    TrainingDiverged,
)
from infograph.estimators.base import GraphTransformer
from infograph.evaluate.cross_validation import Gram, cross_validate
from infograph.evaluate.evaluation import Evaluation, Plan, Row
from infograph.io import check_folder
from infograph.jobs import Lost, OverLimit, limited, run
from infograph.parameters import changed

Watch = Callable[[str, int, int, str], None]  # method, how many are done, of how many, what happens
Make = Callable[[int], GraphTransformer]
DEPTHS, RATES, EPOCHS = (4, 8, 12), (1e-2, 1e-3, 1e-4), (10, 20, 100)  # the paper's, for InfoGraph
KINDS = ("wl", "graphlet", "walk", "shortest-path")  # of deep graph kernels
_DEEP = "baselines.deep_kernel:DeepGraphKernel"


@dataclass(frozen=True)
class Protocol:
    """How methods are judged: the cross-validation (the paper's is 5 times 10 folds), and its first seed."""

    repeats: int = 5
    folds: int = 10
    inner_folds: int = 5
    seed: int = 0


@dataclass(frozen=True)
class Limits:
    """What a method may take for all it computes: seconds and megabytes; None for as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None


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


def compare(
    graphs: GraphSet,
    labels: NDArray[Any],
    methods: Sequence[str | tuple[str, GraphTransformer]],
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
        methods: names in `infograph.evaluate.compare.METHODS`, or `(name, estimator)` for others.
        results: a folder that keeps one file per method.
        protocol: how methods are judged.
        limits: what each method may take; one that takes more is stopped, and its line says so.
        watch: told before and after every method.
        workers: methods at a time; those that share a machine take longer than alone.
        on: "local", or a Ray cluster (`infograph.jobs.connect`), on all machines of which
            `results` is under the same path.
    """
    chosen = [find_method(method) for method in methods]
    results = Path(results).absolute()
    check_folder(results)
    digest = hashlib.sha256("\n".join(map(str, labels)).encode()).hexdigest()[:16]
    about = {"graphs": fingerprint(graphs), "labels": digest, **vars(protocol)}
    found: dict[str, Compared] = {}

    def announced() -> Iterator[Method]:
        for method in chosen:
            watch(method.title, len(found), len(chosen), "")
            yield method

    near = None if on == "local" else results  # on a cluster, where all machines see it
    with tempfile.TemporaryDirectory(prefix=".graphs-", dir=near) as folder:
        saved = save_graphs(graphs, Path(folder) / "graphs")
        judging = partial(
            _judged,
            about=about,
            graphs=saved,
            labels=labels,
            results=results,
            protocol=protocol,
            limits=limits,
        )
        for method, result in run(judging, announced(), workers=workers, on=on):
            line = found[method.name] = _line(method.title, result)
            watch(line.method, len(found), len(chosen), line.empty)
    return [found[method.name] for method in chosen]


def find_method(name: str | tuple[str, GraphTransformer]) -> Method:
    """The method of that name, or a named estimator as a method."""
    if not isinstance(name, str):
        title, estimator = name
        random = "random_state" in estimator.get_params(deep=False)
        return Method(title, title, {"default": partial(_seeded, estimator)}, random)
    if name.casefold() not in METHODS:
        raise InvalidParameter(f"no method {name!r}; there are: all, {', '.join(METHODS)}")
    return METHODS[name.casefold()]


def _seeded(estimator: GraphTransformer, seed: int) -> GraphTransformer:
    random = "random_state" in estimator.get_params(deep=False)
    return changed(estimator, {"random_state": seed} if random else {})


def majority_line(labels: NDArray[Any]) -> Compared:
    """What always answering the largest class gives."""
    sizes = np.unique(labels, return_counts=True)[1]
    share = 100 * float(sizes.max() / sizes.sum())
    return Compared("majority class", share, paper=share)


def _line(title: str, result: Result | Lost) -> Compared:
    if isinstance(result, Lost):
        return Compared(title, empty=result.reason)
    scores = {name: result["scores"].get(name) for name in ("mean", "std", "paper")}
    shown = {name: math.nan if value is None else value for name, value in scores.items()}
    return Compared(title, **shown, **result["took"], empty=result["empty"])


def _judged(
    method: Method,
    about: dict[str, Any],
    graphs: Path,
    labels: NDArray[Any],
    results: Path,
    protocol: Protocol,
    limits: Limits,
) -> Result | Lost:
    """The result of a method: read, if it is there, else computed and kept; a failure is kept by nobody."""
    cell = Cell("methods", method.name, {"method": method.name, "settings": method.describe(), **about})

    def more_is_allowed(before: Result) -> bool:
        pairs = [(now, before["limits"][what]) for what, now in vars(limits).items()]
        return bool(before["empty"]) and any(
            old is not None and (new is None or new > old) for new, old in pairs
        )

    try:
        return run_cell(
            cell,
            lambda *_: _judge(method, graphs, labels, protocol, limits),
            results,
            again=more_is_allowed,
        )
    except Failed as reason:
        return Lost(str(reason))


def _judge(method: Method, graphs: Path, labels: NDArray[Any], protocol: Protocol, limits: Limits) -> Result:
    took = {"seconds": 0.0, "peak_mb": 0.0}
    representations: dict[str, Any] = {}
    try:
        for setting in method.settings:
            made = []
            for repeat in range(protocol.repeats if method.random else 1):
                left = None if limits.seconds is None else limits.seconds - took["seconds"]
                if left is not None and left <= 0:
                    raise Stopped(f"stopped after {took['seconds'] / 60:.3g} minutes, the budget")
                values, seconds, peak = represent_isolated(
                    graphs, method, setting, protocol.seed + repeat, Limits(left, limits.megabytes)
                )
                took = {"seconds": took["seconds"] + seconds, "peak_mb": max(took["peak_mb"], peak)}
                made.append(values)
            representations[setting] = made if method.random else made * protocol.repeats
    except Failed:
        raise
    except Stopped as reason:
        return {"empty": str(reason), "limits": vars(limits), "scores": {}, "took": took}
    evaluation = cross_validate(
        representations,
        labels,
        repeats=protocol.repeats,
        folds=protocol.folds,
        inner_folds=protocol.inner_folds,
        random_state=protocol.seed,
    )
    score = evaluation.leak_free()
    figures = {
        "mean": score.mean,
        "std": score.std,
        "std_folds": score.std_folds,
        "paper": evaluation.paper().mean,
        "majority": evaluation.plan.majority,
    }
    return {
        "empty": "",
        "limits": vars(limits),
        "scores": {name: None if math.isnan(value) else 100 * value for name, value in figures.items()},
        "evaluation": evaluation.to_dict(),
        "took": took,
    }


class Stopped(Exception):
    """A method that was stopped or refused the graphs; the message says why its cell is empty."""


class Failed(Stopped):
    """A failure that says nothing of the method, such as a missing package: the next time it may work."""


def represent_isolated(
    graphs: Path, method: Method, setting: str, seed: int, limits: Limits
) -> tuple[NDArray[Any] | Gram, float, float]:
    """What a method makes of saved graphs in a process of its own, with its seconds and its peak in MB.

    Raises:
        Stopped: a limit was reached, or the method refused the graphs.
        Failed: its process died, or something that it needs is missing.
    """
    try:
        return limited(partial(_represent_saved, graphs, method, setting), seed, **vars(limits))
    except Exception as error:
        said = str(error) if isinstance(error, InfoGraphError) else f"{type(error).__name__}: {error}"
        own = isinstance(error, OverLimit) or blames_method(error)
        raise (Stopped if own else Failed)(" ".join(said.split())) from error


def _represent_saved(
    graphs: Path, method: Method, setting: str, seed: int
) -> tuple[NDArray[Any] | Gram, float, float]:
    warnings.simplefilter("ignore")
    opened = open_graphs(graphs)
    method.settings[setting](0)  # imports what it needs before the clock runs
    began = time.perf_counter()
    values = method.represent(opened, setting, seed)
    return values, time.perf_counter() - began, peak_mb() or 0


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: on the command line and in file names.
        title: in tables, as the paper spells it.
        settings: setting -> what makes the estimator for a seed. Of several, the best on inner folds counts.
        random: whether another seed gives another representation.
        grid: the settings of Table 1, fixed before anything was run; those above where there are no others.
        epochs: where one training run is looked at in Table 1; each is a setting of its own.
    """

    name: str
    title: str
    settings: Mapping[str, Make]
    random: bool = False
    grid: Mapping[str, Make] = field(default_factory=dict)
    epochs: tuple[int, ...] = ()

    @property
    def searched(self) -> Mapping[str, Make]:
        """The settings of Table 1."""
        return self.grid or self.settings

    def represent(self, graphs: GraphSet, setting: str, seed: int) -> NDArray[Any] | Gram:
        """What `represent` makes of graphs with one of the settings."""
        return represent(self.settings[setting](seed), graphs)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator: what a result depends on."""
        return {setting: parameters_of(make(0)) for setting, make in self.settings.items()}


def represent(estimator: GraphTransformer, graphs: GraphSet, **fitting: Any) -> NDArray[Any] | Gram:
    """Vectors (G, D), or the Gram matrix of a kernel; `fitting` are further arguments of `fit_transform`."""
    if isinstance(estimator, GraphKernel):
        return Gram(estimator.fit(graphs).gram())
    vectors = estimator.fit_transform(graphs, **fitting)
    return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)


def blames_method(error: Exception) -> bool:
    """Whether an error of `represent` is a result: training diverged, or the method refuses the graphs.

    Others come from where it ran, such as a package that is not installed, and may be gone the next time.
    """
    own = isinstance(error, TrainingDiverged | InvalidParameter | InvalidGraph)
    return own and not isinstance(error, CheckpointMismatch)


def _one(where: str, **given: Any) -> Make:
    """An estimator of `module:Class`, imported when it is made; `random_state` is the seed if it has one."""

    def make(seed: int) -> GraphTransformer:
        module, _, name = where.partition(":")
        cls = getattr(import_module(f"infograph.{module}"), name)
        seeded = {"random_state": seed} if "random_state" in cls._get_param_names() else {}
        made: GraphTransformer = changed(getattr(cls, "paper", cls)(), {**given, **seeded})
        return made

    return make


def _method(
    name: str,
    title: str,
    where: str,
    *grid: dict[str, Any],
    random: bool = False,
    epochs: tuple[int, ...] = (),
    **given: Any,
) -> Method:
    """A method of one estimator: with `given` alone, and in Table 1 with each line of `grid` as well."""
    searched = {_words({**each, **given}): _one(where, **each, **given) for each in grid}
    return Method(name, title, {"default": _one(where, **given)}, random, searched, epochs)


def _words(given: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _method(
            "gk",
            "GK",
            "baselines.graphlets:Graphlets",
            *({"size": size} for size in (3, 4, 5)),
            normalise=True,
        ),
        _method(
            "wl",
            "WL",
            "baselines.wl:WeisfeilerLehman",
            *({"rounds": rounds} for rounds in (1, 2, 3, 4, 5)),
            normalise=True,
        ),
        replace(
            _method(
                "dgk",
                "DGK",
                _DEEP,
                *({"structure": kind, "epochs": n} for kind in KINDS for n in (5, 30)),
                random=True,
                normalise=True,
            ),
            settings={kind: _one(_DEEP, structure=kind, normalise=True) for kind in KINDS},
        ),
        _method(
            "mlg",
            "MLG",
            "baselines.laplacian:MultiscaleLaplacian",
            *({"levels": levels, "gamma": gamma} for levels in (1, 2, 3) for gamma in (0.01, 0.1)),
        ),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _method(
            "sub2vec",
            "sub2vec",
            "baselines.graph2vec:Sub2Vec",
            *({"variant": variant} for variant in ("structural", "neighbourhood")),
            random=True,
        ),
        _method(
            "graph2vec",
            "graph2vec",
            "baselines.graph2vec:Graph2Vec",
            *({"rounds": rounds} for rounds in (1, 2, 3, 4)),
            random=True,
        ),
        _method(
            "infograph",
            "InfoGraph",
            "estimators.infograph:InfoGraph",
            *({"layers": layers, "lr": lr} for layers in DEPTHS for lr in RATES),
            random=True,
            epochs=EPOCHS,
        ),
        _method(
            "untrained",
            "untrained GIN",
            "estimators.infograph:UntrainedGIN",
            *({"layers": layers} for layers in DEPTHS),
            random=True,
        ),
        _method("labels", "node labels", "baselines.references:LabelHistogram"),
        _method("degrees", "node degrees", "baselines.references:DegreeHistogram"),
    )
}


def judge(
    embeddings: Embeddings,
    label: str,
    *,
    classifiers: Sequence[str] | str = "svm-rbf",
    repeats: int = 5,
    folds: int = 10,
    inner_folds: int = 5,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Evaluation, int]:
    """Cross-validate the classes in the column `label`, of the graphs that have a vector and a label.

    Returns:
        The evaluation, and how many graphs were left out.
    """
    values = as_classes(embeddings.column(label), label)
    judged = embeddings.usable & is_known(values)
    evaluation = cross_validate(
        embeddings.vectors[judged],
        values[judged],
        classifiers=classifiers,
        repeats=repeats,
        folds=folds,
        inner_folds=inner_folds,
        random_state=random_state,
        progress=progress,
    )
    return evaluation, int((~judged).sum())


def score_rows(evaluation: Evaluation) -> list[Row]:
    """A line per classifier, one for the best on the inner folds if there are several, and the majority."""
    classifiers = list(dict.fromkeys(candidate.classifier for candidate in evaluation.candidates))
    scores = {name: evaluation.select(classifiers=[name]).leak_free() for name in classifiers}
    if len(scores) > 1:
        scores["best on inner folds"] = evaluation.leak_free()
    rows = [
        Row.of(name, score, f"single folds ± {100 * score.std_folds:.1f}") for name, score in scores.items()
    ]
    return [*rows, Row("majority class", 100 * evaluation.plan.majority)]


@dataclass(frozen=True, eq=False)
class Target:
    """The labels of a study.

    Attributes:
        column: the label column, empty where there is none.
        values: (G,) the labels.
        judged: (G,) which graphs take part in the evaluation; None where there is nothing to evaluate.
        notes: what a reader must know of it.
    """

    column: str
    values: NDArray[Any]
    judged: NDArray[np.bool_] | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, graphs: GraphSet, folds: int, inner_folds: int) -> Self:
        """The labels of `graphs`; classes that are too small for that many folds are refused."""
        if graphs.schema.column("graph", LABEL) is None:
            return cls("", np.zeros(0), None, ("The graphs have no labels, so nothing was predicted.",))
        values = graphs.values("graph", LABEL)
        if is_continuous(values):
            note = "The labels are measured values and no classes, so no accuracy was measured."
            return cls(LABEL, values, None, (note,))
        known = is_known(values)
        Plan.of(*encode_labels(values[known]), folds, inner_folds)
        missing = int(np.count_nonzero(~known))
        note = f"{missing:,} graphs without a label took part in the training and not in the evaluation."
        return cls(LABEL, values, known, (note,) if missing else ())

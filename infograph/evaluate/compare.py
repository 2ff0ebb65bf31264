"""Any list of methods on any graphs, judged alike: accuracy, deviation, time and memory."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from infograph.baselines.base import GraphKernel
from infograph.baselines.references import count_nodes, countable
from infograph.cells import Cell, Result, parameters_of, peak_mb, run_cell
from infograph.data.convert import as_graphset
from infograph.data.fingerprints import descriptor_names, molecule_features
from infograph.data.graphset import GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import is_continuous, is_known
from infograph.data.molecules import SMILES
from infograph.data.splits import scaffold_groups
from infograph.data.targets import encode_labels
from infograph.data.units import LABEL
from infograph.data.vectors import data_frame, graph_values
from infograph.errors import (
    CheckpointMismatch,
    InfoGraphError,
    InvalidGraph,
    InvalidParameter,
    TrainingDiverged,
)
from infograph.estimators.base import GraphTransformer
from infograph.estimators.folder import model_folder, pretrained_names, read_config
from infograph.estimators.infograph import InfoGraph
from infograph.evaluate.cross_validation import Gram, check_protocol, cross_predict, cross_validate
from infograph.evaluate.evaluation import Evaluation, Plan, Row
from infograph.evaluate.judges import SCORINGS
from infograph.io import check_folder, temporary_folder
from infograph.jobs import Lost, OverLimit, limited, run
from infograph.notebook import as_html
from infograph.parameters import changed

Watch = Callable[[str, int, int, str], None]  # method, how many are done, of how many, what happens
Make = Callable[[int], GraphTransformer]
DEPTHS, RATES, EPOCHS = (4, 8, 12), (1e-2, 1e-3, 1e-4), (10, 20, 100)  # the paper's, for InfoGraph
PRETRAINED = "molecules"  # the model that the package carries
KINDS = ("wl", "graphlet", "walk", "shortest-path")  # of deep graph kernels


@dataclass(frozen=True)
class Protocol:
    """How methods are judged: the cross-validation (the paper's is 5 times 10 folds), and its first seed.

    Attributes:
        scoring: as in `cross_validate`; None means accuracy, ROC-AUC of several columns, RMSE of numbers.
        scaffolds: no scaffold of molecules is in two folds.
    """

    repeats: int = 5
    folds: int = 10
    inner_folds: int = 5
    seed: int = 0
    scoring: str | None = None
    scaffolds: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """What a result depends on; what is as it always was is not named."""
        later = ("scoring", "scaffolds")
        return {name: value for name, value in vars(self).items() if value or name not in later}

    def judging(self, graphs: GraphSet) -> dict[str, Any]:
        """The arguments of `cross_validate`."""
        same = {name: getattr(self, name) for name in ("repeats", "folds", "inner_folds", "scoring")}
        groups = scaffold_groups(graphs) if self.scaffolds else None
        return {**same, "groups": groups, "random_state": self.seed}


@dataclass(frozen=True)
class Limits:
    """What a method may take for all it computes: seconds and megabytes; None for as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Compared:
    """One line of a comparison: the leak-free score, or the reason why there is none.

    Scores are in per cent where that is usual: accuracy, ROC-AUC and average precision.
    """

    method: str  # its title
    mean: float = math.nan
    std: float = math.nan  # over repeats
    paper: float = math.nan  # with the setting chosen on the test folds, as the paper reports it
    seconds: float = math.nan  # for all representations that were made, classifier excluded
    peak_mb: float = math.nan  # the most that one of their processes had
    empty: str = ""  # why there is no figure
    scoring: str = "accuracy"
    p_value: float = math.nan  # of the test against the best simple reference, in a report
    reference: bool = False  # whether it is one of the simple things that any method has to beat
    evaluation: Evaluation | None = field(default=None, compare=False, repr=False)  # for `paired_test`


class Comparisons(list[Compared]):
    """The lines of a comparison, in the order of the methods."""

    def to_pandas(self) -> Any:
        """A DataFrame with the methods as its index; `empty` says why a line has no figures."""
        names = [each.name for each in fields(Compared) if each.name not in ("method", "evaluation")]
        columns = {name: [getattr(line, name) for line in self] for name in names}
        return data_frame(columns, [line.method for line in self], "method")

    def _repr_html_(self) -> str:
        return as_html("Methods compared", tables=[(head(self), [cells(row) for row in self])])


def compare(
    graphs: Any,
    labels: Any,
    methods: Sequence[str | tuple[str, GraphTransformer]],
    results: str | Path,
    *,
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    watch: Watch = lambda *_: None,
    workers: int = 1,
    on: str = "local",
) -> Comparisons:
    """Judge methods on graphs; what was judged before with the same settings is read.

    Args:
        graphs: anything `as_graphset` takes, all labelled.
        labels: (G,) their classes or measured values, or (G, T) of several columns, with gaps; or the name of
            a graph column.
        methods: names in `infograph.evaluate.compare.METHODS`, or `(name, estimator)` for others.
        results: a folder that keeps one file per method.
        protocol: how methods are judged.
        limits: what each method may take; one that takes more is stopped, and its line says so.
        watch: told before and after every method.
        workers: methods at a time; those that share a machine take longer than alone.
        on: "local", or a Ray cluster (`infograph.jobs.connect`), on all machines of which
            `results` is under the same path.
    """
    chosen, graphs = [find_method(method) for method in methods], as_graphset(graphs)
    labels = graph_values(graphs, labels) if isinstance(labels, str) else np.asarray(labels)
    results = Path(results).absolute()
    check_folder(results)
    judging = protocol.judging(graphs)
    check_protocol(labels, **judging)
    digest = hashlib.sha256("\n".join(map(str, labels)).encode()).hexdigest()[:16]
    about = {"graphs": fingerprint(graphs), "labels": digest, **protocol.about}
    found: dict[str, Compared] = {}

    def announced() -> Iterator[Method]:
        for method in chosen:
            watch(method.title, len(found), len(chosen), "")
            yield method

    near = results if on != "local" else Path(tempfile.gettempdir())  # all machines of a cluster see results
    with temporary_folder(near / "infograph-graphs") as folder:
        saved = save_graphs(graphs, folder / "graphs")

        def judged(method: Method) -> Result | Lost:
            """Read, if it is there, else computed and kept; a failure is kept by nobody."""
            settings = {"method": method.name, "settings": method.describe(), **about}
            try:
                return run_cell(
                    Cell("methods", method.name, settings),
                    lambda *_: _judge(method, saved, labels, judging, limits),
                    results,
                    again=lambda before: bool(before["empty"]) and _allows_more(limits, before["limits"]),
                )
            except Failed as reason:
                return Lost(str(reason))

        for method, result in run(judged, announced(), workers=workers, on=on):
            if isinstance(result, Lost):
                line = Compared(method.title, empty=result.reason)
            else:
                line = _line(method, result)
            found[method.name] = line
            watch(line.method, len(found), len(chosen), line.empty)
    return Comparisons(found[method.name] for method in chosen)


def head(rows: Sequence[Compared]) -> tuple[str, ...]:
    """What the columns hold."""
    scoring = next((row.scoring for row in rows if not row.empty), "accuracy")
    figure = f"{scoring}, %" if SCORINGS[scoring].percent else scoring
    return ("method", figure, "deviation", "p", "seconds", "peak, MB", "")


def cells(row: Compared) -> tuple[str, ...]:
    """A line as text; a reason in the last cell where there is no figure."""
    form = ".1f" if SCORINGS[row.scoring].percent else ".3f"
    figures = (
        (row.mean, form),
        (row.std, form),
        (row.p_value, ".2g"),
        (row.seconds, ".3g"),
        (row.peak_mb, ",.0f"),
    )
    return (row.method, *("" if value != value else f"{value:{form}}" for value, form in figures), row.empty)


def _line(method: Method, result: Result) -> Compared:
    if result["empty"]:
        return Compared(method.title, **result["took"], empty=result["empty"])
    evaluation = Evaluation.from_dict(result["evaluation"])
    names = [name for name in ("mean", "std", "paper") if result["scores"][name] is not None]
    return Compared(
        method.title,
        **{name: result["scores"][name] for name in names},
        **result["took"],
        scoring=evaluation.scoring,
        reference=method.reference,
        evaluation=evaluation,
    )


def _allows_more(limits: Limits, before: Mapping[str, float | None]) -> bool:
    pairs = [(now, before[what]) for what, now in vars(limits).items()]
    return any(old is not None and (new is None or new > old) for new, old in pairs)


def find_method(name: str | tuple[str, GraphTransformer]) -> Method:
    """The method of that name, or a named estimator as a method."""
    if not isinstance(name, str):
        title, estimator = name
        random = "random_state" in estimator.get_params(deep=False)
        make: Make = lambda seed: changed(estimator, {"random_state": seed} if random else {})  # noqa: E731
        return Method(title, title, {"default": make}, random)
    every = {**METHODS, **MORE}
    if name.casefold() not in every:
        raise InvalidParameter(f"no method {name!r}; there are: all, {', '.join(every)}")
    return every[name.casefold()]


def usual_methods(graphs: GraphSet) -> list[str]:
    """What "all" stands for: methods for molecules are not tried on other graphs."""
    molecules = graphs.schema.column("graph", SMILES.name) is not None
    more = [name for name, method in MORE.items() if molecules or not method.molecules]
    return [*METHODS, *(name for name in more if name != "pretrained" or PRETRAINED in pretrained_names())]


def constant_line(graphs: GraphSet, labels: NDArray[Any], protocol: Protocol) -> Compared | None:
    """What the same answer for all graphs gives: the largest class, or the mean; None where ranks count."""
    judging = protocol.judging(graphs)
    scoring = check_protocol(labels, **judging)
    if SCORINGS[scoring].needs == "classes":
        sizes = np.unique(labels, return_counts=True)[1]
        share = 100 * float(sizes.max() / sizes.sum())
        return Compared("majority class", share, paper=share)
    if SCORINGS[scoring].needs == "ranks":
        return None
    evaluation = cross_predict(
        lambda seed, train, test, values: np.tile(np.nanmean(values, axis=0), (len(test), 1)),
        labels,
        **judging,
    )
    mean, std, _ = evaluation.leak_free().in_table
    return Compared("mean", mean, std, mean, scoring=scoring, reference=True, evaluation=evaluation)


def _judge(
    method: Method, graphs: Path, labels: NDArray[Any], judging: Mapping[str, Any], limits: Limits
) -> Result:
    took = {"seconds": 0.0, "peak_mb": 0.0}
    representations: dict[str, Any] = {}
    evaluation: Any = None
    try:
        for setting in method.settings:
            made = []
            for repeat in range(judging["repeats"] if method.random else 1):
                left = None if limits.seconds is None else limits.seconds - took["seconds"]
                if left is not None and left <= 0:
                    raise Stopped(f"stopped after {took['seconds'] / 60:.3g} minutes, the budget")
                rest = Limits(left, limits.megabytes)
                if method.predicts:
                    work = lambda opened: predicted(method, setting, opened, labels, judging)  # noqa: B023, E731
                    values, seconds, peak = _isolated(work, graphs, rest, lambda: None)
                else:
                    seed = judging["random_state"] + repeat
                    values, seconds, peak = represent_isolated(graphs, method, setting, seed, rest)
                took = {"seconds": took["seconds"] + seconds, "peak_mb": max(took["peak_mb"], peak)}
                made.append(values)
            representations[setting] = made if method.random else made * judging["repeats"]
    except Stopped as reason:
        return {"empty": str(reason), "limits": vars(limits), "scores": {}, "took": took}
    if method.predicts:
        evaluation = representations["default"][0]
    else:
        first = next(iter(representations.values()))[0]
        judge = _judge_of(method, labels, judging["scoring"], isinstance(first, Gram))
        evaluation = cross_validate(representations, labels, classifiers=judge, **judging)
    score = evaluation.leak_free()
    factor = 100 if SCORINGS[evaluation.scoring].percent else 1
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
        "scores": {name: None if math.isnan(value) else factor * value for name, value in figures.items()},
        "evaluation": evaluation.to_dict(),
        "took": took,
    }


def _judge_of(method: Method, labels: NDArray[Any], scoring: str | None, gram: bool) -> str | None:
    """Support vectors of one column of classes, as in the paper; least squares of numbers and columns."""
    classes = labels.ndim == 1 and not is_continuous(labels)
    if method.judge and not gram:
        return method.judge
    if classes and (scoring is None or SCORINGS[scoring].needs != "numbers"):
        return None
    return "ridge" if gram else "ridge-rbf"


def predicted(
    method: Method, setting: str, graphs: GraphSet, labels: NDArray[Any], judging: Mapping[str, Any]
) -> Evaluation:
    """The evaluation of a method that learns from labels: on the graphs of training folds alone."""
    needs, several = SCORINGS[check_protocol(labels, **judging)].needs, labels.ndim > 1

    def predict(seed: int, train: NDArray[Any], test: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        model: Any = method.settings[setting](seed)
        wanted = values[train] if several else values[train, 0]
        if needs != "numbers":
            from infograph.estimators.predictors import InfoGraphClassifier

            model = InfoGraphClassifier(**model.get_params(deep=False))
            wanted = wanted if several else wanted.astype(np.int64)
        model.fit(graphs[train], wanted)
        if needs == "ranks":
            probable = model.predict_proba(graphs[test])
            return np.asarray(probable if several else probable[:, 1])
        return np.asarray(model.predict(graphs[test]))

    return cross_predict(predict, labels, **judging)


class Stopped(Exception):
    """A method that was stopped or refused the graphs; the message says why its cell is empty."""


class Failed(Exception):
    """A failure that says nothing of the method, such as a missing package: the next time it may work."""


def represent_isolated(
    graphs: Path, method: Method, setting: str, seed: int, limits: Limits
) -> tuple[NDArray[Any] | Gram, float, float]:
    """What a method makes of saved graphs in a process of its own, with its seconds and its peak in MB."""

    def work(opened: GraphSet) -> NDArray[Any] | Gram:
        return represent(method.settings[setting](seed), opened)

    return _isolated(work, graphs, limits, lambda: method.settings[setting](0))


def _isolated(
    work: Callable[[GraphSet], Any], graphs: Path, limits: Limits, first: Callable[[], object]
) -> tuple[Any, float, float]:
    """The same of any function; `first` imports what it needs before the clock runs."""

    def measured(folder: Path) -> tuple[Any, float, float]:
        warnings.simplefilter("ignore")
        opened = open_graphs(folder)
        first()
        began = time.perf_counter()
        found = work(opened)
        return found, time.perf_counter() - began, peak_mb() or 0

    try:
        return limited(measured, graphs, **vars(limits))
    except Exception as error:
        said = str(error) if isinstance(error, InfoGraphError) else f"{type(error).__name__}: {error}"
        own = isinstance(error, OverLimit) or blames_method(error)
        raise (Stopped if own else Failed)(" ".join(said.split())) from error


@dataclass(frozen=True)
class Method:
    """A method: what makes its estimator for a seed. Of several settings, the best on inner folds counts."""

    name: str  # on the command line and in file names
    title: str  # in tables, as the paper spells it
    settings: Mapping[str, Make]
    random: bool = False  # whether another seed gives another representation
    grid: Mapping[str, Make] = field(default_factory=dict)  # of Table 1, fixed before anything was run
    epochs: tuple[int, ...] = ()  # where one training run is looked at in Table 1, each as a setting
    judge: str = ""  # what its vectors are judged by, where that is not the usual
    molecules: bool = False  # whether it is for molecules with SMILES alone
    predicts: bool = False  # whether it learns from labels itself, in the training folds
    reference: bool = False  # whether it is one of the simple things that any method has to beat

    @property
    def searched(self) -> Mapping[str, Make]:
        """The settings of Table 1."""
        return self.grid or self.settings

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator: what a result depends on."""
        return {setting: parameters_of(make(0)) for setting, make in self.settings.items()}


@dataclass(eq=False)
class Ready(BaseEstimator):  # type: ignore[misc]
    """Vectors of molecules for which nothing is fitted: "pretrained", "atoms" or "morgan"."""

    what: str = "atoms"
    sha256: str = ""  # of the weights, if there are any

    def fit_transform(self, graphs: GraphSet) -> NDArray[Any]:
        """One row per molecule."""
        if self.what == "pretrained":
            return InfoGraph.from_pretrained(PRETRAINED).transform(graphs)
        if self.what == "atoms":
            return count_nodes(countable(graphs, None))[1]
        names = descriptor_names()
        return molecule_features(graphs, features="counts+descriptors", descriptors=names, smiles=SMILES.name)


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


def _one(where: str, *, paper: bool = True, **given: Any) -> Make:
    """An estimator of `module:Class`, imported when it is made; `random_state` is the seed if it has one."""

    def make(seed: int) -> GraphTransformer:
        module, _, name = where.partition(":")
        cls = getattr(import_module(f"infograph.{module}"), name)
        seeded = {"random_state": seed} if "random_state" in cls._get_param_names() else {}
        usual = cls.paper() if paper and hasattr(cls, "paper") else cls()
        made: GraphTransformer = changed(usual, {**given, **seeded})
        return made

    return make


def _method(
    name: str,
    title: str,
    where: str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    random: bool = False,
    epochs: tuple[int, ...] = (),
    **given: Any,
) -> Method:
    """A method of one estimator: with `given` alone, and in Table 1 with all values of `grid` as well."""
    searched = {}
    for values in product(*grid.values()) if grid else ():
        setting = {**dict(zip(grid or (), values, strict=True)), **given}
        searched[" ".join(f"{key}={value}" for key, value in setting.items())] = _one(where, **setting)
    return Method(name, title, {"default": _one(where, **given)}, random, searched, epochs)


_DGK = "baselines.deep_kernel:DeepGraphKernel"
_GRAPHLETS, _MLG = "baselines.graphlets:Graphlets", "baselines.laplacian:MultiscaleLaplacian"
_INFOGRAPH, _UNTRAINED = "estimators.infograph:InfoGraph", "estimators.infograph:UntrainedGIN"
_SUB2VEC, _GRAPH2VEC = "baselines.graph2vec:Sub2Vec", "baselines.graph2vec:Graph2Vec"
_VARIANTS = ("structural", "neighbourhood")
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _method("gk", "GK", _GRAPHLETS, {"size": (3, 4, 5)}, normalise=True),
        _method("wl", "WL", "baselines.wl:WeisfeilerLehman", {"rounds": (1, 2, 3, 4, 5)}, normalise=True),
        replace(
            _method("dgk", "DGK", _DGK, {"structure": KINDS, "epochs": (5, 30)}, random=True, normalise=True),
            settings={kind: _one(_DGK, structure=kind, normalise=True) for kind in KINDS},
        ),
        _method("mlg", "MLG", _MLG, {"levels": (1, 2, 3), "gamma": (0.01, 0.1)}),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _method("sub2vec", "sub2vec", _SUB2VEC, {"variant": _VARIANTS}, random=True),
        _method("graph2vec", "graph2vec", _GRAPH2VEC, {"rounds": (1, 2, 3, 4)}, random=True),
        replace(
            _method(
                *("infograph", "InfoGraph", _INFOGRAPH, {"layers": DEPTHS, "lr": RATES}),
                random=True,
                epochs=EPOCHS,
            ),
            settings={"default": _one(_INFOGRAPH, paper=False)},
        ),
        replace(
            _method("untrained", "untrained GIN", _UNTRAINED, {"layers": DEPTHS}, random=True),
            settings={"default": _one(_UNTRAINED, paper=False)},
        ),
        _method("infograph-paper", "InfoGraph, the paper's settings", _INFOGRAPH, random=True),
        _method("wl-oa", "WL-OA", "baselines.wl:OptimalAssignment", normalise=True),
        _method("ltp", "LTP", "baselines.profile:LocalTopologicalProfile"),
        replace(_method("labels", "node labels", "baselines.references:LabelHistogram"), reference=True),
        replace(_method("degrees", "node degrees", "baselines.references:DegreeHistogram"), reference=True),
    )
}


def _carried(seed: int) -> Any:
    return Ready("pretrained", read_config(model_folder(PRETRAINED))["sha256"])


_FOREST, _ATOMS = (_one("evaluate.compare:Ready", what=what) for what in ("morgan", "atoms"))
_PREDICTS = _one("estimators.predictors:InfoGraphRegressor", paper=False, objective="vectors")
MORE: dict[str, Method] = {  # that the paper's tables have no line for
    method.name: method
    for method in (
        Method("pretrained", "pre-trained vectors", {"default": _carried}, molecules=True),
        Method("atoms", "atom counts", {"default": _ATOMS}, judge="ridge", molecules=True, reference=True),
        Method(
            "morgan",
            "fingerprint forest",
            {"default": _FOREST},
            judge="forest",
            molecules=True,
            reference=True,
        ),
        Method("predictions", "InfoGraph's predictions", {"default": _PREDICTS}, predicts=True),
    )
}


def score_rows(evaluation: Evaluation) -> list[Row]:
    """A line per classifier, one for the best on the inner folds if there are several, and the majority."""
    classifiers = list(dict.fromkeys(candidate.classifier for candidate in evaluation.candidates))
    scores = {name: evaluation.select(classifiers=[name]).leak_free() for name in classifiers}
    if len(scores) > 1:
        scores["best on inner folds"] = evaluation.leak_free()
    digits = 1 if SCORINGS[evaluation.scoring].percent else 3
    notes = {name: f"single folds ± {score.in_table[2]:.{digits}f}" for name, score in scores.items()}
    rows = [Row.of(name, score, notes[name]) for name, score in scores.items()]
    by_accuracy = evaluation.scoring == "accuracy" and evaluation.plan.class_sizes
    return [*rows, Row("majority class", 100 * evaluation.plan.majority)] if by_accuracy else rows


@dataclass(frozen=True, eq=False)
class Target:
    """The labels of a study."""

    column: str  # empty where there is none
    values: NDArray[Any]  # (G,)
    judged: NDArray[np.bool_] | None  # (G,) those that are evaluated; None where there is nothing to evaluate
    notes: tuple[str, ...] = ()  # what a reader must know

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

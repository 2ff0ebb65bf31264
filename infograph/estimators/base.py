"""What every estimator promises: scikit-learn's contract, a schema, a folder to save it to."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

import infograph
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import (
    ClassTargets,
    Targets,
    Task,
    class_targets,
    listed,
    match_names,
    numeric_targets,
)
from infograph.data.schema import Schema
from infograph.errors import (
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    InvalidTarget,
    NotFitted,
    NothingLeft,
    TargetWarning,
)
from infograph.estimators.folder import (
    State,
    check_model_folder,
    read_config,
    read_history,
    read_schema,
    read_weights,
    up_to_date,
    write_model,
)
from infograph.io import json_ready
from infograph.parameters import CUSTOM, Spec, restored, saved

TASKS: tuple[Task, ...] = ("regression", "classification")
BadRows = Literal["raise", "skip", "nan"]
Compute = Callable[[GraphSet], NDArray[Any]]


class GraphEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators of this package.

    Subclasses set `schema_` in `fit`, and say in two pairs of methods what they learned:
      * `_state` and `_set_state`: arrays by name, for `model.safetensors`;
      * `_learned` and `_set_learned`: everything else, ready for JSON (names and units of targets, classes,
        means and scales), which is the entry "learned" of `config.json`.
    `load` restores the settings, then `schema_`, then calls `_set_learned` and last `_set_state`, so that a
    network can be built from what came before. Overriding one of the second pair means calling `super()`.

    Parameters that are code, such as an own encoder, are saved as "custom" and given again to `load`.
    """

    schema_: Schema

    def _state(self) -> State:
        raise NotImplementedError

    def _set_state(self, state: State) -> None:
        raise NotImplementedError

    def _learned(self) -> dict[str, Any]:
        """What was learned and is no array; lists, texts, numbers and None by name."""
        return {}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        """Take over what `_learned` gave, as JSON gives it back (lists instead of tuples)."""

    def _fitted_settings(self) -> dict[str, Any]:
        """Settings as they were in `fit`, where changing them afterwards would not fit what was learned."""
        return {}

    def _card(self) -> str:
        return ""

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFitted(
                f"this {type(self).__name__} is not fitted yet: call fit(graphs) or load(folder) first"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        tags.no_validation = True
        return tags

    def set_params(self, **params: Any) -> Self:
        """As in scikit-learn; `objective__lam` also works where the objective is a name, and never reaches an
        object that another estimator has, too.
        """
        for part in {name.partition("__")[0] for name in params if "__" in name}:
            if part in self._parts():
                setattr(self, part, self._parts()[part].copy())
        return super().set_params(**params)  # type: ignore[no-any-return]

    def _parts(self) -> dict[str, Spec]:
        """The objects among the parameters, those that short forms stand for too."""
        return {}

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to `folder`, whole or not at all; an older model there is replaced."""
        self._check_fitted()
        check_model_folder(folder)
        given = {**self.get_params(deep=False), **self._fitted_settings()}
        settings = {name: saved(value) for name, value in given.items()}
        config = {
            "class": type(self).__name__,
            "version": infograph.__version__,
            "params": settings,
            "learned": json_ready(self._learned()),
        }
        history = getattr(self, "history_", [])
        write_model(folder, config, self._state(), self.schema_, history, self._card())
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, **code: Any) -> Self:
        """Read a model back; it gives bit-equal results.

        Args:
            folder: what `save` wrote.
            code: parameters that were code (`encoder=MyGNN`, `objective=Mine()`), given again.

        Raises:
            FileMissing, InvalidFile: a file is missing, damaged, or of another class.
        """
        folder = Path(folder)
        config = read_config(folder)
        if config["class"] != cls.__name__:
            raise InvalidFile(
                f"{folder} holds a {config['class']}, not a {cls.__name__}; use infograph.load(folder)"
            )
        known, params = cls._get_param_names(), up_to_date(config)
        strange = [name for name in params if name not in known]
        if strange:
            raise InvalidFile(
                f"{folder}: unknown setting {strange[0]!r}; it was saved by version {config['version']}"
            )
        try:
            given = {name: restored(value, code.get(name)) for name, value in params.items()}
        except (InvalidParameter, TypeError) as error:
            raise InvalidFile(f"{folder / 'config.json'} is damaged: {error}") from error
        lost = [name for name, value in given.items() if value == CUSTOM or _holds_code(value)]
        if lost:
            raise InvalidParameter(
                f"{folder}: {lost[0]} was code when the model was saved: pass it again, "
                f"load(folder, {lost[0]}=...)"
            )
        model = cls(**{**given, **{name: value for name, value in code.items() if name not in given}})
        model.schema_ = read_schema(folder / "schema.json")
        try:
            model._set_learned(config["learned"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidFile(
                f"{folder / 'config.json'} is damaged: 'learned' is not what a {cls.__name__} writes "
                f"({type(error).__name__}: {error}); save the model again"
            ) from error
        try:
            model._set_state(read_weights(folder / "model.safetensors", config["sha256"]))
        except InvalidParameter as error:
            raise InvalidParameter(f"{folder}: {error}") from error
        model.history_ = read_history(folder / "history.json")
        return model


class GraphTransformer(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Base of all estimators that turn graphs into vectors."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _holds_code(value: Any) -> bool:
    return isinstance(value, Spec) and CUSTOM in value.get_params().values()


def load(folder: str | Path, **code: Any) -> Any:
    """Read any saved model of this package, whatever its class (a `GraphEstimator`).

    Parameters that were code (`encoder=MyGNN`, `objective=Mine()`) are given again.
    """
    name = read_config(Path(folder))["class"]
    cls = getattr(infograph, name, None) if isinstance(name, str) else None
    if not (isinstance(cls, type) and issubclass(cls, GraphEstimator)):
        raise InvalidFile(f"{folder} holds a {name!r}, which this version does not know")
    return cls.load(folder, **code)


def _classifies(estimator: Any) -> bool:
    return bool(estimator.task == "classification")


class GraphPredictor(GraphEstimator):
    """Base of all estimators that predict numbers or classes of graphs.

    `task` is a class attribute of estimators for one task, and a parameter of those for both; scikit-learn
    learns it from the tags. Subclasses call `_remember(targets)` in `fit` and have `_outputs(graphs)`, which
    gives numbers (G, T) or probabilities (G, C); everything else is here.

    `cross_val_score` and `GridSearchCV` take a GraphSet or a list of graphs. Without `y` they use the graph
    column "y"; class labels with gaps need an explicit splitter, such as `cv=KFold(5)`, because scikit-learn
    stratifies by complete labels only.

    Attributes after `fit`:

        target_names_, target_units_: of the targets (one for classes).
        classes_: (C,) the classes in the order of the probabilities; classification only.
    """

    task: Task
    unlabelled: str | int | bool | None = None
    target_names_: tuple[str, ...]
    target_units_: tuple[str, ...]
    classes_: NDArray[Any]
    _single: bool

    # ---- for subclasses

    def _outputs(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Numbers (G, T) in the targets' units, or probabilities (G, C), of graphs that fit the schema."""
        raise NotImplementedError

    def _targets(self, y: Any, graphs: GraphSet) -> Targets | ClassTargets:
        """The targets to learn from, by the task."""
        if self.task not in TASKS:
            raise InvalidParameter(f"task={self.task!r}: expected 'regression' or 'classification'")
        if _classifies(self):
            return class_targets(y, graphs, self.unlabelled)
        return numeric_targets(y, graphs, unlabelled=self.unlabelled)

    def _remember(self, targets: Targets | ClassTargets) -> None:
        """Keep what predictions need to know of the targets."""
        self.__dict__.pop("classes_", None)  # of an earlier fit to another task
        if isinstance(targets, ClassTargets):
            self.target_names_, self.target_units_, self._single = (targets.name,), ("",), True
            self.classes_ = np.array(targets.classes)
        else:
            self.target_names_, self.target_units_ = targets.names, targets.units
            self._single = targets.single

    # ---- predictions

    def predict(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[Any]:
        """The prediction for every graph: numbers (G,), or (G, T) where `fit` got rows; or classes (G,).

        Args:
            graphs: anything `fit` accepts.
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with NaN ("nan"; None
                among classes).
        """
        outputs = self._checked_outputs(graphs, errors)
        if not hasattr(self, "classes_"):
            return outputs[:, 0] if self._single else outputs
        lost = np.isnan(outputs).any(axis=1)
        labels = np.asarray(self.classes_[outputs.argmax(axis=1)])
        if lost.any():
            labels = labels.astype(object)
            labels[lost] = None
        return labels

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[np.float64]:
        """The probability of every class, in the order of `classes_`. (G, C)."""
        return self._checked_outputs(graphs, errors)

    def _checked_outputs(self, graphs: Any, errors: BadRows) -> NDArray[np.float64]:
        self._check_fitted()
        return self._rows(graphs, errors, self._outputs, self._n_outputs)

    def _rows(self, graphs: Any, errors: BadRows, compute: Compute, width: int) -> NDArray[Any]:
        """`compute` of the graphs, which gives predictions of that width."""
        return rows_of(graphs, self.schema_, compute, width=width, errors=errors, what="prediction")

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_) if hasattr(self, "classes_") else len(self.target_names_)

    # ---- scores

    def score(self, graphs: Any, y: Any = None) -> float:
        """How good the predictions of labelled graphs are: R^2 (the mean over targets), or the accuracy.

        Args:
            graphs: anything `fit` accepts.
            y: as in `fit`; where it is a graph column's name, or None for the column "y", the graphs have it.

        Raises:
            InvalidTarget: there is nothing to judge by: no label, or for R^2 only one of a target; or they
                are other targets than those of `fit`, in other units, or classes of another type.

        Warns:
            TargetWarning: a class that `fit` never saw; its graphs count as wrong.
        """
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        if hasattr(self, "classes_"):
            return self._accuracy(class_targets(y, known, self.unlabelled, fitting=False), known)
        targets = numeric_targets(y, known, unlabelled=self.unlabelled, fitting=False)
        if targets.n_targets != len(self.target_names_):
            raise InvalidTarget(
                f"{targets.n_targets} targets to score by, the model predicts {len(self.target_names_)}: "
                f"{', '.join(self.target_names_)}"
            )
        targets = targets.like(self.target_names_, self.target_units_)
        predicted = self.predict(known).reshape(len(known), -1)  # (G, T)
        return float(np.mean([r_squared(*pair) for pair in zip(targets.values.T, predicted.T, strict=True)]))

    def _accuracy(self, classes: ClassTargets, graphs: GraphSet) -> float:
        if not classes.labelled.any():
            raise InvalidTarget("not one of the graphs has a label: there is nothing to score by")
        match_names([classes.name], self.target_names_)
        unseen = classes.unseen(self.classes_.tolist())
        if unseen:
            warnings.warn(
                f"the training never saw the class {listed(unseen)}, so its graphs count as wrong; it saw "
                f"{listed(self.classes_.tolist())}",
                TargetWarning,
                stacklevel=3,
            )
        given = np.array(classes.classes)[classes.codes[classes.labelled]]
        return float(np.mean(self.predict(graphs)[classes.labelled] == given))

    # ---- saving

    def _learned(self) -> dict[str, Any]:
        learned: dict[str, Any] = {
            "targets": list(self.target_names_),
            "units": list(self.target_units_),
            "single": self._single,
        }
        return {**learned, "classes": self.classes_.tolist()} if hasattr(self, "classes_") else learned

    def _set_learned(self, learned: dict[str, Any]) -> None:
        self.target_names_, self.target_units_ = tuple(learned["targets"]), tuple(learned["units"])
        self._single = bool(learned["single"])
        if "classes" in learned:
            self.classes_ = np.array(learned["classes"])

    def _fitted_settings(self) -> dict[str, Any]:
        task = "classification" if hasattr(self, "classes_") else "regression"
        return {"task": task} if "task" in self._get_param_names() else {}

    def _card(self) -> str:
        units = zip(self.target_names_, self.target_units_, strict=True)
        lines = [f"# {type(self).__name__} model", "", "Predicts, for every graph:", ""]
        lines += [f"- {name}" + (f" [{unit}]" if unit else "") for name, unit in units]
        if hasattr(self, "classes_"):
            lines += ["", "Classes: " + ", ".join(map(str, self.classes_.tolist()))]
        lines += ["", "```python", "import infograph", ""]
        lines += ['predictions = infograph.load("this folder").predict(graphs)', "```", "", "## Settings", ""]
        lines += [f"- {name}: {value}" for name, value in self.get_params(deep=False).items()]
        return "\n".join([*lines, ""])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _classifies(self):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags


def r_squared(given: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """1 - squared error / squared deviation over the labelled graphs. (G,), (G,) -> a number.

    Of a constant target it is 1 if predicted exactly, else 0.

    Raises:
        InvalidTarget: fewer than two labelled graphs.
    """
    known = ~np.isnan(given)
    if known.sum() < 2:
        raise InvalidTarget(f"{known.sum()} labelled graphs to score by: R^2 needs at least two")
    given, predicted = given[known], predicted[known]
    error, deviation = np.sum((given - predicted) ** 2), np.sum((given - given.mean()) ** 2)
    return float(1 - error / deviation) if deviation else float(not error)


def rows_of(
    graphs: Any, schema: Schema, compute: Compute, *, width: int, errors: BadRows, what: str
) -> NDArray[Any]:
    """`compute` of graphs that are read by a schema.

    Args:
        graphs: anything `as_graphset` takes.
        schema: the one a model was fitted on.
        compute: gives rows of `width` numbers.
        width: that number.
        errors: at a graph that cannot be read "raise" or "skip" its row; "nan" keeps its place with a row of
            NaN, and that of a graph whose row is not finite.
        what: a row is, for errors: "vector" or "prediction".

    Raises:
        InvalidGraph: a graph cannot be read, or its row is not finite.
    """
    if errors not in ("raise", "skip", "nan"):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
    try:
        known = as_graphset(graphs, schema=schema, errors="raise" if errors == "raise" else "skip")
    except NothingLeft as error:
        if errors == "nan" and error.n_graphs:
            return np.full((error.n_graphs, width), np.nan)
        raise
    rows, places = compute(known), _places(known)
    if errors != "nan":
        return check_finite(rows, known, places, what)
    full = np.full((len(known) + len(known.rejected), width), np.nan, rows.dtype)
    finite = np.isfinite(rows).all(axis=1)
    full[places[finite]] = rows[finite]
    return full


def check_finite(
    rows: NDArray[Any], graphs: GraphSet, places: IntArray | None = None, what: str = "vector"
) -> NDArray[Any]:
    """The same rows, one per graph.

    Raises:
        InvalidGraph: one of them is not finite; it is named by its place in the input.
    """
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InvalidGraph(
            f"its {what} is not finite: a feature is far outside what the model was trained on, "
            "or the training went wrong (then lower lr)",
            index=int(bad[0] if places is None else places[bad[0]]),
            graph_id=graphs.ids[bad[0]],
        )
    return rows


def _places(graphs: GraphSet) -> IntArray:
    """Where the graphs stand in the input that some were rejected from."""
    everyone = np.arange(len(graphs) + len(graphs.rejected))
    return np.delete(everyone, [entry.index for entry in graphs.rejected])


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


def check_embeds(model: Any) -> None:
    """Refuse models that have no vectors.

    Raises:
        InvalidParameter: says what the model can do.
    """
    if not hasattr(model, "transform"):
        raise InvalidParameter(
            f"{_article(type(model).__name__)} has no transform(graphs) and so no vectors: take InfoGraph or "
            f"another model that has, or predict with this one"
        )


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"

"""What every estimator promises: scikit-learn's contract, a schema, a folder to save it to."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if

import infograph
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import Task, listed
from infograph.data.schema import Schema
from infograph.data.targets import (
    ClassTargets,
    Targets,
    TaskTargets,
    class_targets,
    has_several,
    match_names,
    numeric_targets,
    task_targets,
)
from infograph.data.vectors import data_frame
from infograph.errors import (
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    InvalidTarget,
    NotFitted,
    NothingLeft,
    TargetWarning,
)
from infograph.estimators.folder import State, model_folder, read_config, read_model, write_model
from infograph.io import json_ready
from infograph.notebook import as_html, some
from infograph.parameters import CUSTOM, LATER, Spec, restored, saved
from infograph.progress import Watcher

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

    A `fit`, `partial_fit` or `fit_transform` that fails or is interrupted leaves the model as it was.
    Parameters that are code, such as an own encoder, are saved as "custom" and given again to `load`.
    """

    schema_: Schema

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in {"fit", "partial_fit", "fit_transform"} & vars(cls).keys():
            setattr(cls, name, _unchanged_on_error(vars(cls)[name]))

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

    def _parts(self) -> dict[str, Spec]:
        """The objects among the parameters, those that short forms stand for too."""
        return {}

    def _facts(self) -> dict[str, str]:
        """What the fitted model does and what it came from, by name, for its card and for notebooks."""
        return {}

    def _repr_html_inner(self) -> str:
        """In a notebook: of a fitted model its facts, else scikit-learn's table of parameters."""
        if not hasattr(self, "schema_"):
            return str(super()._repr_html_inner())
        seen = [f"{c.name} ({level})" for level in ("node", "edge") for c in self.schema_.features(level)]
        columns = {"columns it sees": some(seen) or "none: the graphs' shape alone"}
        return as_html(f"{self!r}, fitted", tables=[(("", ""), list({**self._facts(), **columns}.items()))])

    def _repr_mimebundle_(self, **asked: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**asked)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

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

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to `folder`, whole or not at all; an older model there is replaced."""
        self._check_fitted()
        given = {**self.get_params(deep=False), **self._fitted_settings()}
        config = {
            "class": type(self).__name__,
            "version": infograph.__version__,
            "params": {name: saved(value) for name, value in given.items()},
            "learned": json_ready(self._learned()),
        }
        history = getattr(self, "history_", [])
        write_model(folder, config, self._state(), self.schema_, history, self._card())
        return Path(folder)

    def _card(self) -> str:
        """Markdown for people; nothing reads it back."""
        settings = {**self.get_params(deep=False), **self._fitted_settings()}
        call = "predict" if hasattr(self, "predict") else "transform"
        facts = (f"- {name}: {value}" for name, value in self._facts().items())
        lines = [f"# {type(self).__name__}", "", *facts, "", "```python", "import infograph", ""]
        lines += [f'infograph.load("this folder").{call}(graphs)', "```", "", "## Columns of the graphs", ""]
        for level in ("node", "edge"):
            for column in getattr(self.schema_, level):
                values = column.categories or f"{column.width} numbers"
                lines.append(f"- {level} column `{column.name}`: {values}")
        lines += ["", "## Settings", "", *(f"- {name}: {value}" for name, value in settings.items()), ""]
        return "\n".join(lines)

    @classmethod
    def load(cls, folder: str | Path, **code: Any) -> Self:
        """Read a model back; it gives bit-equal results.

        Args:
            folder: what `save` wrote.
            code: parameters that were code (`encoder=MyGNN`, `objective=Mine()`), given again.
        """
        folder = model_folder(folder)
        config, schema, history, state = read_model(folder)
        if config["class"] != cls.__name__:
            raise InvalidFile(
                f"{folder} holds a {config['class']}, not a {cls.__name__}; use infograph.load(folder)"
            )
        strange = [name for name in config["params"] if name not in cls._get_param_names()]
        if strange:
            raise InvalidFile(
                f"{folder}: unknown setting {strange[0]!r}; it was saved by version {config['version']}"
            )
        try:
            given = {name: restored(value, code.get(name)) for name, value in config["params"].items()}
        except (InvalidParameter, TypeError) as error:
            raise InvalidFile(f"{folder / 'config.json'} is damaged: {error}") from error
        for name, value in given.items():
            if value == CUSTOM or (isinstance(value, Spec) and CUSTOM in value.get_params().values()):
                raise InvalidParameter(
                    f"{folder}: {name} was code when the model was saved: pass it again, "
                    f"load(folder, {name}=...)"
                )
        before = {name: LATER[name] for name in LATER if name in cls._get_param_names()}
        model = cls(**{**before, **code, **given})
        model.schema_ = schema
        try:
            model._set_learned(config["learned"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidFile(
                f"{folder / 'config.json'} is damaged: 'learned' is not of a {cls.__name__} ({error!r})"
            ) from error
        try:
            model._set_state(state)
        except InvalidParameter as error:
            raise InvalidParameter(f"{folder}: {error}") from error
        model.history_ = history
        return model


def _unchanged_on_error(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A method in which an estimator learns; whatever goes wrong in it, the estimator is as it was."""

    @functools.wraps(fit)
    def learn(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        learned = [v for name, v in before.items() if name.startswith("_") or name.endswith("_")]
        changing = [part for part in learned if hasattr(part, "state_dict")]  # networks and optimisers
        states = [copy.deepcopy(part.state_dict()) for part in changing]
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            for part, state in zip(changing, states, strict=True):
                part.load_state_dict(state)
            raise

    return learn


class GraphTransformer(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Base of all estimators that turn graphs into vectors.

    After `set_output(transform="pandas")` vectors are DataFrames with the graphs' ids as index; graphs that
    come in a DataFrame or Series keep its index.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        for name in {"transform", "fit_transform"} & vars(cls).keys():
            setattr(cls, name, _with_ids(vars(cls)[name]))
        super().__init_subclass__(**options)  # scikit-learn's own, which leaves DataFrames as they are

    def _known(self, graphs: Any, errors: BadRows) -> GraphSet:
        """Graphs as `transform` reads them."""
        self._check_fitted()
        return as_graphset(graphs, schema=self.schema_, errors="raise" if errors == "raise" else "skip")

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """The class in small letters and a number, as scikit-learn asks for it. (F,)."""
        self._check_fitted()
        prefix = getattr(self, "_prefix", type(self).__name__.lower())
        return np.array([f"{prefix}{place}" for place in range(self._n_features_out)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _with_ids(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives vectors; as a DataFrame of pandas they have the ids of the graphs."""

    @functools.wraps(method)
    def give(self: Any, graphs: Any, *args: Any, **options: Any) -> Any:
        graphs = reread(graphs)
        rows = method(self, graphs, *args, **options)
        wanted = _get_output_config("transform", self)["dense"] == "pandas" and not issparse(rows)
        index = getattr(graphs, "index", None) if hasattr(graphs, "iloc") else None
        if not wanted:
            return rows
        frame = data_frame(dict(enumerate(rows.T)), range(len(rows)))
        if index is not None and len(index) == len(rows):  # that of a Series is lost by scikit-learn 1.6
            return frame.set_axis(index)
        errors: BadRows = options.get("errors", "raise")
        try:
            known = graphs if isinstance(graphs, GraphSet) else self._known(graphs, errors)
            ids, rejected = known.ids.tolist(), known.rejected
        except NothingLeft as error:
            ids, rejected = [], error.rejected
        if index is not None and len(index) == len(ids) + len(rejected):  # it is no table of edges
            return frame.set_axis(index.delete([each.index for each in rejected]))
        for each in rejected if errors == "nan" else ():  # in the order of their places
            ids.insert(each.index, each.graph_id)
        return data_frame(dict(enumerate(rows.T)), ids)

    return give


def reread(graphs: Any) -> Any:
    """Graphs that can be read more than once: what an iterator gives, as a list."""
    return list(graphs) if isinstance(graphs, Iterator) else graphs


def load(folder: str | Path, **code: Any) -> Any:
    """Read any saved model of this package, whatever its class (a `GraphEstimator`), or a pre-trained one.

    `folder` may also be the name of a model that the package carries, such as "molecules".

    Parameters that were code (`encoder=MyGNN`, `objective=Mine()`) are given again.
    """
    folder = model_folder(folder)
    name = read_config(folder)["class"]
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

    def _outputs(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Numbers (G, T) in the targets' units, or probabilities (G, C), of graphs that fit the schema."""
        raise NotImplementedError

    def _watched(self, watchers: Sequence[Watcher]) -> Compute:
        """`_outputs` that tells watchers how far it is, where it takes long."""
        return self._outputs

    def _targets(self, y: Any, graphs: GraphSet) -> Targets | ClassTargets:
        """The targets to learn from, by the task."""
        if self.task not in ("regression", "classification"):
            raise InvalidParameter(f"task={self.task!r}: expected 'regression' or 'classification'")
        if _classifies(self):
            read = task_targets if has_several(y, graphs) else class_targets
            return read(y, graphs, self.unlabelled)
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
            if isinstance(targets, TaskTargets):
                self.classes_ = np.array(targets.classes)

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
        labels = np.asarray(self.classes_[self._chosen(outputs)])
        if lost.any():
            labels = labels.astype(object)
            labels[lost] = None
        return labels

    def _chosen(self, outputs: NDArray[Any]) -> NDArray[np.int64]:
        """Places of the predicted classes. (G,), or (G, T) of several columns."""
        return np.asarray(outputs >= 0.5 if self._several else outputs.argmax(axis=1), dtype=np.int64)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[np.float64]:
        """The probability of every class, in the order of `classes_` (G, C); of several columns that of the
        second class in each (G, T)."""
        return self._checked_outputs(graphs, errors)

    def _checked_outputs(
        self, graphs: Any, errors: BadRows, compute: Compute | None = None, times: int = 1
    ) -> NDArray[np.float64]:
        """What `compute` (`_outputs` if it is None) gives, which has `times` the outputs of a prediction."""
        self._check_fitted()
        width = times * self._n_outputs
        return rows_of(graphs, self.schema_, compute or self._outputs, width, errors, "prediction")

    @property
    def _n_outputs(self) -> int:
        one = hasattr(self, "classes_") and not self._several
        return len(self.classes_) if one else len(self.target_names_)

    @property
    def _several(self) -> bool:
        """Whether classes of several columns are predicted."""
        return hasattr(self, "classes_") and len(self.target_names_) > 1

    def score(self, graphs: Any, y: Any = None) -> float:
        """How good the predictions of labelled graphs are: R^2 (the mean over targets), or the accuracy.

        Targets must be those of `fit`, in the same units. Graphs of a class that `fit` never saw count as
        wrong, with a `TargetWarning`.

        Args:
            graphs: anything `fit` accepts.
            y: as in `fit`; where it is a graph column's name, or None for the column "y", the graphs have it.
        """
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        if self._several:
            seen = tuple(self.classes_.tolist())
            tasks = task_targets(y, known, self.unlabelled, fitting=False, classes=seen)
            values = tasks.like(self.target_names_, self.target_units_).values
            hits = self.classes_[np.nan_to_num(values).astype(np.int64)] == self.predict(known)
            return float(hits[~np.isnan(values)].mean())
        if hasattr(self, "classes_"):
            return self._accuracy(class_targets(y, known, self.unlabelled, fitting=False), known)
        targets = numeric_targets(y, known, unlabelled=self.unlabelled, fitting=False)
        if targets.n_targets != len(self.target_names_):
            raise InvalidTarget(
                f"{targets.n_targets} targets to score by, the model predicts {len(self.target_names_)}: "
                f"{', '.join(self.target_names_)}"
            )
        values = targets.like(self.target_names_, self.target_units_).values  # (G, T)
        if (~np.isnan(values)).sum(axis=0).min() < 2:
            raise InvalidTarget("fewer than two labelled graphs to score by: R^2 needs at least two")
        from sklearn.metrics import r2_score

        predicted = self.predict(known).reshape(len(known), -1)
        pairs = [(v[~np.isnan(v)], p[~np.isnan(v)]) for v, p in zip(values.T, predicted.T, strict=True)]
        return float(np.mean([r2_score(*pair) for pair in pairs]))

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

    def _learned(self) -> dict[str, Any]:
        learned = {"targets": self.target_names_, "units": self.target_units_, "single": self._single}
        return {**learned, "classes": self.classes_} if hasattr(self, "classes_") else learned

    def _set_learned(self, learned: dict[str, Any]) -> None:
        self.target_names_, self.target_units_ = tuple(learned["targets"]), tuple(learned["units"])
        self._single = bool(learned["single"])
        if "classes" in learned:
            self.classes_ = np.array(learned["classes"])

    def _fitted_settings(self) -> dict[str, Any]:
        task = "classification" if hasattr(self, "classes_") else "regression"
        return {"task": task} if "task" in self._get_param_names() else {}

    def _facts(self) -> dict[str, str]:
        units = zip(self.target_names_, self.target_units_, strict=True)
        named = [name + (f" [{unit}]" if unit and unit not in name else "") for name, unit in units]
        classes = {"classes": some(self.classes_.tolist())} if hasattr(self, "classes_") else {}
        return {**super()._facts(), "predicts": some(named), **classes}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _classifies(self):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags


def rows_of(
    graphs: Any, schema: Schema, compute: Compute, width: int, errors: BadRows, what: str
) -> NDArray[Any]:
    """Rows of `width` numbers that `compute` gives for graphs that are read by a schema.

    A graph that cannot be read raises, or with "skip" has no row; "nan" keeps its place with a row of NaN,
    and that of a graph whose row is not finite. `what` a row is, "vector" or "prediction", is for messages.
    """
    if errors not in ("raise", "skip", "nan"):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
    try:
        known = as_graphset(graphs, schema=schema, errors="raise" if errors == "raise" else "skip")
    except NothingLeft as error:
        if errors == "nan" and error.n_graphs:
            return np.full((error.n_graphs, width), np.nan)
        raise
    rows, everyone = compute(known), np.arange(len(known) + len(known.rejected))
    places = np.delete(everyone, [entry.index for entry in known.rejected])
    if errors != "nan":
        return check_finite(rows, known, places, what)
    full = np.full((len(everyone), width), np.nan, rows.dtype)
    finite = np.isfinite(rows).all(axis=1)
    full[places[finite]] = rows[finite]
    return full


def check_finite(
    rows: NDArray[Any], graphs: GraphSet, places: IntArray | None = None, what: str = "vector"
) -> NDArray[Any]:
    """The same rows, one per graph; one that is not finite is refused by its graph's place in the input."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InvalidGraph(
            f"its {what} is not finite: a feature is far outside what the model was trained on, "
            "or the training went wrong (then lower lr)",
            index=int(bad[0] if places is None else places[bad[0]]),
            graph_id=graphs.ids[bad[0]],
        )
    return rows


def check_embeds(model: Any) -> None:
    """Refuse models that have no vectors."""
    if not hasattr(model, "transform"):
        raise InvalidParameter(
            f"{a_model(model)} has no transform(graphs) and so no vectors: take InfoGraph or another model "
            f"that has, or predict with this one"
        )


def a_model(model: Any) -> str:
    """Its class with an article, for messages."""
    kind = type(model).__name__
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"

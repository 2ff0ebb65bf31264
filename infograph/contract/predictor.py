"""What all estimators that predict share: targets, predictions, probabilities and scores."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from infograph.contract.estimator import GraphEstimator
from infograph.contract.rows import BadRows, Compute, rows_of
from infograph.data.classes import listed
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.labels import match_names
from infograph.data.scaler import binary_exponent
from infograph.data.targets import ClassTargets, Targets, class_targets, numeric_targets
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning

Task = Literal["regression", "classification"]
TASKS: tuple[Task, ...] = ("regression", "classification")


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
    shifts = np.column_stack([given - predicted, given - given.mean()])
    exponent = binary_exponent(shifts)[1]  # squares of 1e200 or 1e-200 are no float64
    with np.errstate(over="ignore"):
        error, deviation = np.sum(np.ldexp(shifts, -exponent) ** 2, axis=0)
    return float(1 - error / deviation) if deviation else float(not error)

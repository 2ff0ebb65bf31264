"""What any method has to beat: histograms, the mean, counts of atoms, fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain, compress
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from infograph.baselines.base import SavedAttributes, Values
from infograph.data.convert import as_graphset
from infograph.data.fingerprints import Features, descriptor_names, molecule_features
from infograph.data.graphset import GraphSet
from infograph.data.joining import align
from infograph.data.labels import Task
from infograph.data.molecules import ELEMENT, HYDROGENS, SMILES
from infograph.data.schema import Category, Column, Schema
from infograph.data.targets import ClassTargets, Targets, TaskTargets
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.estimators.base import GraphPredictor, GraphTransformer
from infograph.estimators.offset import count_column, occurrences
from infograph.objectives.heads import Trees
from infograph.parameters import check_parameters

Floats = NDArray[np.float64]
ALWAYS = 10.0  # the score of a class that all labelled graphs have
FEWEST = 6  # labelled graphs in which two values are two classes
CHUNK = 8192  # molecules whose features are in memory at a time: 16 MB, or 74 with descriptors


class Histogram(SavedAttributes, GraphTransformer):
    """Base of the two: `fit` learns the columns, `transform` counts nodes per column.

    Attributes:
        feature_names_: (F,) what the columns count.
    """

    _values: ClassVar[Values] = {"features": ("feature_names_", tuple)}
    share: bool
    feature_names_: tuple[str, ...]

    def _counts(self, graphs: GraphSet) -> Floats:
        raise NotImplementedError

    def transform(self, graphs: Any) -> Floats:
        """Nodes of each kind, or their share of the graph's nodes. (G', F)."""
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        counts = self._counts(known)
        return counts / np.maximum(known.sizes, 1)[:, None] if self.share else counts

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """What the columns count. (F,)."""
        self._check_fitted()
        return np.array(self.feature_names_, dtype=object)

    def _card(self) -> str:
        return f"# {type(self).__name__}\n\nColumns: {', '.join(self.feature_names_[:50])}\n"


@dataclass(eq=False, repr=False)
class LabelHistogram(Histogram):
    """How often each node label occurs in a graph: `LabelHistogram().fit_transform(graphs)`.

    One column per category of the node columns that some fitted graph has; without node columns there is one,
    the number of nodes. Categories that are new in `transform` are counted nowhere, and one
    `UnknownCategoryWarning` says so. It shows what labels alone are worth.

    Args:
        columns: the node columns to count; None takes `element` of molecules, otherwise every categorical
            node column that encoders see.
        share: divide by the number of nodes.
    """

    columns: Sequence[str] | None = None
    _: KW_ONLY
    share: bool = False

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn which labels there are; `y` is ignored."""
        check_parameters(self)
        known = countable(as_graphset(graphs), self.columns)
        self.feature_names_ = count_nodes(known[:1])[0]
        self.schema_ = known.schema.replace("graph", ())
        return self

    def _counts(self, graphs: GraphSet) -> Floats:
        return count_nodes(graphs)[1]


@dataclass(eq=False, repr=False)
class DegreeHistogram(Histogram):
    """How many nodes of each degree a graph has: `DegreeHistogram().fit_transform(graphs)`.

    One column per degree that some fitted node has, and a last one, "other", for degrees that are new in
    `transform`. The degree is the number of incoming arcs: repeated edges count each, a self-loop counts one.
    It shows what degrees alone are worth.

    Args:
        share: divide by the number of nodes.
    """

    _: KW_ONLY
    share: bool = False

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn which degrees there are; `y` is ignored."""
        check_parameters(self)
        self.degrees_ = np.unique(_degrees(as_graphset(graphs)))
        self.feature_names_ = (*(f"degree {degree}" for degree in self.degrees_), "other")
        self.schema_ = Schema()  # any graph will do
        return self

    def _counts(self, graphs: GraphSet) -> Floats:
        degree, n_known = _degrees(graphs), len(self.degrees_)
        place = np.searchsorted(self.degrees_, degree)
        known = self.degrees_[np.minimum(place, n_known - 1)] == degree
        return occurrences(graphs.node_graph, np.where(known, place, n_known), len(graphs), n_known + 1)


def _degrees(graphs: GraphSet) -> NDArray[np.int64]:
    return np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)


@dataclass(eq=False, repr=False)
class MeanPredictor(SavedAttributes, GraphPredictor):
    """Predicts the same for every graph: the mean of the labelled ones, or their most frequent class.

        MeanPredictor().fit(graphs, y).predict(graphs)

    Several targets have a mean each, over the graphs that are labelled with it. Probabilities are the
    frequencies of the classes; of equally frequent classes the first is predicted. Several columns of two
    classes are learned one by one, here and by the other two.

    Args:
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.
    """

    task: Task = "regression"
    _: KW_ONLY
    unlabelled: Category | None = None

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Average the labels; `y` is one value or row per graph, or names graph columns (None: "y")."""
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        if isinstance(targets, ClassTargets):
            self.mean_ = np.bincount(targets.codes[targets.labelled]) / targets.labelled.sum()  # (C,)
        else:  # of classes in several columns, the share of the second one
            counts = np.maximum(targets.known.sum(axis=0), 1)
            self.mean_ = np.nansum(targets.values, axis=0) / counts  # (T,)
        self._remember(targets)
        self.schema_ = Schema()  # any graph will do
        return self

    def _outputs(self, graphs: GraphSet) -> Floats:
        return np.tile(self.mean_, (len(graphs), 1))


@dataclass(eq=False, repr=False)
class AtomCounts(SavedAttributes, GraphPredictor):
    """A linear model of how often each node category occurs in a graph, plus an intercept.

        AtomCounts().fit(molecules, "U0").predict(molecules)

    For molecules these are the elements, hydrogens included whether they are nodes or not. Regression is
    ordinary least squares on standardised counts, one fit per target over the graphs that are labelled with
    it (of equally good coefficients the shortest), classification scikit-learn's logistic regression (C=1).
    Categories that no labelled graph has get the coefficient 0; those that no graph of `fit` has are counted
    in one `UnknownCategoryWarning`.

    Args:
        columns: the node columns to count; None takes `element` where there is one, otherwise every
            categorical node column that encoders see, and the number of nodes where there is none of these.
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.

    Attributes:
        feature_names_: (F,) what is counted, such as "element C".
        coef_: (F, T) in the targets' units per occurrence, or (F, C) for the scores of the classes.
        intercept_: (T,) or (C,).
    """

    columns: Sequence[str] | None = None
    task: Task = "regression"
    _: KW_ONLY
    unlabelled: Category | None = None

    _values: ClassVar[Values] = {"features": ("feature_names_", tuple)}

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Fit the coefficients; `y` is one value or row per graph, or names graph columns (None: "y")."""
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        known = countable(known, self.columns)
        names, counts = count_nodes(known)
        if isinstance(targets, ClassTargets):
            given: list[tuple[NDArray[np.bool_], NDArray[Any]]] = [(targets.labelled, targets.codes)]
        else:
            given = _columns(targets)
        fits = [_linear(counts[rows], y[rows], classes=self.task == "classification") for rows, y in given]
        if isinstance(targets, TaskTargets):  # the first class scores 0
            fits = [(coefficients[:, -1:], intercepts[-1:]) for coefficients, intercepts in fits]
        coefficients, intercepts = zip(*fits, strict=True)
        self.coef_, self.intercept_ = np.hstack(coefficients), np.concatenate(intercepts)
        self.feature_names_ = names
        self._remember(targets)
        self.schema_ = known.schema.replace("graph", ())
        return self

    def _outputs(self, graphs: GraphSet) -> Floats:
        scores = count_nodes(graphs)[1] @ self.coef_ + self.intercept_  # (G, T) or (G, C)
        if self._several:
            return np.asarray(expit(scores))
        return np.asarray(softmax(scores, axis=1) if hasattr(self, "classes_") else scores)


def _columns(targets: Targets) -> list[tuple[NDArray[np.bool_], NDArray[Any]]]:
    """Which rows are known (G,), and the values (G,) of every target; where none is, all are 0."""
    values = np.where(targets.known.any(axis=0), targets.values, 0.0)
    return [(~np.isnan(column), column) for column in values.T]


def _refuse_classes(targets: Targets) -> None:
    """Two whole numbers in all of several graphs are hardly measured: a forest of classes is meant."""
    for name, (known, column) in zip(targets.names, _columns(targets), strict=True):
        values = np.unique(column[known])
        if len(values) == 2 and known.sum() >= FEWEST and (values == np.rint(values)).all():
            raise InvalidTarget(
                f"the target {name!r} is {values[0]:g} or {values[1]:g} in all of {known.sum():,} labelled "
                f"graphs: classes? Use task='classification'"
            )


def _linear(counts: Floats, y: NDArray[Any], *, classes: bool) -> tuple[Floats, Floats]:
    """Coefficients (F, K) and intercepts (K,) of a linear model, fitted to standardised counts (G, F)."""
    mean, deviation = counts.mean(axis=0), counts.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled = (counts - mean) / scale
    if classes and len(np.unique(y)) < 2:  # of a column among several
        coefficients, intercepts = np.zeros((counts.shape[1], 1)), np.array([-ALWAYS, ALWAYS])[[int(y.any())]]
    elif classes:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(max_iter=10_000).fit(scaled, y)
        coefficients, intercepts = model.coef_.T, model.intercept_
        if len(intercepts) == 1:  # two classes, of which the first scores 0
            coefficients = np.hstack([np.zeros_like(coefficients), coefficients])
            intercepts = np.append(0.0, intercepts)
    else:
        intercepts = np.array([y.mean()])
        coefficients = np.linalg.lstsq(scaled, y - intercepts, rcond=None)[0][:, None]
    coefficients = coefficients / scale[:, None]
    return coefficients, intercepts - mean @ coefficients


def count_nodes(graphs: GraphSet) -> tuple[tuple[str, ...], Floats]:
    """How often each category of each node column occurs in each graph: names (F,) and counts (G, F).

    Hydrogens that are no nodes are one more feature. Without columns the number of nodes is the only one.
    """
    schema = graphs.schema
    if not schema.node:
        return ("nodes",), graphs.sizes[:, None].astype(np.float64)
    found = [count_column(graphs, "node", each, add_up=_are_implicit(each, schema)) for each in schema.node]
    names, counts = zip(*found, strict=True)
    return tuple(chain.from_iterable(names)), np.hstack(counts)


def _are_implicit(column: Column, schema: Schema) -> bool:
    """Whether a column holds the hydrogens that are no nodes, beside the elements of those atoms that are."""
    return (
        column.name == HYDROGENS.name
        and schema.column("node", ELEMENT.name) is not None
        and schema.option("hydrogens") is False
    )


def countable(graphs: GraphSet, names: Sequence[str] | None) -> GraphSet:
    """The graphs with nothing but the node columns to count, and just the categories that occur."""
    schema = graphs.schema
    if names is not None:
        columns = schema.select("node", names).features("node")
        for column in columns:
            if column.kind != "categorical":
                raise InvalidParameter(
                    f"the node column {column.name!r} holds numbers: only categories can be counted"
                )
    elif schema.column("node", ELEMENT.name) is not None:
        wanted = (ELEMENT.name, HYDROGENS.name) if schema.option("hydrogens") is False else (ELEMENT.name,)
        columns = tuple(column for column in schema.node if column.name in wanted)
    else:
        columns = tuple(column for column in schema.features("node") if column.kind == "categorical")
    schema, kept = schema.replace("node", columns).replace("edge", ()), []
    for column in columns:
        if not _are_implicit(column, schema):
            present = np.bincount(graphs.node[column.name], minlength=column.unknown) > 0
            column = replace(column, categories=tuple(compress(column.categories, present)))
        kept.append(column)
    return align(graphs, schema.replace("node", kept))


@dataclass(eq=False, repr=False)
class FingerprintForest(SavedAttributes, GraphPredictor):
    """A random forest (Breiman 2001) on Morgan fingerprints (Rogers and Hahn 2010), for molecules.

        FingerprintForest().fit(["CCO", "CCN", "CCC"], [1.2, 0.7, 3.1]).predict(["CCCC"])
        FingerprintForest(features="counts+descriptors", task="classification").fit(molecules, "toxic")

    Every target has a forest of its own, grown by scikit-learn on the graphs that are labelled with it. Its
    trees are kept and saved as arrays; predictions equal scikit-learn's.

    Args:
        radius: of the environments, in bonds; 2 (ECFP4) is the usual choice.
        n_bits: length of the fingerprints; 2048 is RDKit's default.
        n_trees: 100 is scikit-learn's default.
        features: Morgan "bits", which Table 2 has, Morgan "counts", or "counts+descriptors" with RDKit's
            descriptors beside them: 0 where a molecule has none, and cut at ± a million.
        max_features: the share of features tried at each split; None takes a third for regression and the
            square root of their number for classification, as Breiman recommends (Hastie et al. 2009, 15.3).
        min_samples_leaf: molecules in a leaf at least; 1 is scikit-learn's default.
        smiles: the graph column with the SMILES.
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.
        n_jobs: trees grown at the same time; None is one, -1 one per core. It does not change the result.
        random_state: seed of the forest.

    Attributes:
        trees_: one forest per target.
        descriptors_: names of the descriptors it was grown on, whichever RDKit has later.
    """

    radius: int = 2
    n_bits: int = 2048
    n_trees: int = 100
    _: KW_ONLY
    features: Features = "bits"
    max_features: float | None = None
    min_samples_leaf: int = 1
    smiles: str = "smiles"
    task: Task = "regression"
    unlabelled: Category | None = None
    n_jobs: int | None = None
    random_state: int = 0

    _lists: ClassVar[dict[str, tuple[str, Any]]] = {"forest": ("trees_", Trees)}

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Grow the forests; `y` is one value or row per graph, or names graph columns (None: "y")."""
        check_parameters(self)
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        rows = np.flatnonzero(targets.labelled)
        made_with = self._features_settings()
        descriptors = descriptor_names() if self.features == "counts+descriptors" else ()
        table = molecule_features(known[rows], descriptors=descriptors, **made_with)
        if isinstance(targets, ClassTargets):
            trees = [self._grow(table, targets.codes[rows])]
        else:
            if not isinstance(targets, TaskTargets):
                _refuse_classes(targets)
            trees = [self._grow(table[known], y[known]) for known, y in _columns(targets.of(rows))]
        if isinstance(targets, TaskTargets):  # the probability of the second class is kept
            trees = [each._replace(values=each.values[:, -1:]) for each in trees]
        self._remember(targets)
        self.trees_, self.descriptors_, self._made_with = trees, descriptors, made_with
        self.schema_ = Schema(graph=(known.schema.column("graph", self.smiles) or SMILES,))
        return self

    def _features_settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("features", "radius", "n_bits", "smiles")}

    def _outputs(self, graphs: GraphSet) -> Floats:
        parts = []
        for start in range(0, len(graphs), CHUNK):
            chunk = graphs[start : start + CHUNK]
            table = molecule_features(chunk, descriptors=self.descriptors_, **self._made_with)
            parts.append(np.concatenate([trees.predict(table) for trees in self.trees_], axis=1))
        return np.concatenate(parts)

    def _grow(self, table: NDArray[Any], y: NDArray[Any]) -> Trees:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        classes = self.task == "classification"
        usual: float | str = "sqrt" if classes else 1 / 3
        forest = (RandomForestClassifier if classes else RandomForestRegressor)(
            n_estimators=self.n_trees,
            max_features=usual if self.max_features is None else float(self.max_features),
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        made = Trees.of(forest.fit(table, y))
        if classes and len(forest.classes_) == 1:  # of a column among several
            made = made._replace(values=np.full_like(made.values, forest.classes_[0]))
        return made

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), **self._made_with}

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "descriptors": list(self.descriptors_)}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.descriptors_, self._made_with = tuple(learned.get("descriptors", ())), self._features_settings()

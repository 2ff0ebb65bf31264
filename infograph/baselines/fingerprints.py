"""What a chemist would do otherwise: Morgan fingerprints with a random forest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.morgan import morgan_fingerprints
from infograph.baselines.trees import Trees
from infograph.contract import GraphPredictor, State, Task
from infograph.data.chem.atoms import SMILES
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Category, Schema
from infograph.data.targets import ClassTargets
from infograph.errors import InvalidParameter

CHUNK = 8192  # molecules whose fingerprints are in memory at a time: 16 MB


class FingerprintForest(GraphPredictor):
    """A random forest (Breiman 2001) on Morgan fingerprints (Rogers and Hahn 2010), for molecules.

        FingerprintForest().fit(["CCO", "CCN", "CCC"], [1.2, 0.7, 3.1]).predict(["CCCC"])

    Every target has a forest of its own, grown by scikit-learn on the graphs that are labelled with it. What
    is kept and saved are its trees as arrays; predictions come from these and equal scikit-learn's.

    Args:
        radius: of the environments, in bonds; 2 (ECFP4) is the usual choice.
        n_bits: length of the fingerprints; 2048 is RDKit's default.
        n_trees: 100 is scikit-learn's default.
        max_features: the share of bits tried at each split; None takes a third for regression and the square
            root of their number for classification, as Breiman recommends (Hastie et al. 2009, 15.3).
        min_samples_leaf: molecules in a leaf at least; 1 is scikit-learn's default.
        smiles: the graph column with the SMILES.
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.
        n_jobs: trees grown at the same time; None is one, -1 one per core. It does not change the result.
        random_state: seed of the forest.

    Attributes:
        trees_: one forest per target; a single one for classes.
    """

    def __init__(
        self,
        radius: int = 2,
        n_bits: int = 2048,
        n_trees: int = 100,
        *,
        max_features: float | None = None,
        min_samples_leaf: int = 1,
        smiles: str = "smiles",
        task: Task = "regression",
        unlabelled: Category | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.radius = radius
        self.n_bits = n_bits
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.smiles = smiles
        self.task = task
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Grow the forests; `y` is one value or row per graph, or names graph columns (None: "y")."""
        self._check_settings()
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        rows = np.flatnonzero(targets.labelled)
        made_with = self._fingerprint_settings()
        bits = morgan_fingerprints(known[rows], **made_with)
        if isinstance(targets, ClassTargets):
            trees = [self._grow(bits, targets.codes[rows])]
        else:
            columns = targets.values[rows].T  # (T, labelled)
            trees = [self._grow(bits[~np.isnan(v)], v[~np.isnan(v)]) for v in columns]
        self._remember(targets)
        self.trees_ = trees
        self._made_with = made_with
        column = known.schema.column("graph", self.smiles)
        self.schema_ = Schema(graph=(column or SMILES,))
        return self

    def _outputs(self, graphs: GraphSet) -> NDArray[np.float64]:
        parts = []
        for start in range(0, len(graphs), CHUNK):
            bits = morgan_fingerprints(graphs[start : start + CHUNK], **self._made_with)
            parts.append(np.concatenate([trees.predict(bits) for trees in self.trees_], axis=1))
        return np.concatenate(parts)

    def _grow(self, bits: NDArray[np.uint8], y: NDArray[Any]) -> Trees:
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
        return Trees.of(forest.fit(bits, y))

    def _check_settings(self) -> None:
        for name, least in (("radius", 0), ("n_bits", 1), ("n_trees", 1), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise InvalidParameter(f"{name}={value!r}: expected a whole number, at least {least}")
        share = self.max_features
        if share is not None and not (isinstance(share, int | float) and 0 < share <= 1):
            raise InvalidParameter(f"max_features={share!r}: expected a share of the bits, 0 < share <= 1")

    def _fingerprint_settings(self) -> dict[str, Any]:
        return {"radius": self.radius, "n_bits": self.n_bits, "smiles": self.smiles}

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), **self._made_with}

    def _state(self) -> State:
        parts = [trees.arrays(f"forest{i}") for i, trees in enumerate(self.trees_)]
        return {name: values for part in parts for name, values in part.items()}

    def _set_state(self, state: State) -> None:
        self._made_with = self._fingerprint_settings()
        n_forests = 1 if hasattr(self, "classes_") else len(self.target_names_)
        self.trees_ = [Trees.from_arrays(f"forest{i}", state) for i in range(n_forests)]

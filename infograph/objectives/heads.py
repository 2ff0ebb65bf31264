"""Simple models of rows of numbers, as modules; each says what it would have said of rows it did not see.

That is by leaving one out in closed form (ridge, Gaussian process), by folds (support vectors), or by the
trees that did not see a row (forest).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]
LANDMARKS = 1500  # of a Gaussian process: with more labelled graphs so many are drawn (Nystroem)
MOST = 3000  # labels of support vectors that are fitted without being asked
GROWN = 5000  # labelled graphs of a tree, at most
CHOOSING = 500  # labelled graphs, at most, by which its width is chosen
FAR = 10.0  # deviations of an input, at most: one that hardly varies here may be far off in new graphs
ROUNDING = 1e-6  # of vectors in single precision, relative to the largest
JITTER = 1e-8  # that keeps kernels of equal graphs positive definite
PENALTIES = tuple(10.0**power for power in range(-5, 4))
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # of the RBF kernel, in units of scikit-learn's gamma "scale"
COSTS, ITERATIONS = (1.0, 10.0, 100.0), 100_000  # of support vectors
FOLDS, TREES = 5, 300  # a third of the trees for many columns, and for numbers, where they take long


class Fit(NamedTuple):
    """The parts of a head, and what it would have said of each graph without having seen it. (G, K)."""

    parts: list[nn.Module]
    unseen: Floats


def completed(wanted: Floats) -> Floats:
    """Columns with one value, or none, have it in all rows (0 for none): nothing is left to learn of them."""
    filled = wanted.copy()
    for column in filled.T:
        known = column[~np.isnan(column)]
        if not len(known) or (known == known[0]).all():
            column[:] = known[0] if len(known) else 0.0
    return filled


def missed(unseen: Floats, wanted: Floats) -> float:
    """Share of the variance that is missed, the mean over the columns that vary."""
    shares = []
    for said, given in zip(unseen.T, wanted.T, strict=True):
        known = ~np.isnan(given)
        if known.any() and (spread := given[known].var()) > 0:
            shares.append(float(np.mean((said - given)[known] ** 2) / spread))
    return float(np.mean(shares)) if shares else 0.0


# ---- ridge and the Gaussian process


class Standardised(nn.Module):
    """(x - mean) * scale of vectors, at most `far` (earlier models: None, no bound).

    Columns that are constant but for rounding are 0.
    """

    mean: Tensor
    scale: Tensor
    far: Tensor | None

    def __init__(self, mean: Any, scale: Any, far: Any = FAR) -> None:
        super().__init__()
        for name, value in {"mean": mean, "scale": scale, "far": far}.items():
            given = None if value is None else torch.as_tensor(value, dtype=torch.float32)
            self.register_buffer(name, given)

    @classmethod
    def of(cls, vectors: Floats) -> Standardised:
        mean, deviation = vectors.mean(axis=0), vectors.std(axis=0)
        varies = deviation > ROUNDING * np.abs(vectors).max(axis=0)
        return cls(mean, np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0))

    def forward(self, vectors: Tensor) -> Tensor:
        rows = (vectors - self.mean) * self.scale
        return rows if self.far is None else rows.clamp(-self.far, self.far)


class Kernel(nn.Module):
    """`sum_i w_i exp(-gamma |x - x_i|^2) + bias`: what Gaussian processes and support vectors come to."""

    points: Tensor
    weights: Tensor
    bias: Tensor
    gamma: Tensor

    def __init__(self, points: Any, weights: Any, bias: Any, gamma: Any) -> None:
        super().__init__()
        for name, value in {"points": points, "weights": weights, "bias": bias, "gamma": gamma}.items():
            self.register_buffer(name, torch.as_tensor(value, dtype=torch.float32).contiguous())

    def forward(self, vectors: Tensor) -> Tensor:
        return _rbf(vectors, self.points, self.gamma) @ self.weights + self.bias


def _rbf(a: Tensor, b: Tensor, gamma: Tensor | float) -> Tensor:
    """`exp(-gamma |a_i - b_j|^2)`. (n, D), (m, D) -> (n, m)."""
    squares = (a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T).clamp_min(0)
    return torch.exp(-gamma * squares)


def _usual_gamma(rows: Tensor) -> float:
    """scikit-learn's "scale"."""
    return 1 / (rows.shape[1] * max(float(rows.var(correction=0)), 1e-12))


def linear(weights: Floats, bias: Floats) -> nn.Linear:
    """(D, K), (K,) as a layer."""
    made = nn.Linear(*weights.shape)
    made.weight.data, made.bias.data = (  # as they are read back: the order of sums is the same
        torch.as_tensor(each, dtype=torch.float32).contiguous() for each in (weights.T, bias)
    )
    return made


def _ridge(vectors: Floats, wanted: Floats, seed: int) -> Fit:
    first = Standardised.of(vectors)
    rows = _apply(first, vectors) / np.sqrt(vectors.shape[1])
    weights, bias, unseen = least_squares(rows, wanted)
    return Fit([first, linear(weights / np.sqrt(vectors.shape[1]), bias)], unseen)


def _gp(vectors: Floats, wanted: Floats, seed: int) -> Fit:
    from scipy.linalg import solve_triangular

    first = Standardised.of(vectors)
    rows = torch.from_numpy(_apply(first, vectors))
    usual = _usual_gamma(rows)
    drawn = np.random.default_rng(seed).permutation(len(rows))

    def fit(among: NDArray[np.int64], points: Tensor, width: float) -> tuple[float, Fit]:
        """With points as landmarks: features are such that their products are kernel values (Nystroem)."""
        gamma = width * usual
        own = _rbf(points, points, gamma).numpy() + JITTER * np.eye(len(points))
        across = _rbf(rows[among], points, gamma).numpy()  # (n, m)
        root = np.linalg.cholesky(own)
        features = solve_triangular(root, across.T, lower=True).T
        weights, bias, unseen = least_squares(features, wanted[among])
        weights = solve_triangular(root.T, weights)
        made = Fit([first, Kernel(points, weights, bias, gamma)], unseen)
        return missed(unseen, wanted[among]), made

    some = np.sort(drawn[:CHOOSING])
    width = min(WIDTHS, key=lambda each: fit(some, rows[some], each)[0])
    n_patterns = len(np.unique(np.isnan(wanted), axis=1).T)  # each takes a decomposition of its own
    landmarks = np.sort(drawn[: int(LANDMARKS / n_patterns ** (1 / 3))])
    return fit(np.arange(len(rows)), rows[landmarks], width)[1]


def least_squares(rows: Floats, wanted: Floats) -> tuple[Floats, Floats, Floats]:
    """Ridge regression of columns with gaps, the penalty of each chosen by leaving one out.

    The residual of a row that is left out is that of the fit over 1 - h, with h the row's own influence.

    Args:
        rows: (n, r).
        wanted: (n, K), NaN where unknown.

    Returns:
        weights (r, K), bias (K,), and what is predicted for each row without it, (n, K); rows that are not
        known in a column are predicted from the others as they are. Columns without values are 0.
    """
    n_columns = wanted.shape[1]
    weights, bias = np.zeros((rows.shape[1], n_columns)), np.zeros(n_columns)
    unseen = np.zeros(wanted.shape)
    for known, columns in _alike(~np.isnan(wanted)):
        if not len(known):
            continue
        own, given = rows[known], wanted[np.ix_(known, columns)]
        mean, level = own.mean(axis=0), given.mean(axis=0)
        values, axes = np.linalg.eigh((own - mean).T @ (own - mean))
        kept = values > 1e-10 * max(values[-1], 1e-300)
        values, axes = values[kept], axes[:, kept]
        turned = (own - mean) @ axes  # (n, r)
        towards = turned.T @ (given - level)  # (r, K)
        least = np.full(len(columns), np.inf)
        for penalty in PENALTIES:
            shrunk = towards / (values + penalty)[:, None]
            influence = turned**2 @ (1 / (values + penalty)) + 1 / len(own)  # (n,)
            left_out = (given - level - turned @ shrunk) / np.maximum(1 - influence, 1e-6)[:, None]
            error = (left_out**2).mean(axis=0)
            better = error < least
            least = np.where(better, error, least)
            chosen = columns[better]
            weights[:, chosen] = axes @ shrunk[:, better]
            unseen[np.ix_(known, chosen)] = (given - left_out)[:, better]
        bias[columns] = level - mean @ weights[:, columns]
        rest = np.setdiff1d(np.arange(len(rows)), known)
        unseen[np.ix_(rest, columns)] = rows[rest] @ weights[:, columns] + bias[columns]
    return weights, bias, unseen


def _alike(known: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows that are known, and the columns of which exactly these are."""
    patterns, which = np.unique(known.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(pattern), np.flatnonzero(which.reshape(-1) == number)


# ---- support vectors, forests


def _svm(vectors: Floats, wanted: Floats, seed: int) -> Fit:
    from sklearn.model_selection import KFold
    from sklearn.svm import SVR

    first = Standardised.of(vectors)
    rows = torch.from_numpy(_apply(first, vectors))
    gamma = _usual_gamma(rows)
    kernel = _rbf(rows, rows, gamma).numpy()
    weights, bias, unseen = np.zeros(wanted.shape), np.zeros(wanted.shape[1]), np.zeros(wanted.shape)
    for column, values in enumerate(wanted.T):
        known = np.flatnonzero(~np.isnan(values))
        own, given = kernel[np.ix_(known, known)], values[known]
        level, spread = given.mean(), given.std()
        scaled = (given - level) / (spread or 1.0)
        answers = {cost: np.zeros(len(known)) for cost in COSTS}
        folds = KFold(min(FOLDS, len(known)), shuffle=True, random_state=seed).split(own) if spread else ()
        for fit, asked in folds:
            for cost, said in answers.items():
                made = SVR(kernel="precomputed", C=cost, max_iter=ITERATIONS)
                said[asked] = made.fit(own[np.ix_(fit, fit)], scaled[fit]).predict(own[np.ix_(asked, fit)])
        cost = min(COSTS, key=lambda each: float(np.mean((answers[each] - scaled) ** 2)))
        made = SVR(kernel="precomputed", C=cost, max_iter=ITERATIONS).fit(own, scaled)
        weights[known[made.support_], column] = spread * made.dual_coef_[0]
        bias[column] = level + spread * made.intercept_[0]
        unseen[:, column] = kernel @ weights[:, column] + bias[column]
        unseen[known, column] = level + spread * answers[cost]
    used = (weights != 0).any(axis=1)
    return Fit([first, Kernel(rows[used], weights[used], bias, gamma)], unseen)


def _forest(vectors: Floats, wanted: Floats, seed: int) -> Fit:
    from sklearn.ensemble import RandomForestRegressor

    forests, unseen = [], np.zeros(wanted.shape)
    classes = np.isin(wanted[~np.isnan(wanted)], (-1.0, 1.0)).all()
    n_trees = max(TREES // 3, TREES // wanted.shape[1] if classes else 0)
    rows = vectors.astype(np.float32)
    for column, values in enumerate(wanted.T):
        known = ~np.isnan(values)
        varies = values[known].std() > 0  # what does not is one leaf
        made = RandomForestRegressor(
            n_trees if varies else 1,
            max_features="sqrt" if classes else 1 / 3,  # as Breiman recommends
            min_samples_leaf=2,
            max_samples=min(GROWN, int(known.sum())) if varies else None,
            bootstrap=varies,
            oob_score=varies,
            n_jobs=-1,
            random_state=seed,
        )
        forests.append(made.fit(rows[known], values[known]))
        unseen[:, column] = made.predict(rows)
        if varies:
            unseen[known, column] = made.oob_prediction_
    return Fit([Forest.of(forests)], unseen)


def _apply(module: nn.Module, vectors: Floats) -> Floats:
    with torch.no_grad():
        return np.asarray(module(torch.from_numpy(vectors.astype(np.float32))).double().numpy())


# ---- forests as arrays: what scikit-learn has grown, kept and applied without it


class Trees(NamedTuple):
    """All trees of a forest, their nodes one tree after the other. M nodes, K outputs."""

    roots: NDArray[np.int64]  # (trees,) the first node of every tree
    children: NDArray[np.int32]  # (M, 2) where a row goes up to the threshold, and beyond; leaves: themselves
    feature: NDArray[np.int32]  # (M,) what is compared with the threshold; 0 in leaves
    threshold: Floats  # (M,)
    values: Floats  # (M, K) what a leaf predicts

    @classmethod
    def of(cls, forest: Any) -> Self:
        """The trees of scikit-learn's RandomForestRegressor (one target) or RandomForestClassifier."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
        children = []
        for root, tree in zip(roots, trees, strict=False):
            both = np.stack([tree.children_left, tree.children_right], axis=1)  # (nodes, 2)
            children.append(np.where(both < 0, np.arange(tree.node_count)[:, None], both) + root)
        return cls(
            roots[:-1].astype(np.int64),
            np.concatenate(children).astype(np.int32),
            np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.value[:, 0, :] for tree in trees]),
        )

    def predict(self, rows: NDArray[Any]) -> Floats:
        """The mean over all trees, added up in their order as scikit-learn does. (G, F) -> (G, K)."""
        total = np.zeros((len(rows), self.values.shape[1]))
        for root in self.roots:
            at = np.full(len(rows), root, dtype=np.int32)
            moving = np.arange(len(rows))  # every step moves the rows that are not in a leaf yet
            while len(moving):
                here = at[moving]
                right = rows[moving, self.feature[here]] > self.threshold[here]
                at[moving] = self.children[here, right.astype(np.intp)]
                moving = moving[at[moving] != here]
            total += self.values[at]
        return total / len(self.roots)


class Forest(nn.Module):
    """Random forests, one per column; no gradient goes through them."""

    def __init__(self, forests: Mapping[str, Any]) -> None:
        super().__init__()
        self.n_forests = len({name.split("_")[0] for name in forests})
        for name, value in forests.items():
            self.register_buffer(name, torch.as_tensor(value))

    @classmethod
    def of(cls, forests: list[Any]) -> Forest:
        fields = [Trees.of(forest)._asdict() for forest in forests]
        return cls({f"f{n}_{name}": v for n, each in enumerate(fields) for name, v in each.items()})

    def forward(self, vectors: Tensor) -> Tensor:
        rows, columns = vectors.detach().cpu().numpy(), []
        for number in range(self.n_forests):
            trees = Trees(*(getattr(self, f"f{number}_{name}").cpu().numpy() for name in Trees._fields))
            columns.append(trees.predict(rows))
        return torch.from_numpy(np.hstack(columns)).to(vectors)


# ---- heads as they are saved, and several as one


def read_head(state: Mapping[str, Tensor]) -> nn.Sequential:
    """The head that a state was taken from; KeyError or ValueError where it is none."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in state.items():
        place, _, field = name.partition(".")
        parts.setdefault(place, {})[field] = value
    made: list[nn.Module] = []
    for place in sorted(parts, key=int):
        own = parts[place]
        if "spans" in own:
            heads: dict[str, dict[str, Tensor]] = {}
            for name, value in own.items():
                if name not in ("spans", "shares"):
                    _, number, rest = name.split(".", 2)
                    heads.setdefault(number, {})[rest] = value
            several = [read_head(heads[number]) for number in sorted(heads, key=int)]
            made.append(Mixed(several, own["spans"], own.get("shares")))
        elif "mean" in own:
            made.append(Standardised(own["mean"], own["scale"], own.get("far")))
        elif "points" in own:
            made.append(Kernel(own["points"], own["weights"], own["bias"], own["gamma"]))
        elif "weight" in own:
            made.append(linear(own["weight"].T.numpy(), own["bias"].numpy()))
        else:
            made.append(Forest(own))
    return nn.Sequential(*made)


class Mixed(nn.Module):
    """A mean of heads for each column: `shares` (heads, K), all alike for None (earlier models).

    A head sees the inputs where its row of `spans` (heads, D) is true.
    """

    spans: Tensor
    shares: Tensor | None

    def __init__(self, heads: list[nn.Sequential], spans: Any, shares: Any = None) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.register_buffer("spans", torch.as_tensor(spans))
        given = None if shares is None else torch.as_tensor(shares, dtype=torch.float32)
        self.register_buffer("shares", given)

    def forward(self, vectors: Tensor) -> Tensor:
        said = [head(vectors[:, seen]) for head, seen in zip(self.heads, self.spans, strict=True)]
        if self.shares is None:
            return torch.stack(said).mean(0)
        return torch.stack([share * each for share, each in zip(self.shares, said, strict=True)]).sum(0)


FITS: dict[str, Any] = {"ridge": _ridge, "gp": _gp, "svm": _svm, "forest": _forest}

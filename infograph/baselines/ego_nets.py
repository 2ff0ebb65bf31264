"""Feature-space Laplacians of the neighbourhoods of nodes, and determinants of small matrices; compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def factor(matrix: Floats, n: int) -> float:
    """Cholesky in place: the lower triangle becomes C with C C' = matrix; gives log |matrix|."""
    logdet = 0.0
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = np.sqrt(value)
                logdet += 2.0 * np.log(matrix[i, i])
            else:
                matrix[i, j] = value / matrix[j, j]
    return logdet


@compiled
def invert(matrix: Floats, inverse: Floats) -> float:
    """`inverse` becomes that of a positive definite matrix, which is overwritten; gives log |matrix|."""
    n = len(matrix)
    logdet = factor(matrix, n)
    for column in range(n):
        for i in range(n):  # C y = e
            value = 1.0 if i == column else 0.0
            for k in range(i):
                value -= matrix[i, k] * inverse[k, column]
            inverse[i, column] = value / matrix[i, i]
        for i in range(n - 1, -1, -1):  # C' x = y
            value = inverse[i, column]
            for k in range(i + 1, n):
                value -= matrix[k, i] * inverse[k, column]
            inverse[i, column] = value / matrix[i, i]
    return logdet


@compiled
def similarity(a: Floats, log_a: float, b: Floats, log_b: float, work: Floats) -> float:
    """The FLG kernel of two graphs (Kondor and Pan, Eq. 6), from S^-1 and log |S| of each.

    |(S_1^-1 + S_2^-1) / 2|^-1/2 / (|S_1|^1/4 |S_2|^1/4).
    """
    n = len(a)
    for i in range(n):
        for j in range(i + 1):
            work[i, j] = 0.5 * (a[i, j] + b[i, j])
    return float(np.exp(-0.5 * factor(work, n) - 0.25 * (log_a + log_b)))


@compiled
def similarities(a: Floats, log_a: Floats, b: Floats, log_b: Floats) -> Floats:
    """All values between two lists of graphs. (X, P, P), (Y, P, P) -> (X, Y)."""
    work = np.empty(a.shape[1:])
    values = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            values[i, j] = similarity(a[i], log_a[i], b[j], log_b[j], work)
    return values


@compiled
def ego_matrices(
    centres: Ints,
    ptr: Ints,
    targets: Ints,
    features: Floats,
    radius: int,
    most: int,
    eta: float,
    gamma: float,
) -> tuple[Floats, Floats]:
    """S^-1 (X, P, P) and log |S| (X,) of the neighbourhoods of some nodes.

    S = phi' (L + eta I)^-1 phi + gamma I. A neighbourhood holds the first `most` nodes within `radius` that
    breadth-first search meets, and all edges between them.
    """
    n_features = features.shape[1]
    inverses = np.empty((len(centres), n_features, n_features))
    logs = np.empty(len(centres))
    local = np.full(len(ptr) - 1, -1, np.int64)
    chosen, depth = np.empty(most, np.int64), np.empty(most, np.int64)
    laplacian, solved = np.empty((most, most)), np.empty((most, n_features))
    matrix = np.empty((n_features, n_features))
    for x in range(len(centres)):
        n = _collect(centres[x], ptr, targets, radius, local, chosen, depth)
        _fill_laplacian(n, chosen, ptr, targets, local, eta, laplacian)
        factor(laplacian, n)
        for i in range(n):
            local[chosen[i]] = -1
            for f in range(n_features):  # C y = phi, so that y'y = phi' (L + eta I)^-1 phi
                value = features[chosen[i], f]
                for k in range(i):
                    value -= laplacian[i, k] * solved[k, f]
                solved[i, f] = value / laplacian[i, i]
        for f in range(n_features):
            for g in range(f + 1):
                value = gamma if f == g else 0.0
                for i in range(n):
                    value += solved[i, f] * solved[i, g]
                matrix[f, g] = value
        logs[x] = invert(matrix, inverses[x])
    return inverses, logs


@compiled
def _collect(
    centre: int, ptr: Ints, targets: Ints, radius: int, local: Ints, chosen: Ints, depth: Ints
) -> int:
    """Breadth-first search; `local` numbers the nodes it meets. Gives how many these are."""
    chosen[0], depth[0], local[centre] = centre, 0, 0
    head, n = 0, 1
    while head < n and n < len(chosen):
        if depth[head] < radius:
            for arc in range(ptr[chosen[head]], ptr[chosen[head] + 1]):
                v = targets[arc]
                if local[v] < 0 and n < len(chosen):
                    chosen[n], depth[n], local[v] = v, depth[head] + 1, n
                    n += 1
        head += 1
    return n


@compiled
def _fill_laplacian(
    n: int, chosen: Ints, ptr: Ints, targets: Ints, local: Ints, eta: float, laplacian: Floats
) -> None:
    """L + eta I of the graph on the chosen nodes, each edge of weight 1."""
    laplacian[:n, :n] = 0.0
    for i in range(n):
        laplacian[i, i] += eta
        for arc in range(ptr[chosen[i]], ptr[chosen[i] + 1]):
            j = local[targets[arc]]
            if j >= 0:
                laplacian[i, j] = -1.0
                laplacian[i, i] += 1.0

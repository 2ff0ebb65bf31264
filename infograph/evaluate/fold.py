"""One outer fold: the inner and the outer scores of every classifier and every value of its grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from infograph.evaluate.classifiers import make_classifier
from infograph.evaluate.inputs import Representation
from infograph.evaluate.kernels import Floats, FoldSpace
from infograph.evaluate.options import Options
from infograph.evaluate.plan import Rows, stratified


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Scores of one classifier in one outer fold, for the P values of its grid.

    Attributes:
        inner: mean accuracy over the inner folds.
        outer: accuracy on the outer test fold after fitting on the whole outer training part.
        stopped: how many of these fits reached the iteration bound.
    """

    inner: Floats  # (P,)
    outer: Floats  # (P,)
    stopped: NDArray[np.int64]  # (P,)


def score_fold(
    representation: Representation,
    codes: Rows,
    split: tuple[Rows, Rows],
    classifiers: Sequence[str],
    options: Options,
    inner_folds: int,
    seed: int,
) -> list[FoldScores]:
    """Score every classifier in one outer fold.

    Test labels are read for `outer` only: `inner` and all that is fitted depend on the training labels alone.

    Args:
        representation: vectors (G, D) or a Gram matrix.
        codes: (G,) class codes.
        split: outer training and test rows.
        classifiers: their names.
        options: grids and bounds.
        inner_folds: folds of the training part.
        seed: seed of the inner folds.
    """
    train, test = split
    ordered = np.concatenate([codes[train], codes[test]])  # (G,)
    whole, held_out = slice(0, len(train)), slice(len(train), len(codes))
    inner_splits = list(stratified(codes[train], inner_folds, seed))
    results = []
    # Inputs were checked once; scikit-learn's own checks cost a sixth of each fit on 150 graphs.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        space = FoldSpace(representation, train, test, options.scale)
        for name in classifiers:
            score = make_classifier(name, space, ordered, options)
            inner, stopped = zip(*(score(fit, judged) for fit, judged in inner_splits), strict=True)
            outer, stopped_outer = score(whole, held_out)
            results.append(FoldScores(np.mean(inner, axis=0), outer, np.sum(stopped, axis=0) + stopped_outer))
    return results

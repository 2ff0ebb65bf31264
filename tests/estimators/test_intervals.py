"""Conformal intervals: as many graphs inside as promised, wider where errors are larger."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from infograph.errors import InvalidParameter
from infograph.estimators.intervals import ErrorBars


def draw(n, seed):
    """Points, and errors that grow with the first coordinate."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 4))
    return points, np.abs(rng.normal(size=(n, 1)) * np.exp(points[:, :1]))


@pytest.fixture(scope="module")
def bars():
    return ErrorBars.fit(*draw(500, 0))


def test_coverage_is_what_was_promised_and_widths_rank_errors():
    inside, rank = [], []
    for seed in range(8):
        points, errors = draw(500, 100 + seed)
        widths = ErrorBars.fit(*draw(300, seed)).widths(points, 0.9)
        inside.append((errors <= widths).mean())
        rank.append(spearmanr(widths[:, 0], errors[:, 0]).statistic)
    assert 0.87 < np.mean(inside) < 0.93 and min(rank) > 0.3


def test_levels_are_nested(bars):
    points = draw(50, 1)[0]
    widths = [bars.widths(points, level)[:, 0] for level in (0.5, 0.8, 0.9, 0.99)]
    assert (np.diff(widths, axis=0) >= 0).all() and (widths[0] > 0).all()


def test_with_constant_hardness_it_is_split_conformal():
    mapie = pytest.importorskip("mapie.regression")
    from sklearn.dummy import DummyRegressor

    rng = np.random.default_rng(0)
    points, values = rng.normal(size=(99, 3)), rng.normal(size=99)
    model = DummyRegressor(strategy="constant", constant=0.0).fit(points, values)
    split = mapie.SplitConformalRegressor(model, confidence_level=[0.5, 0.8, 0.9], prefit=True)
    bounds = split.conformalize(points, values).predict_interval(points[:5])[1]  # (5, 2, levels)
    made = ErrorBars.fit(points, np.abs(values)[:, None])
    plain = ErrorBars(made.mean, made.axes, made.points, made.errors, np.zeros((3, 1)), made.far)
    for place, level in enumerate((0.5, 0.8, 0.9)):
        assert plain.widths(points[:5], level)[:, 0] == pytest.approx(bounds[:, 1, place])


def test_too_few_graphs_are_told_how_many_are_needed():
    few = ErrorBars.fit(*draw(15, 0))
    assert np.isfinite(few.widths(draw(3, 1)[0], 0.9)).all()
    with pytest.raises(InvalidParameter, match=r"interval=0.95 needs .* at least 19 graphs .* there are 15"):
        few.widths(draw(3, 1)[0], 0.95)
    with pytest.raises(InvalidParameter, match=r"interval=0.9 needs .* at least 9 graphs .* there are 8"):
        ErrorBars.fit(*draw(8, 0)).widths(draw(3, 1)[0], 0.9)
    assert np.isfinite(ErrorBars.fit(*draw(9, 0)).widths(draw(3, 1)[0], 0.9)).all()
    for level in (0, 1, 1.5, -0.1, 90, "0.9", True):
        with pytest.raises(InvalidParameter, match=r"expected a share such as 0\.9"):
            few.widths(draw(3, 1)[0], level)


@pytest.mark.parametrize("n_graphs", [1, 2, 9])
def test_hardly_any_graphs(n_graphs):
    points, errors = draw(n_graphs, 0)
    few = ErrorBars.fit(points, errors, every=draw(20, 1)[0])
    with pytest.raises(InvalidParameter, match=f"there are {n_graphs}"):
        few.widths(draw(3, 1)[0], 0.95)
    assert few.unlike(np.full((1, 4), 1e3)).all()


def test_gaps_leave_the_other_target_alone():
    points, errors = draw(200, 0)
    gaps = np.hstack([errors, errors])
    gaps[::3, 1] = np.nan
    asked = draw(20, 1)[0]
    found = ErrorBars.fit(points, gaps).widths(asked, 0.9)
    assert found[:, :1] == pytest.approx(ErrorBars.fit(points, errors).widths(asked, 0.9))
    assert np.isfinite(found[:, 1]).all() and found[:, 1] == pytest.approx(found[:, 0], rel=1.0)
    gaps[:, 1] = np.nan
    with pytest.raises(InvalidParameter, match="there are 0"):
        ErrorBars.fit(points, gaps).widths(asked, 0.9)


def test_models_without_error_have_no_width_and_equal_graphs_are_fine():
    points = draw(50, 0)[0]
    for rows in (points, np.ones((50, 4))):
        exact = ErrorBars.fit(rows, np.zeros((50, 1)))
        assert exact.widths(rows[:5], 0.9) == pytest.approx(0, abs=1e-9)
    _, errors = draw(50, 0)
    assert np.isfinite(ErrorBars.fit(np.ones((50, 4)), errors).widths(np.ones((2, 4)), 0.9)).all()


def test_many_graphs_are_looked_at_block_by_block(bars):
    points = draw(4_500, 3)[0]
    parts = [bars.widths(part, 0.9) for part in (points[:2_000], points[2_000:])]
    np.testing.assert_allclose(bars.widths(points, 0.9), np.concatenate(parts), rtol=1e-9)


def test_what_is_far_is_unlike(bars):
    near, _ = draw(200, 2)
    assert (
        bars.unlike(near).mean() < 0.05
        and not bars.unlike(bars.points @ np.linalg.pinv(bars.axes) + bars.mean).any()
    )
    assert bars.unlike(near + 100).all() and (bars.widths(near + 100, 0.9) > 0).all()
    assert np.isfinite(bars.widths(near * 1e6, 0.9)).all()

"""Heads on vectors, against scikit-learn and against refits without the graph in question."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from infograph.objectives import heads
from infograph.objectives.heads import COSTS, PENALTIES, WIDTHS, least_squares, read_head
from infograph.objectives.objective import Classification, Regression, Tasks
from infograph.objectives.vectors import KINDS, Vectors

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 6))
SMOOTH = np.sin(ROWS[:, :1]) + 0.3 * ROWS[:, 1:2] + 0.05 * RNG.normal(size=(60, 1))


@pytest.fixture(autouse=True)
def _small_forests(monkeypatch):
    monkeypatch.setattr(heads, "TREES", 40)


def solve(values, task=None, rows=ROWS, head="auto", inputs="vectors"):
    found = Vectors(inputs, head).solve({"vectors": rows}, values, task or Regression(values.shape[1]), 0)
    return found, answers(found.head, rows)


def answers(head, rows):
    return head(torch.from_numpy(rows.astype(np.float32))).detach().numpy()


def with_gaps(values):
    gaps = np.array(values, float)
    gaps[RNG.random(gaps.shape) < 0.3] = np.nan
    return gaps


# ---- ridge and the Gaussian process


def test_least_squares_are_refits_of_scikit_learn_without_each_row():
    wanted = with_gaps(ROWS[:, :3] + RNG.normal(size=(60, 3)))
    weights, bias, unseen = least_squares(ROWS, wanted)
    for column, values in enumerate(wanted.T):
        known = np.flatnonzero(~np.isnan(values))

        def left_out(penalty, known=known, values=values):
            fits = [(np.setdiff1d(known, [row]), row) for row in known]
            return [Ridge(penalty).fit(ROWS[k], values[k]).predict(ROWS[[r]])[0] for k, r in fits]

        errors = [np.mean((left_out(penalty) - values[known]) ** 2) for penalty in PENALTIES]
        best = PENALTIES[int(np.argmin(errors))]
        model = Ridge(best).fit(ROWS[known], values[known])
        np.testing.assert_allclose(ROWS @ weights[:, column] + bias[column], model.predict(ROWS), atol=1e-8)
        np.testing.assert_allclose(unseen[known, column], left_out(best), atol=1e-7)
        rest = np.setdiff1d(np.arange(60), known)
        np.testing.assert_allclose(unseen[rest, column], model.predict(ROWS[rest]), atol=1e-8)


def test_a_gaussian_process_is_the_solution_of_its_equations():
    found, said = solve(SMOOTH, head="gp")
    rows = (ROWS - ROWS.mean(0)) / ROWS.std(0)
    gamma = float(found.head[1].gamma)
    assert min(abs(gamma * 6 - width) for width in WIDTHS) < 1e-4
    kernel = rbf_kernel(rows, gamma=gamma)

    def predicted(penalty, fit, asked):
        """K a + b = y, with penalty and a bias that has none."""
        n = len(fit)
        left = np.block(
            [[kernel[np.ix_(fit, fit)] + penalty * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), 0]]
        )
        *weights, bias = np.linalg.solve(left, [*SMOOTH[fit, 0], 0.0])
        return kernel[np.ix_(asked, fit)] @ weights + bias

    everyone = np.arange(60)
    gaps = {p: np.abs(predicted(p, everyone, everyone) - said[:, 0]).max() for p in PENALTIES}
    penalty = min(gaps, key=gaps.get)
    assert gaps[penalty] < 1e-4
    left_out = [predicted(penalty, np.delete(everyone, row), [row])[0] for row in everyone]
    np.testing.assert_allclose(found.unseen[:, 0], left_out, atol=1e-5)


def test_few_landmarks_come_close_and_all_are_exact(monkeypatch):
    rows = RNG.normal(size=(300, 2))
    wanted = np.sin(2 * rows[:, :1]) * rows[:, 1:]
    exact = heads._gp(rows, wanted, 0)
    monkeypatch.setattr(heads, "LANDMARKS", 60)
    few = heads._gp(rows, wanted, 0)
    assert len(few.parts[1].points) == 60 and len(exact.parts[1].points) == 300
    assert np.mean((few.unseen - exact.unseen) ** 2) < 0.02 * wanted.var()
    monkeypatch.setattr(heads, "LANDMARKS", 10_000)
    assert np.array_equal(heads._gp(rows, wanted, 0).unseen, exact.unseen)


def test_single_precision_says_what_was_fitted():
    rows = RNG.normal(size=(200, 3))
    wanted = np.sin(rows.sum(axis=1, keepdims=True))  # without noise: the least penalty
    for kind in ("ridge", "gp", "svm"):
        fit = heads.FITS[kind](rows, wanted, 0)
        head = torch.nn.Sequential(*fit.parts)
        double = head.double()(torch.from_numpy(rows)).detach().numpy()
        np.testing.assert_allclose(answers(head.float(), rows), double, atol=2e-3)


# ---- support vectors, forests


def test_support_vectors_are_those_of_scikit_learn():
    found, said = solve(SMOOTH, head="svm")
    rows, spread = (ROWS - ROWS.mean(0)) / ROWS.std(0), SMOOTH.std()
    scaled = (SMOOTH[:, 0] - SMOOTH.mean()) / spread
    fits = [
        SVR(C=cost, gamma="scale").fit(rows, scaled).predict(rows) * spread + SMOOTH.mean() for cost in COSTS
    ]
    assert min(np.abs(fit - said[:, 0]).max() for fit in fits) < 1e-4
    assert np.abs(found.unseen - SMOOTH).mean() > np.abs(said - SMOOTH).mean()


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_read_from_its_state_gives_the_same_bits(kind):
    wanted = with_gaps(np.hstack([SMOOTH, -SMOOTH]))
    found, said = solve(wanted, head=kind)
    again = read_head(found.head.state_dict())
    assert np.array_equal(answers(again, ROWS), said) and found.kind == kind
    tasks, probable = solve((wanted > 0) + 0.0 * wanted, Tasks(2), head=kind)
    assert np.array_equal(answers(read_head(tasks.head.state_dict()), ROWS), probable)


@pytest.mark.parametrize("classes", [False, True])
def test_a_forest_is_that_of_scikit_learn(classes):
    wanted = with_gaps(np.hstack([SMOOTH, -SMOOTH]))
    wanted = np.sign(wanted) if classes else wanted
    found, said = solve(wanted, head="forest")
    n_trees, tried = (heads.TREES // 2, "sqrt") if classes else (heads.TREES // 3, 1 / 3)
    for column, values in enumerate(wanted.T):
        known = ~np.isnan(values)
        own = {"max_features": tried, "min_samples_leaf": 2, "oob_score": True, "random_state": 0}
        forest = RandomForestRegressor(n_trees, **own).fit(ROWS[known].astype(np.float32), values[known])
        rows = ROWS.astype(np.float32)
        assert np.array_equal(said[:, column], forest.predict(rows).astype(np.float32))
        assert np.array_equal(found.unseen[known, column], forest.oob_prediction_)


# ---- classes and probabilities


def test_probabilities_of_unseen_graphs_are_calibrated():
    rows = RNG.normal(size=(2400, 3))
    truth = 1 / (1 + np.exp(-2 * rows[:, 0]))
    drawn = (RNG.random(2400) < truth).astype(np.int64)
    fit, asked = slice(0, 800), slice(800, None)
    gaps = with_gaps(np.column_stack([drawn, 1 - drawn]))[fit]
    for head in ("ridge", "gp"):
        one = Vectors("vectors", head).solve({"vectors": rows[fit]}, drawn[fit], Classification(2), 0)
        each = Vectors("vectors", head).solve({"vectors": rows[fit]}, gaps, Tasks(2), 0)
        logits = answers(one.head, rows[asked]), answers(each.head, rows[asked])
        found = [1 / (1 + np.exp(logits[0][:, 0] - logits[0][:, 1])), 1 / (1 + np.exp(-logits[1][:, 0]))]
        for probable in found:
            bins = np.digitize(probable, [0.2, 0.4, 0.6, 0.8])
            for number in range(5):
                there = bins == number
                assert probable[there].mean() == pytest.approx(truth[asked][there].mean(), abs=0.1)


def test_columns_that_say_nothing_are_probable_as_they_are():
    values = np.column_stack(
        [(SMOOTH[:, 0] > 0).astype(float), np.ones(60), np.zeros(60), np.full(60, np.nan)]
    )
    values[30:, 1] = np.nan
    for head in KINDS:
        found, said = solve(values, Tasks(4), head=head)
        probable = 1 / (1 + np.exp(-said))
        assert (probable[:, 1] > 0.95).all() and (probable[:, 2] < 0.05).all()
        assert probable[:, 3] == pytest.approx(0.5) and np.isfinite(found.unseen).all()
        assert ((probable[:, 0] > 0.5) == (SMOOTH[:, 0] > 0)).mean() > 0.8


@pytest.mark.parametrize("head", KINDS)
def test_classes_that_no_graph_has_are_improbable(head):
    codes = np.where(SMOOTH[:, 0] > 0, 2, 0)  # an ensemble's draw may have none of class 1
    _, said = solve(codes, Classification(3), head=head)
    assert said.shape == (60, 3) and (said.argmax(axis=1) == codes).mean() > 0.8
    assert (said[:, 1] < said.max(axis=1) - 3).all()
    _, said = solve(np.full(60, 1), Classification(3), head=head)
    assert (said.argmax(axis=1) == 1).all()


# ---- what is chosen, and what is hardly there


def test_the_least_error_on_unseen_graphs_chooses():
    straight = ROWS @ np.arange(6.0)[:, None]
    found, _ = solve(straight)
    assert found.kind == "ridge" and found.errors["ridge on vectors"] < 1e-6
    steps = np.where(ROWS[:, :1] > 0.1, 1.0, -1.0) * np.where(ROWS[:, 1:2] > 0, 1.0, 2.0)
    found, _ = solve(steps)
    assert found.kind == min(found.errors, key=found.errors.get).split()[0] != "ridge"
    spread = found.unseen - steps
    assert found.errors[f"{found.kind} on vectors"] == pytest.approx((spread**2).mean() / steps.var())
    noise = RNG.normal(size=(60, 1))
    parts = {"vectors": noise, "descriptors": ROWS, "fingerprints": noise}
    assert Vectors(head="gp").solve(parts, SMOOTH, Regression(1), 0).inputs == "vectors+descriptors"


def test_the_mean_of_two_heads_sees_what_each_of_them_sees():
    parts = {
        "descriptors": ROWS,
        "vectors": RNG.normal(size=(60, 3)),
        "fingerprints": RNG.normal(size=(60, 4)),
    }
    both = Vectors(head="mean").solve(parts, SMOOTH, Regression(1), 0)
    assert (both.kind, both.inputs) == ("mean", "vectors+fingerprints+descriptors")
    table = torch.from_numpy(np.hstack([parts[name] for name in both.inputs.split("+")]).astype(np.float32))
    forest = Vectors("fingerprints+descriptors", "forest").solve(parts, SMOOTH, Regression(1), 0)
    names = [name for name in both.errors if name.startswith("mean of")]
    kind, _, inputs = names[0].removeprefix("mean of ").split(" and ")[0].split(" ")
    other = Vectors(inputs, kind).solve(parts, SMOOTH, Regression(1), 0)
    seen = np.r_[0:3, 7:13] if inputs == "vectors+descriptors" else np.r_[0:3]
    wanted = (forest.head(table[:, 3:]) + other.head(table[:, seen])) / 2
    assert torch.allclose(both.head(table), wanted, atol=1e-5)
    assert both.unseen == pytest.approx((forest.unseen + other.unseen) / 2)
    again = read_head(both.head.state_dict())
    assert torch.equal(again(table), both.head(table))


def test_every_column_of_numbers_has_the_head_that_is_best_for_it():
    straight = ROWS @ np.arange(6.0)[:, None]
    steps = np.where(ROWS[:, :1] > 0.1, 1.0, -1.0) * np.where(ROWS[:, 1:2] > 0, 1.0, 2.0)
    wanted = np.hstack([straight, steps, np.full((60, 1), 7.0)])
    both, said = solve(wanted)
    assert (both.kind, both.inputs) == ("each", "vectors")
    for column, kind in enumerate(("ridge", "forest")):
        own, its = solve(wanted, head=kind)
        assert both.unseen[:, column] == pytest.approx(own.unseen[:, column])
        assert said[:, column] == pytest.approx(its[:, column], abs=1e-5)
    assert said[:, 2] == pytest.approx(7.0, abs=1e-5)
    assert both.errors["the best for each target"] == min(both.errors.values())
    again = read_head(both.head.state_dict())
    assert np.array_equal(answers(again, ROWS), said)
    classes = solve((wanted[:, :2] > 0).astype(float), Tasks(2))[0]
    assert classes.kind != "each"


@pytest.mark.parametrize("head", KINDS)
@pytest.mark.parametrize("n_graphs", [1, 2, 3, 7])
def test_few_graphs_and_constant_inputs(head, n_graphs):
    wanted = np.arange(1.0, n_graphs + 1)[:, None]
    for rows in (ROWS[:n_graphs], np.ones((n_graphs, 6))):
        found, said = solve(wanted, rows=rows, head=head)
        assert np.isfinite(said).all() and np.isfinite(found.unseen).all()
        assert wanted.min() - 1 <= said.min() <= said.max() <= wanted.max() + 1
    gappy = np.full((n_graphs, 2), np.nan)
    gappy[0] = [3.0, np.nan]
    said = solve(gappy, rows=ROWS[:n_graphs], head=head)[1]
    assert said == pytest.approx(np.tile([3.0, 0.0], (n_graphs, 1)), abs=1e-5)


@pytest.mark.parametrize("head", KINDS)
def test_columns_that_differ_by_rounding_alone_say_nothing(head):
    noise = 5 + 1e-7 * RNG.normal(size=(60, 1))
    rows = np.hstack([ROWS, noise])
    said = answers(solve(SMOOTH, rows=rows, head=head)[0].head, np.hstack([ROWS, noise + 0.5]))
    assert np.abs(said - SMOOTH).max() < 1.5


@pytest.mark.parametrize("head", ["ridge", "gp"])
def test_an_input_far_beyond_those_seen_counts_as_ten_deviations(head):
    rare = np.zeros((60, 1))
    rare[7] = 0.01
    found = solve(SMOOTH, rows=np.hstack([ROWS, rare]), head=head)[0]
    new = np.hstack([ROWS, np.full((60, 1), 5.0)])  # 500 times what one graph of sixty has
    bound = float(rare.mean() + 10 * rare.std())
    at_the_bound = np.hstack([ROWS, np.full((60, 1), bound)])
    assert answers(found.head, new) == pytest.approx(answers(found.head, at_the_bound), abs=1e-5)
    state = {name: value for name, value in found.head.state_dict().items() if not name.endswith(".far")}
    before = answers(read_head(state), new)  # models of earlier versions stay what they were
    assert np.abs(before - answers(found.head, new)).max() > 1e-3

"""Settings chosen on validation graphs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from infograph import Auto, InfoGraphRegressor, InfoGraphStar, as_graphset
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.learn.tune import least_error, search_settings

SMILES = ["C" * n + tail for n in range(1, 9) for tail in ("O", "N", "Cl", "C#N")]
GRAPHS = as_graphset(SMILES)
Y = np.array([float(len(smiles)) for smiles in SMILES])
BASE = InfoGraphRegressor(epochs=2, dim=8, steps_per_epoch=3, encoder=Auto(layers=2))
GRID = {"lam": [1e-3, 1.0], "lr": [1e-2, 1e-3]}


def test_every_combination_is_trained_and_the_best_is_kept():
    found = search_settings(BASE, GRID, GRAPHS, Y, validation=0.25)
    errors = []
    for lam, lr in itertools.product(*GRID.values()):
        model = InfoGraphRegressor(
            epochs=2,
            dim=8,
            steps_per_epoch=3,
            lr=lr,
            encoder=Auto(layers=2),
            objective=InfoGraphStar(lam=lam),
        )
        errors.append(min(r["validation"] for r in model.fit(GRAPHS, Y, validation=0.25).history_))
    assert [trial.error for trial in found.trials] == errors
    assert found.chosen.settings == {"lam": found.best.objective.lam, "lr": found.best.lr}
    assert found.chosen.error == min(errors)
    assert min(r["validation"] for r in found.best.history_) == min(errors)
    assert not hasattr(BASE, "models_")


def test_each_combination_is_announced():
    heard = []
    search_settings(
        BASE, {"lam": [1.0, 2.0]}, GRAPHS, Y, validation=(GRAPHS, Y), announce=lambda *a: heard.append(a)
    )
    assert heard == [(1, 2, {"lam": 1.0}), (2, 2, {"lam": 2.0})]


def test_a_combination_that_diverges_is_no_choice(monkeypatch):
    fit = InfoGraphRegressor.fit

    def sometimes(self, *args, **more):
        if self.objective.lam > 0.5:
            raise TrainingDiverged("no")
        return fit(self, *args, **more)

    monkeypatch.setattr(InfoGraphRegressor, "fit", sometimes)
    found = search_settings(BASE, {"lam": [1.0, 1e-3]}, GRAPHS, Y)
    assert math.isnan(found.trials[0].error) and found.best.objective.lam == 1e-3
    with pytest.raises(TrainingDiverged, match="all 2 combinations of lam diverged: lower lr"):
        search_settings(BASE, {"lam": [1.0, 2.0]}, GRAPHS, Y)


def test_error_of_an_ensemble_is_the_mean_of_its_networks():
    history = [{"model": m, "validation": v} for m, v in ((1.0, 3.0), (1.0, 2.0), (2.0, 4.0), (2.0, 5.0))]
    assert least_error(history) == 3.0


@pytest.mark.parametrize(
    ("grid", "validation", "message"),
    [
        ({}, 0.1, "nothing to search"),
        ({"lambda": [1]}, 0.1, "'lambda' is no parameter of InfoGraphRegressor or Auto"),
        ({"lam": 1e-3}, 0.1, "lam=0.001: expected a list of values"),
        ({"lam": []}, 0.1, "expected a list of values"),
        ({"lam": [1.0]}, None, "a search needs validation graphs"),
    ],
)
def test_mistakes(grid, validation, message):
    with pytest.raises(InvalidParameter, match=message):
        search_settings(BASE, grid, GRAPHS, Y, validation=validation)

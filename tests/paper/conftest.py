"""Result files made by hand, with figures that are known beforehand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infograph.cells import as_text
from infograph.evaluate import Evaluation
from infograph.evaluate.evaluation import Candidate, Plan
from infograph.evaluate.methods import METHODS
from infograph.paper.table1 import table1_cell, variant_cell
from infograph.paper.table2 import SEARCH_EPOCHS, table2_cell

MACHINE = {"processor": "a <fast> one", "cores": 2, "threads": 1}


def made_candidate(setting, outer, inner=None):
    """The same accuracy in all ten folds."""
    scores = np.full((1, 10, 1), outer)
    chosen = scores if inner is None else np.full((1, 10, 1), inner)
    return Candidate(setting, "svm-rbf", (1.0,), True, 1000, chosen, scores, np.zeros((1, 10, 1), np.int64))


class Results:
    """A folder of results that grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def accuracy(self, data, method, setting, repeat, outer, **more):
        """A cell of Table 1; `outer` is a list where there are several numbers of epochs."""
        self._accuracy(table1_cell(data, METHODS[method], setting, repeat), outer, **more)

    def variant(self, data, name, repeat, outer):
        """A cell of the variants, a list for several numbers of epochs."""
        self._accuracy(variant_cell(data, name, repeat), outer)

    def _accuracy(self, cell, outer, inner=None, empty="", lacking="", seconds=2.0, peak=100):
        setting, repeat = cell.settings["setting"], cell.settings["repeat"]
        values = outer if isinstance(outer, list) else [outer]
        epochs = cell.settings.get("epochs", [None])[: len(values)]
        candidates = tuple(
            made_candidate(setting if each is None else f"{setting} epochs={each}", value, inner)
            for each, value in zip(epochs, values, strict=True)
        )
        plan = Plan(10, 5, (("0", 63), ("1", 125)), "labels")
        evaluation = None if empty else Evaluation(plan, (repeat,), candidates).to_dict()
        measured = {"seconds": 3.0, "peak_mb": peak, "machine": MACHINE, "represent_seconds": seconds}
        content = {"empty": empty, "evaluation": evaluation, "history": [], "measured": measured}
        self._write(cell, content | ({"lacking": lacking} if lacking else {}))

    def error(self, target, objective, errors, *, validation=None, history=(), **given):
        """A cell of Table 2 with the errors of its test molecules; none where training diverged."""
        errors = [float(each) for each in errors]
        content = {"unit": "hartree", "empty": "the loss is nan.", "scores": {}, "history": []}
        if errors:
            mae = float(np.mean(errors))
            scores = {"validation_mae": mae if validation is None else validation, "test_mae": mae}
            content = {"unit": "hartree", "scores": scores, "history": list(history)}
        measured = {"seconds": 60.0, "peak_mb": 500, "machine": MACHINE}
        cell = table2_cell(target, objective, **given)
        self._write(cell, {**content, "test_errors": errors, "measured": measured})

    def search(self, *, decay=1e-4, lam=1e-5, errors=(1.0, 2.0)):
        """The whole search on alpha, with these as the best ones."""
        for each in (0.0, 1e-3, 1e-4):
            given = {"validation": float(each != decay) + 1, "weight_decay": each, "epochs": SEARCH_EPOCHS}
            self.error("alpha", "supervised", errors, **given)
        for objective in ("infograph", "infograph*"):
            for each in (1e-3, 1e-4, 1e-5):
                given = {"validation": float(each != lam) + 1, "weight_decay": decay, "lam": each}
                self.error("alpha", objective, errors, epochs=SEARCH_EPOCHS, **given)

    def _write(self, cell, content):
        path = cell.path(self.folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_text({"cell": cell.name, "settings": cell.settings, **content}))


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "results")

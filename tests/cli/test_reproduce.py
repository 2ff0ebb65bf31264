"""`infograph reproduce`: cells, where they stand, and the report, as a reader types it."""

from __future__ import annotations

import pytest

from infograph.cells import Cell
from infograph.cli.reproduce import RunOptions
from infograph.paper import run as run_module
from tests.cli.conftest import check


def test_cells_are_computed_once_and_shown(run, tmp_path):
    command = ("reproduce", "table1", "--data", "MUTAG", "--method", "degrees", "--repeats", "2")
    first = run(*command, "--results", tmp_path)
    assert first.code == 0 and "MUTAG  node degrees" in first.out and "1 x 2" in first.out
    assert "0 of 2 cells are there; left: not known yet" in first.err
    assert "MUTAG degrees default 1: " in first.err and "(2 of 2 cells; left: done)" in first.err
    again = run(*command, "--results", tmp_path)
    assert again.out == first.out and again.err == ""
    stated = run("reproduce", "status", "--results", tmp_path, "--json").json
    (row,) = [each for each in stated if each["done"] and each["table"] == "table1"]
    assert (row["column"], row["row"], row["done"], row["cells"]) == ("MUTAG", "degrees", 2, 5)
    assert "degrees 2/5" in run("reproduce", "status", "--results", tmp_path).out
    written = run("reproduce", "report", "--results", tmp_path, "--out", tmp_path / "report")
    assert written.code == 0 and (tmp_path / "report" / "report.html").is_file()
    assert "2 of 5 repeats" in (tmp_path / "report" / "tables.md").read_text()


def test_without_a_table_the_help_is_shown(run):
    done = run("reproduce")
    assert (done.code, done.err) == (0, "") and "table1" in done.out


def test_cells_are_chosen_by_pattern(run, tmp_path):
    command = ("reproduce", "table1", "--data", "MUTAG", "--method", "all", "--repeats", "1")
    command = (*command, "--cells", "mutag wl rounds=[12] *", "--results", tmp_path)
    (found,) = run(*command, "--json").json
    assert found["cells"] == [f"MUTAG wl rounds={r} normalise=True 0" for r in (1, 2)]
    assert (found["method"], found["settings"], found["repeats"]) == ("WL", 2, 1)
    assert found["leak-free"][0] > 80 and found["paper"][0] > 80 and found["published"][0] == 80.72
    free, paper = (run(*command, "--protocol", name).out for name in ("leak-free", "paper"))
    assert "leak-free, %" in free and "best on test, %" not in free
    assert "leak-free, %" not in paper and "best on test, %" in paper


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("table1 --data MUTANT", "no data set 'MUTANT'; there are: MUTAG, PTC_MR"),
        ("table1 --method magic", "no method 'magic'; there are: rw, sp"),
        ("table2 --target U1", "no target 'U1'; there are: mu, alpha"),
        ("table2 --objective magic", "no objective 'magic'; there are: mean, atom-counts"),
        ("variants --variant magic", "there are: unscaled, linear"),
        ("table1 --budget soon", "'soon' is not a time such as 90s, 30m or 2h"),
    ],
)
def test_mistakes_are_one_sentence(run, tmp_path, words, sentence):
    check(run("reproduce", *words.split(), "--results", tmp_path), sentence)


def test_a_spent_budget_leaves_the_rest_for_later(run, tmp_path):
    command = ("reproduce", "table1", "--data", "MUTAG", "--method", "wl", "--repeats", "1")
    done = run(*command, "--budget", "0.001s", "--results", tmp_path)
    assert done.code == 0 and "the budget is spent" in done.err and "of 5 cells" in done.err
    assert len(list(tmp_path.glob("table1/*"))) < 5


def test_a_training_that_diverges_is_said_and_the_others_go_on(run, tmp_path, monkeypatch):
    def compute(cell, *_):
        if cell.settings["objective"] == "mean":
            return {"unit": "eV", "empty": "the loss became nan", "scores": {}}
        return {"unit": "eV", "scores": {"test_mae": 2.5}}

    monkeypatch.setattr(run_module, "compute", compute)
    command = ("reproduce", "table2", "--target", "U0", "--objective", "mean,atom-counts", "--seeds", "0")
    done = run(*command, "--results", tmp_path)
    assert done.code == 0 and "atom-counts" in done.out
    assert "the loss became nan" in next(line for line in done.out.splitlines() if " mean " in line)
    assert "U0 mean 0: the loss became nan (1 of 2 cells" in done.err


def test_what_a_cell_lacks_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_module, "compute", lambda *_: {"empty": "", "lacking": "diverged in epoch 57"})
    cell = Cell("table1", "MUTAG infograph", {"data": "MUTAG", "method": "infograph"})
    (found,) = RunOptions(results=tmp_path).run([[cell]])
    assert found["lacking"] and "MUTAG infograph: diverged in epoch 57 (1 of 1" in capsys.readouterr().err

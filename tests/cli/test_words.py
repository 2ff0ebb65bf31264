"""What the command line says of labels: missing ones, mistakes in its own words, narrow terminals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infograph import load
from infograph.cli import main
from infograph.cli.options import LabelOptions
from infograph.data.read import read_graphs
from tests.cli.conftest import MOLECULES, Run
from tests.cli.test_mistakes import check

QUICK = ("--epochs", "1", "--dim", "8")
SMILES = ["C" * (i // 8) + MOLECULES[i % 8] for i in range(48)]


def write(path: Path, head: str, values: list[str]) -> Path:
    rows = [f"m{i},{smiles},{value}" for i, (smiles, value) in enumerate(zip(SMILES, values, strict=False))]
    path.write_text("\n".join([f"name,smiles,{head}", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def energies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table of energies in eV and a model of them."""
    folder = tmp_path_factory.mktemp("energies")
    table = write(folder / "ev.csv", "b [eV]", [f"{i / 7}" for i in range(48)])
    assert main(["train", str(table), "--target", "b", "--out", str(folder / "m"), *QUICK]) == 0
    return table, folder / "m"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table of two classes and a model of them."""
    folder = tmp_path_factory.mktemp("classes")
    table = write(folder / "two.csv", "a", ["yes" if i % 2 else "no" for i in range(48)])
    assert main(["train", str(table), "--target", "a", "--out", str(folder / "m"), *QUICK]) == 0
    return table, folder / "m"


@pytest.mark.parametrize("mark", ["-999", "-999.0", "?"])
def test_marks_are_missing_values_from_start_to_end(run: Run, tmp_path: Path, mark: str) -> None:
    cell = "?" if mark == "?" else "-999"
    values = [f"{cell if i % 4 == 0 else i / 7},{cell if i % 5 == 0 else i / 3}" for i in range(48)]
    table, model = write(tmp_path / "sent.csv", "a,b", values), tmp_path / "m"
    words = ("--target", "a,b", "--unlabelled", mark, "--json", *QUICK)
    done = run("train", table, "--out", model, *words)
    assert done.code == 0, done.err
    assert done.json["graphs"] == {"labelled": 37, "unlabelled": 3, "validation": 4, "test": 4}
    assert all(row["test"] < 20 for row in done.json["table"])
    fitted = load(model)
    assert fitted.unlabelled == (mark if mark == "?" else -999)
    scores = run("predict", model, table, "--json").json["scores"]
    assert [score["n_graphs"] for score in scores] == [36, 38]
    known = [i for i in range(48) if i % 4]
    error = np.abs(fitted.predict(read_graphs(table))[known, 0] - np.array(known) / 7).mean()
    assert scores[0]["error"] == pytest.approx(error)
    check(run("train", table, "--out", tmp_path / "n", *words[:3], "-77"), "--unlabelled -77: not one of 48")


def test_marks_as_they_are_typed() -> None:
    typed = {"-999": -999, "-999.0": -999, "-99.5": -99.5, "?": "?", "nan": "nan", "1e3": 1000}
    assert {text: LabelOptions(unlabelled=text).mark for text in typed} == typed
    assert LabelOptions().mark is None


def test_minus_one_as_a_class_and_as_no_label(run: Run, tmp_path: Path) -> None:
    table = write(tmp_path / "pm.csv", "v", [f"{i % 2 * 2 - 1}" for i in range(48)])
    refused = run("train", table, "--target", "v", "--out", tmp_path / "m")
    check(refused, "--unlabelled -1", "--label v", "--target y")
    done = run("train", table, "--label", "v", "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert done.code == 0 and load(tmp_path / "m").classes_.tolist() == [-1, 1]
    three = write(tmp_path / "three.csv", "v", [f"{i % 3 - 1}" for i in range(48)])
    words = ("--target", "v", "--unlabelled", "-1", "--json", *QUICK)
    assert run("train", three, *words, "--out", tmp_path / "n").json["graphs"]["unlabelled"] == 16
    assert run("predict", tmp_path / "n", three, "--json").json["scores"][0]["n_graphs"] == 32


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--target ,", "',' names no column to predict"),
        ("--target b --objective pseudo-label", "use another objective, or --task classification"),
        ("--target b --unlabelled ?", "--unlabelled '?': not one of 48 graphs has this value of 'b [eV]'"),
    ],
)
def test_mistakes_in_the_words_of_the_command_line(
    run: Run, energies: tuple[Path, Path], tmp_path: Path, words: str, expected: str
) -> None:
    done = run("train", energies[0], "--out", tmp_path / "m", *words.split())
    check(done, expected)
    assert "InfoGraphClassifier" not in done.err


def test_labels_and_cells(run: Run, energies: tuple[Path, Path], tmp_path: Path) -> None:
    ten = write(tmp_path / "ten.csv", "v", ["abcdefghij"[i % 10] for i in range(48)])
    words = ("--target", "v", "--out", tmp_path / "m")
    check(run("train", ten, *words, "--labelled", "5"), "--labelled 5 is too small for 10 classes")
    bad = write(tmp_path / "bad.csv", "v", ["n.d." if i == 5 else f"{i / 7}" for i in range(48)])
    check(run("train", bad, *words), "bad.csv, line 7: ", "graph 5 (id 'm5') is 'n.d.'")
    bad.write_text(bad.read_text().replace("m2,CC(=O)O", "m2,C1CC("))
    assert "line 7: the column 'v'" in run("train", bad, *words, "--errors", "skip").err
    check(run("predict", energies[1], energies[0], "--std"), "the model is one network", "--n-models 5")


def test_evaluation_names_the_users_column(run: Run, energies: tuple[Path, Path]) -> None:
    check(run("evaluate", energies[1], energies[0], "--label", "b"), "the column 'b' holds measured values")


def test_few_rows_have_a_reason_for_empty_cells(run: Run, tmp_path: Path) -> None:
    done = run(
        "train",
        write(tmp_path / "few.csv", "v", ["0.1", "0.5", "0.7"]),
        "--target",
        "v",
        "--out",
        tmp_path / "m",
        *QUICK,
    )
    assert done.code == 0
    assert "There is no test error: of 3 labelled graphs none was held out" in done.err


def test_narrow_terminals_show_ids(
    run: Run, classes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    table, model = classes
    done = run("predict", model, table, "--probabilities")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:49]] == [f"m{i}" for i in range(48)]
    assert all(len(line) <= 40 for line in lines[:49]) and "…" not in done.out
    assert "Too narrow for: 'probability yes'; a wider terminal" in done.err
    monkeypatch.setenv("COLUMNS", "120")
    assert "Too narrow" not in run("predict", model, table, "--probabilities").err


def test_rows_that_failed_are_empty_cells(run: Run, energies: tuple[Path, Path], tmp_path: Path) -> None:
    source, path = tmp_path / "new.smi", tmp_path / "p.csv"
    source.write_text("CCO a\nC1CC( b\n")
    assert run("predict", energies[1], source, "--errors", "nan", "--out", path).code == 0
    assert path.read_text().splitlines()[2].startswith('"b",,"line 2')


def test_another_unit_is_said(run: Run, energies: tuple[Path, Path], tmp_path: Path) -> None:
    values = [f"{i / 7}" for i in range(48)]
    other, bare = (
        write(tmp_path / "kj.csv", "b [kJ/mol]", values),
        write(tmp_path / "bare.csv", "b", values),
    )
    done = run("predict", energies[1], other)
    assert "b [eV] was not compared: it is in kJ/mol here, and predicted in eV." in done.err
    assert "mean absolute error" not in done.out
    assert (
        "the column 'b' has no unit; if it is in eV, read it with --unit 'b=eV'."
        in run("predict", energies[1], bare).err
    )
    assert "over 48 graphs" in run("predict", energies[1], bare, "--unit", "b=eV").out

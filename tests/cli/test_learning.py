"""Labels to a model, a model to predictions, and how the training went."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from infograph import InfoGraphRegressor, load, load_dataset
from infograph.cli.options import LabelOptions
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.graphset import save_graphs
from infograph.data.qm9 import read_qm9
from infograph.data.read import read_graphs
from infograph.learn.parts import make_parts
from infograph.parameters import described
from infograph.train.checkpoint import kept_epochs
from tests.cli.conftest import QUICK, SHORT, Run, check, environment, write_table
from tests.processes import interrupted, started, wait_for


@pytest.fixture(scope="module")
def qm9(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = wheel_folder(entry_for("QM9"))
    if folder is None:
        pytest.skip("qm9pack is not installed")
    path = tmp_path_factory.mktemp("qm9") / "few"
    save_graphs(read_qm9(folder, limit=600), path)
    return path


def test_a_csv_with_gaps_becomes_a_model(run: Run, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    done = run("train", table, "--smiles", "smiles", "--target", "logS", "--out", model, *QUICK)
    assert done.code == 0
    assert "Predicting logS [mol/L] as numbers: 34 labelled, 22 unlabelled, 4 validation" in done.err
    last = done.err.strip().splitlines()[-1]
    for text in ("epoch 2/2", "supervised", "unsupervised", "transfer", "validation", "mol/L", "0:00 left"):
        assert text in last
    for text in ("error of logS [mol/L]", "validation, mol/L", "InfoGraph*", "mean of the labels"):
        assert text in done.out
    assert "least squares on atom counts" in done.out and "2 epochs" in done.out
    graphs = read_graphs(table)
    parts = make_parts(graphs, ["logS"])
    expected = InfoGraphRegressor(epochs=2, dim=16).fit(
        parts.train, parts.y, validation=(parts.validation, parts.y)
    )
    assert np.array_equal(load(model).predict(graphs), expected.predict(graphs))


def test_json_says_the_same(run: Run, table: Path, tmp_path: Path) -> None:
    words = ("--target", "active", "--labelled", "10", "--objective", "supervised", "--validation", "8")
    content = run("train", table, "--out", tmp_path / "model", *words, *QUICK, "--json").json
    assert (content["task"], content["objective"]) == ("classification", "supervised")
    assert content["graphs"] == {"labelled": 10, "unlabelled": 40, "validation": 8, "test": 6}
    assert [row["unit"] for row in content["table"]] == ["% wrong"] * 3
    assert load(tmp_path / "model").classes_.tolist() == ["no", "yes"]


def test_every_setting_reaches_the_model(run: Run, table: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    words = "--objective infograph-star --lam 0.01 --weight-decay 0.1 --transfer all --early-stopping 7 "
    words += "--lr 0.01 --batch-size 8 --layers 2 --seed 5 --encoder gin"
    assert run("train", table, "--target", "logS", "--out", first, *QUICK, *words.split()).code == 0
    settings = described(load(first))
    expected = {"objective": "infograph*", "lam": 0.01, "weight_decay": 0.1, "transfer": "all", "lr": 0.01}
    expected |= {"early_stopping": 7, "batch_size": 8, "random_state": 5, "encoder": "gin", "layers": 2}
    assert {name: settings[name] for name in expected} == expected
    start = ("--init-from", first, "--objective", "infograph*", "--epochs", "1")
    assert run("train", table, "--target", "active", "--out", second, *start).code == 0
    assert load(second).get_params()["dim"] == 16


def test_several_values_are_searched(run: Run, table: Path, tmp_path: Path) -> None:
    words = ("--lam", "1e-3,1e-4", "--weight-decay", "0,1e-4", *SHORT)
    done = run("train", table, "--target", "logS", "--out", tmp_path / "model", *words)
    assert done.code == 0 and done.out.count("chosen") == 1
    assert "setting 4 of 4: weight_decay 0.0001, lam 0.0001" in done.err and "run 4/4" in done.err
    tried = [line.split()[:2] for line in done.out.splitlines()[1:5]]
    assert tried == [["0", "0.001"], ["0", "0.0001"], ["0.0001", "0.001"], ["0.0001", "0.0001"]]


def test_qm9_as_in_the_paper(run: Run, qm9: Path, tmp_path: Path) -> None:
    model, path = tmp_path / "model", tmp_path / "p.parquet"
    words = "--target U0 --labelled 100 --validation 60 --test 60 --validate-on 20 --epochs 1 --dim 16 "
    words += "--batch-size 5 --seed 1 --units eV --objective infograph-star --json"
    done = run("train", qm9, *words.split(), "--out", model)
    assert done.json["graphs"] == {"labelled": 100, "unlabelled": 380, "validation": 60, "test": 60}
    assert {row["unit"] for row in done.json["table"]} == {"eV"}
    about = run("info", model, "--json").json
    assert (about["targets"], about["encoder"]) == ([{"name": "U0", "unit": "eV"}], "enn-s2s")
    assert run("predict", model, qm9, "--units", "eV", "--out", path).code == 0
    assert parquet.read_table(path).schema.field("U0").metadata == {b"unit": b"eV"}
    other = run("predict", model, qm9, "--out", path)
    assert "U0 was not compared: it is in hartree here, and predicted in eV." in other.err
    assert run("info", qm9, "--atomisation", "--json").json["bonds_from"]["smiles"] > 500
    assert run("info", qm9).out.count("hartree") == 8
    total, bonds = read_graphs(qm9), read_graphs(qm9, atomisation=True, energies="eV")
    assert np.abs(bonds.graph["U0"] / 27.2114).max() < 10 < np.abs(total.graph["U0"]).max()


def test_predictions_are_the_models(run: Run, table: Path, regressor: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    done = run("predict", regressor, table, "--std", "--columns", "active,logS", "--out", path)
    assert done.out.startswith(f"{path}: 64 predictions of logS [mol/L]\n")
    graphs = read_graphs(table)
    mean, spread = load(regressor).predict(graphs, return_std=True)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "active", "measured logS [mol/L]", "logS [mol/L]", "logS std [mol/L]"]
    assert np.allclose([float(row["logS [mol/L]"]) for row in rows], mean, rtol=1e-9)
    assert np.allclose([float(row["logS std [mol/L]"]) for row in rows], spread, rtol=1e-9)
    known = ~np.isnan(graphs.graph["logS [mol/L]"])
    error = np.abs(mean - graphs.graph["logS [mol/L]"])[known].mean()
    assert f"mean absolute error {error:.4g} mol/L over 42 graphs" in done.out


def test_predictions_on_the_terminal(run: Run, regressor: Path, tmp_path: Path) -> None:
    source, path = tmp_path / "new.smi", tmp_path / "p.csv"
    source.write_text("CCO a\nC1CC( b\nCCN c\n")
    done = run("predict", regressor, source, "--errors", "nan")
    assert done.out.splitlines()[0].split() == ["id", "logS", "[mol/L]", "problem"]
    assert "C1CC(" in " ".join(done.out.split())
    content = run("predict", regressor, source, "--errors", "nan", "--json").json
    assert [row["id"] for row in content["predictions"]] == ["a", "b", "c"]
    assert content["predictions"][1]["logS [mol/L]"] is None
    assert content["units"] == {"logS [mol/L]": "mol/L"}
    check(run("predict", regressor, source), "line 2", "C1CC(")
    assert run("predict", regressor, source, "--errors", "nan", "--out", path).code == 0
    assert path.read_text().splitlines()[2].startswith('"b",,"line 2')


def test_another_unit_is_said(run: Run, energies: tuple[Path, Path], tmp_path: Path) -> None:
    values = [f"{i / 7}" for i in range(48)]
    other, bare = tmp_path / "kj.csv", write_table(tmp_path / "bare.csv", "b", values)
    done = run("predict", energies[1], write_table(other, "b [kJ/mol]", values))
    assert "b [eV] was not compared: it is in kJ/mol here, and predicted in eV." in done.err
    assert "mean absolute error" not in done.out
    asked = run("predict", energies[1], bare).err
    assert "the column 'b' has no unit; if it is in eV, read it with --unit 'b=eV'." in asked
    assert "over 48 graphs" in run("predict", energies[1], bare, "--unit", "b=eV").out


def test_classes_come_with_probabilities(run: Run, tmp_path: Path) -> None:
    model, path = tmp_path / "model", tmp_path / "p.json"
    words = ("--target", "y", "--labelled", "20", "--objective", "infograph", *QUICK)
    assert run("train", "MUTAG", *words, "--out", model).code == 0
    assert run("predict", model, "MUTAG", "--probabilities", "--out", path).code == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    fitted, graphs = load(model), load_dataset("MUTAG")
    assert [row["y"] for row in rows] == fitted.predict(graphs).tolist()
    shares = np.array([[row["probability -1"], row["probability 1"]] for row in rows])
    assert np.allclose(shares, fitted.predict_proba(graphs))
    assert run("embed", model, "MUTAG", "--out", tmp_path / "v.parquet", "--json").json["dim"] == 16
    assert "predicted classes  -1, 1" in run("info", model).out


def test_history_of_both_kinds_of_models(
    run: Run, regressor: Path, mutag_model: Path, tmp_path: Path
) -> None:
    for model in (regressor, mutag_model):
        for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"")):
            path = tmp_path / f"history.{ending}"
            assert run("history", model, "--out", path).code == 0
            assert path.read_bytes().startswith(start)
    shown = run("history", regressor)
    assert "validation," in shown.out and "mol/L" in shown.out and "…" not in shown.out
    content = run("history", regressor, "--json").json
    assert (content["unit"], len(content["history"])) == ("mol/L", 4)
    untrained = tmp_path / "untrained"
    run("train", "MUTAG", "--out", untrained, "--epochs", "0", "--dim", "8")
    check(run("history", untrained), "was not trained")


def test_a_chemists_table(run: Run, tmp_path: Path) -> None:
    rows = [f"{'C' * n}{tail},{n + k / 10}" for n in range(1, 9) for k, tail in enumerate(("O", "N", "Cl"))]
    path, rejects = tmp_path / "a.csv", tmp_path / "rejects.csv"
    path.write_text("\n".join(["smiles,Tm", *rows, "CCO,9.5", "C1CC(,1.5", "CCN.Cl,2.5"]) + "\n")
    words = ("--salts", "strip", "--duplicates", "mean", "--unit", "Tm=K", "--rejects", rejects, *QUICK)
    done = run("train", path, "--target", "Tm", "--out", tmp_path / "m", *words, "--references", "all")
    assert done.code == 0
    assert "1 of 27 graphs could not be used" in done.err and "line 27: " in done.err
    assert "1 of 26 molecules lost a piece: Cl (1x)." in done.err
    assert "2 molecules stand there more than once" in done.err and "Rule mean" in done.err
    assert "fingerprints + random forest" in done.out and "test, K" in done.out
    assert rejects.read_text().splitlines()[1].startswith("line 27,25,25,")


@pytest.mark.parametrize("mark", ["-999.0", "?"])
def test_marks_are_missing_values_from_start_to_end(run: Run, tmp_path: Path, mark: str) -> None:
    cell = "?" if mark == "?" else "-999"
    values = [f"{cell if i % 4 == 0 else i / 7},{cell if i % 5 == 0 else i / 3}" for i in range(48)]
    table, model = write_table(tmp_path / "sent.csv", "a,b", values), tmp_path / "m"
    words = ("--target", "a,b", "--unlabelled", mark, "--json", *SHORT)
    done = run("train", table, "--out", model, *words)
    assert done.json["graphs"] == {"labelled": 37, "unlabelled": 3, "validation": 4, "test": 4}
    assert all(row["test"] < 20 for row in done.json["table"])
    fitted = load(model)
    assert fitted.unlabelled == (mark if mark == "?" else -999)
    scores = run("predict", model, table, "--json").json["scores"]
    assert [score["n_graphs"] for score in scores] == [36, 38]
    known = [i for i in range(48) if i % 4]
    error = np.abs(fitted.predict(read_graphs(table))[known, 0] - np.array(known) / 7).mean()
    assert scores[0]["error"] == pytest.approx(error)


def test_marks_as_they_are_typed() -> None:
    typed = {"-999": -999, "-999.0": -999, "-99.5": -99.5, "?": "?", "nan": "nan", "1e3": 1000}
    assert {text: LabelOptions(unlabelled=text).mark for text in typed} == typed
    assert LabelOptions().mark is None


def test_minus_one_as_a_class_and_as_no_label(run: Run, tmp_path: Path) -> None:
    table = write_table(tmp_path / "pm.csv", "v", [f"{i % 2 * 2 - 1}" for i in range(48)])
    done = run("train", table, "--label", "v", "--target", "y", "--out", tmp_path / "m", *SHORT)
    assert done.code == 0 and load(tmp_path / "m").classes_.tolist() == [-1, 1]
    three = write_table(tmp_path / "three.csv", "v", [f"{i % 3 - 1}" for i in range(48)])
    words = ("--target", "v", "--unlabelled", "-1", "--json", *SHORT)
    assert run("train", three, *words, "--out", tmp_path / "n").json["graphs"]["unlabelled"] == 16
    assert run("predict", tmp_path / "n", three, "--json").json["scores"][0]["n_graphs"] == 32


def test_few_rows_have_a_reason_for_empty_cells(run: Run, tmp_path: Path) -> None:
    few = write_table(tmp_path / "few.csv", "v", ["0.1", "0.5", "0.7"])
    done = run("train", few, "--target", "v", "--out", tmp_path / "m", *SHORT)
    assert done.code == 0
    assert "There is no test error: of 3 labelled graphs none was held out" in done.err


def test_interrupted_learning_can_be_resumed(table: Path, tmp_path: Path, run_alone: Run) -> None:
    state, model = tmp_path / "state", tmp_path / "model"
    words = ["train", str(table), "--target", "logS", "--out", str(model), "--dim", "8"]
    words += ["--checkpoint", str(state), "--n-models", "2", "--early-stopping", "100000"]
    command = [sys.executable, "-m", "infograph", *words, "--epochs", "100000"]
    with started(command, stderr=subprocess.PIPE, env=environment()) as process:
        wait_for(lambda: (kept_epochs(state) or 0) >= 2 or process.poll() is not None)
        err = interrupted(process)
    last = err.strip().splitlines()[-1]
    assert process.returncode == 130 and "Traceback" not in err
    assert last.startswith("Interrupted after epoch ") and last.endswith("--epochs 100000 --resume")
    epochs = int(last.split()[3].rstrip(";")) + 1
    resumed = run_alone(*words, "--epochs", str(epochs), "--resume")
    assert resumed.code == 0, resumed.err
    assert f"{2 * epochs} epochs" in resumed.out

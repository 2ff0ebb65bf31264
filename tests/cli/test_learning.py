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

from infograph import AtomCounts, InfoGraphRegressor, load, load_dataset
from infograph.cli import main
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.graphset import save_graphs
from infograph.data.qm9 import read_qm9
from infograph.data.read import read_graphs
from infograph.learn.parts import make_parts
from infograph.parameters import described
from infograph.train.checkpoint import kept_epochs
from tests.cli.conftest import MOLECULES, Run, environment
from tests.cli.test_mistakes import check
from tests.processes import interrupted, started, wait_for

QUICK = ("--epochs", "2", "--dim", "16")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 molecules: a value of which a third is missing, and a class."""
    path = tmp_path_factory.mktemp("mine") / "mine.csv"
    values = ["" if i % 3 == 0 else f"{i / 9:.3f}" for i in range(64)]
    kinds = ["yes" if i % 2 else "no" for i in range(64)]
    rows = [f"mol{i},{'C' * (i // 8)}{MOLECULES[i % 8]},{values[i]},{kinds[i]}" for i in range(64)]
    path.write_text("name,smiles,logS [mol/L],active\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def regressor(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    folder = tmp_path_factory.mktemp("mine") / "model"
    words = ["train", str(table), "--smiles", "smiles", "--target", "logS", "--out", str(folder)]
    assert main([*words, *QUICK, "--n-models", "2"]) == 0
    return folder


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
    parts = make_parts(read_graphs(table), ["logS"])
    expected = InfoGraphRegressor(epochs=2, dim=16).fit(
        parts.train, parts.y, validation=(parts.validation, parts.y)
    )
    graphs = read_graphs(table)
    assert np.array_equal(load(model).predict(graphs), expected.predict(graphs))


def test_json_says_the_same(run: Run, table: Path, tmp_path: Path) -> None:
    words = ("--target", "active", "--labelled", "10", "--objective", "supervised", "--validation", "8")
    done = run("train", table, "--out", tmp_path / "model", *words, *QUICK, "--json")
    content = done.json
    assert (content["task"], content["objective"]) == ("classification", "supervised")
    assert content["graphs"] == {"labelled": 10, "unlabelled": 40, "validation": 8, "test": 6}
    assert [row["unit"] for row in content["table"]] == ["% wrong"] * 3
    assert load(tmp_path / "model").classes_.tolist() == ["no", "yes"]


def test_every_setting_reaches_the_model(run: Run, table: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    options = (
        "--objective infograph-star --lam 0.01 --weight-decay 0.1 --transfer all --early-stopping 7 --lr 0.01"
    )
    words = [*options.split(), "--batch-size", "8", "--layers", "2", "--seed", "5", "--encoder", "gin"]
    assert run("train", table, "--target", "logS", "--out", first, *QUICK, *words).code == 0
    settings = described(load(first))
    expected = {"objective": "infograph*", "lam": 0.01, "weight_decay": 0.1, "transfer": "all", "lr": 0.01}
    expected |= {"early_stopping": 7, "batch_size": 8, "random_state": 5, "encoder": "gin", "layers": 2}
    assert {name: settings[name] for name in expected} == expected
    start = ("--init-from", first, "--objective", "infograph*", "--epochs", "1")
    assert run("train", table, "--target", "active", "--out", second, *start).code == 0
    assert load(second).get_params()["dim"] == 16


def test_several_values_are_searched(run: Run, table: Path, tmp_path: Path) -> None:
    words = ("--lam", "1e-3,1e-4", "--weight-decay", "0,1e-4", "--epochs", "1", "--dim", "8")
    done = run("train", table, "--target", "logS", "--out", tmp_path / "model", *words)
    assert done.code == 0
    assert done.out.count("chosen") == 1
    assert "setting 4 of 4: weight_decay 0.0001, lam 0.0001" in done.err and "run 4/4" in done.err
    assert [line.split()[:2] for line in done.out.splitlines()[1:5]] == [
        ["0", "0.001"],
        ["0", "0.0001"],
        ["0.0001", "0.001"],
        ["0.0001", "0.0001"],
    ]


def test_qm9_as_in_the_paper(run: Run, qm9: Path, tmp_path: Path) -> None:
    model, path = tmp_path / "model", tmp_path / "p.parquet"
    words = (
        "--target",
        "U0",
        "--labelled",
        "100",
        "--validation",
        "60",
        "--test",
        "60",
        "--validate-on",
        "20",
    )
    quick = ("--epochs", "1", "--dim", "16", "--batch-size", "5", "--seed", "1", "--units", "eV", "--json")
    done = run("train", qm9, *words, *quick, "--objective", "infograph-star", "--out", model)
    assert done.json["graphs"] == {"labelled": 100, "unlabelled": 380, "validation": 60, "test": 60}
    assert {row["unit"] for row in done.json["table"]} == {"eV"}
    about = run("info", model, "--json").json
    assert (about["targets"], about["encoder"]) == ([{"name": "U0", "unit": "eV"}], "enn-s2s")
    assert run("predict", model, qm9, "--units", "eV", "--out", path).code == 0
    written = parquet.read_table(path)
    assert written.schema.field("U0").metadata == {b"unit": b"eV"}
    refused = run("predict", model, qm9, "--out", path)
    assert "U0 was not compared: it is in hartree here, and predicted in eV." in refused.err
    less = run("info", qm9, "--atomisation", "--json")
    assert less.json["bonds_from"]["smiles"] > 500
    assert run("info", qm9).out.count("hartree") == 8


def test_atomisation_energies_are_small(qm9: Path) -> None:
    total, bonds = read_graphs(qm9), read_graphs(qm9, atomisation=True, energies="eV")
    assert np.abs(bonds.graph["U0"] / 27.2114).max() < 10 < np.abs(total.graph["U0"]).max()


def test_predictions_are_the_models(run: Run, table: Path, regressor: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    done = run("predict", regressor, table, "--std", "--columns", "active,logS", "--out", path)
    assert done.code == 0
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
    source = tmp_path / "new.smi"
    source.write_text("CCO a\nC1CC( b\nCCN c\n")
    done = run("predict", regressor, source, "--errors", "nan")
    assert done.out.splitlines()[0].split() == ["id", "logS", "[mol/L]", "problem"]
    assert "C1CC(" in " ".join(done.out.split())
    content = run("predict", regressor, source, "--errors", "nan", "--json").json
    assert [row["id"] for row in content["predictions"]] == ["a", "b", "c"]
    assert content["predictions"][1]["logS [mol/L]"] is None
    assert content["units"] == {"logS [mol/L]": "mol/L"}
    check(run("predict", regressor, source), "line 2", "C1CC(")


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
    vectors = tmp_path / "v.parquet"
    assert run("embed", model, "MUTAG", "--out", vectors, "--json").json["dim"] == 16
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
    check(run("history", regressor, "--out", tmp_path / "h.pdf"), ".png or .svg")
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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--target nope", "no graph column 'nope'"),
        ("--target logS --lam 1,x", "'1,x', expected a number, or several"),
        ("--lam 1", "--lam: it needs --target"),
        ("--target logS --objective supervised --prior 1", "'prior' is no parameter of"),
        ("--weight-decay 0,1", "--weight-decay: several values are a search"),
        ("--target logS --validation 0 --lam 1,2", "a search over lam needs validation graphs"),
        ("--target logS --objective entropy", "is for classes"),
        ("--target logS --objective none", "'none' is not one of"),
        ("--target logS,active", "'active' holds classes"),
        ("--target logS --labelled 500", "500 are needed"),
        ("--target logS --task classification", "looks like a regression target"),
        ("--target active --task regression", "no number"),
        ("--target smiles", "hardly repeat"),
        ("--target logS --units eV", "no graph column is an energy"),
        ("--target logS --atomisation", "atomisation energies need"),
        ("--target logS --init-from nowhere", "no model folder nowhere"),
        ("--target logS --validate-on 0", "validate_on=0"),
        ("--target logS --n-models 0", "--n-models must be an int in the range [1, inf), not 0"),
        ("--target logS --lam 1,2 --checkpoint state", "keeps no checkpoint"),
    ],
)
def test_mistakes(run: Run, table: Path, tmp_path: Path, words: str, expected: str) -> None:
    check(run("train", table, "--out", tmp_path / "model", *words.split()), expected)
    assert not (tmp_path / "model").exists()


def test_models_are_asked_for_what_they_can_do(
    run: Run, mutag_model: Path, regressor: Path, table: Path, tmp_path: Path
) -> None:
    check(run("predict", mutag_model, "MUTAG"), "an InfoGraph makes vectors and predicts nothing")
    check(run("predict", regressor, table, "--probabilities"), "has no probabilities")
    check(run("predict", regressor, table, "--out", tmp_path / "p.xlsx"), ".parquet, .csv or .json")
    check(run("predict", tmp_path / "none", table), "no model folder")
    check(run("predict", regressor, table, "--columns", "q"), "no graph column 'q'")
    counts = AtomCounts().fit(read_graphs(table), "logS [mol/L]").save(tmp_path / "counts")
    check(
        run("embed", counts, table, "--out", tmp_path / "v.csv"), "an AtomCounts predicts and has no vectors"
    )
    assert run("predict", counts, table).code == 0
    about = run("info", counts, "--json").json
    assert about["targets"] == [{"name": "logS [mol/L]", "unit": "mol/L"}] and "dim" not in about
    assert "predicts" in run("info", counts).out


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

"""Labels to a model, a model to predictions, and how the training went."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as parquet
import pytest

from infograph import InfoGraphRegressor, load, load_dataset
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.graphset import save_graphs
from infograph.data.qm9 import read_qm9
from infograph.data.read import read_graphs
from infograph.learn.parts import make_parts
from infograph.parameters import described
from tests.cli.conftest import QUICK, SHORT, check, write_table


def test_a_csv_with_gaps_becomes_a_model(run, table, tmp_path):
    model = tmp_path / "model"
    words = ("--smiles", "smiles", "--target", "logS", "--objective", "infograph*")
    done = run("train", table, *words, "--out", model, *QUICK)
    assert done.code == 0
    assert "Predicting logS [mol/L] as numbers: 34 labelled, 22 unlabelled, 4 validation" in done.err
    (last,) = [line for line in done.err.splitlines() if "epoch 2/2" in line]
    for text in ("epoch 2/2", "supervised", "unsupervised", "transfer", "validation", "mol/L", "0:00 left"):
        assert text in last
    for text in ("logS [mol/L]", "InfoGraph*", "mean of the labels", "least squares", "2 epochs", "random"):
        assert text in done.out
    assert "Not enough data to say which is better: RMSE" in done.out and (model / "report.html").is_file()
    results = json.loads((model / "results.json").read_text())
    assert results["verdicts"][0]["sentence"] in done.out
    assert results["verdicts"][0]["sentence"] in (model / "README.md").read_text()
    graphs = read_graphs(table)
    parts = make_parts(graphs, ["logS"])
    expected = InfoGraphRegressor("infograph*", epochs=2, dim=16).fit(
        parts.train, parts.y, validation=(parts.validation, parts.y)
    )
    assert np.array_equal(load(model).predict(graphs), expected.predict(graphs))


def test_json_says_the_same(run, table, tmp_path):
    words = ("--target", "active", "--labelled", "10", "--objective", "supervised", "--validation", "8")
    content = run("train", table, "--out", tmp_path / "model", *words, *QUICK, "--json").json
    assert (content["task"], content["objective"]) == ("classification", "supervised")
    assert content["graphs"] == {"labelled": 10, "unlabelled": 40, "validation": 8, "test": 6}
    assert [row["unit"] for row in content["table"]] == ["% wrong"] * 4
    assert load(tmp_path / "model").classes_.tolist() == ["no", "yes"]


@pytest.mark.filterwarnings("ignore:.*a single labelled graph")
def test_few_whole_numbers_may_be_measured(run, tmp_path):
    table = write_table(tmp_path / "a.csv", "temperature", [f"{10 * i}" for i in range(12)])
    done = run("train", table, "--target", "temperature", "--out", tmp_path / "model", *QUICK)
    last = done.err.splitlines()[-1]
    assert done.code == 2 and "is not among those of the training: " in last
    assert last.endswith("; measured numbers are for InfoGraphRegressor, or --task regression")
    words = ("--task", "regression", "--target", "temperature")
    assert run("train", table, *words, "--out", tmp_path / "model", *QUICK).code == 0


def test_every_setting_reaches_the_model(run, table, tmp_path):
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


def test_several_values_are_searched(run, table, tmp_path):
    words = ("--lam", "1e-3,1e-4", "--weight-decay", "0,1e-4", *SHORT)
    done = run("train", table, "--target", "logS", "--out", tmp_path / "model", *words)
    assert done.code == 0 and done.out.count("chosen") == 1
    assert "setting 4 of 4: weight_decay 0.0001, lam 0.0001" in done.err and "run 4/4" in done.err
    tried = [line.split()[:2] for line in done.out.splitlines()[1:5]]
    assert tried == [["0", "0.001"], ["0", "0.0001"], ["0.0001", "0.001"], ["0.0001", "0.0001"]]


def test_qm9_as_in_the_paper(run, tmp_path):
    folder = wheel_folder(entry_for("QM9"))
    if folder is None:
        pytest.skip("qm9pack is not installed")
    qm9, model, path = tmp_path / "few", tmp_path / "model", tmp_path / "p.parquet"
    save_graphs(read_qm9(folder, limit=600), qm9)
    words = "--target U0 --labelled 100 --validation 60 --test 60 --validate-on 20 --epochs 1 --dim 16 "
    words += "--batch-size 5 --seed 1 --units eV --objective infograph-star --json"
    content = run("train", qm9, *words.split(), "--out", model).json
    assert content["graphs"] == {"labelled": 100, "unlabelled": 380, "validation": 60, "test": 60}
    assert {row["unit"] for row in content["table"]} == {"eV"}
    about = run("info", model, "--json").json
    assert (about["targets"], about["encoder"]) == ([{"name": "U0", "unit": "eV"}], "enn-s2s")
    assert run("predict", model, qm9, "--units", "eV", "--out", path).code == 0
    assert parquet.read_table(path).schema.field("U0").metadata == {b"unit": b"eV"}
    other = run("predict", model, qm9, "--out", path)
    assert "U0 was not compared: it is in hartree here, and predicted in eV." in other.err
    assert run("info", qm9, "--atomisation", "--json").json["bonds_from"]["smiles"] > 500


def test_predictions_are_the_models(run, table, regressor, tmp_path):
    path = tmp_path / "predictions.csv"
    done = run("predict", regressor, table, "--std", "--columns", "active,logS", "--out", path)
    assert "predicting 128/128" in done.err  # 64 molecules by two networks
    assert done.out.startswith(f"{path}: 64 predictions of logS [mol/L]\n")
    graphs = read_graphs(table)
    mean, spread = load(regressor).predict(graphs, return_std=True)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "active", "measured logS [mol/L]", "logS [mol/L]", "logS std [mol/L]"]
    assert np.allclose([float(row["logS [mol/L]"]) for row in rows], mean, rtol=1e-9)
    assert np.allclose([float(row["logS std [mol/L]"]) for row in rows], spread, rtol=1e-9)
    error = np.nanmean(np.abs(mean - graphs.graph["logS [mol/L]"]))
    assert f"logS [mol/L]: MAE {error:.4g} mol/L, RMSE" in done.out and "over 42 graphs" in done.out
    assert "Where the model learned from these graphs, new ones will have larger errors." in done.out


def test_predictions_on_the_terminal(run, regressor, tmp_path):
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


def test_another_unit_is_said(run, regressor, tmp_path):
    values = [f"{i / 7}" for i in range(48)]
    done = run("predict", regressor, write_table(tmp_path / "other.csv", "logS [g/L]", values))
    assert "logS [mol/L] was not compared: it is in g/L here, and predicted in mol/L." in done.err
    bare = write_table(tmp_path / "bare.csv", "logS", values)
    assert "if it is in mol/L, read it with --unit 'logS=mol/L'." in run("predict", regressor, bare).err
    assert "over 48 graphs" in run("predict", regressor, bare, "--unit", "logS=mol/L").out


def test_classes_come_with_probabilities(run, tmp_path):
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


def test_history_of_both_kinds_of_models(run, regressor, mutag_model, tmp_path):
    for model in (regressor, mutag_model):
        for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"")):
            path = tmp_path / f"history.{ending}"
            assert run("history", model, "--out", path).code == 0
            assert path.read_bytes().startswith(start)
    shown = run("history", regressor)
    assert "validation," in shown.out and "mol/L" in shown.out and "…" not in shown.out
    content = run("history", regressor, "--json").json
    assert (content["unit"], len(content["history"])) == ("mol/L", 4)
    run("train", "MUTAG", "--out", tmp_path / "untrained", "--epochs", "0", "--dim", "8")
    check(run("history", tmp_path / "untrained"), "was not trained")


def test_a_chemists_table(run, tmp_path):
    rows = [f"{'C' * n}{tail},{n + k / 10}" for n in range(1, 9) for k, tail in enumerate(("O", "N", "Cl"))]
    path, rejects = tmp_path / "a.csv", tmp_path / "rejects.csv"
    path.write_text("\n".join(["smiles,Tm", *rows, "CCO,9.5", "C1CC(,1.5", "CCN.Cl,2.5"]) + "\n")
    words = ("--salts", "strip", "--duplicates", "mean", "--unit", "Tm=K", "--rejects", rejects, *QUICK)
    done = run("train", path, "--target", "Tm", "--out", tmp_path / "m", *words)
    assert done.code == 0
    assert "1 of 27 graphs could not be used" in done.err and "line 27: " in done.err
    assert "1 of 26 molecules lost a piece: Cl (1x)." in done.err and "K" in done.out
    assert "2 molecules stand there more than once" in done.err and "Rule mean" in done.err
    assert "random forest on" in done.out
    assert rejects.read_text().splitlines()[1].startswith("line 27,25,25,")


@pytest.mark.parametrize(("mark", "cell"), [("-999.0", "-999"), ("?", "?"), ("-1", "-1")])
def test_marks_are_missing_values_from_start_to_end(run, tmp_path, mark, cell):
    values = [f"{cell if i % 4 == 0 else i / 7},{cell if i % 5 == 0 else i / 3}" for i in range(48)]
    table, model = write_table(tmp_path / "sent.csv", "a,b", values), tmp_path / "m"
    words = ("--target", "a,b", "--unlabelled", mark, "--json", *SHORT)
    content = run("train", table, "--out", model, *words).json
    assert content["graphs"] == {"labelled": 37, "unlabelled": 3, "validation": 4, "test": 4}
    assert all(row["test"]["MAE"] < 20 for row in content["table"])
    scores = run("predict", model, table, "--json").json["scores"]
    assert [score["n_graphs"] for score in scores] == [36, 38]
    known = [i for i in range(48) if i % 4]
    error = np.abs(load(model).predict(read_graphs(table))[known, 0] - np.array(known) / 7).mean()
    assert scores[0]["figures"]["MAE"] == pytest.approx(error)


def test_few_rows_have_a_reason_for_empty_cells(run, tmp_path):
    few = write_table(tmp_path / "few.csv", "v", ["0.1", "0.5", "0.7"])
    done = run("train", few, "--target", "v", "--out", tmp_path / "m", *SHORT)
    assert done.code == 0
    assert "There is no test error: of 3 labelled graphs none was held out" in done.err
    check(run("predict", tmp_path / "m", few, "--std"), "--n-models 5")

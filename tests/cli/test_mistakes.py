from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from infograph.data.vectors import read_embeddings
from tests.cli.conftest import SMALL, Result, Run


def check(done: Result, *expected: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that says what is wrong."""
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1
    assert "Traceback" not in done.err
    for text in expected:
        assert text in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train MUTAG", "Missing option '--out'"),
        ("train", "Missing argument"),
        ("embed x MUTAG --out v.parquet --errors maybe", "'maybe' is not one of"),
        ("train MUTAG --out m --readout median", "'median' is not one of"),
        ("train MUTAG --out m --epochs many", "--epochs"),
        ("train MUTAG --out m --bogus", "No such option"),
        ("fit MUTAG", "No such command 'fit'"),
        ("train MUTAG --out m --resume", "--checkpoint"),
    ],
)
def test_options(run: Run, words: str, expected: str) -> None:
    check(run(*words.split()), expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--epochs -1", "--epochs must be an int in the range [0, inf), not -1"),
        ("--dim 2 --layers 4", "dim=2 is less than layers=4"),
        ("--lr 0", "--lr must be a float in the range (0.0, inf), not 0.0"),
        ("--device moon", "device='moon'"),
        ("--node-columns colour", "no node column 'colour'; the graphs have: 'label'"),
        ("--batch-size 1", "--batch-size must be an int in the range [2, inf), not 1"),
    ],
)
def test_settings(run: Run, tmp_path: Path, words: str, expected: str) -> None:
    check(run("train", "MUTAG", "--out", tmp_path / "model", *words.split()), expected)
    assert not (tmp_path / "model").exists()


def test_sources_that_are_not_there(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    check(run("info", tmp_path / "none.csv"), "none.csv does not exist")
    check(run("info", "MUTGA-?"), "no data set 'MUTGA-?'", "Did you mean MUTAG?")
    check(run("info", "nowhere/to/be/found"), "does not exist")


def test_files_that_are_not_what_they_say(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    check(run("info", empty), "empty.csv is empty")
    zipped = tmp_path / "set.zip"
    zipped.write_bytes(b"PK no zip")
    check(run("info", zipped), "set.zip")
    strange = tmp_path / "graphs.docx"
    strange.write_text("?")
    check(run("info", strange), "graphs.docx", ".docx")


def test_models_that_are_not_there_or_damaged(run: Run, mutag_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.parquet"
    check(run("embed", tmp_path / "none", "MUTAG", "--out", out), "no model folder")
    check(run("evaluate", tmp_path / "none", "MUTAG"), "no model folder")
    for name in ("config.json", "schema.json", "model.safetensors"):
        copy = tmp_path / f"without-{name}"
        shutil.copytree(mutag_model, copy)
        (copy / name).unlink()
        check(run("embed", copy, "MUTAG", "--out", out), name, "is missing")
        (copy / name).write_bytes((mutag_model / name).read_bytes()[:30])
        check(run("embed", copy, "MUTAG", "--out", out), name, "is damaged")
        check(run("evaluate", copy, "MUTAG"), name)
    assert not out.exists()


def test_features_that_do_not_match(run: Run, mutag_model: Path, networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.parquet"
    out.write_bytes(b"yesterday's work")
    check(run("embed", mutag_model, networks, "--out", out), "label")
    assert out.read_bytes() == b"yesterday's work"


def test_strange_categories_are_warned_about_once(run: Run, mutag_model: Path, tmp_path: Path) -> None:
    lines = ['{"nodes": [{"label": 0}, {"label": 99}], "edges": [[0, 1]]}'] * 2
    source = tmp_path / "graphs.jsonl"
    source.write_text("\n".join(lines))
    done = run("embed", mutag_model, source, "--out", tmp_path / "v.csv")
    assert done.code == 0
    assert done.err.count("Warning") == 1
    assert "99 (2x)" in done.err


def test_unreadable_smiles_stop_by_default(
    run: Run, molecule_model: Path, broken_molecules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.csv"
    done = run("embed", molecule_model, broken_molecules, "--out", out, "--id-column", "name")
    check(done, "graph 1", "id 'b'", "line 3", "C1CC(")
    assert not out.exists()
    check(run("train", broken_molecules, "--out", tmp_path / "model", *SMALL), "graph 1", "C1CC(")


def test_unreadable_smiles_can_be_skipped(
    run: Run, molecule_model: Path, broken_molecules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.csv"
    words = ("--id-column", "name", "--errors", "skip")
    done = run("embed", molecule_model, broken_molecules, "--out", out, *words)
    assert done.code == 0
    assert "1 of 3 graphs could not be used" in done.err
    assert "id 'b'" in done.err
    assert "line 3" in done.err
    assert read_embeddings(out).ids.tolist() == ["a", "c"]
    listed = run("embed", molecule_model, broken_molecules, "--out", out, *words, "--json").json["rejected"]
    assert [(each["index"], each["graph_id"]) for each in listed] == [(1, "b")]
    trained = run("train", broken_molecules, "--out", tmp_path / "m", "--errors", "skip", *SMALL)
    assert "trained on 2 graphs" in trained.out


def test_unreadable_smiles_can_keep_their_rows(
    run: Run, molecule_model: Path, broken_molecules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.parquet"
    words = ("--id-column", "name", "--errors", "nan", "--columns", "active")
    done = run("embed", molecule_model, broken_molecules, "--out", out, *words)
    assert done.out == f"{out}: 3 vectors of 8 numbers, 1 of them NaN\n"
    found = read_embeddings(out)
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.usable.tolist() == [True, False, True]
    assert np.isnan(found.vectors[1]).all()
    assert "C1CC(" in found.columns["problem"][1]
    drawn = run("map", out, "--out", tmp_path / "map.png", "--colour", "active")
    assert drawn.code == 0
    assert "1 graphs without a vector were left out" in drawn.err


def test_places_that_cannot_be_written(run: Run, mutag_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    vectors = tmp_path / "vectors.parquet"
    run("embed", mutag_model, "MUTAG", "--out", vectors)
    check(run("train", "MUTAG", "--out", file), "is a file")
    check(run("train", "MUTAG", "--out", full), "holds other files")
    check(run("train", "MUTAG", "--out", file / "model"), "there is a file in its place")
    check(run("study", "MUTAG", "--out", file), "is a file")
    check(run("embed", mutag_model, "MUTAG", "--out", full / "v.txt"), ".parquet or .csv")
    check(run("embed", mutag_model, "MUTAG", "--out", file / "v.csv"), "there is a file in its place")
    check(run("map", vectors, "--out", tmp_path / "map.pdf"), ".png, .html or .parquet")
    check(run("map", vectors, "--out", file / "map.html"), "there is a file in its place")
    check(run("map", mutag_model, "--out", tmp_path / "map.html"), "name the graphs")
    check(run("map", vectors, "--out", file / "map.png"), "there is a file in its place")
    assert [path.name for path in full.iterdir()] == ["thesis.txt"]
    assert file.read_text() == "mine"


def test_foreign_config_is_no_model_to_replace(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"format": "something else"}')
    check(run("train", "MUTAG", "--out", other), "holds other files")
    assert (other / "config.json").read_text() == '{"format": "something else"}'


def test_disk_errors_are_one_sentence(
    run: Run, mutag_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    done = run("embed", mutag_model, "MUTAG", "--out", tmp_path / "v.csv")
    check(done, f"Error: {tmp_path}: Permission denied")


def test_columns_that_are_not_there(run: Run, mutag_model: Path, molecules: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.parquet"
    check(run("embed", mutag_model, "MUTAG", "--out", vectors, "--columns", "q"), "no graph column 'q'")
    run("embed", mutag_model, "MUTAG", "--out", vectors)
    check(run("evaluate", vectors), "no graph column 'y'; there are: none")
    check(run("map", vectors, "MUTAG", "--out", tmp_path / "m.png", "--colour", "q"), "no graph column 'q'")
    check(run("evaluate", vectors, "MUTAG", "--label", "q"), "no graph column 'q'")
    check(run("evaluate", vectors, molecules, "--label", "active"), "have no vector")
    check(run("evaluate", mutag_model), "is a model")
    check(run("evaluate", vectors, "MUTAG", "--classifier", "tree"), "no classifier 'tree'")
    check(run("evaluate", vectors, "MUTAG", "--folds", "100"), "too few for folds=100")
    check(run("study", molecules, "--label", "q", "--out", tmp_path / "s"), "--label q")


def test_defects_are_no_tracebacks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("infograph.data.datasets.describe_datasets", broken)
    done = run("datasets")
    assert done.code == 1
    assert done.err.startswith("Failed: RuntimeError: a bug")
    assert "Traceback" not in done.err
    monkeypatch.setenv("INFOGRAPH_DEBUG", "1")
    assert "Traceback" in run("datasets").err

"""Mistakes are one sentence in the words of the command line, and leave everything as it was."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from infograph import AtomCounts
from infograph.cli import main
from infograph.data.read import read_graphs
from infograph.data.vectors import read_embeddings
from tests.cli.conftest import SMALL, Run, check, write_table


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory,
    mutag_model: Path,
    molecules: Path,
    molecule_model: Path,
    networks: Path,
    table: Path,
    regressor: Path,
    energies: tuple[Path, Path],
    index: Path,
) -> dict[str, Path]:
    """What stands for the names in braces below."""
    folder = tmp_path_factory.mktemp("places")
    for name, text in (("file", "mine"), ("empty.csv", ""), ("set.zip", "PK no zip"), ("graphs.docx", "?")):
        (folder / name).write_text(text)
    for name, text in (("full", "mine"), ("other", '{"format": "something else"}')):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(text)
    write_table(folder / "ten.csv", "v", ["abcdefghij"[i % 10] for i in range(48)])
    write_table(folder / "pm.csv", "v", [f"{i % 2 * 2 - 1}" for i in range(48)])
    write_table(folder / "bad.csv", "v", ["n.d." if i == 5 else f"{i / 7}" for i in range(48)])
    vectors = folder / "vectors.parquet"
    assert main(["embed", str(mutag_model), "MUTAG", "--out", str(vectors)]) == 0
    AtomCounts().fit(read_graphs(table), "logS [mol/L]").save(folder / "counts")
    return {
        "here": folder,
        "mutag": mutag_model,
        "molecules": molecules,
        "model": molecule_model,
        "networks": networks,
        "table": table,
        "regressor": regressor,
        "ev": energies[0],
        "ev_model": energies[1],
        "index": index,
        "vectors": vectors,
    }


OPTIONS = [
    ("train MUTAG", "Missing option '--out'"),
    ("train", "Missing argument"),
    ("embed x MUTAG --out v.parquet --errors maybe", "'maybe' is not one of"),
    ("train MUTAG --out m --readout median", "'median' is not one of"),
    ("train MUTAG --out m --epochs many", "--epochs"),
    ("train MUTAG --out m --bogus", "No such option"),
    ("fit MUTAG", "No such command 'fit'"),
    ("train MUTAG --out m --resume", "--checkpoint"),
]
SETTINGS = [
    ("--epochs -1", "--epochs must be an int in the range [0, inf), not -1"),
    ("--dim 2 --layers 4", "dim=2 is less than layers=4"),
    ("--lr 0", "--lr must be a float in the range (0.0, inf), not 0.0"),
    ("--device moon", "device='moon'"),
    ("--node-columns colour", "no node column 'colour'; the graphs have: 'label'"),
    ("--batch-size 1", "--batch-size must be an int in the range [2, inf), not 1"),
]
LABELS = [
    ("--target nope", "no graph column 'nope'"),
    ("--target ,", "',' names no column to predict"),
    ("--target logS --lam 1,x", "'1,x', expected a number, or several"),
    ("--lam 1", "--lam: it needs --target"),
    ("--target logS --objective supervised --prior 1", "'prior' is no parameter of"),
    ("--weight-decay 0,1", "--weight-decay: several values are a search"),
    ("--target logS --validation 0 --lam 1,2", "a search over lam needs validation graphs"),
    ("--target logS --objective entropy", "use another objective, or --task classification"),
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
    (
        "--target logS --unlabelled ?",
        "--unlabelled '?': not one of 64 graphs has this value of 'logS [mol/L]'",
    ),
    ("--target logS --workers 2", "--workers and --on are for training without labels"),
]
FILES = [
    ("info {here}/none.csv", "none.csv does not exist"),
    ("info MUTGA-?", "no data set 'MUTGA-?'"),
    ("info nowhere/to/be/found", "does not exist"),
    ("info {here}/empty.csv", "empty.csv is empty"),
    ("info {here}/set.zip", "set.zip"),
    ("info {here}/graphs.docx", ".docx"),
    ("info {table} --unit Tm", "'Tm', expected COLUMN=UNIT such as logS=mol/L"),
    ("info {table} --unit =K", "'=K', expected COLUMN=UNIT"),
    ("info {table} --unit logP=K", "units: there is no graph column 'logP', only ['smiles', 'logS [mol/L]'"),
    ("info {table} --salts remove", "'remove' is not one of"),
    ("train {here}/ten.csv --target v --labelled 5 --out {out}", "--labelled 5 is too small for 10 classes"),
    ("train {here}/bad.csv --target v --out {out}", "bad.csv, line 7: "),
    ("train {here}/pm.csv --target v --out {out}", "--unlabelled -1"),
]
OUTPUTS = [
    ("train MUTAG --out {here}/file", "is a file"),
    ("train MUTAG --out {here}/full", "holds other files"),
    ("train MUTAG --out {here}/other", "holds other files"),
    ("train MUTAG --out {here}/file/model", "there is a file in its place"),
    ("study MUTAG --out {here}/file", "is a file"),
    ("embed {mutag} MUTAG --out {here}/v.txt", ".parquet or .csv"),
    ("embed {mutag} MUTAG --out {here}/file/v.csv", "there is a file in its place"),
    ("map {vectors} --out {out}.pdf", ".png, .html or .parquet"),
    ("map {vectors} --out {here}/file/map.html", "there is a file in its place"),
    ("map {vectors} --out {here}/file/map.png", "there is a file in its place"),
    ("map {mutag} --out {out}.html", "name the graphs"),
    ("history {regressor} --out {out}.pdf", ".png or .svg"),
    ("predict {regressor} {table} --out {out}.xlsx", ".parquet, .csv or .json"),
    ("index {model} {molecules} --out {model}", "is read here"),
    ("search {index} CCO --html {here}", "is a folder"),
]
MODELS = [
    ("embed {here}/none MUTAG --out {out}.csv", "no model folder"),
    ("embed {mutag} {networks} --out {out}.csv", "label"),
    ("embed {mutag} MUTAG --columns q --out {out}.csv", "no graph column 'q'"),
    ("embed {mutag} MUTAG --workers 2 --out {out}.csv", "are for many files"),
    ("embed {here}/counts {table} --out {out}.csv", "an AtomCounts predicts and has no vectors"),
    ("evaluate {here}/none MUTAG", "no model folder"),
    ("evaluate {mutag}", "is a model"),
    ("evaluate {vectors}", "no graph column 'y'; there are: none"),
    ("evaluate {vectors} MUTAG --label q", "no graph column 'q'"),
    ("evaluate {vectors} {molecules} --label active", "have no vector"),
    ("evaluate {vectors} MUTAG --classifier tree", "no classifier 'tree'"),
    ("evaluate {vectors} MUTAG --folds 100", "too few for folds=100"),
    ("evaluate {ev_model} {ev} --label b", "the column 'b' holds measured values"),
    ("map {vectors} MUTAG --colour q --out {out}.png", "no graph column 'q'"),
    ("study {molecules} --label q --out {out}", "--label q"),
    ("predict {mutag} MUTAG", "an InfoGraph makes vectors and predicts nothing"),
    ("predict {regressor} {table} --probabilities", "has no probabilities"),
    ("predict {here}/none {table}", "no model folder"),
    ("predict {regressor} {table} --columns q", "no graph column 'q'"),
    ("predict {ev_model} {ev} --std", "--n-models 5"),
]
SEARCHES = [
    ("search {index}", "QUERY is missing"),
    ("search {index} CCO --duplicates", "leave QUERY, --id and --html out"),
    ("search {index} CCO --tolerance 0.1", "--tolerance belongs to --duplicates"),
    ("search {index} --duplicates --tolerance 7", "tolerance=7.0"),
    ("search {index} CCO -k 0", "k=0"),
    ("search {index} CCO --id", "no graph of this index has the id 'CCO'"),
    ("search {index} 'C1CC('", "'C1CC(' is no id of this index, no file"),
    ("search {here}/none CCO", "no index folder"),
    ("search {model} CCO", "is not a saved index"),
    ("index {here}/none {molecules} --out {out}", "no model folder"),
    ("index {model} {molecules} --columns x --out {out}", "'x'"),
    ("index {model} {molecules} --metric dot --out {out}", "'dot'"),
]
ALL = [
    *OPTIONS,
    *((f"train MUTAG --out {{out}} {words}", said) for words, said in SETTINGS),
    *((f"train {{table}} --out {{out}} {words}", said) for words, said in LABELS),
    *FILES,
    *OUTPUTS,
    *MODELS,
    *SEARCHES,
]


@pytest.mark.parametrize(("words", "expected"), ALL)
def test_a_mistake_is_one_sentence(
    run: Run,
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    expected: str,
) -> None:
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    before = {path: path.read_bytes() for path in places["here"].rglob("*") if path.is_file()}
    check(run(*shlex.split(words.format(**places, out=tmp_path / "out"))), expected)
    assert not list(tmp_path.glob("out*"))
    assert {path: path.read_bytes() for path in places["here"].rglob("*") if path.is_file()} == before


def test_damaged_models(run: Run, mutag_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.parquet"
    for name in ("config.json", "schema.json", "model.safetensors"):
        copy = tmp_path / f"without-{name}"
        shutil.copytree(mutag_model, copy)
        (copy / name).unlink()
        check(run("embed", copy, "MUTAG", "--out", out), name, "is missing")
        (copy / name).write_bytes((mutag_model / name).read_bytes()[:30])
        check(run("embed", copy, "MUTAG", "--out", out), name, "is damaged")
    assert not out.exists()


def test_strange_categories_are_warned_about_once(run: Run, mutag_model: Path, tmp_path: Path) -> None:
    source = tmp_path / "graphs.jsonl"
    source.write_text('{"nodes": [{"label": 0}, {"label": 99}], "edges": [[0, 1]]}\n' * 2)
    done = run("embed", mutag_model, source, "--out", tmp_path / "v.csv")
    assert done.code == 0 and done.err.count("Warning") == 1 and "99 (2x)" in done.err


def test_bad_rows_stop_by_default(
    run: Run, molecule_model: Path, broken_molecules: Path, places: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "vectors.csv"
    done = run("embed", molecule_model, broken_molecules, "--out", out, "--id-column", "name")
    check(done, "graph 1", "id 'b'", "line 3", "C1CC(")
    check(run("train", broken_molecules, "--out", tmp_path / "m", *SMALL), "graph 1", "C1CC(")
    check(run("index", molecule_model, broken_molecules, "--out", tmp_path / "i"), "graph 1 (id 'b')")
    assert not out.exists() and not (tmp_path / "i").exists()
    bad = tmp_path / "bad.csv"
    bad.write_text((places["here"] / "bad.csv").read_text().replace("m2,CC(=O)O", "m2,C1CC("))
    words = ("--target", "v", "--out", tmp_path / "m", "--errors", "skip")
    assert "line 7: the column 'v'" in run("train", bad, *words).err


def test_bad_rows_can_be_skipped(
    run: Run, molecule_model: Path, broken_molecules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.csv"
    words = ("--id-column", "name", "--errors", "skip")
    done = run("embed", molecule_model, broken_molecules, "--out", out, *words)
    assert done.code == 0 and "1 of 3 graphs could not be used" in done.err
    assert "id 'b'" in done.err and "line 3" in done.err
    assert read_embeddings(out).ids.tolist() == ["a", "c"]
    listed = run("embed", molecule_model, broken_molecules, "--out", out, *words, "--json").json["rejected"]
    assert [(each["index"], each["graph_id"]) for each in listed] == [(1, "b")]
    trained = run("train", broken_molecules, "--out", tmp_path / "m", "--errors", "skip", *SMALL)
    assert "trained on 2 graphs" in trained.out
    indexed = run("index", molecule_model, broken_molecules, "--out", tmp_path / "i", "--errors", "skip")
    assert "2 graphs" in indexed.out and "1 of 3 graphs could not be used" in indexed.err


def test_bad_rows_can_keep_their_places(
    run: Run, molecule_model: Path, broken_molecules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.parquet"
    words = ("--id-column", "name", "--errors", "nan", "--columns", "active")
    done = run("embed", molecule_model, broken_molecules, "--out", out, *words)
    assert done.out == f"{out}: 3 vectors of 8 numbers, 1 of them NaN\n"
    found = read_embeddings(out)
    assert found.ids.tolist() == ["a", "b", "c"] and found.usable.tolist() == [True, False, True]
    assert np.isnan(found.vectors[1]).all() and "C1CC(" in found.columns["problem"][1]
    drawn = run("map", out, "--out", tmp_path / "map.png", "--colour", "active")
    assert drawn.code == 0 and "1 graphs without a vector were left out" in drawn.err


def test_disk_errors_are_one_sentence(
    run: Run, mutag_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    done = run("embed", mutag_model, "MUTAG", "--out", tmp_path / "v.csv")
    check(done, f"Error: {tmp_path}: Permission denied")


def test_defects_are_no_tracebacks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("infograph.data.datasets.describe_datasets", broken)
    done = run("datasets")
    assert done.code == 1 and done.err.startswith("Failed: RuntimeError: a bug")
    assert "Traceback" not in done.err
    monkeypatch.setenv("INFOGRAPH_DEBUG", "1")
    assert "Traceback" in run("datasets").err

"""Mistakes are one sentence in the words of the command line, and leave everything as it was."""

from __future__ import annotations

import shlex
import shutil

import pytest

from infograph import AtomCounts
from infograph.cli.output import in_options
from infograph.data.read import read_graphs
from tests.cli.conftest import check, write_table

OPTIONS = [
    ("train", "Missing argument"),
    ("fit MUTAG", "No such command 'fit'"),
    ("embed x MUTAG --out v.parquet --errors maybe", "'maybe' is not one of"),
]
TRAIN = [
    ("--epochs many", "--epochs"),
    ("--bogus", "No such option"),
    ("--resume", "--checkpoint"),
    ("--seed -1", "--seed must be an int in the range [0, 4294967295], not -1"),
    ("--checkpoint {out}/state", "checkpoint.safetensors is in {out}, which appears as a whole"),
    ("--epochs -1", "--epochs must be an int in the range [0, inf) or a str among"),
    ("--node-columns colour", "no node column 'colour'; the graphs have: 'label'"),
    ("--lam 1", "--lam: it needs --target"),
    ("--weight-decay 0,1", "--weight-decay: several values are a search"),
]
LABELS = [
    ("--target ,", "',' names no column to predict"),
    ("--target logS --lam 1,x", "'1,x', expected a number, or several"),
    ("--target logS --objective supervised --prior 1", "--prior says nothing here: it is no parameter of"),
    ("--target logS --objective supervised --lam 1,2", "--lam says nothing here"),
    ("--target logS --lr 0.01,-1", "--lr must be a float in the range (0.0, inf), not -1.0"),
    ("--target logS --objective entropy", "use another objective, or --task classification"),
    ("--target logS --n-models 0", "--n-models must be an int in the range [1, inf), not 0"),
    ("--target logS --lam 1,2 --checkpoint state", "keeps no checkpoint"),
    ("--target logS --unlabelled ?", "--unlabelled '?': not one of 64 graphs has this value of"),
    ("--target logS --workers 2", "--workers and --on are for training without labels"),
]
FILES = [
    ("info {here}/none.csv", "none.csv does not exist"),
    ("info MUTGA-?", "no data set 'MUTGA-?'"),
    ("info {here}/empty.csv", "empty.csv is empty"),
    ("info {table} --id-column key", "--id-column key: {table} has no such column"),
    ("info {table} --units eV", "--units eV: no graph column is an energy"),
    ("info {table} --unit =K", "'=K', expected COLUMN=UNIT"),
    ("info {table} --unit logP=K", "units: there is no graph column 'logP', only ['smiles', 'logS [mol/L]'"),
    ("train {here}/bare.smi --target all --out {out}", "the graphs have no column of numbers or classes"),
    ("train {here}/ten.csv --target v --labelled 5 --out {out}", "--labelled 5 is too small for 10 classes"),
    ("train {here}/bad.csv --target v --out {out}", "graph 5 (id 'mol5') is 'n.d.'"),
    ("train {here}/pm.csv --target v --out {out}", "--unlabelled -1"),
]
OUTPUTS = [
    ("train MUTAG --out {here}/file", "is a file"),
    ("train MUTAG --out {here}/full", "holds other files"),
    ("train MUTAG --out {here}/file/model", "there is a file in its place"),
    ("study MUTAG --out {here}/file", "is a file"),
    ("train {table} --rejects {out}/bad.csv --out {out}", "bad.csv is in {out}, which appears as a whole"),
    ("store {table} --rejects {out}/bad.csv --out {out}", "bad.csv is in {out}, which appears as a whole"),
    ("tune MUTAG --out runs", "runs/tune-MUTAG is in runs, which appears as a whole"),
    ("tune {table} --target logS --references all --out {out}", "it belongs to infograph train"),
    ("embed {mutag} MUTAG --out {here}/v.txt", ".parquet or .csv"),
    ("embed {mutag} MUTAG --out {here}/file/v.csv", "there is a file in its place"),
    ("map {index} --out {out}.pdf", ".png, .html or .parquet"),
    ("map {mutag} --out {out}.html", "name the graphs"),
    ("history {regressor} --out {out}.pdf", ".png or .svg"),
    ("predict {regressor} {table} --out {out}.xlsx", ".parquet, .csv or .json"),
    ("index {model} {table} --out {model}", "is read here"),
    ("search {index} CCO --html {here}", "is a folder"),
]
MODELS = [
    ("embed {here}/none MUTAG --out {out}.csv", "no model folder"),
    ("embed {mutag} MUTAG --workers 2 --out {out}.csv", "are for many files"),
    ("embed {here}/counts {table} --out {out}.csv", "an AtomCounts has no transform(graphs)"),
    ("evaluate {mutag}", "is a model"),
    ("evaluate {index} MUTAG --label y", "have no vector"),
    ("map {index} --colour q --out {out}.png", "no graph column 'q'"),
    ("study {table} --label q --out {out}", "--label q"),
    ("predict {mutag} MUTAG", "an InfoGraph makes vectors and predicts nothing"),
    ("predict {regressor} {table} --probabilities", "has no probabilities"),
    ("predict {here}/counts {table} --std", "is no ensemble and has no spread"),
]
SEARCHES = [
    ("search {index}", "QUERY is missing"),
    ("search {index} CCO --duplicates", "leave QUERY, --id and --html out"),
    ("search {index} CCO --tolerance 0.1", "--tolerance belongs to --duplicates"),
    ("search {index} CCO --id", "no graph of this index has the id 'CCO'"),
    ("search {index} 'C1CC('", "'C1CC('"),
    ("search {here}/none CCO", "no index folder"),
]
ALL = [
    *OPTIONS,
    *((f"train MUTAG --out {{out}} {words}", said) for words, said in TRAIN),
    *((f"train {{table}} --out {{out}} {words}", said) for words, said in LABELS),
    *(*FILES, *OUTPUTS, *MODELS, *SEARCHES),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory, mutag_model, molecule_model, table, regressor, index):
    """What stands for the names in braces above."""
    here = tmp_path_factory.mktemp("places")
    for name, text in (("file", "mine"), ("empty.csv", ""), ("bare.smi", "CCO\nCCN\n")):
        (here / name).write_text(text)
    (here / "full").mkdir()
    (here / "full" / "config.json").write_text('{"format": "something else"}')
    write_table(here / "ten.csv", "v", ["abcdefghij"[i % 10] for i in range(48)])
    write_table(here / "pm.csv", "v", [f"{i % 2 * 2 - 1}" for i in range(48)])
    write_table(here / "bad.csv", "v", ["n.d." if i == 5 else f"{i / 7}" for i in range(48)])
    AtomCounts().fit(read_graphs(table), "logS [mol/L]").save(here / "counts")
    made = {"mutag": mutag_model, "model": molecule_model, "regressor": regressor, "index": index}
    return {"here": here, "table": table, **made}


@pytest.mark.parametrize(("words", "expected"), ALL)
def test_a_mistake_is_one_sentence(run, places, tmp_path, monkeypatch, words, expected):
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    before = {path: path.read_bytes() for path in places["here"].rglob("*") if path.is_file()}
    out = tmp_path / "out"
    check(run(*shlex.split(words.format(**places, out=out))), expected.format(**places, out=out))
    assert not list(tmp_path.glob("out*"))
    assert {path: path.read_bytes() for path in places["here"].rglob("*") if path.is_file()} == before


def test_damaged_models(run, mutag_model, tmp_path):
    out = tmp_path / "vectors.parquet"
    for name in ("config.json", "schema.json", "model.safetensors"):
        copy = tmp_path / f"without-{name}"
        shutil.copytree(mutag_model, copy)
        (copy / name).unlink()
        check(run("embed", copy, "MUTAG", "--out", out), name, "is missing")
        (copy / name).write_bytes((mutag_model / name).read_bytes()[:30])
        check(run("embed", copy, "MUTAG", "--out", out), name, "is damaged")
    assert not out.exists()


def test_disk_errors_are_one_sentence(run, mutag_model, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    done = run("embed", mutag_model, "MUTAG", "--out", tmp_path / "v.csv")
    check(done, f"Error: {tmp_path}: Permission denied")


def test_library_words_become_options_and_paths_stay():
    assert in_options("pass unlabelled=-1, or objective='vectors'.") == (
        "pass --unlabelled -1, or --objective vectors."
    )
    for path in ("runs/test=1.5/a.csv is empty", "label=3/b.csv is empty"):
        assert in_options(path) == path


def test_defects_are_no_tracebacks(run, monkeypatch):
    def broken(**_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("infograph.data.datasets.describe_datasets", broken)
    done = run("datasets")
    assert done.code == 1 and done.err.startswith("Failed: RuntimeError: a bug")
    assert "Traceback" not in done.err
    monkeypatch.setenv("INFOGRAPH_DEBUG", "1")
    assert "Traceback" in run("datasets").err

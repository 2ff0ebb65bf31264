"""No file of the user is lost, and nothing of the user's is sent."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import GIN, Auto, GraphIndex, InfoGraph, InfoGraphRegressor, load, read_graphs, save_graphs
from infograph.cli import main
from infograph.errors import InvalidParameter
from infograph.io import write_text
from infograph.scale import embed_shards, store_graphs

SMILES = ["CCO", "CCN", "CCC", "CCCO", "c1ccccc1", "CC(=O)O", "CCCl", "CCBr", "COC", "CNC"]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """An encoder and a regressor, barely trained."""
    folder = tmp_path_factory.mktemp("models")
    InfoGraph(dim=8, epochs=0, encoder=GIN(layers=2)).fit(SMILES).save(folder / "encoder")
    small = {"dim": 8, "epochs": 1, "steps_per_epoch": 1, "encoder": Auto(layers=2)}
    regressor = InfoGraphRegressor(objective="supervised", **small).fit(SMILES, np.arange(10.0))
    regressor.save(folder / "regressor")
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A working directory with a table of molecules, a number and a class."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{smiles},{i},{'ab'[i % 2]}" for i, smiles in enumerate(SMILES * 6)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,logS,y", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def run(capsys):
    """A command -> its exit code, and what it said."""
    return lambda *words: (main([str(word) for word in words]), capsys.readouterr().err)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("again", ["a.csv", "symbolic.csv", "hard.csv", "./x/../a.csv"])
@pytest.mark.parametrize(
    "words",
    [
        "embed {models}/encoder a.csv --out {again}",
        "predict {models}/regressor a.csv --out {again}",
        "store a.csv --rejects {again} --out graphs",
        "train a.csv --rejects {again} --out model",
        "map a.csv --out {again}",
    ],
)
def test_an_output_that_is_an_input_is_refused(here, models, words, again, run):
    (here / "x").mkdir()
    (here / "symbolic.csv").symlink_to(here / "a.csv")
    os.link(here / "a.csv", here / "hard.csv")
    before = everything(here)
    code, said = run(*words.format(models=models, again=again).split())
    assert code != 0 and "is read here and cannot be written" in said
    assert everything(here) == before


def test_a_file_behind_a_link_is_replaced(here):
    (here / "link.csv").symlink_to(here / "a.csv")
    write_text("link.csv", "new")
    assert (here / "link.csv").is_symlink() and (here / "a.csv").read_text() == "new"
    assert sorted(path.name for path in here.iterdir()) == ["a.csv", "link.csv"]


def test_shards_are_not_written_over_themselves(here, models):
    shards = here / "shards"
    shards.mkdir()
    parquet.write_table(pa.table({"smiles": SMILES}), shards / "one.parquet")
    (here / "link").symlink_to(shards)
    before = everything(shards)
    for source in ("shards/*.parquet", "shards", "shards/one.parquet"):
        for out in ("shards/", "link"):
            with pytest.raises(InvalidParameter, match="read here"):
                embed_shards(models / "encoder", source, out)
    assert everything(shards) == before


def test_a_file_of_that_name_in_the_folder_of_vectors_is_kept(here, models):
    out = here / "out"
    out.mkdir()
    (out / "a.parquet").write_text("mine")
    (out / ".my-notes.json").write_text("mine")
    with pytest.raises(InvalidParameter, match=r"a\.parquet is there and was not written by such a job"):
        embed_shards(models / "encoder", here / "a.csv", out)
    assert (out / "a.parquet").read_text() == "mine"
    (out / "a.parquet").unlink()
    embed_shards(models / "encoder", here / "a.csv", out)
    assert (out / ".my-notes.json").read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt", "sub/notes.txt", "my_features.npy", ".hidden"])
@pytest.mark.parametrize("kind", ["graphs", "model", "index"])
def test_a_folder_with_anything_else_in_it_is_not_replaced(here, models, kind, name, run):
    graphs, encoder = read_graphs("a.csv"), load(models / "encoder")
    index = GraphIndex.build(encoder, graphs)
    save = {"graphs": partial(save_graphs, graphs), "model": encoder.save, "index": index.save}[kind]
    save(here / kind)
    save(here / kind)  # a folder of the same kind is replaced
    (here / kind / name).parent.mkdir(exist_ok=True)
    (here / kind / name).write_text("mine")
    before = everything(here / kind)
    with pytest.raises(InvalidParameter, match=f"also holds {name.partition('/')[0]}"):
        save(here / kind)
    words = {
        "graphs": ("store",),
        "model": ("train", "--epochs", "1"),
        "index": ("index", models / "encoder"),
    }
    code, said = run(*words[kind], "a.csv", "--out", kind)
    assert code != 0 and "which would be lost" in said
    assert everything(here / kind) == before


def test_a_folder_of_another_kind_is_not_replaced(here, models):
    save_graphs(read_graphs("a.csv"), "graphs")
    before = everything(here / "graphs")
    with pytest.raises(InvalidParameter, match="holds other files"):
        load(models / "encoder").save("graphs")
    (here / "loose").mkdir()
    (here / "loose" / "edges.npy").write_text("mine")
    with pytest.raises(InvalidParameter, match="holds other files"):
        store_graphs("a.csv", "loose")
    assert everything(here / "graphs") == before and (here / "loose" / "edges.npy").read_text() == "mine"


def test_an_index_with_its_map(here, models, run):
    index = GraphIndex.build(load(models / "encoder"), read_graphs("a.csv"))
    index.save("index")
    before = everything(here / "index")
    code, said = run("index", "index/model", "index/graphs", "--out", "index")
    assert code != 0 and "index holds index/model, which is read here" in said
    assert everything(here / "index") == before
    assert run("map", "index", "--method", "pca", "--out", "map.html")[0] == 0
    assert list((here / "index" / "atlas").iterdir())
    index.save("index")  # the map does not keep it from being replaced
    assert not (here / "index" / "atlas").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [("study a.csv", "map.png"), ("compare a.csv --methods labels", "comparison.md")],
)
def test_files_of_a_fixed_name_are_only_written_over_their_own_kind(here, words, name, run):
    (here / "out").mkdir()
    (here / "out" / name).write_text("mine")
    code, said = run(*words.split(), "--out", "out")
    assert code != 0 and "has nothing to do with this" in said, said
    assert (here / "out" / name).read_text() == "mine"
    code, said = run("store", "a.csv", "--out", "same", "--rejects", "same")
    assert code != 0 and "named for two outputs" in said


def test_a_search_removes_only_what_it_made(here, run):
    notes = here / "runs" / "tuned" / ".work" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    words = ("--search", "lr=1e-3", "--epochs", 1, "--dim", 8, "--layers", 2, "--out", "model")
    code, said = run("tune", "a.csv", "--results", notes.parents[1], *words)
    assert code == 0, said
    assert notes.read_text() == "mine" and list(notes.parent.iterdir()) == [notes]


def test_a_killed_job_knows_its_files_again(here, models):
    """The vectors are there and the record says only that the shard has begun."""
    embed_shards(models / "encoder", "a.csv", "out")
    record = here / "out" / "_shards" / "a.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps({k: content[k] for k in ("format", "shard", "input")} | {"begun": True}))
    assert embed_shards(models / "encoder", "a.csv", "out").skipped == 0
    assert json.loads(record.read_text())["rows"] == len(SMILES * 6)


def test_a_smiles_is_predicted_and_asked_of_nobody(here, models, run):
    """The guard of tests/conftest.py fails this where a socket is opened."""
    regressor, encoder = load(models / "regressor"), load(models / "encoder")
    assert regressor.predict("CCO").tolist() == regressor.predict(["CCO"]).tolist()
    np.testing.assert_array_equal(encoder.transform("c1ccccc1"), encoder.transform(["c1ccccc1"]))
    code, said = run("embed", models / "encoder", "CCX", "--out", "v.csv")
    assert code == 2 and "no SMILES either" in said
    assert run("predict", models / "regressor", "CCO", "--json")[0] == 0

"""No file of the user is lost, and nothing of the user's is sent."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from infograph import GIN, Auto, GraphIndex, InfoGraph, InfoGraphRegressor, load, read_graphs, save_graphs
from infograph.cli import main
from infograph.errors import InvalidParameter
from infograph.scale import embed_shards, store_graphs

SMILES = ["CCO", "CCN", "CCC", "CCCO", "c1ccccc1", "CC(=O)O", "CCCl", "CCBr", "COC", "CNC"]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """An encoder and a regressor, barely trained."""
    folder = tmp_path_factory.mktemp("models")
    InfoGraph(dim=8, epochs=0, encoder=GIN(layers=2)).fit(SMILES).save(folder / "encoder")
    values = np.arange(len(SMILES), dtype=float)
    regressor = InfoGraphRegressor(
        objective="supervised", dim=8, epochs=1, steps_per_epoch=1, encoder=Auto(layers=2)
    )
    regressor.fit(SMILES, values).save(folder / "regressor")
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A working directory with a table of molecules."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "a.csv")
    return tmp_path


def write_table(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["smiles,logS", *(f"{s},{i}" for i, s in enumerate(SMILES))]) + "\n")
    return path


def write_classes(path: Path) -> None:
    rows = [f"{smiles},{place % 2}" for place, smiles in enumerate(SMILES * 6)]
    path.write_text("\n".join(["smiles,y", *rows]))


@pytest.fixture
def run(capsys):
    """A command -> its exit code, and what it said."""

    def call(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        return code, capsys.readouterr().err

    return call


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("way", ["plain", "symbolic", "hard", "dots"])
@pytest.mark.parametrize(
    "words",
    [
        ("embed", "{models}/encoder", "a.csv", "--out", "{again}"),
        ("predict", "{models}/regressor", "a.csv", "--out", "{again}"),
        ("store", "a.csv", "--rejects", "{again}", "--out", "graphs"),
        ("train", "a.csv", "--rejects", "{again}", "--out", "model"),
        ("map", "a.csv", "--out", "{again}"),
    ],
    ids=lambda words: words[0],
)
def test_an_output_that_is_an_input_is_refused(here, models, words, way, run):
    again = {"plain": "a.csv", "symbolic": "b.csv", "hard": "c.csv", "dots": "./x/../a.csv"}[way]
    (here / "x").mkdir()
    if way == "symbolic":
        (here / "b.csv").symlink_to(here / "a.csv")
    if way == "hard":
        os.link(here / "a.csv", here / "c.csv")
    before = everything(here)
    code, said = run(*(word.format(models=models, again=again) for word in words))
    assert code != 0 and "is read here and cannot be written" in said
    assert everything(here) == before


def test_shards_are_not_written_over_themselves(here, models):
    import pyarrow as pa
    import pyarrow.parquet as parquet

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
    before = everything(out)
    with pytest.raises(InvalidParameter, match=r"a\.parquet is there and was not written by such a job"):
        embed_shards(models / "encoder", here / "a.csv", out)
    assert {**everything(out), ".lock": b""} == {**before, ".lock": b""}
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
        "graphs": ("store", "a.csv", "--out", "graphs"),
        "model": ("train", "a.csv", "--epochs", "1", "--out", "model"),
        "index": ("index", models / "encoder", "a.csv", "--out", "index"),
    }
    code, said = run(*words[kind])
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


def test_the_map_kept_in_an_index_does_not_keep_it_from_being_replaced(here, models, run):
    index = GraphIndex.build(load(models / "encoder"), read_graphs("a.csv"))
    index.save("index")
    assert run("map", "index", "--method", "pca", "--out", "map.html")[0] == 0
    assert list((here / "index" / "atlas").iterdir())
    index.save("index")
    assert not (here / "index" / "atlas").exists()


def test_an_output_that_holds_an_input_is_refused(here, models, run):
    GraphIndex.build(load(models / "encoder"), read_graphs("a.csv")).save("index")
    before = everything(here / "index")
    code, said = run("index", "index/model", "index/graphs", "--out", "index")
    assert code != 0 and "index holds index/model, which is read here" in said
    assert everything(here / "index") == before


def test_two_outputs_of_one_name_are_refused(here, run):
    code, said = run("store", "a.csv", "--out", "same", "--rejects", "same")
    assert code != 0 and "named for two outputs" in said


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("study", "a.csv", "--out", "out"), "map.png"),
        (("compare", "a.csv", "--methods", "labels", "--out", "out"), "comparison.csv"),
    ],
    ids=["study", "compare"],
)
def test_files_of_a_fixed_name_are_only_written_over_their_own_kind(here, words, name, run):
    out = here / "out"
    out.mkdir()
    (out / name).write_text("mine")
    write_classes(here / "a.csv")
    code, said = run(*words)
    assert code != 0 and "has nothing to do with this" in said, said
    assert (out / name).read_text() == "mine"


def test_a_search_removes_only_what_it_made(here, run):
    notes = here / "runs" / "tuned" / ".work" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    write_classes(here / "classes.csv")
    words = ("--search", "lr=1e-3", "--epochs", 1, "--dim", 8, "--layers", 2, "--out", "model")
    code, said = run("tune", "classes.csv", "--label", "y", "--results", notes.parents[1], *words)
    assert code == 0, said
    assert notes.read_text() == "mine" and list(notes.parent.iterdir()) == [notes]


def test_a_killed_job_knows_its_files_again(here, models):
    """The vectors are there and the record says only that the shard has begun."""
    embed_shards(models / "encoder", "a.csv", "out")
    record = here / "out" / "_shards" / "a.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps({k: content[k] for k in ("format", "shard", "input")} | {"begun": True}))
    assert embed_shards(models / "encoder", "a.csv", "out").skipped == 0
    assert json.loads(record.read_text())["rows"] == len(SMILES)


def test_a_smiles_is_predicted_and_asked_of_nobody(here, models):
    """The guard of tests/conftest.py fails this where a socket is opened."""
    regressor, encoder = load(models / "regressor"), load(models / "encoder")
    assert regressor.predict("CCO").tolist() == regressor.predict(["CCO"]).tolist()
    np.testing.assert_array_equal(encoder.transform("c1ccccc1"), encoder.transform(["c1ccccc1"]))


def test_a_verb_asks_nobody_for_an_unknown_name(here, models, run):
    code, said = run("embed", models / "encoder", "CCX", "--out", "v.csv")
    assert code == 2 and "no SMILES either" in said
    code, said = run("predict", models / "regressor", "CCO", "--json")
    assert code == 0

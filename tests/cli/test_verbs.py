"""Verbs that need no labels give what the library gives."""

from __future__ import annotations

import base64
import gzip
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from infograph import GIN, InfoGraph, load, load_dataset
from infograph.cli.output import show, table
from infograph.data.read import read_graphs
from infograph.data.vectors import read_embeddings
from infograph.parameters import described
from infograph.progress import say
from tests.cli.conftest import SMALL


@pytest.fixture(scope="session")
def vectors(folder, mutag_model):
    from infograph.cli import main

    path = folder / "vectors.parquet"
    assert main(["embed", str(mutag_model), "MUTAG", "--out", str(path), "--columns", "y"]) == 0
    return path


def test_datasets_lists_all_six(run):
    found = {entry["name"]: entry for entry in run("datasets", "--json").json}
    assert found["MUTAG"]["graphs"] == 188 and found["REDDIT-MULTI-5K"]["classes"] == 5
    assert all(name in run("datasets").out for name in found)


def test_train_saves_what_the_library_would(run, tmp_path):
    done = run("train", "MUTAG", "--out", tmp_path / "model", *SMALL, "--seed", "3", "--json")
    assert done.json["dim"] == 8 and "epoch 2/2" in done.err
    graphs = load_dataset("MUTAG")
    expected = InfoGraph(dim=8, epochs=2, random_state=3, encoder=GIN(layers=2)).fit_transform(graphs)
    assert np.array_equal(load(tmp_path / "model").transform(graphs), expected)


def test_every_setting_reaches_the_model(run, tmp_path):
    words = "--lr 0.01 --batch-size 32 --readout mean --weighting node --bound infonce --no-norm --learn-eps "
    words += "--discriminator conditioned --prior 0.1 --weight-decay 0.001 --memory-mb 64 --device cpu "
    words += "--node-features auto --node-columns label --edge-columns label"
    assert run("train", "MUTAG", "--out", tmp_path / "model", *SMALL, *words.split()).code == 0
    settings = described(load(tmp_path / "model"))
    expected = {"lr": 0.01, "batch_size": 32, "readout": "mean", "weighting": "node", "bound": "infonce"}
    expected |= {"norm": False, "learn_eps": True, "prior": 0.1, "edge_columns": ["label"]}
    expected |= {"discriminator": "conditioned", "weight_decay": 0.001, "memory_mb": 64}
    assert {name: settings[name] for name in expected} == expected
    about = run("info", tmp_path / "model", "--json").json
    assert about["columns"]["edge"][0]["n_categories"] == 4


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_embed_writes_keyed_vectors(run, mutag_model, tmp_path, ending):
    path = tmp_path / f"vectors.{ending}"
    done = run("embed", mutag_model, "MUTAG", "--out", path, "--columns", "all", "--json")
    assert done.json == {"file": str(path), "rows": 188, "dim": 8, "rejected": []}
    graphs, found = load_dataset("MUTAG"), read_embeddings(path)
    assert np.array_equal(found.vectors, load(mutag_model).transform(graphs))
    assert found.ids.tolist() == graphs.ids.tolist()
    assert found.columns["y"].tolist() == graphs.values("graph", "y").tolist()


def test_evaluate_agrees_for_model_and_vectors(run, mutag_model, vectors):
    options = ("--repeats", "2", "--folds", "3", "--classifier", "knn,svm-linear", "--json")
    tables = [
        run("evaluate", *given, *options).json["table"]
        for given in ((mutag_model, "MUTAG"), (vectors, "MUTAG"), (vectors,))
    ]
    assert tables[0] == tables[1] == tables[2]
    names = [row["method"] for row in tables[0]]
    assert names == ["knn", "svm-linear", "best on inner folds", "majority class"]
    assert tables[0][-1]["mean"] == pytest.approx(100 * 125 / 188)
    shown = run("evaluate", vectors, *options[:-1])
    assert "best on inner folds" in shown.out and "cross-validation" in shown.err


def test_maps_of_model_vectors_and_index(run, mutag_model, vectors, tmp_path):
    index = tmp_path / "index"
    run("index", mutag_model, "MUTAG", "--out", index)
    for name, given in {"model": (mutag_model, "MUTAG"), "vectors": (vectors,), "index": (index,)}.items():
        picture, page = tmp_path / f"{name}.png", tmp_path / f"{name}.html"
        drawn = run("map", *given, "--out", picture, "--method", "pca", "--json")
        assert drawn.json["points"] == 188 and picture.read_bytes().startswith(b"\x89PNG")
        drawn = run("map", *given, "--out", page, "--method", "pca", "--json")
        assert drawn.json["points"] == 188 and drawn.json["left_out"] == 0
        (data,) = re.findall(r'id="atlas-data">(.*?)</script>', page.read_text())
        assert (b'"drawings":{}' in gzip.decompress(base64.b64decode(data))) == (name == "vectors")
    assert run("map", vectors, "--out", tmp_path / "y.png", "--colour", "y", "--method", "pca").code == 0
    done = run("map", index, "--out", tmp_path / "points.parquet", "--method", "pca")
    assert done.code == 0 and "188 graphs" in done.out
    columns = pq.read_table(tmp_path / "points.parquet").column_names
    assert {"id", "y", "cluster", "map_x", "map_y"} <= set(columns)


def test_info_of_a_data_set_a_model_and_vectors(run, mutag_model, vectors):
    graphs = run("info", "mutag", "--json").json
    assert (graphs["graphs"], graphs["nodes"], graphs["arcs"]) == (188, 3371, 7442)
    assert graphs["classes"] == {"1": 125, "-1": 63}
    model = run("info", mutag_model, "--json").json
    assert (model["class"], model["settings"]["dim"], model["epochs_trained"]) == ("InfoGraph", 8, 2)
    assert run("info", vectors, "--json").json["rows"] == 188
    assert "7 categories" in run("info", "MUTAG").out and "InfoGraph" in run("info", mutag_model).out


def test_study_of_mutag(run, tmp_path):
    words = ("--repeats", "1", "--folds", "3", "--method", "pca")
    done = run("study", "mutag", "--out", tmp_path, *SMALL, *words)
    assert done.code == 0 and "training 1 of 1, seed 0" in done.err
    for expected in ("InfoGraph", "untrained encoder", "89.0 % ± 1.1", "majority class", "66.5 %"):
        assert expected in done.out
    names = {"model", "embeddings.parquet", "map.png", "report.html", "results.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_molecules_from_end_to_end(run, table, molecule_model, tmp_path):
    assert run("info", table, "--label", "active", "--json").json["classes"] == {"no": 32, "yes": 32}
    path = tmp_path / "vectors.csv"
    assert run("embed", molecule_model, table, "--id-column", "name", "--out", path).code == 0
    assert read_embeddings(path).ids[:2].tolist() == ["mol0", "mol1"]
    options = ("--folds", "2", "--repeats", "1", "--json")
    assert run("evaluate", path, table, "--label", "active", *options).json["graphs"] == 64
    assert run("map", path, table, "--colour", "active", "--out", tmp_path / "map.png").code == 0


def test_networks_from_end_to_end(run, networks, tmp_path):
    about = run("info", networks, "--node-columns", "role", "--json").json
    assert about["columns"]["node"][0]["categories"] == ["hub", "leaf"]
    model, path = tmp_path / "model", tmp_path / "vectors.parquet"
    assert run("train", networks, "--out", model, "--node-columns", "role", *SMALL).code == 0
    assert [column.name for column in load(model).schema_.node] == ["role"]
    done = run("embed", model, networks, "--out", path, "--columns", "y")
    assert done.out == f"{path}: 12 vectors of 8 numbers\n"
    found = read_embeddings(path)
    assert found.ids.tolist() == [f"net{i}" for i in range(12)]
    assert found.columns["y"].tolist() == ["star", "ring"] * 6


def test_settings_of_the_model_decide_how_molecules_are_read(run, table, tmp_path):
    model, path = tmp_path / "model", tmp_path / "vectors.parquet"
    assert run("train", table, "--hydrogens", "--out", model, *SMALL).code == 0
    assert run("embed", model, table, "--out", path).code == 0
    graphs = read_graphs(table, hydrogens=True)
    assert np.array_equal(read_embeddings(path).vectors, load(model).transform(graphs))
    refused = run("embed", model, table, "--no-hydrogens", "--out", path)
    assert refused.code == 2 and "hydrogens" in refused.err


@pytest.mark.parametrize("errors", ["raise", "skip", "nan"])
def test_bad_rows(run, molecule_model, broken_molecules, tmp_path, errors):
    out = tmp_path / "vectors.parquet"
    words = ("--id-column", "name", "--errors", errors, "--columns", "active")
    done = run("embed", molecule_model, broken_molecules, "--out", out, *words)
    for text in ("graph 1", "id 'b'", "line 3", "C1CC("):
        assert text in done.err
    if errors == "raise":
        assert done.code == 2 and not out.exists()
        for said in (words, ()):  # raise is the default
            done = run("embed", molecule_model, broken_molecules, "--out", out, *said)
            assert done.err.endswith("; --errors skip leaves such graphs out\n")
        done = run("map", molecule_model, broken_molecules, "--out", tmp_path / "map.png")  # has no --errors
        assert "C1CC(" in done.err and "skip" not in done.err
        return
    found = read_embeddings(out)
    assert "1 of 3 graphs could not be used" in done.err
    listed = run("embed", molecule_model, broken_molecules, "--out", out, *words, "--json").json["rejected"]
    assert [(each["index"], each["graph_id"]) for each in listed] == [(1, "b")]
    if errors == "skip":
        assert found.ids.tolist() == ["a", "c"]
        trained = run("train", broken_molecules, "--out", tmp_path / "m", "--errors", "skip", *SMALL)
        assert "trained on 2 graphs" in trained.out
        return
    assert done.out == f"{out}: 3 vectors of 8 numbers, 1 of them NaN\n"
    assert found.ids.tolist() == ["a", "b", "c"] and found.usable.tolist() == [True, False, True]
    assert np.isnan(found.vectors[1]).all() and "C1CC(" in found.columns["problem"][1]
    drawn = run("map", out, "--out", tmp_path / "map.png", "--colour", "active")
    assert drawn.code == 0 and "1 graphs without a vector were left out" in drawn.err


def test_texts_of_users_are_shown_as_they_are(capsys):
    text = r"C/C=C\[NH3+] c1:c:o:c:c:1 [old] C\\"
    show(False, {}, [text, table((text,), [(text,)])])
    say(text)
    shown = capsys.readouterr()
    assert [line.strip() for line in shown.out.splitlines()] == [text] * 3 and shown.err == f"{text}\n"


def test_strange_categories_are_warned_about_once(run, mutag_model, tmp_path):
    source = tmp_path / "graphs.jsonl"
    source.write_text('{"nodes": [{"label": 0}, {"label": 99}], "edges": [[0, 1, {"label": 0}]]}\n' * 2)
    done = run("embed", mutag_model, source, "--out", tmp_path / "v.csv")
    assert done.code == 0 and done.err.count("Warning") == 1 and "99 (2x)" in done.err

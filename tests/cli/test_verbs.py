from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pyarrow.parquet as pq
import pytest

from infograph import ENN, GIN, InfoGraph, InfoGraphRegressor, __version__, load, load_dataset
from infograph.cli.app import VERBS
from infograph.cli.options import ColumnOptions, LabelOptions, ModelOptions
from infograph.data.read import read_graphs
from infograph.data.vectors import read_embeddings
from infograph.parameters import described
from tests.cli.conftest import SMALL, Run


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"infograph {__version__}\n"
    listed = run().out
    for verb in ("map" if each.__name__ == "draw" else each.__name__ for each in VERBS):
        shown = run(verb, "--help")
        assert shown.code == 0 and f"infograph {verb} " in shown.out and verb in listed


def shown_defaults(options: type) -> dict[str, str]:
    """What the help says that the defaults are, by option."""
    hints = get_type_hints(options, include_extras=True)
    found = {name: get_args(hint)[1].show_default for name, hint in hints.items()}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def test_defaults_are_those_of_the_estimators() -> None:
    assert ModelOptions().estimator(ColumnOptions()).get_params() == InfoGraph().get_params()
    model, grid = LabelOptions("y").estimator("regression", ModelOptions(), ColumnOptions())
    assert (model.get_params(), grid) == (InfoGraphRegressor().get_params(), {})


def test_help_tells_the_defaults_of_both_estimators() -> None:
    plain, labels = described(InfoGraph()), described(InfoGraphRegressor())
    own = shown_defaults(ModelOptions) | {"random_state": shown_defaults(ModelOptions)["seed"]}
    for name, text in own.items():
        first, _, second = text.partition(", with --target ")
        if name in ("seed", "norm", "layers", "memory_mb"):
            continue
        assert first == str(plain[name]) or float(first) == plain[name], name
        if name in labels:
            other = second or first
            assert other == str(labels[name]) or float(other) == labels[name], name
    for name in ("lam", "early_stopping", "n_models"):
        assert float(shown_defaults(LabelOptions)[name]) == labels[name]
    assert shown_defaults(LabelOptions)["transfer"] == labels["transfer"]
    assert own["layers"] == f"{GIN().layers}, of enn-s2s {ENN().layers}"


def test_datasets_lists_all_six(run: Run) -> None:
    found = {entry["name"]: entry for entry in run("datasets", "--json").json}
    assert found["MUTAG"]["graphs"] == 188 and found["REDDIT-MULTI-5K"]["classes"] == 5
    text = run("datasets").out
    assert all(name in text for name in found)


def test_train_saves_what_the_library_would(run: Run, tmp_path: Path) -> None:
    done = run("train", "MUTAG", "--out", tmp_path / "model", *SMALL, "--seed", "3", "--json")
    assert done.json["dim"] == 8 and "epoch 2/2" in done.err
    graphs = load_dataset("MUTAG")
    expected = InfoGraph(dim=8, epochs=2, random_state=3, encoder=GIN(layers=2)).fit_transform(graphs)
    assert np.array_equal(load(tmp_path / "model").transform(graphs), expected)


def test_every_setting_reaches_the_model(run: Run, tmp_path: Path) -> None:
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
def test_embed_writes_keyed_vectors(run: Run, mutag_model: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"vectors.{ending}"
    done = run("embed", mutag_model, "MUTAG", "--out", path, "--columns", "all", "--json")
    assert done.json == {"file": str(path), "rows": 188, "dim": 8, "rejected": []}
    graphs, found = load_dataset("MUTAG"), read_embeddings(path)
    assert np.array_equal(found.vectors, load(mutag_model).transform(graphs))
    assert found.ids.tolist() == graphs.ids.tolist()
    assert found.columns["y"].tolist() == graphs.values("graph", "y").tolist()


@pytest.fixture
def vectors(run: Run, mutag_model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "vectors.parquet"
    assert run("embed", mutag_model, "MUTAG", "--out", path, "--columns", "y").code == 0
    return path


def test_evaluate_agrees_for_model_and_vectors(run: Run, mutag_model: Path, vectors: Path) -> None:
    options = ("--repeats", "2", "--folds", "3", "--classifier", "knn,svm-linear", "--json")
    by_model = run("evaluate", mutag_model, "MUTAG", *options).json
    alone = run("evaluate", vectors, *options).json
    joined = run("evaluate", vectors, "MUTAG", *options).json
    assert by_model["table"] == alone["table"] == joined["table"]
    names = [row["method"] for row in alone["table"]]
    assert names == ["knn", "svm-linear", "best on inner folds", "majority class"]
    assert alone["table"][-1]["mean"] == pytest.approx(100 * 125 / 188)
    assert len(alone["evaluation"]["seeds"]) == 2
    shown = run("evaluate", vectors, *options[:-1])
    assert "best on inner folds" in shown.out and "cross-validation" in shown.err


def test_maps_of_model_vectors_and_index(run: Run, mutag_model: Path, vectors: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run("index", mutag_model, "MUTAG", "--out", index)
    sources = {"model": (mutag_model, "MUTAG"), "vectors": (vectors,), "index": (index,)}
    for name, given in sources.items():
        picture, page = tmp_path / f"{name}.png", tmp_path / f"{name}.html"
        drawn = run("map", *given, "--out", picture, "--method", "pca", "--json")
        assert drawn.json["points"] == 188 and picture.read_bytes().startswith(b"\x89PNG")
        drawn = run("map", *given, "--out", page, "--method", "pca", "--json")
        assert drawn.json["points"] == 188 and drawn.json["left_out"] == 0
        assert ('"drawings":{}' in page.read_text()) == (name == "vectors")
    assert run("map", vectors, "--out", tmp_path / "y.png", "--colour", "y").code == 0
    assert (tmp_path / "y.png").read_bytes() != (tmp_path / "vectors.png").read_bytes()
    done = run("map", index, "--out", tmp_path / "points.parquet", "--method", "pca")
    assert done.code == 0 and "188 graphs" in done.out
    columns = pq.read_table(tmp_path / "points.parquet").column_names
    assert {"id", "y", "cluster", "map_x", "map_y"} <= set(columns)


def test_info_of_a_data_set_a_model_and_vectors(run: Run, mutag_model: Path, vectors: Path) -> None:
    graphs = run("info", "mutag", "--json").json
    assert (graphs["graphs"], graphs["nodes"], graphs["arcs"]) == (188, 3371, 7442)
    assert graphs["classes"] == {"1": 125, "-1": 63}
    model = run("info", mutag_model, "--json").json
    assert (model["class"], model["settings"]["dim"], model["epochs_trained"]) == ("InfoGraph", 8, 2)
    assert run("info", vectors, "--json").json["rows"] == 188
    assert "7 categories" in run("info", "MUTAG").out and "InfoGraph" in run("info", mutag_model).out


def test_study_of_mutag(run: Run, tmp_path: Path) -> None:
    words = ("--repeats", "1", "--folds", "3", "--method", "pca")
    done = run("study", "mutag", "--out", tmp_path, *SMALL, *words)
    assert done.code == 0 and "training 1 of 1, seed 0" in done.err
    for expected in ("InfoGraph", "untrained encoder", "89.0 % ± 1.1", "majority class", "66.5 %"):
        assert expected in done.out
    names = {"model", "embeddings.parquet", "map.png", "report.html", "results.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_molecules_from_end_to_end(run: Run, molecules: Path, molecule_model: Path, tmp_path: Path) -> None:
    assert run("info", molecules, "--label", "active", "--json").json["classes"] == {"no": 12, "yes": 12}
    path = tmp_path / "vectors.csv"
    assert run("embed", molecule_model, molecules, "--id-column", "name", "--out", path).code == 0
    assert read_embeddings(path).ids[:2].tolist() == ["mol0", "mol1"]
    options = ("--folds", "2", "--repeats", "1", "--json")
    assert run("evaluate", path, molecules, "--label", "active", *options).json["graphs"] == 24
    assert run("map", path, molecules, "--colour", "logS", "--out", tmp_path / "map.png").code == 0
    study = run("study", molecules, "--label", "active", "--out", tmp_path / "s", *SMALL, *options).json
    assert study["source"] == "molecules.csv" and study["table"][-1]["mean"] == 50


def test_networks_from_end_to_end(run: Run, networks: Path, tmp_path: Path) -> None:
    about = run("info", networks, "--node-columns", "role", "--json").json
    assert about["columns"]["node"][0]["categories"] == ["hub", "leaf"]
    model, path = tmp_path / "model", tmp_path / "vectors.parquet"
    assert run("train", networks, "--out", model, "--node-columns", "role", *SMALL).code == 0
    assert [column.name for column in load(model).schema_.node] == ["role"]  # type: ignore[attr-defined]
    done = run("embed", model, networks, "--out", path, "--columns", "y")
    assert done.out == f"{path}: 12 vectors of 8 numbers\n"
    found = read_embeddings(path)
    assert found.ids.tolist() == [f"net{i}" for i in range(12)]
    assert found.columns["y"].tolist() == ["star", "ring"] * 6
    options = ("--folds", "2", "--inner-folds", "2", "--repeats", "1", "--classifier", "logistic", "--json")
    assert run("evaluate", path, *options).json["graphs"] == 12


def test_settings_of_the_model_decide_how_molecules_are_read(
    run: Run, molecules: Path, tmp_path: Path
) -> None:
    model, path = tmp_path / "model", tmp_path / "vectors.parquet"
    assert run("train", molecules, "--hydrogens", "--out", model, *SMALL).code == 0
    assert run("embed", model, molecules, "--out", path).code == 0
    graphs = read_graphs(molecules, hydrogens=True)
    assert np.array_equal(read_embeddings(path).vectors, load(model).transform(graphs))
    refused = run("embed", model, molecules, "--no-hydrogens", "--out", path)
    assert refused.code == 2 and "hydrogens" in refused.err


def test_salts_and_units(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("smiles,logS [mol/L],Tm\nCCN.Cl,-1.5,300.5\nCCO,-2.5,310\n")
    words = ("--salts", "strip", "--unit", "Tm=K", "--unit", "logS = log(mol/L)", "--json")
    content = run("info", table, *words).json
    assert content["read_with"]["salts"] == "strip" and content["nodes"] == 6
    assert run("info", table, "--json").json["nodes"] == 7
    units = {column["name"]: column.get("unit") for column in content["columns"]["graph"]}
    assert units == {"smiles": None, "stripped": None, "logS [mol/L]": "log(mol/L)", "Tm": "K"}

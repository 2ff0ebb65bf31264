"""Everything that was saved in format 1 opens, and is what it was: models, graphs, indices, atlases, shards.

`format1/README.md` says what that folder holds. Only public calls are made here, so that
the inside of the package can change.

Numbers are compared on whatever processor the tests run. What is counted is equal to the last bit. A network
computes in float32 (24 bits, 6e-8), and another processor adds up in another order: over a few layers of some
dozen terms that is 1e-6 of the largest number, and 1e-5 is asked for. A model that is fitted again has such
differences at every step, and Adam goes as far for a gradient that is all rounding (that of a bias before
BatchNorm) as for a large one. Vectors then differed by up to 1.5e-2 between the instructions of two
processors, the losses on the way by 1e-4, while any one setting that counts in training, set back to its
default, changes the losses by 4e-4 or more: they are compared by 3e-4.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

import infograph
from infograph import GraphIndex, GraphSet
from infograph.baselines import deep_kernel
from infograph.data.colours import open_colouring, refine
from infograph.data.joining import align
from infograph.estimators import architecture
from infograph.io import json_ready
from infograph.parameters import flat
from tests.golden.test_results import told

FORMAT1 = Path(__file__).parent / "format1"
MANIFEST = json.loads((FORMAT1 / "manifest.json").read_text())
MODELS: dict[str, dict[str, Any]] = MANIFEST["models"]
SETS = ("networks", "weighted", "molecules", "qm9")


@pytest.fixture(scope="module", autouse=True)
def nothing_changes() -> Iterator[None]:
    """Opening a file leaves it alone, and leaves nothing beside it."""
    before = _digests()
    yield
    assert _digests() == before


def _digests() -> dict[str, str]:
    files = sorted(path for path in FORMAT1.rglob("*") if path.is_file())
    return {str(path.relative_to(FORMAT1)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# ---- models


class OwnEncoder(torch.nn.Module):
    """A user's encoder; its weights are in the folder, itself is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)

    def forward(self, x, edge_index, batch):
        source, target = edge_index
        one = torch.relu(self.first(x + torch.zeros_like(x).index_add(0, target, x[source])))
        two = torch.relu(self.second(one + torch.zeros_like(one).index_add(0, target, one[source])))
        return [one, two]


@cache
def graphs_of(name: str) -> GraphSet:
    return infograph.open_graphs(FORMAT1 / "graphs" / name)


@cache
def model_of(name: str) -> Any:
    return load(name, FORMAT1 / "models" / name)


def load(name: str, folder: Path) -> Any:
    return infograph.load(folder, **({"encoder": OwnEncoder()} if MODELS[name]["encoder"] else {}))


def answers(name: str, model: Any, calls: list[str]) -> dict[str, NDArray[Any]]:
    """What a model gives for its graphs, by call."""
    graphs = graphs_of(MODELS[name]["graphs"])
    found = {}
    for call in calls:
        if call == "gram of the fitted":
            found[call] = model.gram()
        elif call in ("mean", "spread"):
            several = getattr(model, "predict_proba", model.predict)
            found[call] = several(graphs, return_std=True)[call == "spread"]
        else:
            found[call] = getattr(model, call)(graphs)
    return found


@cache
def given(name: str) -> dict[str, Any]:
    """What the saved model gives today."""
    return answers(name, model_of(name), list(expected(name)))


@cache
def expected(name: str) -> dict[str, NDArray[Any]]:
    with np.load(FORMAT1 / "expected" / f"{name}.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def assert_close(found: Any, wanted: NDArray[Any], rtol: float, what: str) -> None:
    """Numbers within `rtol` of the largest one; kinds, shapes, and all that is no fraction the same."""
    found = found.toarray() if issparse(found) else np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    if wanted.dtype.kind == "f" and rtol:
        np.testing.assert_allclose(
            found, wanted, rtol=0, atol=rtol * float(np.abs(wanted).max(initial=0)), err_msg=what
        )
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=what)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_it_gave(name):
    about, wanted = MODELS[name], expected(name)
    model = model_of(name)
    assert type(model).__name__ == about["class"]
    found = given(name)
    for call, values in found.items():
        assert_close(values, wanted[call], about["rtol"], f"{name}, {call}")
    if "transform" in wanted:
        assert issparse(found["transform"]) == about["sparse"]
        names = model.get_feature_names_out()
        assert len(names) == wanted["transform"].shape[1]
        assert [names[0], names[-1]] == about["features"]
    if "targets" in about:
        assert list(model.target_names_) == about["targets"]
        assert list(model.target_units_) == about["units"]
    if "classes" in about:
        assert model.classes_.tolist() == about["classes"]
    assert model.history_ == json.loads((FORMAT1 / "models" / name / "history.json").read_text())
    assert_schema(model.schema_, json.loads((FORMAT1 / "models" / name / "schema.json").read_text()))


@pytest.mark.parametrize("name", MODELS)
def test_the_settings_of_a_model_are_what_they_were(name):
    saved = json.loads((FORMAT1 / "models" / name / "config.json").read_text())["params"]
    found = json_ready(flat(model_of(name)))
    for setting in saved.keys() - {"max_nodes", "max_minutes", "memory_mb"}:  # bounded the work
        assert saved[setting] in (found[setting], "custom"), setting


@pytest.mark.parametrize("name", MODELS)
def test_a_model_can_be_saved_again(name, tmp_path):
    again = load(name, model_of(name).save(tmp_path / "model"))
    for call, found in answers(name, again, list(expected(name))).items():
        before = given(name)[call]
        assert_close(found, before.toarray() if issparse(before) else before, 0.0, f"{name}, {call}")


@pytest.mark.parametrize("name", [name for name, about in MODELS.items() if about["again"] is not None])
def test_the_settings_of_a_model_make_the_same_model_again(name, monkeypatch):
    # encoders of molecules had an input for every element; those that are there are enough since
    monkeypatch.setattr(architecture, "_own", lambda column, values: column.fitted(values))
    # deep kernels read sentences in the order of graphs, which they do no more
    monkeypatch.setattr(deep_kernel, "in_drawn_order", lambda rows, random_state: rows)
    about, wanted = MODELS[name], expected(name)
    graphs = graphs_of(about["graphs"])[: about["fitted"]]
    again = clone(model_of(name)).fit(graphs, about["y"], **about["fit"])
    then = json.loads((FORMAT1 / "models" / name / "history.json").read_text())
    for now, epoch in zip(getattr(again, "history_", []), then, strict=True):
        kept = now.keys() - {"seconds", "graphs_per_second"}
        assert [now[name] for name in kept] == pytest.approx(
            [epoch[name] for name in kept], rel=3e-4, abs=1e-6
        )
    call = next(iter(wanted))  # the others follow from the same weights
    assert_close(answers(name, again, [call])[call], wanted[call], about["again"], f"{name}, {call}")


def test_every_class_of_models_is_here():
    public = {name: getattr(infograph, name) for name in infograph.__all__}
    classes = {name for name, each in public.items() if isinstance(each, type) and hasattr(each, "load")}
    later = {"OptimalAssignment", "LocalTopologicalProfile"}  # than format 1
    assert classes - later == {about["class"] for about in MODELS.values()}


def test_a_model_of_molecules_reads_smiles_as_it_did():
    wanted = expected("infograph-molecules")["transform"]
    smiles = graphs_of("molecules").values("graph", "smiles").tolist()
    assert_close(model_of("infograph-molecules").transform(smiles), wanted, 1e-5, "from SMILES")


def test_a_model_knows_the_elements_it_has_seen():
    with pytest.warns(infograph.errors.UnknownCategoryWarning, match="element Br: .* had C, N, O, Cl"):
        model_of("regressor-star").predict(["CCBr"])


def test_a_model_of_one_class_is_not_loaded_as_another():
    with pytest.raises(infograph.errors.InvalidFile, match="UntrainedGIN"):
        infograph.InfoGraph.load(FORMAT1 / "models" / "untrained")


# ---- graphs


# what a schema does not say of a column is this
OMITTED = {"width": 1, "categories": [], "unit": "", "used": True, "role": "feature", "mean": [], "scale": []}


def assert_schema(schema: Any, saved: dict[str, Any]) -> None:
    for level in ("node", "edge", "graph"):
        columns = getattr(schema, level)
        assert [column.name for column in columns] == [each["name"] for each in saved[level]]
        for column, each in zip(columns, saved[level], strict=True):
            for about, value in {**OMITTED, **each}.items():
                now = getattr(column, about)
                assert (list(now) if isinstance(now, tuple) else now) == value, (level, column.name, about)
    assert dict(schema.options) == saved.get("options", {})


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("opened", [infograph.open_graphs, infograph.read_graphs])
def test_a_saved_set_has_its_arrays(name, opened):
    folder = FORMAT1 / "graphs" / name
    graphs, saved = opened(folder), json.loads((folder / "schema.json").read_text())
    arrays = {file.stem: np.load(file, allow_pickle=False) for file in folder.glob("*.npy")}
    assert_schema(graphs.schema, saved["schema"])
    assert {each: list(values.shape) for each, values in arrays.items()} == saved["arrays"]
    for part in ("node_ptr", "edge_ptr", "edges", "ids"):
        assert_close(getattr(graphs, part), arrays.pop(part), 0.0, part)
    for level in ("node", "edge", "graph"):
        for place, column in enumerate(saved["schema"][level]):
            values, wanted = getattr(graphs, level)[column["name"]], arrays.pop(f"{level}_{place}")
            if level == "graph" and wanted.dtype == np.int32:  # labels that are missing are NaN since
                values = graphs.schema.graph[place].codes(values)
            assert_close(values, wanted, 0.0, column["name"])
    assert not arrays


@pytest.mark.parametrize("name", ["networks", "weighted"])
def test_a_saved_set_means_what_its_lines_say(name):
    """The arrays of the set against the JSON lines it was read from, which nothing of the package made."""
    lines = [json.loads(line) for line in (FORMAT1 / "inputs" / f"{name}.jsonl").read_text().splitlines()]
    graphs = graphs_of(name)
    assert graphs.ids.tolist() == [line["id"] for line in lines]
    for graph, line in zip(graphs, lines, strict=True):
        assert graph.n_nodes == len(line["nodes"])
        for column in graph.schema.node:
            given = [node[column.name] for node in line["nodes"]]
            found = graph.values("node", column.name).tolist()
            assert found == (pytest.approx(given) if column.kind == "float" else given)
        edge = graph.schema.edge[0].name
        found = zip(*graph.edge_index.tolist(), graph.values("edge", edge).tolist(), strict=True)
        arcs = [(u, v, about[edge]) for u, v, about in line["edges"]]
        if not line.get("directed", False):
            arcs += [(v, u, about) for u, v, about in arcs]
        assert sorted(found) == sorted(arcs)
        for column in graph.schema.graph:
            (value,) = graph.values("graph", column.name).tolist()
            given = line[column.name]
            assert value == (pytest.approx(float("nan"), nan_ok=True) if given is None else given)


def test_files_of_graphs_are_read_as_they_were():
    inputs = FORMAT1 / "inputs"
    read = {
        "networks": infograph.read_graphs(inputs / "networks.jsonl", node=["kind"], edge=["bond"]),
        "weighted": infograph.read_graphs(inputs / "weighted.jsonl", weight="flow", edge=[]),
        "molecules": infograph.read_graphs(inputs / "molecules.csv", stereo=True),
    }
    for name, graphs in read.items():
        saved = graphs_of(name)
        assert graphs.schema == saved.schema
        for part in ("node_ptr", "edge_ptr", "edges", "ids"):
            assert_close(getattr(graphs, part), getattr(saved, part), 0.0, f"{name}, {part}")
        for level in ("node", "edge", "graph"):
            for column, values in getattr(saved, level).items():
                assert_close(getattr(graphs, level)[column], values, 0.0, f"{name}, {column}")


# ---- indices and what is kept beside them

NEIGHBOURS = json.loads((FORMAT1 / "indices" / "neighbours.json").read_text())
QUERIES: dict[str, Any] = {"molecules": ["CCCCO", "c1ccccc1O"], "vectors": np.array([7.5, 8.5, 8.0])}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_index_finds_the_same_neighbours(name):
    if name == "approximate":
        pytest.importorskip("faiss")
    folder, wanted = FORMAT1 / "indices" / name, NEIGHBOURS[name]
    saved = json.loads((folder / "index.json").read_text())
    index = GraphIndex.open(folder)
    assert (index.metric, index.approximate) == (saved["metric"], saved["approximate"])
    assert (index.has_model, index.is_approximate) == (saved["model"], saved["covered"] > 0)
    assert_close(index.vectors, np.load(folder / "vectors.npy"), 0.0, "vectors")
    assert_close(index.ids, np.load(folder / "ids.npy"), 0.0, "ids")
    for call, rows in wanted.items():
        if call == "near_duplicates":
            assert index.near_duplicates() == rows
            continue
        count = max(row["rank"] for row in rows)
        by_id = call != "search"
        found = index.search_id(rows[0]["query"], count) if by_id else index.search(QUERIES[name], count)
        assert_rows(found.table(), rows)


def assert_rows(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(found) == len(wanted)
    for row, other in zip(found, wanted, strict=True):
        row = {name: value for name, value in row.items() if name != "tanimoto"}  # came later
        assert list(row) == list(other)
        assert row == {
            name: pytest.approx(value, rel=1e-5, nan_ok=True) if isinstance(value, float) else value
            for name, value in other.items()
        }


def test_an_index_of_vectors_has_its_columns():
    columns = GraphIndex.open(FORMAT1 / "indices" / "vectors").columns
    assert list(columns) == ["weight", "name", "mixed"]
    weights = np.where(np.arange(30) % 7 == 1, np.nan, np.arange(30) / 4)
    np.testing.assert_array_equal(columns["weight"], weights)
    assert columns["name"].tolist()[:6] == ["", "vector 1", "vector 2", "vector 3", "vector 4", ""]
    assert columns["mixed"].tolist() == ["x", None, 3, 4.5, True] * 6


def test_an_index_grows(tmp_path):
    shutil.copytree(FORMAT1 / "indices" / "molecules", tmp_path / "index")
    index = GraphIndex.open(tmp_path / "index")
    vectors = np.array(index.vectors)
    index.add(["CCCCO"])
    index = GraphIndex.open(index.save(tmp_path / "larger"))
    assert len(index) == len(vectors) + 1
    np.testing.assert_array_equal(index.vectors[:-1], vectors)
    found = index.search(["CCCCO"], 5).table()
    assert found[0]["score"] == pytest.approx(1.0)
    later = [{**row, "rank": row["rank"] + 1} for row in NEIGHBOURS["molecules"]["search"][:4]]
    assert_rows(found[1:], later)


@pytest.mark.parametrize("name", ["molecules", "vectors"])
def test_a_map_is_not_made_again(name, tmp_path, capsys):
    """The atlas beside an index is taken as it is: words that nobody would find stay, and are on the page."""
    shutil.copytree(FORMAT1 / "indices" / name, tmp_path / name)
    marker = tmp_path / name / "atlas" / "pca-3" / "atlas.json"
    words = {"predicted logS": "predicted golden words", "15 graphs": "15 golden words"}
    text = marker.read_text()
    for old, new in words.items():
        text = text.replace(old, new)
    assert "golden words" in text
    marker.write_text(text)
    page = tmp_path / "map.html"
    about = told(capsys, "map", tmp_path / name, "--method", "pca", "--seed", "3", "--out", page)
    assert about["points"] == len(GraphIndex.open(tmp_path / name))
    assert marker.read_text() == text
    packed = page.read_text().partition('id="atlas-data">')[2].partition("<")[0]
    assert b"golden words" in gzip.decompress(base64.b64decode(packed))


# ---- vectors of many files


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A copy of the shards and their vectors; git keeps no times, so they get those that the records have."""
    folder = Path(shutil.copytree(FORMAT1 / "shards", tmp_path / "shards"))
    record = json.loads((folder / "vectors" / "_shards" / "a.json").read_text())
    for path in (folder / "inputs").rglob("*"):
        os.utime(path, ns=(record["input"]["mtime_ns"],) * 2)
    return folder


def embed(shards: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    model = FORMAT1 / "models" / "infograph-molecules"
    return told(capsys, "embed", model, f"{shards}/inputs/*", "--out", f"{out}/", "--workers", "1")


def test_finished_shards_are_skipped(shards, capsys):
    before = {path: path.stat().st_mtime_ns for path in (shards / "vectors").rglob("*.*")}
    about = embed(shards, shards / "vectors", capsys)
    assert (about["shards"], about["skipped"], about["done"]) == (3, 3, 0)
    assert (about["rows"], about["embedded"], about["rejected"]) == (26, 25, 1)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_shard_that_has_changed_is_embedded_again(shards, capsys):
    changed, record = shards / "inputs" / "b.smi", shards / "vectors" / "_shards" / "b.json"
    record.write_text(record.read_text().replace("/data/shards/b.smi", str(changed)))
    with changed.open("a") as file:
        file.write("CCCC butane\n")
    about = embed(shards, shards / "vectors", capsys)
    assert (about["skipped"], about["done"], about["embedded"]) == (2, 5, 26)


def test_shards_are_written_as_they_were(shards, capsys):
    embed(shards, shards / "again", capsys)
    for name in ("a", "b", "c"):
        was, now = (parquet.read_table(shards / each / f"{name}.parquet") for each in ("vectors", "again"))
        assert now.schema.remove_metadata() == was.schema.remove_metadata()
        assert now["id"].to_pylist() == was["id"].to_pylist()
        found, wanted = (np.array(table["vector"].to_pylist(), np.float32) for table in (now, was))
        assert_close(found, wanted, 1e-5, name)
        records = [
            json.loads((shards / each / "_shards" / f"{name}.json").read_text())
            for each in ("vectors", "again")
        ]
        for record in records:
            for free in ("input", "bytes", "seconds"):
                del record[free]
        assert records[0] == records[1]
    rejected = [(shards / each / "_rejected" / "a.csv").read_text() for each in ("vectors", "again")]
    assert rejected[0].splitlines()[:2] == rejected[1].splitlines()[:2]


# ---- colours


def test_colours_on_disk():
    model, (folder,) = model_of("infograph"), (FORMAT1 / "colours").iterdir()
    graphs = align(graphs_of("networks"), model.schema_)
    found, expected = open_colouring(folder), refine(graphs, 2)
    assert len(found.rounds) == len(expected.rounds)
    for name in ("node_ptr", "node_table", "edge_table", "graph_kinds"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for a, b in zip(found.rounds, expected.rounds, strict=True):
        np.testing.assert_array_equal(a.parent, b.parent)
        np.testing.assert_array_equal(a.incoming.toarray(), b.incoming.toarray())
    for k, counts in enumerate(expected.graph_counts):
        np.testing.assert_array_equal(found.node_colours[k], expected.node_colours[k])
        np.testing.assert_array_equal(found.graph_counts[k].toarray(), counts.toarray())

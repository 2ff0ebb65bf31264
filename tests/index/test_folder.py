"""Saved indexes: whole or not at all, and damage is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from infograph import GraphSet, InfoGraph
from infograph.cli import main
from infograph.data.convert import objects
from infograph.data.vectors import Embeddings
from infograph.errors import FileMissing, InfoGraphError, InvalidFile, InvalidParameter
from infograph.index import GraphIndex
from tests.index.conftest import SMILES, of_vectors


def test_round_trip(index: GraphIndex, tmp_path: Path) -> None:
    folder = index.save(tmp_path / "index")
    opened = GraphIndex.open(folder)
    assert np.array_equal(opened.vectors, index.vectors) and not opened.vectors.flags.writeable
    assert opened.ids.tolist() == index.ids.tolist() and opened.metric == "cosine"
    assert opened.columns["active"].tolist() == index.columns["active"].tolist()
    assert opened.search(SMILES[:5]).table() == index.search(SMILES[:5]).table()
    assert opened.search_id("mol3").table() == index.search_id("mol3").table()
    assert opened.graphs is not None and index.graphs is not None
    assert np.array_equal(opened.graphs[3].edges, index.graphs[3].edges)
    assert isinstance(opened.model, InfoGraph)
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pickle", ".pt")]
    opened.add(["CCCCCl"])
    opened.save(folder)  # over itself, while it is mapped
    again = GraphIndex.open(folder)
    assert len(again) == 25 and again.search(["CCCCCl"], 1).ids.tolist() == [["0"]]
    assert again.search_id("mol3", 30).rows.tolist() == opened.search_id("mol3", 30).rows.tolist()


def test_vectors_alone(tmp_path: Path) -> None:
    columns = {
        "y": np.array([1.5, np.nan]),
        "name": np.array(["ä", ""]),
        "mixed": objects([None, 3]),
        "pair": np.array([[1, 2], [3, 4]]),
    }
    vectors = np.eye(2, dtype=np.float32)
    index = GraphIndex.of(Embeddings(np.array([7, 8]), vectors, columns), metric="euclidean")
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    assert opened.graphs is None and opened.model is None and opened.metric == "euclidean"
    first = opened.search([0, 1]).table()[0]
    assert (first["id"], first["score"], first["name"], first["mixed"]) == (8, 0.0, "", 3)
    assert first["pair"] == [3, 4] and np.isnan(first["y"])
    opened.add_vectors([9], [[1, 1]])
    assert opened.columns["mixed"].tolist() == [None, 3, None]


@pytest.fixture
def saved(index: GraphIndex, tmp_path: Path) -> Path:
    return index.save(tmp_path / "index")


def test_damage_is_noticed_in_every_file(saved: Path, tmp_path: Path) -> None:
    names = [path.relative_to(saved) for path in saved.rglob("*") if path.is_file()]
    assert len(names) > 12
    for place, name in enumerate(names):
        copy = tmp_path / f"copy{place}"
        shutil.copytree(saved, copy)
        content = bytearray((copy / name).read_bytes())
        (copy / name).unlink()
        with pytest.raises(InfoGraphError, match=r"is missing|it has no index.json"):
            GraphIndex.open(copy)
        (copy / name).write_bytes(content[:-1] if name.name != "index.json" else content[:-9])
        with pytest.raises(InvalidFile, match="is damaged"):
            GraphIndex.open(copy)
        content[len(content) // 2] ^= 64
        (copy / name).write_bytes(content)
        if name.name != "index.json":
            with pytest.raises(InvalidFile, match=r"is damaged: its checksum .*save the index again"):
                GraphIndex.open(copy)


def test_unverified_opening_reads_less_but_sizes(saved: Path) -> None:
    content = bytearray((saved / "vectors.npy").read_bytes())
    content[-2] ^= 1
    (saved / "vectors.npy").write_bytes(content)
    assert len(GraphIndex.open(saved, verify=False)) == 24
    (saved / "vectors.npy").write_bytes(content[:-1])
    with pytest.raises(InvalidFile, match="bytes, expected"):
        GraphIndex.open(saved, verify=False)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": "infograph-index-9", "version": "3.1"}, "format 'infograph-index-9'.*version 3.1"),
        ({"metric": None}, "'metric' is missing"),
        ({"metric": "dot"}, "is damaged, metric='dot'"),
        ({"shape": [24, 9]}, "not of one length"),
        ({"files": []}, "lists no files"),
        ({"files": {"vectors.npy": 5}}, "lists no files"),
        ({"columns": ["x"]}, "is damaged"),
    ],
)
def test_other_descriptions(saved: Path, change: dict[str, object], expected: str) -> None:
    content = json.loads((saved / "index.json").read_text()) | change
    content = {name: value for name, value in content.items() if value is not None or name == "columns"}
    content.setdefault("approximate", None)
    (saved / "index.json").write_text(json.dumps(content))
    with pytest.raises(InvalidFile, match=expected):
        GraphIndex.open(saved)


def test_foreign_folders(saved: Path, index: GraphIndex, tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="no index folder"):
        GraphIndex.open(tmp_path / "none")
    with pytest.raises(InvalidFile, match=r"is not a saved index: it has no index.json"):
        GraphIndex.open(saved / "model")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidParameter, match="holds other files"):
        index.save(tmp_path / "mine")
    with pytest.raises(InvalidParameter, match="is a file"):
        index.save(tmp_path / "mine" / "thesis.txt")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_an_interrupted_save_leaves_the_old_one(
    saved: Path, index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(index.model, "save", stop, raising=False)
    with pytest.raises(KeyboardInterrupt):
        index.save(saved)
    assert len(GraphIndex.open(saved)) == 24
    assert [path.name for path in saved.parent.iterdir()] == ["index"]


def test_models_that_cannot_be_saved(model: InfoGraph, molecules: GraphSet, tmp_path: Path) -> None:
    pipeline = make_pipeline(model, PCA(3).fit(model.transform(molecules)))
    index = GraphIndex.build(pipeline, molecules)
    assert index.vectors.shape == (24, 3) and index.search(molecules[4], 1).ids.tolist() == [["mol4"]]
    with pytest.raises(InvalidParameter, match=r"a Pipeline, has no save\(folder\)"):
        index.save(tmp_path / "index")
    assert not (tmp_path / "index").exists()
    alone = of_vectors(index.vectors).save(tmp_path / "index")
    assert GraphIndex.open(alone, model=pipeline).search(molecules[4], 1).rows.tolist() == [[4]]


def test_a_word_that_is_nothing_is_said_to_be_no_id_either(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", str(saved), "no such thing"]) != 0
    told = capsys.readouterr().err
    assert "'no such thing' is no id of this index, no file, and as a molecule it cannot be used" in told

"""Saved indexes: whole or not at all, and damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infograph import GraphIndex, InfoGraph
from infograph.data.records import objects
from infograph.data.vectors import Embeddings
from infograph.errors import InfoGraphError, InvalidFile
from infograph.index.store import _checksum
from tests.index.conftest import SMILES


@pytest.fixture
def saved(index: GraphIndex, tmp_path: Path) -> Path:
    return index.save(tmp_path / "index")


def test_round_trip(index: GraphIndex, saved: Path) -> None:
    opened = GraphIndex.open(saved)
    assert np.array_equal(opened.vectors, index.vectors) and not opened.vectors.flags.writeable
    assert opened.ids.tolist() == index.ids.tolist() and opened.metric == "cosine"
    assert opened.columns["active"].tolist() == index.columns["active"].tolist()
    assert opened.search(SMILES[:5]).table() == index.search(SMILES[:5]).table()
    assert opened.graphs is not None and index.graphs is not None
    assert np.array_equal(opened.graphs[3].edges, index.graphs[3].edges)
    assert isinstance(opened.model, InfoGraph)
    assert not [path for path in saved.rglob("*") if path.suffix in (".pkl", ".pickle", ".pt")]
    opened.add(["CCCCCCCCN"])
    opened.save(saved)  # over itself, while it is mapped
    again = GraphIndex.open(saved)
    assert len(again) == 25 and again.search(["CCCCCCCCN"], 1).ids.tolist() == [["0"]]
    assert again.search_id("mol3", 30).rows.tolist() == opened.search_id("mol3", 30).rows.tolist()


def test_vectors_alone(tmp_path: Path) -> None:
    columns = {
        "y": np.array([1.5, np.nan]),
        "name": np.array(["ä", ""]),
        "mixed": objects([None, 3]),
        "pair": np.array([[1, 2], [3, 4]]),
    }
    vectors = np.eye(2, dtype=np.float32)
    index = GraphIndex.of(Embeddings(objects([7, 8]), vectors, columns), metric="euclidean")
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    assert opened.graphs is None and opened.model is None and opened.metric == "euclidean"
    first = opened.search([0, 1]).table()[0]
    assert (first["id"], first["score"], first["name"], first["mixed"]) == (8, 0.0, "", 3)
    assert first["pair"] == [3, 4] and np.isnan(first["y"])


def test_damage_is_noticed_in_every_file(saved: Path) -> None:
    paths = [path for path in saved.rglob("*") if path.is_file() and path.name != "index.json"]
    assert len(paths) > 12
    for path in paths:
        content = path.read_bytes()
        changed = bytearray(content)
        changed[len(content) // 2] ^= 64
        for damaged in (content[:-1], bytes(changed), None):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            with pytest.raises(InfoGraphError, match=r"is (damaged|missing).*save the index again"):
                GraphIndex.open(saved)
            path.write_bytes(content)
    path = saved / "vectors.npy"
    changed = bytearray(path.read_bytes())
    changed[-2] ^= 1
    path.write_bytes(changed)
    assert len(GraphIndex.open(saved, verify=False)) == 24  # which compares sizes alone


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": "infograph-index-9"}, "infograph-index-9"),
        ({"metric": None}, "'metric' is missing"),
        ({"metric": "dot"}, "'dot'"),
        ({"shape": [24, 9]}, "shape"),
        ({"files": []}, "damaged"),
        ({"columns": ["x"]}, "damaged"),
    ],
)
def test_other_descriptions(saved: Path, change: dict[str, object], word: str) -> None:
    content = json.loads((saved / "index.json").read_text()) | change
    content = {name: value for name, value in content.items() if value is not None or name not in change}
    (saved / "index.json").write_text(json.dumps(content))
    with pytest.raises(InvalidFile, match=word):
        GraphIndex.open(saved)
    (saved / "index.json").write_text("[" * 5)
    with pytest.raises(InvalidFile, match="no JSON"):
        GraphIndex.open(saved)


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


def nowhere(values: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(values))[:, None] == 5, np.nan, values).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        ("vectors", nowhere, "vector 5 of graph 5 is not finite"),
        ("vectors", lambda values: values * np.float32(1e30), "longer than"),
        ("vectors", lambda values: values.reshape(24, 2, 2), r"shape \(24, 2, 2\)"),
        ("vectors", lambda values: values[:, :0], r"shape \(24, 0\)"),
        ("vectors", lambda values: values.astype(str), "do not fit together"),
        ("norms", lambda values: values.astype(str), "do not fit together"),
        ("ids", np.zeros_like, "'0' stands twice"),
        ("ids", lambda values: np.array([*values[1:].astype(str), "\ud800"]), "'ids' holds half a character"),
        ("columns/0", lambda values: np.array(["\ud800"] * 24), "'y' holds half a character"),
        ("columns/0", lambda values: values[:20], "do not fit together"),
        ("columns/0", lambda values: values[0], "do not fit together"),
    ],
)
def test_arrays_that_are_not_of_an_index(tmp_path: Path, name: str, change: object, word: str) -> None:
    """Made by another program, say: their checksums are right."""
    columns = {"y": np.arange(24)}
    vectors = np.arange(96, dtype=np.float32).reshape(24, 4)
    folder = GraphIndex.of(Embeddings(np.arange(24), vectors, columns)).save(tmp_path / "index")
    changed = change(np.load(folder / f"{name}.npy"))
    np.save(folder / f"{name}.npy", changed)
    content = json.loads((folder / "index.json").read_text())
    content["files"][f"{name}.npy"] = _checksum(folder / f"{name}.npy")
    content["shape"] = list(changed.shape) if name == "vectors" else content["shape"]
    (folder / "index.json").write_text(json.dumps(content))
    with pytest.raises(InvalidFile, match=f"index is damaged.*{word}.*save the index again"):
        GraphIndex.open(folder)

"""Vectors with ids and columns: to a file and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from infograph import as_graphset
from infograph.data.vectors import Embeddings, holds_embeddings, read_embeddings, write_embeddings
from infograph.errors import InvalidFile, InvalidParameter

ENDINGS = [".parquet", ".csv"]


@pytest.fixture
def embeddings() -> Embeddings:
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    vectors[2] = np.nan
    columns = {
        "kind": np.array(["a", "b", None, 'a,"c"'], dtype=object),
        "count": np.array([1, 2, 3, 4], dtype=object),
        "logS": np.array([0.5, np.nan, -1.25, 3.0]),
    }
    return Embeddings(np.array(["x", "y", "z", "ä"]), vectors, columns)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(embeddings: Embeddings, tmp_path: Path, ending: str) -> None:
    path = write_embeddings(embeddings, tmp_path / f"v{ending}")
    again = read_embeddings(path)
    assert again.ids.tolist() == embeddings.ids.tolist() and again.vectors.dtype == np.float32
    assert np.array_equal(again.vectors, embeddings.vectors, equal_nan=True)
    assert again.usable.tolist() == [True, True, False, True]
    assert again.columns["count"].tolist() == [1, 2, 3, 4]
    assert np.array_equal(again.columns["logS"], embeddings.columns["logS"], equal_nan=True)
    assert [value or None for value in again.columns["kind"]] == ["a", "b", None, 'a,"c"']
    assert holds_embeddings(path)
    if ending == ".parquet":
        table = pd.read_parquet(path)
        assert list(table.columns) == ["id", "kind", "count", "logS", "vector"]
        assert np.array_equal(np.stack(table["vector"]), embeddings.vectors, equal_nan=True)
    whole = Embeddings(np.array([7, 9]), np.eye(2, dtype=np.float32))
    ids = read_embeddings(write_embeddings(whole, path)).ids
    assert ids.dtype.kind == "i" and ids.tolist() == [7, 9]
    for names in (["007", "9"], ["1e3", "2e3"], ["NA", "x"]):
        named = Embeddings(np.array(names), np.eye(2, dtype=np.float32))
        assert read_embeddings(write_embeddings(named, path)).ids.tolist() == names


def test_rejected_graphs_keep_their_places() -> None:
    graphs = as_graphset(["CCO", "nonsense(", "c1ccccc1", "C"], ids=["a", "b", "c", "d"], errors="skip")
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    short = Embeddings.of(graphs, vectors, columns=["smiles"])
    assert short.ids.tolist() == ["a", "c", "d"] and short.select([2]).columns["smiles"].tolist() == ["C"]
    full = Embeddings.of(graphs, vectors, columns=None, keep_places=True)
    assert full.ids.tolist() == ["a", "b", "c", "d"]
    assert full.usable.tolist() == [True, False, True, True]
    assert full.vectors[2].tolist() == [2.0, 3.0]
    assert full.columns["smiles"].tolist() == ["CCO", "", "c1ccccc1", "C"]
    assert [problem is None for problem in full.columns["problem"]] == [True, False, True, True]


def test_columns_are_matched_by_id(embeddings: Embeddings) -> None:
    joined = embeddings.with_columns_of(as_graphset(["CC", "CCC"], ids=["ä", "x"]))
    assert joined.ids.tolist() == ["ä", "x"] and joined.columns["smiles"].tolist() == ["CC", "CCC"]
    assert np.array_equal(joined.vectors, embeddings.vectors[[3, 0]])
    assert joined.columns["kind"].tolist() == ['a,"c"', "a"]
    with pytest.raises(InvalidParameter, match="1 of 2 graphs have no vector, the first is 'q'"):
        embeddings.with_columns_of(as_graphset(["CC", "CCC"], ids=["x", "q"]))
    with pytest.raises(InvalidParameter, match="an id stands twice among the graphs"):
        embeddings.with_columns_of(as_graphset(["CC", "CCC"], ids=["x", "x"]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_and_other_tables(embeddings: Embeddings, tmp_path: Path, ending: str) -> None:
    path = write_embeddings(embeddings, tmp_path / f"v{ending}")
    for content in (path.read_bytes()[:40], b"", b"id,smiles\n1,CCO\n"):
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=f"v{ending} is damaged, or holds no vectors"):
            read_embeddings(path)
    assert not holds_embeddings(path) and not holds_embeddings(tmp_path / "missing.csv")

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.vectors import Embeddings, holds_embeddings, read_embeddings, write_embeddings
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, SchemaMismatch

ENDINGS = [".parquet", ".csv", ".npz"]


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


def molecules() -> GraphSet:
    """Three molecules and one that does not parse."""
    return as_graphset(["CCO", "nonsense(", "c1ccccc1", "C"], ids=["a", "b", "c", "d"], errors="skip")


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(embeddings: Embeddings, tmp_path: Path, ending: str) -> None:
    path = write_embeddings(embeddings, tmp_path / f"v{ending}")
    again = read_embeddings(path)
    assert again.ids.tolist() == embeddings.ids.tolist()
    assert again.vectors.dtype == np.float32
    assert np.array_equal(again.vectors, embeddings.vectors, equal_nan=True)
    assert again.usable.tolist() == [True, True, False, True]
    assert again.columns["count"].tolist() == [1, 2, 3, 4]
    assert np.array_equal(again.columns["logS"], embeddings.columns["logS"], equal_nan=True)
    assert [value or None for value in again.columns["kind"]] == ["a", "b", None, 'a,"c"']
    assert holds_embeddings(path)


def test_parquet_opens_in_pandas(embeddings: Embeddings, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_parquet(write_embeddings(embeddings, tmp_path / "v.parquet"))
    assert list(table.columns) == ["id", "kind", "count", "logS", "vector"]
    assert np.array_equal(np.stack(table["vector"]), embeddings.vectors, equal_nan=True)


def test_integer_ids_stay_integers(tmp_path: Path) -> None:
    whole = Embeddings(np.array([7, 9]), np.eye(2, dtype=np.float32))
    for ending in ENDINGS:
        ids = read_embeddings(write_embeddings(whole, tmp_path / f"v{ending}")).ids
        assert ids.dtype.kind == "i"
        assert ids.tolist() == [7, 9]


def test_rejected_graphs_keep_their_places() -> None:
    graphs = molecules()
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    short = Embeddings.of(graphs, vectors, columns=["smiles"])
    assert short.ids.tolist() == ["a", "c", "d"]
    full = Embeddings.of(graphs, vectors, columns=None, keep_places=True)
    assert full.ids.tolist() == ["a", "b", "c", "d"]
    assert full.usable.tolist() == [True, False, True, True]
    assert full.vectors[2].tolist() == [2.0, 3.0]
    assert full.columns["smiles"].tolist() == ["CCO", "", "c1ccccc1", "C"]
    assert [problem is None for problem in full.columns["problem"]] == [True, False, True, True]


def test_columns_are_matched_by_id(embeddings: Embeddings) -> None:
    graphs = as_graphset(["CC", "CCC"], ids=["ä", "x"])
    joined = embeddings.with_columns_of(graphs)
    assert joined.ids.tolist() == ["ä", "x"]
    assert np.array_equal(joined.vectors, embeddings.vectors[[3, 0]])
    assert joined.columns["smiles"].tolist() == ["CC", "CCC"]
    assert joined.columns["kind"].tolist() == ['a,"c"', "a"]


def test_ids_that_do_not_match_are_refused(embeddings: Embeddings) -> None:
    with pytest.raises(InvalidParameter, match="1 of 2 graphs have no vector, the first is 'q'"):
        embeddings.with_columns_of(as_graphset(["CC", "CCC"], ids=["x", "q"]))
    with pytest.raises(InvalidParameter, match="'x' stands twice among the graphs"):
        embeddings.with_columns_of(as_graphset(["CC", "CCC"], ids=["x", "x"]))


def test_missing_column_lists_those_there_are(embeddings: Embeddings) -> None:
    with pytest.raises(SchemaMismatch, match="no graph column 'q'; there are: 'kind', 'count', 'logS'"):
        embeddings.column("q")
    with pytest.raises(SchemaMismatch, match="no graph column 'q'; the graphs have: 'smiles'"):
        Embeddings.of(molecules(), np.zeros((3, 2), np.float32), columns=["q"])


def test_names_of_the_file_itself_are_refused(tmp_path: Path) -> None:
    for name in ("id", "vector", "v12"):
        clash = Embeddings(np.arange(1), np.zeros((1, 2), np.float32), {name: np.zeros(1)})
        with pytest.raises(InvalidParameter, match=f"{name!r} cannot be written"):
            write_embeddings(clash, tmp_path / "v.parquet")
    assert not list(tmp_path.iterdir())


def test_unknown_ending_is_refused(embeddings: Embeddings, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"\.parquet, \.csv or \.npz"):
        write_embeddings(embeddings, tmp_path / "v.xlsx")


def test_failed_write_loses_nothing(
    embeddings: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_embeddings(embeddings, tmp_path / "v.npz")
    before = path.read_bytes()

    def full_disk(file: Path, **_: object) -> None:
        Path(file).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_embeddings(embeddings, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_named(embeddings: Embeddings, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"v{ending}"
    with pytest.raises(FileMissing, match=f"v{ending}"):
        read_embeddings(path)
    path.write_bytes(b"")
    with pytest.raises(InvalidFile, match=f"v{ending}"):
        read_embeddings(path)
    write_embeddings(embeddings, path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InvalidFile, match=f"v{ending}"):
        read_embeddings(path)


def test_other_tables_are_no_embeddings(tmp_path: Path) -> None:
    table = tmp_path / "molecules.csv"
    table.write_text("id,smiles\n1,CCO\n")
    assert not holds_embeddings(table)
    assert not holds_embeddings(tmp_path / "missing.csv")
    with pytest.raises(InvalidFile, match="expected the columns 'id' and 'vector'"):
        read_embeddings(table)

"""Blocks of streamed files, against the readers that take a file whole; sets written chunk by chunk."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import GraphSet, as_graphset, concatenate, read_graphs, save_graphs
from infograph.data.graphset import fingerprint
from infograph.data.read import ReadOptions
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.scale.shards import Block, find_shards, read_blocks
from infograph.scale.store import save_stream
from tests.data.equal import assert_equal
from tests.scale.conftest import molecules

GOOD = molecules(23)
MIXED = [*GOOD[:4], "C((", *GOOD[4:9], "", *GOOD[9:], "N(C)(C)(C)(C)C"]


def blocks(path: Path, size: int, columns: Sequence[str] | None = (), **options: Any) -> list[Block]:
    return list(read_blocks(find_shards(path)[0], size, ReadOptions(**options), columns))


def same_as_whole(path: Path, size: int, **options: Any) -> list[Block]:
    """The blocks, once they are checked against `read_graphs`."""
    whole = read_graphs(path, errors="skip", **options)
    found = blocks(path, size, **options)
    assert [block.start for block in found] == list(range(0, len(whole) + len(whole.rejected), size))
    first = 0
    for block in found:
        if block.graphs is not None:
            assert fingerprint(block.graphs) == fingerprint(whole[first : first + len(block.graphs)])
            first += len(block.graphs)
        assert len(block) == len(block.rows) + len(block.rejected)
    assert first == len(whole)
    listed = [(b.start + each.index, each.problem) for b in found for each in b.rejected]
    assert listed == [(each.index, each.problem) for each in whole.rejected]
    return found


def write(path: Path) -> Path:
    """The molecules with ids, in the format that the ending asks for."""
    rows = [["note", "SMILES", "name"], *(["x\ny", s, f"m{n}"] for n, s in enumerate(MIXED))]
    if path.suffix == ".parquet":
        columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
        parquet.write_table(pa.table(columns), path, row_group_size=9)
        return path
    if path.suffix == ".csv":
        text = "\ufeff\n\n" + "\n".join(";".join(f'"{cell}"' for cell in row) for row in rows) + "\n\n;;\n"
    else:
        text = "\n".join(["SMILES id", *(f"{s}\t{name}" if s else "" for _, s, name in rows[1:]), "", " "])
    raw = text.replace("\n", "\r\n").encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("name", ["a.smi", "a.smi.gz", "a.csv", "a.parquet"])
def test_blocks_are_the_whole(tmp_path: Path, name: str, size: int) -> None:
    path = write(tmp_path / name)
    ids = [own for block in same_as_whole(path, size) for own in block.ids]
    assert ids == [f"m{n}" if s or ".smi" not in name else f"a:{n}" for n, s in enumerate(MIXED)]
    if ".smi" not in name:
        kept = [cell for block in blocks(path, size, ["note"]) for cell in block.columns["note"].to_pylist()]
        assert [cell.replace("\r", "") for cell in kept] == ["x\ny"] * len(MIXED)


def test_ids_options_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,id,code\nC,x,1\nCC,x,2\nCCC,,3\n")
    assert [list(block.ids) for block in blocks(path, 2)] == [["x", "x"], ["a:2"]]
    assert list(blocks(path, 9, id="code")[0].ids) == ["1", "2", "3"]
    path.write_text("x,vector\n[Na+].CC(=O)[O-],C\nCCO.Cl,C\n")
    for options in ({"hydrogens": True}, {"salts": "strip"}):
        same_as_whole(path, 1, smiles="x", **options)
    for columns, error, words in (
        (["w"], SchemaMismatch, "no column 'w'"),
        (None, InvalidParameter, "'vector'"),
    ):
        with pytest.raises(error, match=words):
            blocks(path, 5, columns, smiles="x")


def test_json_lines_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"nodes": 2, "edges": [[0, 1]], "w": 0.5 * n, "id": f"g{n}"} for n in range(5)]
    text = [json.dumps(line) for line in lines]
    path.write_text("\n".join([*text[:2], '{"nodes": 0}', *text[2:], '{"nodes": 2, "edges": [[0, 9]]}']))
    found = blocks(path, 3, ["w"])
    assert [name for b in found for name in b.ids] == ["g0", "g1", "a:2", "g2", "g3", "g4", "a:6"]
    assert [value for b in found for value in b.columns["w"].to_pylist()] == [0, 0.5, None, 1, 1.5, 2, None]
    assert [len(b.graphs) if b.graphs else 0 for b in found] == [2, 3, 0]
    assert "line 3: it has no nodes" in found[0].rejected[0].problem
    path.write_text('{"nodes": 0}\n{"nodes": 1, "edges": 7}\n')
    (block,) = blocks(path, 9)  # of bad graphs only
    assert block.graphs is None and [each.index for each in block.rejected] == [0, 1]


def test_saved_graphs(tmp_path: Path, corner_cases: GraphSet) -> None:
    save_graphs(corner_cases, tmp_path / "saved")
    found = blocks(tmp_path / "saved", 4)
    assert [name for block in found for name in block.ids] == corner_cases.ids.tolist()
    assert found[1].graphs is not None and fingerprint(found[1].graphs) == fingerprint(corner_cases[4:8])


def test_memory_is_bounded_by_the_block(tmp_path: Path) -> None:
    """One row group of 16 MB of text, which no two rows share."""
    path = tmp_path / "a.parquet"
    note = [f"{n:08d}" * 100 for n in range(20_000)]
    parquet.write_table(pa.table({"smiles": ["C"] * len(note), "note": note}), path, compression="none")
    del note
    before, most = pa.total_allocated_bytes(), 0
    for block in read_blocks(find_shards(path)[0], 500, ReadOptions(), ["note"]):
        most = max(most, pa.total_allocated_bytes() - before)
        assert len(block) == 500
    assert most < 6e6


def test_a_stream_is_its_chunks_joined(tmp_path: Path, corner_cases: GraphSet) -> None:
    other = as_graphset(molecules(3))
    for chunks in (
        [corner_cases[:2], corner_cases[2:9], corner_cases[9:]],
        [as_graphset(molecules(4)), as_graphset(molecules(9, seed=1))],
        [other, replace(other, ids=np.array(["x", "yy", "z"]))],  # numbers here and texts there
    ):
        saved = save_stream(iter(chunks), tmp_path / "all")
        assert_equal(saved, concatenate(chunks))
        assert isinstance(saved.edges, np.memmap) and [path.name for path in tmp_path.iterdir()] == ["all"]
    for bad, error in (([], InvalidParameter), ([corner_cases, other], SchemaMismatch)):
        with pytest.raises(error):
            save_stream(bad, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["all"]

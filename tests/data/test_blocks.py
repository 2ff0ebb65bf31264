"""Blocks of streamed files, against the readers that take a file whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph.data.graphset import GraphSet, fingerprint, save_graphs
from infograph.data.read import ReadOptions, read_graphs
from infograph.data.tables import Block, read_blocks
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.scale.shards import find_shards
from tests.scale.conftest import molecules

GOOD = molecules(23)
MIXED = [*GOOD[:4], "C((", *GOOD[4:9], "", *GOOD[9:], "N(C)(C)(C)(C)C"]
SIZES = (1, 7, 1000)


def blocks(
    path: Path, size: int, columns: Sequence[str] | None = (), options: ReadOptions | None = None
) -> list[Block]:
    return list(read_blocks(find_shards(path)[0], size, options or ReadOptions(), columns))


def same_as_whole(path: Path, size: int, **options: str) -> list[Block]:
    """The blocks, once they are checked against `read_graphs`."""
    whole = read_graphs(path, errors="skip", **options)  # type: ignore[arg-type]
    found = blocks(path, size, options=ReadOptions(**options))  # type: ignore[arg-type]
    assert [block.start for block in found] == list(range(0, sum(map(len, found)), size))
    assert sum(map(len, found)) == len(whole) + len(whole.rejected)
    first = 0
    for block in found:
        if block.graphs is not None:
            part = whole[first : first + len(block.graphs)]
            assert fingerprint(block.graphs) == fingerprint(part)
            first += len(part)
        assert len(block) == len(block.rows) + len(block.rejected)
    assert first == len(whole)
    listed = [(b.start + each.index, each.problem) for b in found for each in b.rejected]
    assert listed == [(each.index, each.problem) for each in whole.rejected]
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("packed", [False, True])
def test_smi(tmp_path: Path, size: int, packed: bool) -> None:
    lines = ["SMILES id"] * packed + [f"{s}\tm {n}" if s else "" for n, s in enumerate(MIXED)] + ["", " "]
    path = tmp_path / ("a.smi.gz" if packed else "a.smi")
    text = "\r\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    found = same_as_whole(path, size)
    ids = [name for block in found for name in block.ids]
    assert ids == [f"m {n}" if s else f"a:{n}" for n, s in enumerate(MIXED)]


@pytest.mark.parametrize("size", SIZES)
def test_tables(tmp_path: Path, size: int) -> None:
    separator, path = ";", tmp_path / "a.csv"
    rows = [["note", "SMILES", "name"], *(["x\ny", s, f"m{n}"] for n, s in enumerate(MIXED)), ["only", "two"]]
    text = "\n".join(separator.join(f'"{cell}"' for cell in row) for row in rows)
    path.write_bytes(("\ufeff\n\n" + text + "\n\n" + separator * 2 + "\n").replace("\n", "\r\n").encode())
    found = same_as_whole(path, size)
    assert "cells, while the header has 3" in found[-1].rejected[-1].problem
    kept = [cell for block in blocks(path, size, ["note"]) for cell in block.columns["note"].to_pylist()]
    assert kept == ["x\ny"] * len(MIXED) + [""]


@pytest.mark.parametrize("size", SIZES)
def test_parquet(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.parquet"
    smiles = [each or None for each in MIXED]
    table = pa.table({"w": np.arange(len(smiles)), "smi": smiles, "mol_id": range(len(smiles))})
    parquet.write_table(table, path, row_group_size=9)
    same_as_whole(path, size)
    found = blocks(path, size, None)
    assert pa.concat_tables(pa.table(block.columns) for block in found).equals(table.select(["w", "smi"]))
    assert [name for block in found for name in block.ids] == [str(n) for n in range(len(smiles))]


def test_ids_repeat_and_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,id,code\nC,x,1\nCC,x,2\nCCC,,3\n")
    assert [list(block.ids) for block in blocks(path, 2)] == [["x", "x"], ["a:2"]]
    chosen = blocks(path, 9, options=ReadOptions(id="code"))
    assert list(chosen[0].ids) == ["1", "2", "3"]
    with pytest.raises(InvalidParameter, match="id='nr'"):
        blocks(path, 9, options=ReadOptions(id="nr"))


def test_options_are_the_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n[Na+].CC(=O)[O-],C\nCCO.Cl,C\n")
    for options in ({"smiles": "x", "hydrogens": True}, {"smiles": "x", "salts": "strip"}):
        same_as_whole(path, 1, **options)  # type: ignore[arg-type]


def test_json_lines_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"nodes": 2, "edges": [[0, 1]], "w": 0.5 * n, "id": f"g{n}"} for n in range(5)]
    text = [json.dumps(line) for line in lines]
    path.write_text("\n".join([*text[:2], '{"nodes": 0}', *text[2:], '{"nodes": 2, "edges": [[0, 9]]}']))
    found = blocks(path, 3, ["w"])
    assert [len(block) for block in found] == [3, 3, 1]
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
    assert fingerprint(found[1].graphs) == fingerprint(corner_cases[4:8])  # type: ignore[arg-type]


def test_columns_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,vector\nC,1\n")
    with pytest.raises(SchemaMismatch, match=r"no column 'w' in .*a.csv; there are: 'smiles', 'vector'"):
        blocks(path, 5, ["w"])
    with pytest.raises(InvalidParameter, match="'vector' cannot be written"):
        blocks(path, 5, None)


def test_memory_is_bounded_by_the_block(tmp_path: Path) -> None:
    """One row group of 16 MB of text, which no two rows share."""
    path = tmp_path / "a.parquet"
    note = [f"{n:08d}" * 100 for n in range(20_000)]
    parquet.write_table(pa.table({"smiles": ["C"] * len(note), "note": note}), path, compression="none")
    del note
    before = pa.total_allocated_bytes()
    most = 0
    for block in read_blocks(find_shards(path)[0], 500, ReadOptions(), ["note"]):
        most = max(most, pa.total_allocated_bytes() - before)
        assert len(block) == 500
    assert most < 6e6

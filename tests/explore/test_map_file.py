"""The map without a server: one page, one table."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from infograph.data.records import objects
from infograph.explore import make_atlas, write_map, write_points
from infograph.explore.map_file import MODULES, PAGE
from infograph.index import GraphIndex
from tests.explore.conftest import EVIL, N, index_of


def inside(page: Path, kind: str) -> str:
    """What one of the script elements of a page holds."""
    found = re.search(rf'<script type="{kind}"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    return found[1]


def data_of(page: Path) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(inside(page, "application/gzip"))))


def test_the_page_holds_everything_and_nothing_breaks_out(index, atlas, tmp_path):
    path = write_map(index, atlas, tmp_path / "map.html")
    page, data = path.read_text(encoding="utf-8"), data_of(path)
    assert data["ids"][0] == EVIL and EVIL not in page
    assert page.count("</script>") == 3
    assert not re.search(r"<script[^>]* src=", page) and not re.search(r'<link[^>]* href="(?!data:)', page)
    points = np.frombuffer(base64.b64decode(data["points"]), "<f4").reshape(-1, 2)
    assert np.array_equal(points, atlas.points)
    assert len(data["columns"]) == len(atlas.columns) and len(data["drawings"]) == N
    hits = index.search_id("mol3", 12)
    rows, _, alike = zip(*data["neighbours"][3], strict=True)
    assert list(rows) == hits.rows[0].tolist() and alike == pytest.approx(hits.tanimoto[0], abs=1e-3)
    assert data["formulas"][:2] == ["C2H6O", "C6H6O"]
    assert data["atlas"]["upload"] is False
    modules = json.loads(inside(path, "importmap"))["imports"]
    for name in MODULES:
        text = (PAGE / name).read_text()
        assert base64.b64decode(modules[f"./{name}"].partition(",")[2]).decode() == text
        assert not re.search(r"^import\b", text, re.MULTILINE)  # a data address has no neighbours
    wanted = re.findall(r'^import .* from "(.*)";', (PAGE / "app.js").read_text(), re.MULTILINE)
    assert set(wanted) == set(modules)


def test_titles_and_columns_cannot_break_out_either(index, atlas, tmp_path):
    column = replace(atlas.columns[0], name=EVIL, categories=(EVIL, "<!--"))
    evil = replace(atlas, title=EVIL, about="<!-- <script>", columns=(column, *atlas.columns[1:]))
    path = write_map(index, evil, tmp_path / "map.html")
    page = path.read_text()
    assert page.count("</script>") == 3 and "<!--" not in page and "alert(1)</script>" not in page
    assert data_of(path)["atlas"]["title"] == EVIL


def test_only_some_of_many_graphs_are_drawn(index, atlas, tmp_path, monkeypatch):
    monkeypatch.setattr("infograph.explore.map_file.MAX_DRAWINGS", 7)
    monkeypatch.setattr("infograph.explore.map_file.MAX_GRAPHS_WITH_NEIGHBOURS", 7)
    data = data_of(write_map(index, atlas, tmp_path / "map.html"))
    assert len(data["drawings"]) == 7 and data["neighbours"] == [] and data["texts"] == {}


def test_equal_vectors_and_numbers_with_all_their_digits(tmp_path):
    day = np.arange(20240101.0, 20240141.0)
    index = index_of(np.repeat(np.eye(2), 20, axis=0), day=day, share=day / 7)
    data = data_of(write_map(index, make_atlas(index, method="pca"), tmp_path / "map.html"))
    assert data["texts"] == {"day": day.tolist(), "share": (day / 7).tolist()}
    for own, near in enumerate(data["neighbours"]):
        assert len(near) == 12 and own not in {row for row, _ in near}
        assert {row // 20 for row, _ in near} == {own // 20} and {score for _, score in near} == {1}


@pytest.mark.parametrize("n", [1, 2])
def test_an_index_of_one_or_two_graphs(molecules, model, tmp_path, n):
    index = GraphIndex.build(model, molecules[:n])
    atlas = make_atlas(index)
    data = data_of(write_map(index, atlas, tmp_path / "m.html"))
    assert data["atlas"]["n"] == n and sum(map(len, data["neighbours"])) == n * (n - 1)
    assert parquet.read_table(write_points(index, atlas, tmp_path / "p.parquet")).num_rows == n


def test_points_as_a_table(index, atlas, tmp_path):
    table = parquet.read_table(write_points(index, atlas, tmp_path / "points.parquet"))
    assert table.column_names == [
        *("id", "smiles", "active", "logS [mol/L]", "note", "cluster"),
        *("cluster (map)", "outlier score", "map_x", "map_y"),
    ]
    assert table["id"].to_pylist() == index.ids.tolist()
    assert np.array_equal(table["map_x"].to_numpy(), atlas.points[:, 0])
    mixed = index_of(np.eye(4), mixed=objects([1, "x", None, 2.5]))
    write_points(mixed, make_atlas(mixed), tmp_path / "mixed.parquet")
    assert parquet.read_table(tmp_path / "mixed.parquet")["mixed"].to_pylist() == ["1", "x", None, "2.5"]

"""The map without a server: one page, one table."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

from infograph.cli import main
from infograph.data.convert import objects
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidParameter
from infograph.explore import make_atlas, write_map, write_points
from infograph.explore.atlas import neighbour_table
from infograph.explore.map_file import MODULES, escaped_json, joined_modules, page_file
from infograph.index import GraphIndex
from tests.explore.conftest import EVIL, N


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="atlas-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_everything_and_nothing_breaks_out(index, atlas, tmp_path):
    done = []
    path = write_map(index, atlas, tmp_path / "map.html", progress=lambda *of: done.append(of))
    page = path.read_text(encoding="utf-8")
    assert done[-1] == (N, N)
    data = data_of(page)
    assert data["ids"][0] == EVIL and EVIL not in page
    assert page.count("</script>") == 3
    assert "src=" not in page.replace('href="data:', "") or not re.search(r"<script[^>]* src=", page)
    assert not re.search(r'<link[^>]* href="(?!data:)', page) and "import {" not in page
    points = np.frombuffer(base64.b64decode(data["points"]), "<f4").reshape(-1, 2)
    assert np.array_equal(points, atlas.points)
    assert len(data["columns"]) == len(atlas.columns) and len(data["drawings"]) == N
    assert [row for row, _ in data["neighbours"][3]] == index.search_id("mol3", 12).rows[0].tolist()
    assert data["atlas"]["upload"] is False


def test_titles_and_columns_cannot_break_out_either(index, atlas, tmp_path):
    column = replace(atlas.columns[0], name=EVIL, categories=(EVIL, "<!--"))
    evil = replace(atlas, title=EVIL, about="<!-- <script>", columns=(column, *atlas.columns[1:]))
    page = write_map(index, evil, tmp_path / "map.html").read_text()
    assert page.count("</script>") == 3 and "<!--" not in page and "alert(1)</script>" not in page
    assert data_of(page)["atlas"]["title"] == EVIL


def test_escaped_json_is_the_same_content():
    content = {"a": ["</script>", "<!--", "&amp;", "\u2028", "é", "\ud800"], "n": 1.5}
    text = escaped_json(content)
    assert json.loads(text) == content and not set("<>&") & set(text) and text.isascii()


def test_the_joined_modules_are_all_there():
    text = joined_modules()
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    for name in MODULES:
        for line in page_file(name).splitlines():
            if line.startswith("import "):
                source = re.search(r'from "\./(\S+)";', line)[1]
                assert MODULES.index(source) < MODULES.index(name)


def test_only_some_of_many_graphs_are_drawn(index, atlas, tmp_path, monkeypatch):
    monkeypatch.setattr("infograph.explore.map_file.DRAWINGS", 7)
    monkeypatch.setattr("infograph.explore.map_file.NEIGHBOURS_UP_TO", 7)
    data = data_of(write_map(index, atlas, tmp_path / "map.html").read_text())
    assert len(data["drawings"]) == 7 and data["neighbours"] == []


def test_points_as_a_table(index, atlas, tmp_path):
    path = write_points(index, atlas, tmp_path / "points.parquet", neighbours=3, vectors=True)
    table = parquet.read_table(path)
    assert table.column_names == [
        *("id", "smiles", "active", "logS [mol/L]", "note", "cluster (column)"),
        *("cluster", "outlier score", "map_x", "map_y", "neighbors", "vector"),
    ]
    assert table["id"].to_pylist() == index.ids.tolist()
    assert np.array_equal(table["map_x"].to_numpy(), atlas.points[:, 0])
    near = table["neighbors"][3].as_py()
    hits = index.search_id("mol3", 3)
    assert near["ids"] == hits.rows[0].tolist()
    assert near["distances"] == pytest.approx((1 - hits.scores[0]).tolist(), abs=1e-6)
    assert np.array_equal(np.stack(table["vector"].to_pylist()).astype("f4"), index.vectors)
    plain = parquet.read_table(write_points(index, atlas, tmp_path / "p.parquet", neighbours=0))
    assert "neighbors" not in plain.column_names and "vector" not in plain.column_names
    with pytest.raises(InvalidParameter, match=r"\.parquet"):
        write_points(index, atlas, tmp_path / "points.csv")


def test_neighbours_of_equal_vectors_never_hold_the_graph_itself():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    index = GraphIndex.of(Embeddings(np.arange(40), vectors))
    rows, scores = neighbour_table(index, 5)
    assert rows.shape == (40, 5) and not (rows == np.arange(40)[:, None]).any()
    assert np.allclose(scores, 1)
    assert (rows // 20 == np.arange(40)[:, None] // 20).all()


@pytest.mark.parametrize("n", [1, 2])
def test_an_index_of_one_or_two_graphs(molecules, model, tmp_path, n):
    index = GraphIndex.build(model, molecules[:n])
    atlas = make_atlas(index)
    assert data_of(write_map(index, atlas, tmp_path / "m.html").read_text())["atlas"]["n"] == n
    table = parquet.read_table(write_points(index, atlas, tmp_path / "p.parquet"))
    assert len(table["neighbors"][0].as_py()["ids"]) == n - 1


def test_columns_of_numbers_and_texts_are_texts_in_the_table(tmp_path):
    mixed = objects([1, "x", None, 2.5])
    index = GraphIndex.of(Embeddings(np.arange(4), np.eye(4, dtype=np.float32), {"mixed": mixed}))
    write_points(index, make_atlas(index), tmp_path / "points.parquet")
    assert parquet.read_table(tmp_path / "points.parquet")["mixed"].to_pylist() == ["1", "x", None, "2.5"]


def test_long_whole_numbers_keep_their_digits(tmp_path):
    day, share = np.arange(20240101.0, 20240141.0), np.arange(40) / 7
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    index = GraphIndex.of(Embeddings(np.arange(40), vectors, {"day": day, "share": share}))
    write_map(index, make_atlas(index, method="pca"), tmp_path / "map.html")
    data = data_of((tmp_path / "map.html").read_text())
    assert data["texts"] == {"day": day.tolist()}
    assert [column["name"] for column in data["atlas"]["columns"]][:2] == ["day", "share"]


@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_a_seed_that_is_none_is_refused_before_the_work(folder, tmp_path, capsys, seed):
    assert main(["map", str(folder), "--seed", seed, "--out", str(tmp_path / "map.html")]) == 2
    told = capsys.readouterr().err
    assert "--seed" in told and "report" not in told and not (tmp_path / "map.html").exists()

"""The verbs index and search."""

from __future__ import annotations

import re

import numpy as np
import pytest

from infograph import load
from infograph.data.read import read_graphs
from infograph.index import GraphIndex, graph_index, nearest
from tests.cli.conftest import MOLECULES, check


def test_index_saves_what_the_library_would(run, table, molecule_model, tmp_path):
    path = tmp_path / "index"
    words = ("--metric", "euclidean", "--exact", "--columns", "active")
    done = run("index", molecule_model, table, "--out", path, *words)
    assert done.out == f"{path}: 64 graphs, vectors of 8 numbers, euclidean, exact search\n"
    model = load(molecule_model)
    graphs = read_graphs(table, schema=model.schema_)
    expected = GraphIndex.build(model, graphs, metric="euclidean", columns=["active"])
    opened = GraphIndex.open(path)
    assert np.array_equal(opened.vectors, expected.vectors) and opened.metric == "euclidean"
    assert opened.ids.tolist() == [f"mol{i}" for i in range(64)]
    assert list(opened.columns) == ["active"] and opened.approximate is False
    about = run("index", molecule_model, table, "--out", path, "--json").json
    assert about["columns"] == ["smiles", "logS [mol/L]", "active"]
    assert (about["graphs"], about["dim"], about["metric"], about["approximate"]) == (64, 8, "cosine", False)


@pytest.mark.skipif(not nearest.faiss_installed(), reason="faiss is not installed")
def test_an_approximate_index(run, table, molecule_model, tmp_path):
    done = run("index", molecule_model, table, "--out", tmp_path / "index", "--approximate")
    assert "approximate search" in done.out
    found = run("search", tmp_path / "index", "CCO", "--json").json["hits"]
    assert found[0]["id"] == "mol0" and found[0]["score"] == 1


@pytest.mark.filterwarnings("default::UserWarning")
def test_without_faiss(run, molecule_model, table, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_index, "faiss_installed", lambda: False)
    words = ("index", molecule_model, table, "--out", tmp_path / "i")
    check(run(*words, "--approximate"), "this needs faiss", "infograph[search]")
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 10)
    done = run(*words)
    assert done.code == 0 and "64 vectors are searched exactly, as faiss is not installed" in done.err


def test_search_by_smiles_id_and_file(run, index, tmp_path, monkeypatch):
    opened = GraphIndex.open(index)
    by_smiles = run("search", index, "OCC", "-k", "3", "--json").json
    assert by_smiles["metric"] == "cosine" and len(by_smiles["hits"]) == 3
    expected = opened.search(["CCO"], 3).table()
    for found, row in zip(by_smiles["hits"], expected, strict=True):
        assert found.pop("score") == pytest.approx(row.pop("score"), abs=1e-6)  # rounding
        assert str(found) == str({**row, "query": "OCC"}).replace("nan", "None")
    by_id = run("search", index, "mol3", "-k", "4", "--json").json["hits"]
    assert [row["id"] for row in by_id] == [row["id"] for row in opened.search_id("mol3", 4).table()]
    assert run("search", index, "mol3", "--id", "-k", "4", "--json").json["hits"] == by_id
    file = tmp_path / "queries.csv"
    file.write_text("title,structure\nfirst,CCO\nsecond,CC#N\n")
    words = ("-k", "2", "--smiles", "structure", "--id-column", "title")
    both = run("search", index, file, *words, "--json").json["hits"]
    assert [row["query"] for row in both] == ["first", "first", "second", "second"]
    assert [both[0]["id"], both[2]["id"]] == ["mol0", "mol7"]
    monkeypatch.setenv("COLUMNS", "100")
    shown = run("search", index, file, *words).out
    assert "Nearest to first:" in shown and "Nearest to second:" in shown
    assert " ".join(shown.splitlines()[1].split()) == "rank id score tanimoto smiles logS [mol/L] active"
    assert shown.splitlines()[2].split() == ["1", "mol0", "1", "1", "CCO", "no"]


def test_ids_that_look_like_smiles(run, molecule_model, tmp_path):
    file = tmp_path / "named.smi"
    file.write_text("CCN CCO\nCCO CCN\nCCCC other\n")
    assert run("index", molecule_model, file, "--out", tmp_path / "index").code == 0
    found = run("search", tmp_path / "index", "CCO", "--json").json["hits"]
    assert {row["id"] for row in found} == {"CCN", "other"}  # neighbours of the graph of that id
    graph = run("search", tmp_path / "index", "OCC", "--json").json["hits"]
    assert graph[0]["id"] == "CCN" and len(graph) == 3


def test_the_page(run, index, tmp_path):
    path = tmp_path / "near.html"
    done = run("search", index, "c1ccccc1", "-k", "4", "--html", path)
    assert done.code == 0 and done.out.endswith(f"{path}: 4 graphs\n")
    text = path.read_text()
    assert text.count("data:image/svg+xml;base64,") == 5  # the query, too
    assert text.startswith("<!doctype html>") and "mol1" in text
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text) and "<script" not in text


def test_the_page_is_escaped(run, molecule_model, tmp_path):
    table, evil = tmp_path / "bad.csv", '<script>alert("x")</script>'
    quoted = evil.replace('"', '""')
    table.write_text(f'name,smiles,"{quoted}"\n"{quoted}",CCO,"{quoted}"\nb,CCN,&amp;\n')
    assert run("index", molecule_model, table, "--out", tmp_path / "index").code == 0
    path = tmp_path / "near.html"
    for query in ("CCCO", evil):
        assert run("search", tmp_path / "index", query, "--html", path).code == 0
        text = path.read_text()
        assert "<script" not in text and "&lt;script&gt;" in text
    assert "&amp;amp;" in text


def test_networks_have_no_drawings(run, networks, tmp_path):
    model, index, path = tmp_path / "model", tmp_path / "index", tmp_path / "near.html"
    assert run("train", networks, "--out", model, "--epochs", "1", "--dim", "8", "--layers", "2").code == 0
    assert run("index", model, networks, "--metric", "euclidean", "--out", index).code == 0
    done = run("search", index, networks / "net3.graphml", "-k", "2", "--html", path, "--json")
    assert done.json["hits"][0]["id"] == "net3" and "<img" not in path.read_text()
    check(run("search", index, "CCO"), "'CCO' is no file, and no SMILES either")


def test_duplicates(run, molecule_model, tmp_path):
    file = tmp_path / "twice.smi"
    file.write_text(
        "".join(f"{text} m{i}\n" for i, text in enumerate([*MOLECULES, "OCC", "OCC", "CCCCCCCC"]))
    )
    assert run("index", molecule_model, file, "--out", tmp_path / "index").code == 0
    done = run("search", tmp_path / "index", "--duplicates")
    assert re.search(r"1\s+3\s+m0, m8, m9", done.out)
    assert "3 of 11 graphs are in 1 group of coinciding vectors" in done.out
    found = run("search", tmp_path / "index", "--duplicates", "--json").json
    assert found == {"graphs": 11, "duplicates": 3, "groups": [["m0", "m8", "m9"]]}
    wide = run("search", tmp_path / "index", "--duplicates", "--tolerance", "0.4", "--json").json
    assert wide["duplicates"] > 3

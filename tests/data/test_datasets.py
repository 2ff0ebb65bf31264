"""Data sets by name: where they are found, that they are the right ones, and the cache.

Nobody is ever asked: pooch, which downloads, is replaced.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infograph import GraphSet, load_dataset
from infograph.data import datasets
from infograph.data.datasets import CATALOGUE, describe_datasets, entry_for
from infograph.data.graphset import fingerprint
from infograph.errors import FileMissing, InvalidFile, UnknownDataset
from tests.data.equal import assert_equal
from tests.processes import PATIENCE, started

REAL = os.environ.get("INFOGRAPH_DATA", "")
needs_real = pytest.mark.skipif(not REAL, reason="INFOGRAPH_DATA is not set to a folder with the TU zips")


class Collection:
    """What stands in the place of the server: the zip it would send, and what it was asked for."""

    def __init__(self) -> None:
        self.content, self.asked = b"", []

    def retrieve(self, url: str, known_hash: None, fname: str, path: Path, downloader: object) -> str:
        self.asked.append(url.rpartition("/")[2])
        if not self.content:
            raise OSError("404 Not Found")
        path.mkdir(parents=True, exist_ok=True)
        (path / fname).write_bytes(self.content)
        return str(path / fname)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Collection:
    collection = Collection()
    monkeypatch.setattr("pooch.retrieve", collection.retrieve)
    return collection


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Collection) -> Path:
    """An empty cache, no data folder and nobody to ask for every test."""
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    return tmp_path / "cache"


def write_set(folder: Path, name: str, labels: str = "4\n2\n") -> Path:
    """Two graphs, 1-2 and 3, as NAME/NAME_*.txt."""
    made = folder / name
    made.mkdir(parents=True)
    (made / f"{name}_A.txt").write_text("1, 2\n2, 1\n")
    (made / f"{name}_graph_indicator.txt").write_text("1\n1\n2\n")
    (made / f"{name}_graph_labels.txt").write_text(labels)
    return made


def zip_bytes(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    return content.getvalue()


def classes(graphs: GraphSet) -> tuple[Any, ...]:
    column = graphs.schema.column("graph", "y")
    assert column is not None
    return column.categories


def parsed(own_cache: Path, name: str) -> list[Path]:
    return sorted((own_cache / "parsed" / name).iterdir())


@needs_real
@pytest.mark.parametrize(
    "name",
    [
        *("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("REDDIT-BINARY", "REDDIT-MULTI-5K")),
    ],
)
def test_the_six_sets(name, monkeypatch):
    monkeypatch.setenv("INFOGRAPH_DATA", REAL)
    entry = entry_for(name)
    first = load_dataset(entry.name, download=False)  # verifies all counts
    again = load_dataset(entry.name.lower(), download=False)
    assert isinstance(again.edges, np.memmap)
    assert_equal(first, again)
    assert sorted(set(again.graph["y"].tolist())) == list(range(entry.counts.classes))
    known = {"MUTAG": "c50283245972b5a6", "IMDB-BINARY": "579de8047ff1c2d4"}
    if name in known:  # checkpoints and results are told apart by it
        assert fingerprint(again) == known[name]
    degrees = np.bincount(again.edge_index.ravel(), minlength=again.n_nodes)
    assert int((degrees == 0).sum()) == {"REDDIT-BINARY": 21, "REDDIT-MULTI-5K": 45}.get(name, 0)


def test_mutag_is_in_the_package_itself(own_cache):
    script = (
        "import sys; from infograph import load_dataset; "
        "assert len(load_dataset('mutag', download=False)) == 188; "
        "assert not {'grakel', 'torch', 'pooch', 'requests'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    shutil.rmtree(own_cache)
    assert describe_datasets()[0].where == "infograph wheel"
    assert fingerprint(load_dataset("MUTAG")) == "c50283245972b5a6"
    assert describe_datasets()[0].where == "cache"


def test_search_order(tmp_path, own_cache, server, monkeypatch, caplog):
    write_set(tmp_path / "root", "Mine", labels="1\n1\n")
    write_set(tmp_path / "data", "Mine", labels="2\n2\n")
    write_set(own_cache, "Mine", labels="3\n3\n")
    package = tmp_path / "site" / "carrier"
    write_set(package, "Mine", labels="4\n4\n")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    entry = replace(entry_for("Mine"), package="carrier", folder="Mine")
    monkeypatch.setattr(datasets, "entry_for", lambda name: entry)
    server.content = zip_bytes(write_set(tmp_path / "net", "Mine", labels="5\n5\n"))
    monkeypatch.setenv("INFOGRAPH_DATA", str(tmp_path / "data"))

    assert classes(load_dataset("Mine", root=tmp_path / "root")) == (1,)
    shutil.rmtree(tmp_path / "root" / "Mine")
    assert classes(load_dataset("Mine", root=tmp_path / "root")) == (2,)
    monkeypatch.delenv("INFOGRAPH_DATA")
    assert classes(load_dataset("Mine")) == (3,)
    shutil.rmtree(own_cache / "Mine")
    assert classes(load_dataset("Mine")) == (4,)
    shutil.rmtree(package)
    with pytest.raises(UnknownDataset, match=r"no data set 'Mine'.*download=True"):
        load_dataset("Mine")  # no name of the catalogue: nobody is asked
    assert server.asked == []
    with caplog.at_level("WARNING", "infograph"):
        assert classes(load_dataset("Mine", download=True)) == (5,)
    assert [line.split(" from ")[0] for line in caplog.messages] == ["Downloading Mine"]
    assert classes(load_dataset("Mine", download=False)) == (5,)  # the download was kept
    assert server.asked == ["Mine.zip"]


@pytest.mark.parametrize(
    ("file", "content"), [("schema.json", "{}"), ("edges.npy", "{}"), ("graph_0.npy", None)]
)
def test_damaged_cache_is_rebuilt(tmp_path, own_cache, file, content):
    write_set(tmp_path, "Mine")
    expected = load_dataset("Mine", root=tmp_path)
    (folder,) = parsed(own_cache, "Mine")
    (folder / file).unlink()
    if content:
        (folder / file).write_text(content)
    again = load_dataset("Mine", root=tmp_path)
    assert_equal(expected, again)
    assert isinstance(again.edges, np.memmap) and parsed(own_cache, "Mine") == [folder]


def test_a_changed_source_or_reader_is_parsed_again(tmp_path, own_cache, monkeypatch):
    made = write_set(tmp_path, "Mine")
    load_dataset("Mine", root=tmp_path)
    (before,) = parsed(own_cache, "Mine")
    (made / "Mine_graph_labels.txt").write_text("77\n8\n")
    assert classes(load_dataset("Mine", root=tmp_path)) == (8, 77)
    assert parsed(own_cache, "Mine") != [before] and len(parsed(own_cache, "Mine")) == 1
    newer = replace(entry_for("Mine"), version=2)
    monkeypatch.setattr(datasets, "entry_for", lambda name: newer)
    load_dataset("Mine", root=tmp_path)
    assert [folder.name[:3] for folder in parsed(own_cache, "Mine")] == ["v2-"]


def test_unwritable_cache(tmp_path, monkeypatch):
    write_set(tmp_path, "Mine")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "file" / "cache"))  # below a file nothing is made
    assert load_dataset("Mine", root=tmp_path).graph["y"].tolist() == [1, 0]
    assert len(describe_datasets()) == len(CATALOGUE)


def test_many_processes_at_once(tmp_path, own_cache):
    write_set(tmp_path, "Mine")
    script = (
        "import sys; from infograph.data.datasets import load_dataset; "
        "print(load_dataset('Mine', root=sys.argv[1]).graph['y'].tolist())"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with ExitStack() as running:
        jobs = [running.enter_context(started(command, stdout=subprocess.PIPE)) for _ in range(4)]
        assert [job.communicate(timeout=PATIENCE)[0] for job in jobs] == ["[1, 0]\n"] * 4
    assert sum(not folder.name.startswith(".") for folder in parsed(own_cache, "Mine")) == 1


def test_a_parsed_set_outlives_its_source(monkeypatch):
    expected = load_dataset("MUTAG")
    monkeypatch.setattr(datasets, "read_tu", None)  # parsing once more would fail
    monkeypatch.setattr(datasets, "wheel_folder", lambda entry: None)
    again = load_dataset("MUTAG", download=False)
    assert isinstance(again.edges, np.memmap)
    assert_equal(expected, again)


def test_files_that_are_something_else_are_named(tmp_path):
    write_set(tmp_path, "MUTAG")
    with pytest.raises(InvalidFile, match="is not the MUTAG it should be: 2 graphs instead of 188, 3 nodes"):
        load_dataset("MUTAG", root=tmp_path)


def test_failed_downloads(tmp_path, own_cache, server):
    with pytest.raises(FileMissing) as caught:
        load_dataset("imdb_binary", root=tmp_path / "no")
    places = (f"{tmp_path / 'no'} (no such folder)", str(own_cache), "INFOGRAPH_DATA (not set)")
    for part in (*places, "IMDB-BINARY is not on this machine", "could not be downloaded (404"):
        assert part in str(caught.value)
    server.content = zip_bytes(write_set(tmp_path, "PROTEINS"))[:-50]
    with pytest.raises(FileMissing, match=r"PROTEINS\.zip could not be downloaded"):
        load_dataset("proteins")
    assert list((own_cache / "downloads").iterdir()) == []


def test_names_that_are_none(server):
    for name in ("", "graphs.csv", "../MUTAG", "a/b", "two words", "-x"):
        with pytest.raises(UnknownDataset, match="no data set"):
            load_dataset(name)
    with pytest.raises(UnknownDataset, match=r"no data set 'redit-binary'\. Did you mean REDDIT-BINARY\?"):
        load_dataset("redit-binary")
    with pytest.raises(FileMissing, match=r"IMDB-MULTI is not on this machine.*download=True"):
        load_dataset("IMDB-MULTI", download=False)
    assert server.asked == []  # nobody was asked
    spelled = {"reddit_multi_5k": "REDDIT-MULTI-5K", "ptc-mr": "PTC_MR", "Enzymes": "ENZYMES"}
    assert {name: entry_for(name).name for name in spelled} == spelled


def test_describe_datasets(tmp_path, monkeypatch):
    write_set(tmp_path / "data", "Mine")
    write_set(tmp_path / "data", "proteins")
    (tmp_path / "data" / "IMDB-MULTI.zip").write_bytes(b"")
    (tmp_path / "data" / "holiday.zip").write_bytes(b"no zip")
    monkeypatch.setenv("INFOGRAPH_DATA", str(tmp_path / "data"))
    before = {info.name: info for info in describe_datasets()}
    assert list(before) == [*(entry.name for entry in CATALOGUE), "Mine", "PROTEINS"]
    reddit, imdb = before["REDDIT-MULTI-5K"], before["IMDB-MULTI"]
    assert (reddit.found, reddit.where, reddit.graphs, reddit.classes) == ("", "download", 4999, 5)
    assert (reddit.mean_nodes, reddit.mean_edges) == pytest.approx((508.52, 594.87), abs=0.005)
    assert (imdb.where, imdb.found) == ("INFOGRAPH_DATA", str(tmp_path / "data" / "IMDB-MULTI.zip"))
    assert before["Mine"].graphs is None
    load_dataset("Mine")
    mine = {info.name: info for info in describe_datasets()}["Mine"]
    assert (mine.graphs, mine.mean_nodes, mine.mean_edges, mine.classes) == (2, 1.5, 0.5, 2)

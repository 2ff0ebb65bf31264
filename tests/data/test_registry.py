"""Data sets by name: where they are found, that they are the right ones, and the cache. Never the network."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from contextlib import ExitStack
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infograph.data import datasets
from infograph.data.datasets import CATALOGUE, Counts, Wheel, describe_datasets, entry_for, load_dataset
from infograph.data.graphset import GraphSet
from infograph.errors import FileMissing, InvalidFile, SchemaMismatch, UnknownDataset
from tests.workers.processes import PATIENCE, started

REAL = os.environ.get("INFOGRAPH_DATA", "")
needs_real = pytest.mark.skipif(not REAL, reason="INFOGRAPH_DATA is not set to a folder with the TU zips")
has_grakel = datasets.wheel_folder(entry_for("MUTAG")) is not None
needs_grakel = pytest.mark.skipif(
    not has_grakel, reason="grakel, whose wheel carries MUTAG, is not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder and no network for every test."""

    def no_network(url: str, timeout: float) -> None:
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", no_network)
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


def assert_same(a: GraphSet, b: GraphSet) -> None:
    assert a.schema == b.schema
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for level in ("node", "edge", "graph"):
        for name, values in getattr(a, level).items():
            np.testing.assert_array_equal(values, getattr(b, level)[name])


class Answer(io.BytesIO):
    """What `urlopen` gives."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.headers = Message()
        self.headers["Content-Length"] = str(len(content))


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes) -> list[str]:
    """Answer every address with `content`; returns the list of addresses asked for."""
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> Answer:
        asked.append(url)
        return Answer(content)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


@needs_real
@pytest.mark.parametrize(
    "entry", [entry for entry in CATALOGUE if entry.name != "QM9"], ids=lambda entry: entry.name
)
def test_the_six_sets(entry: datasets.Entry) -> None:
    first = load_dataset(entry.name, root=REAL, download=False)  # verifies all counts
    again = load_dataset(entry.name.lower(), root=REAL, download=False)
    assert isinstance(again.edges, np.memmap)
    assert_same(first, again)
    assert entry.counts is not None and Counts.of(again) == entry.counts
    assert sorted(set(again.graph["y"].tolist())) == list(range(entry.counts.classes))


@needs_real
def test_ptc_classes_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFOGRAPH_DATA", REAL)
    assert classes(load_dataset("PTC_MR")) == (-1, 1)


@needs_grakel
def test_mutag_from_the_wheel_without_importing_it() -> None:
    script = (
        "import sys; from infograph.data.datasets import load_dataset; "
        "assert len(load_dataset('mutag', download=False)) == 188; "
        "assert not {'grakel', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@needs_grakel
def test_edge_labels_are_seen_when_asked_for() -> None:
    assert load_dataset("MUTAG").schema.features("edge") == ()
    asked = load_dataset("MUTAG", edge=["label"])
    assert [(c.name, len(c.categories)) for c in asked.schema.features("edge")] == [("label", 4)]
    assert load_dataset("MUTAG", node=[]).schema.features("node") == ()
    with pytest.raises(SchemaMismatch, match="no edge column 'bond'; the graphs have: 'label'"):
        load_dataset("MUTAG", edge=["bond"])


def test_search_order(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path / "root", "Mine", labels="1\n1\n")
    write_set(tmp_path / "data", "Mine", labels="2\n2\n")
    write_set(own_cache, "Mine", labels="3\n3\n")
    package = tmp_path / "site" / "carrier"
    write_set(package, "Mine", labels="4\n4\n")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    entry = replace(entry_for("Mine"), wheel=Wheel("carrier", "Mine"))
    monkeypatch.setattr(datasets, "entry_for", lambda name: entry)
    asked = serve(monkeypatch, zip_bytes(write_set(tmp_path / "net", "Mine", labels="5\n5\n")))
    monkeypatch.setenv("INFOGRAPH_DATA", str(tmp_path / "data"))

    assert classes(load_dataset("Mine", root=tmp_path / "root")) == (1,)
    shutil.rmtree(tmp_path / "root" / "Mine")
    assert classes(load_dataset("Mine", root=tmp_path / "root")) == (2,)
    monkeypatch.delenv("INFOGRAPH_DATA")
    assert classes(load_dataset("Mine")) == (3,)
    shutil.rmtree(own_cache / "Mine")
    assert classes(load_dataset("Mine")) == (4,)
    assert asked == []
    shutil.rmtree(package)
    with pytest.raises(UnknownDataset, match=r"no data set 'Mine'.*download=True"):
        load_dataset("Mine")  # no name of the catalogue: nobody is asked
    assert asked == []
    assert classes(load_dataset("Mine", download=True)) == (5,)
    assert classes(load_dataset("Mine", download=False)) == (5,)  # the download was kept
    assert asked == ["https://www.chrsmrrs.com/graphkerneldatasets/Mine.zip"]


@pytest.mark.parametrize("layout", ["{}.zip", "{}/{}", "{}/raw", "{}", "."])
def test_layouts(tmp_path: Path, layout: str) -> None:
    made = write_set(tmp_path / "made", "Mine")
    target = tmp_path / "root" / layout.replace("{}", "Mine")
    target.parent.mkdir(parents=True, exist_ok=True)
    if layout.endswith(".zip"):
        target.write_bytes(zip_bytes(made))
    else:
        shutil.copytree(made, target, dirs_exist_ok=True)
    assert len(load_dataset("mine", root=tmp_path / "root", download=False)) == 2


def test_pyg_layouts(tmp_path: Path) -> None:
    """`TUDataset(root, "Mine")` leaves root/Mine/raw/Mine_A.txt."""
    shutil.copytree(write_set(tmp_path / "made", "Mine"), tmp_path / "pyg" / "Mine" / "Mine" / "raw")
    (tmp_path / "pyg" / "Mine" / "Mine" / "processed").mkdir()
    for root in (tmp_path / "pyg", tmp_path / "pyg" / "Mine", tmp_path / "pyg" / "Mine" / "Mine"):
        assert len(load_dataset("Mine", root=root, download=False)) == 2


def test_second_open_is_a_memory_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path, "Mine")
    first = load_dataset("Mine", root=tmp_path)
    monkeypatch.setattr(datasets, "_read", None)  # parsing once more would fail
    again = load_dataset("Mine", root=tmp_path)
    assert isinstance(first.edges, np.memmap) and isinstance(again.edges, np.memmap)
    assert again.graph["y"].tolist() == [1, 0] and classes(again) == (2, 4)
    assert_same(first, again)


def parsed(own_cache: Path, name: str) -> list[Path]:
    return sorted((own_cache / "parsed" / name).iterdir())


@pytest.mark.parametrize("file", ["schema.json", "edges.npy", "node_ptr.npy", "graph_0.npy"])
@pytest.mark.parametrize("damage", ["delete", "truncate", "garbage"])
def test_damaged_cache_is_rebuilt(tmp_path: Path, own_cache: Path, file: str, damage: str) -> None:
    write_set(tmp_path, "Mine")
    expected = load_dataset("Mine", root=tmp_path)
    (folder,) = parsed(own_cache, "Mine")
    content = (folder / file).read_bytes()
    (folder / file).unlink()
    if damage != "delete":
        (folder / file).write_bytes(content[: len(content) // 2] if damage == "truncate" else b"{}")
    assert_same(expected, load_dataset("Mine", root=tmp_path))
    assert parsed(own_cache, "Mine") == [folder]
    assert datasets.open_parsed(entry_for("Mine"), folder) is not None


def test_a_changed_source_is_parsed_again_and_the_old_form_removed(tmp_path: Path, own_cache: Path) -> None:
    made = write_set(tmp_path, "Mine")
    load_dataset("Mine", root=tmp_path)
    (before,) = parsed(own_cache, "Mine")
    (made / "Mine_graph_labels.txt").write_text("77\n8\n")
    assert classes(load_dataset("Mine", root=tmp_path)) == (8, 77)
    (after,) = parsed(own_cache, "Mine")
    assert after != before
    write_set(tmp_path / "elsewhere", "Mine")  # another source: both stay
    load_dataset("Mine", root=tmp_path / "elsewhere")
    assert after in parsed(own_cache, "Mine") and len(parsed(own_cache, "Mine")) == 2


def test_a_new_reader_version_is_parsed_again(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(tmp_path, "Mine")
    load_dataset("Mine", root=tmp_path)
    newer = replace(entry_for("Mine"), version=2)
    monkeypatch.setattr(datasets, "entry_for", lambda name: newer)
    load_dataset("Mine", root=tmp_path)
    assert [folder.name[:3] for folder in parsed(own_cache, "Mine")] == ["v2-"]


def test_unwritable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_set(tmp_path, "Mine")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(
        "INFOGRAPH_CACHE", str(tmp_path / "file" / "cache")
    )  # below a file: nothing can be made
    assert load_dataset("Mine", root=tmp_path).graph["y"].tolist() == [1, 0]
    serve(monkeypatch, zip_bytes(made))
    assert load_dataset("Mine", download=True).graph["y"].tolist() == [1, 0]
    assert len(describe_datasets()) == len(CATALOGUE)


def test_many_processes_at_once(tmp_path: Path, own_cache: Path) -> None:
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


@needs_grakel
def test_a_parsed_set_outlives_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load_dataset("MUTAG")
    monkeypatch.setattr(datasets, "wheel_folder", lambda entry: None)
    assert_same(expected, load_dataset("MUTAG", download=False))


@needs_grakel
def test_wrong_counts_are_named(tmp_path: Path) -> None:
    write_set(tmp_path, "MUTAG")
    with pytest.raises(
        InvalidFile, match=r"MUTAG is not the MUTAG it should be: 2 graphs instead of 188, 3 nodes"
    ):
        load_dataset("MUTAG", root=tmp_path)
    folder = datasets.wheel_folder(entry_for("MUTAG"))
    assert folder is not None
    shutil.rmtree(tmp_path / "MUTAG")
    shutil.copytree(folder, tmp_path / "MUTAG")
    arcs = tmp_path / "MUTAG" / "MUTAG_A.txt"
    rows = arcs.read_text().splitlines()
    arcs.write_text("\n".join([rows[0], *rows[:-1]]) + "\n")  # one arc lost, another twice
    with pytest.raises(InvalidFile, match=r"should be: 7,441 arcs instead of 7,442\. Replace or remove it"):
        load_dataset("MUTAG", root=tmp_path)


def test_a_broken_zip_is_named(tmp_path: Path) -> None:
    (tmp_path / "PTC_MR.zip").write_text("<html>not found</html>")
    with pytest.raises(InvalidFile, match=r"PTC_MR\.zip is no zip file"):
        load_dataset("PTC_MR", root=tmp_path)


def test_failed_download_names_all_places(tmp_path: Path, own_cache: Path) -> None:
    with pytest.raises(FileMissing) as caught:
        load_dataset("imdb_binary", root=tmp_path / "no")
    message = str(caught.value)
    assert message.startswith("the data set IMDB-BINARY is not on this machine. Searched: root ")
    for part in (
        f"{tmp_path / 'no'} (no such folder)",
        str(own_cache),
        "INFOGRAPH_DATA (not set)",
        "graphkerneldatasets/IMDB-BINARY.zip could not be downloaded (<urlopen error no network in tests>)",
        "put IMDB-BINARY.zip into a folder and give that as root= or in INFOGRAPH_DATA",
    ):
        assert part in message
    assert list((own_cache / "downloads").iterdir()) == []


@pytest.mark.parametrize("cut", [0.5, 0.0])
def test_incomplete_download_leaves_nothing(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, cut: float
) -> None:
    content = zip_bytes(write_set(tmp_path, "PROTEINS"))
    serve(monkeypatch, content[: int(len(content) * cut)])
    with pytest.raises(FileMissing, match=r"PROTEINS\.zip did not give a complete zip file"):
        load_dataset("proteins")
    assert list((own_cache / "downloads").iterdir()) == []


def test_a_download_is_announced_and_reports_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    content = zip_bytes(write_set(tmp_path, "Mine"))
    serve(monkeypatch, content)
    seen: list[tuple[int, int]] = []
    with caplog.at_level("WARNING", "infograph"):
        load_dataset("Mine", download=True, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(content), len(content))
    (line,) = caplog.messages
    assert line.startswith("Downloading Mine from https://")


def test_download_off() -> None:
    with pytest.raises(FileMissing, match=r"IMDB-MULTI is not on this machine.*download=True"):
        load_dataset("IMDB-MULTI", download=False)


@pytest.mark.parametrize(
    ("name", "guess"), [("MUTGA", "MUTAG"), ("redit-binary", "REDDIT-BINARY"), ("PROTEIN", "PROTEINS")]
)
def test_did_you_mean(name: str, guess: str) -> None:
    with pytest.raises(
        UnknownDataset, match=rf"no data set '{name}'\. Did you mean {guess}\? Known are MUTAG, PTC_MR"
    ):
        load_dataset(name, download=False)


@pytest.mark.parametrize("name", ["", "graphs.csv", "../MUTAG", "a/b", "two words", "-x"])
def test_what_is_no_name_is_never_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, b"")
    with pytest.raises(UnknownDataset, match="no data set"):
        load_dataset(name)
    assert asked == []


def test_spelling_of_names() -> None:
    assert entry_for("reddit_multi_5k").name == "REDDIT-MULTI-5K"
    assert entry_for("ptc-mr").name == "PTC_MR"
    assert entry_for("Enzymes").name == "ENZYMES"
    assert entry_for("SomethingNew").url.endswith("/SomethingNew.zip")


def test_describe_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path / "data", "Mine")
    write_set(tmp_path / "data", "proteins")
    (tmp_path / "data" / "IMDB-MULTI.zip").write_bytes(b"")
    (tmp_path / "data" / "holiday.zip").write_bytes(b"no zip")
    monkeypatch.setenv("INFOGRAPH_DATA", str(tmp_path / "data"))
    before = {info.name: info for info in describe_datasets()}
    assert list(before) == [entry.name for entry in CATALOGUE] + ["Mine", "PROTEINS"]
    reddit = before["REDDIT-MULTI-5K"]
    assert (reddit.found, reddit.where, reddit.graphs, reddit.classes) == ("", "download", 4999, 5)
    assert reddit.mean_nodes == pytest.approx(508.52, abs=0.005)
    assert reddit.mean_edges == pytest.approx(594.87, abs=0.005)
    assert before["IMDB-MULTI"].where == "INFOGRAPH_DATA"
    assert before["IMDB-MULTI"].found == str(tmp_path / "data" / "IMDB-MULTI.zip")
    assert (before["PTC_MR"].node_labels, before["PTC_MR"].edge_labels) == (18, 4)
    assert before["Mine"].graphs is None
    load_dataset("Mine")
    mine = {info.name: info for info in describe_datasets()}["Mine"]
    assert (mine.graphs, mine.mean_nodes, mine.mean_edges, mine.classes, mine.node_labels) == (
        2,
        1.5,
        0.5,
        2,
        0,
    )


@needs_grakel
def test_describe_names_the_wheel() -> None:
    assert describe_datasets()[0].where == "grakel wheel"
    load_dataset("MUTAG")
    assert describe_datasets()[0].where == "cache"


def test_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFOGRAPH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert datasets.cache_folder() == tmp_path / "xdg" / "infograph"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert datasets.cache_folder() == tmp_path / "Library" / "Caches" / "infograph"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert datasets.cache_folder() == tmp_path / "local" / "infograph"

from __future__ import annotations

import pytest

from infograph.data.graphset import save_graphs
from infograph.errors import FileMissing, InvalidParameter
from infograph.scale.shards import find_shards, is_pattern


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("C\n")


def test_pattern_folder_and_list(tmp_path, corner_cases):
    touch(tmp_path, "b.csv", "a.smi", "c.smi.gz", "notes.txt", ".hidden.csv", "_old.csv", "deep/d.smi")
    save_graphs(corner_cases, tmp_path / "saved")
    assert [shard.name for shard in find_shards(str(tmp_path / "*.smi*"))] == ["a", "c"]
    assert [shard.name for shard in find_shards(str(tmp_path / "**" / "*.smi"))] == ["a", "d"]
    assert [shard.name for shard in find_shards(tmp_path)] == ["a", "b", "c", "saved"]
    given = find_shards([tmp_path / "c.smi.gz", tmp_path / "a.smi"])
    assert [(shard.name, shard.size) for shard in given] == [("c", 2), ("a", 2)]
    assert find_shards(tmp_path / "saved")[0].size > 1000


def test_a_folder_of_networks_is_one_shard(tmp_path):
    touch(tmp_path, "nets/a.graphml", "nets/labels.csv", "molecules/a.csv", "molecules/labels.csv")
    assert [shard.name for shard in find_shards(tmp_path / "nets")] == ["nets"]
    assert [shard.name for shard in find_shards(tmp_path / "molecules")] == ["a", "labels"]


def test_equal_stems_get_longer_names(tmp_path):
    touch(tmp_path, "x/a.csv", "y/a.csv", "y/b.csv", "y/b.smi", "y/c.smi")
    names = [shard.name for shard in find_shards(sorted(tmp_path.rglob("*.*")))]
    assert names[2:] == ["b-csv", "b-smi", "c"]
    assert [name.rpartition("-")[0][-3:] for name in names[:2]] == ["x-a", "y-a"]
    assert len(set(names)) == 5


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("*.parquet", FileMissing, "no file matches"),
        ("b.smi", FileMissing, "does not exist"),
        ([], FileMissing, "the list of files is empty"),
        (["a.smi", "a.smi"], InvalidParameter, "named twice"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, given, error, words):
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "a.smi")
    with pytest.raises(error, match=words):
        find_shards(given)


def test_a_file_may_be_called_like_a_pattern(tmp_path, monkeypatch):
    touch(tmp_path, "a[1].smi", "[new]/b.smi", "~c.smi")
    assert not is_pattern(tmp_path / "a[1].smi")
    assert [shard.name for shard in find_shards(tmp_path / "a[1].smi")] == ["a[1]"]
    assert [shard.name for shard in find_shards(tmp_path / "[new]" / "*.smi")] == ["b"]
    monkeypatch.chdir(tmp_path)
    assert [shard.name for shard in find_shards(["~c.smi"])] == ["~c"]  # no user's folder

"""`infograph embed` with a folder as its place."""

from __future__ import annotations

import json

import pytest

from infograph.cli import main
from tests.scale.conftest import column, molecules


@pytest.fixture
def run(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main(["embed", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_a_pattern_to_a_folder(run, model, write, tmp_path):
    write("a.parquet", [*molecules(9), "(("], w=range(10))
    out = tmp_path / "vectors"
    code, said, _ = run(model, tmp_path / "in" / "*.parquet", "--out", out, "--columns", "w", "--block", "4")
    assert (code, said) == (0, f"{out}: 9 vectors of 12 numbers, 1 of 10 rows rejected; 1 of 1 shards done\n")
    assert column(out / "a.parquet", "w") == list(range(9))
    write("b.parquet", molecules(5)).write_bytes(b"no")
    code, said, problems = run(model, tmp_path / "in", "--out", f"{out}/", "--columns", "w", "--json")
    found = json.loads(said)
    assert code == 2 and (found["shards"], found["skipped"], found["embedded"], found["done"]) == (2, 1, 9, 0)
    assert [failure["shard"] for failure in found["failed"]] == ["b"]
    first, last = problems.splitlines()[-2:]
    assert first.startswith("  b: ") and "is damaged or no Parquet file" in first
    assert last.startswith("Error: 1 of 2 shards could not be embedded: mend or remove them")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("in/a.parquet", "--out", "v.parquet", "--workers", "2"), "give a folder as --out"),
        (("in/*.parquet", "--out", "v.parquet"), "v.parquet is one file, and the pattern"),
        (("in/*.csv", "--out", "v"), "no file matches 'in/*.csv'"),
        (("in", "--out", "v", "--label", "w"), "--units, --nodes and --atomisation are not for"),
        (("in", "--out", "v", "--columns", "none"), "no column 'none' in"),
        (("in", "--out", "v", "--on", "spark"), "on='spark': expected 'local', 'ray'"),
        (("in/a.parquet", "--out", "v.txt"), "vectors are written to .parquet or .csv files"),
        (("MUTAG", "--out", "v"), "vectors are written to .parquet or .csv files"),
    ],
)
def test_mistakes(run, model, write, tmp_path, given, words, monkeypatch):
    write("a.parquet", molecules(5))
    monkeypatch.chdir(tmp_path)
    code, said, problems = run(model, *given)
    assert (code, said if "none" not in given else "") == (2, "")
    assert words in " ".join(problems.split())

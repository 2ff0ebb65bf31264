"""Whole jobs in this process: every row accounted for, faults, restarts."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import GIN, InfoGraph, load
from infograph.data.graphset import save_graphs
from infograph.data.read import ReadOptions
from infograph.data.vectors import read_embeddings
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    JobStopped,
)
from infograph.scale import Progress, Report, embed_shards
from tests.scale.conftest import Write, column, everything, molecules, vectors


def counts(report: Report) -> tuple[int, int, int]:
    assert report.rows == report.embedded + report.rejected
    return report.rows, report.embedded, report.rejected


def listed(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "_rejected" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("block", [7, 1000])
def test_vectors_are_those_of_transform(model: Path, write: Write, tmp_path: Path, block: int) -> None:
    parts = [molecules(20, seed) for seed in range(3)]
    for n, part in enumerate(parts):
        write(f"p{n}.parquet", part, name=[f"m{n}.{i}" for i in range(20)], w=np.arange(20))
    seen: list[Progress] = []
    out = tmp_path / "out"
    report = embed_shards(
        model, tmp_path / "in", out, block=block, columns=["w", "smiles"], progress=seen.append
    )
    assert counts(report) == (60, 60, 0) and report.complete and report.dim == 12
    for n, part in enumerate(parts):
        path = out / f"p{n}.parquet"
        expected = load(model).transform(part)
        np.testing.assert_allclose(vectors(path), expected, rtol=1e-5, atol=1e-5)
        assert column(path, "id") == [f"m{n}.{i}" for i in range(20)]
        assert column(path, "w") == list(range(20)) and column(path, "smiles") == part
        assert np.array_equal(read_embeddings(path).vectors, vectors(path))
    assert not list((out / "_rejected").iterdir())
    assert seen[-1] == Progress(60, 3, 3, 1.0)
    assert len(parquet.read_table(out)) == 60  # the folder as a whole is a table


def test_bad_rows_are_listed(model: Path, write: Write, tmp_path: Path) -> None:
    good = molecules(3)
    write("a.parquet", [good[0], "C((", None, *good[1:]], id=[f"m{n}" for n in range(5)])
    out = tmp_path / "out"
    report = embed_shards(model, tmp_path / "in", out, block=2)
    assert counts(report) == (5, 3, 2)
    np.testing.assert_allclose(vectors(out / "a.parquet"), load(model).transform(good), rtol=1e-5, atol=1e-5)
    assert column(out / "a.parquet", "id") == ["m0", "m3", "m4"]
    first, second = listed(out, "a")
    assert (first["row"], first["id"]) == ("1", "m1")
    assert first["problem"] == "row 2: the SMILES 'C((' does not parse (syntax error around position 3)"
    assert (second["row"], second["problem"]) == ("2", "row 3: no SMILES: the text is empty")
    record = json.loads((out / "_shards" / "a.json").read_text())
    assert (record["rows"], record["embedded"], record["rejected"]) == (5, 3, 2)


def test_nan_keeps_places(model: Path, write: Write, tmp_path: Path) -> None:
    good = molecules(3)
    write("a.parquet", ["C((", *good, "x"])
    out = tmp_path / "out"
    assert counts(embed_shards(model, tmp_path / "in", out, block=2, errors="nan")) == (5, 3, 2)
    found = vectors(out / "a.parquet")
    np.testing.assert_allclose(found[1:4], load(model).transform(good), rtol=1e-5, atol=1e-5)
    assert np.isnan(found[[0, 4]]).all()
    problems = column(out / "a.parquet", "problem")
    assert problems[1:4] == [None] * 3 and "row 1: the SMILES" in problems[0]
    assert len(listed(out, "a")) == 2


def test_raise_stops_at_the_first(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", molecules(3))
    write("b.parquet", [*molecules(3), "C(("])
    write("c.parquet", molecules(3))
    with pytest.raises(InvalidGraph, match=r"graph 3 \(id 'b:3'\): .*b.parquet, row 4: the SMILES 'C\(\('"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", errors="raise")
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["a.parquet"]


def test_shards_without_rows_and_of_bad_rows_only(model: Path, write: Write, tmp_path: Path) -> None:
    write("empty.parquet", [], w=pa.array([], pa.float64()))
    write("bad.parquet", ["((", "x"], w=[1.0, 2.0])
    (tmp_path / "in" / "head.csv").write_text("smiles,w\n")
    out = tmp_path / "out"
    report = embed_shards(model, tmp_path / "in", out, columns=["w"])
    assert counts(report) == (2, 0, 2) and report.complete
    for name in ("empty", "bad", "head"):
        table = parquet.read_table(out / f"{name}.parquet")
        assert table.num_rows == 0 and table.column_names == ["id", "w", "vector"]
        assert table.schema.field("vector").type.list_size == 12
    assert parquet.read_table(out / "empty.parquet").schema.field("w").type == pa.float64()
    assert len(listed(out, "bad")) == 2


def test_a_corrupt_shard_does_not_stop_the_others(model: Path, write: Write, tmp_path: Path) -> None:
    for name in "abcd":
        write(f"{name}.parquet", molecules(30))
    broken = tmp_path / "in" / "b.parquet"
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "out"
    report = embed_shards(model, tmp_path / "in", out)
    assert counts(report) == (90, 90, 0) and not report.complete
    (failure,) = report.failed
    assert (failure.shard, failure.path) == ("b", str(broken))
    assert "is damaged or no Parquet file" in failure.problem
    assert not (out / "b.parquet").exists() and not (out / "_shards" / "b.json").exists()
    broken.write_bytes(whole)
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    again = embed_shards(model, tmp_path / "in", out)
    assert counts(again) == (120, 120, 0) and (again.skipped, again.done) == (3, 30)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    broken.write_bytes(whole[:50])
    with pytest.raises(InvalidFile, match="damaged"):
        embed_shards(model, tmp_path / "in", tmp_path / "other", errors="raise")


def test_a_shard_that_breaks_off_in_the_middle(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_bytes("\n".join(molecules(30)).encode() + b"\n\xff\n")
    report = embed_shards(model, path, tmp_path / "out", block=4)
    assert "UTF-8" in report.failed[0].problem
    assert not list((tmp_path / "out").rglob("*a.*"))


def test_a_changed_shard_is_done_again(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", molecules(5))
    write("b.parquet", ["(", *molecules(5)])
    out = tmp_path / "out"
    embed_shards(model, tmp_path / "in", out)
    write("b.parquet", molecules(6, seed=3))
    report = embed_shards(model, tmp_path / "in", out)
    assert counts(report) == (11, 11, 0) and report.skipped == 1
    assert not (out / "_rejected" / "b.csv").exists()
    write("b.parquet", molecules(6, seed=3)).write_bytes(b"gone bad")
    assert embed_shards(model, tmp_path / "in", out).failed
    assert not (out / "b.parquet").exists()  # vectors of what is no longer there


def test_files_that_went_missing_are_made_again(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", ["(", *molecules(5)])
    out = tmp_path / "out"
    embed_shards(model, tmp_path / "in", out)
    expected = everything(out)
    for victim in ("a.parquet", "_rejected/a.csv"):
        (out / victim).unlink()
        assert embed_shards(model, tmp_path / "in", out).skipped == 0
        assert everything(out) == expected
    (out / "_shards" / "a.json").write_text("{")
    assert embed_shards(model, tmp_path / "in", out).skipped == 0


def test_other_models_and_settings_are_refused(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", molecules(5), w=range(5))
    out = tmp_path / "out"
    embed_shards(model, tmp_path / "in", out)
    other = (
        InfoGraph(dim=12, epochs=0, random_state=1, encoder=GIN(layers=2))
        .fit(molecules(60))
        .save(tmp_path / "other")
    )
    with pytest.raises(
        InvalidParameter, match=r"a\.parquet was made by another model: choose another folder"
    ):
        embed_shards(other, tmp_path / "in", out)
    with pytest.raises(InvalidParameter, match=r"columns=\[\], while this job has columns=\['w'\]"):
        embed_shards(model, tmp_path / "in", out, columns=["w"])
    with pytest.raises(InvalidParameter, match="hydrogens=None, while this job has hydrogens=True"):
        embed_shards(model, tmp_path / "in", out, reading=ReadOptions(hydrogens=True))
    load(model).save(tmp_path / "copy")
    assert embed_shards(tmp_path / "copy", tmp_path / "in", out, block=3).skipped == 1


def test_names_that_stand_for_other_files(model: Path, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = write("a.parquet", molecules(5))
    embed_shards(model, first, out)
    other = tmp_path / "a.smi"
    other.write_text("C\n")
    with pytest.raises(InvalidParameter, match=r"holds the vectors of .*in/a\.parquet and not of .*a\.smi"):
        embed_shards(model, other, out)
    with pytest.raises(InvalidParameter, match="which would now be called 'a-parquet'"):
        embed_shards(model, [first, other], out)
    first.rename(tmp_path / "in" / "moved").rename(tmp_path / "a.parquet")
    assert embed_shards(model, tmp_path / "a.parquet", out).skipped == 1  # the same file elsewhere


def test_one_job_per_folder(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", molecules(5))
    out = tmp_path / "out"

    def meanwhile(_: Progress) -> None:
        with pytest.raises(JobStopped, match="is in use: another job writes to it"):
            embed_shards(model, tmp_path / "in", out)

    assert embed_shards(model, tmp_path / "in", out, progress=meanwhile).complete
    assert embed_shards(model, tmp_path / "in", out).complete  # a lock that nobody holds is none


def test_a_full_disk(model: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        write(f"{name}.parquet", molecules(20))
    out = tmp_path / "out"
    rows = 0

    class Full(parquet.ParquetWriter):  # type: ignore[misc]
        def write_table(self, table: Any, *more: Any, **options: Any) -> None:
            nonlocal rows
            rows += table.num_rows
            if rows > 30:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().write_table(table, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "ParquetWriter", Full)
        with pytest.raises(
            JobStopped, match=r"out cannot be written to \(No space left on device\): make room"
        ):
            embed_shards(model, tmp_path / "in", out, block=5)
    assert [path.name for path in out.glob("*.parquet")] == ["a.parquet"]
    assert [path.name for path in (out / "_shards").iterdir()] == ["a.json"]
    report = embed_shards(model, tmp_path / "in", out, block=5)
    assert counts(report) == (60, 60, 0) and report.skipped == 1


KILLED = """
import os, signal, sys
from infograph.scale import embed_shards
def kill(now):
    if now.rows >= int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
embed_shards(sys.argv[1], sys.argv[2], sys.argv[3], block=10, progress=kill)
"""


@pytest.mark.slow
def test_killed_and_run_again(model: Path, write: Write, tmp_path: Path) -> None:
    for name in "abc":
        write(f"{name}.parquet", [*molecules(30), "("])
    out = tmp_path / "out"
    arguments = [model, tmp_path / "in", out, 51]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path for path in out.iterdir() if path.name.startswith(".b-")]
    assert left and [path.name for path in out.glob("[!.]*.parquet")] == ["a.parquet"]
    report = embed_shards(model, tmp_path / "in", out, block=10)
    assert counts(report) == (93, 90, 3) and report.skipped == 1
    assert not left[0].exists()
    embed_shards(model, tmp_path / "in", tmp_path / "undisturbed", block=10)
    assert everything(out) == everything(tmp_path / "undisturbed")


def test_a_shard_that_changes_while_it_is_read(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("\n".join(molecules(30)))

    def append(now: Progress) -> None:
        if now.rows == 10:
            with path.open("a") as file:
                file.write("\nC")

    report = embed_shards(model, path, tmp_path / "out", block=10, progress=append)
    assert "was changed while it was read" in report.failed[0].problem
    assert embed_shards(model, path, tmp_path / "out").rows == 31


def test_vectors_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    lines = [{"nodes": [{"x": float(n)}, {"x": 1.0}], "edges": [[0, 1]]} for n in range(6)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    fitted = InfoGraph(dim=32, epochs=0, encoder=GIN(layers=2)).fit(path)
    fitted.save(tmp_path / "model")
    lines[3] = {"nodes": [{"x": 3e38}] * 50, "edges": [[0, n] for n in range(1, 50)]}
    path.write_text("\n".join(map(json.dumps, lines)))
    report = embed_shards(tmp_path / "model", path, tmp_path / "out", block=2)
    assert counts(report) == (6, 5, 1)
    (row,) = listed(tmp_path / "out", "a")
    assert row["row"] == "3" and row["id"] == "a:3" and "its vector is not finite" in row["problem"]


def test_saved_graphs_and_warnings(tmp_path: Path, corner_cases: Any) -> None:
    InfoGraph(dim=4, epochs=0, encoder=GIN(layers=2)).fit(corner_cases).save(tmp_path / "model")
    save_graphs(corner_cases, tmp_path / "in" / "saved")
    report = embed_shards(tmp_path / "model", tmp_path / "in", tmp_path / "out", block=3)
    expected = load(tmp_path / "model").transform(corner_cases)
    np.testing.assert_allclose(vectors(tmp_path / "out" / "saved.parquet"), expected, rtol=1e-5, atol=1e-5)
    assert counts(report) == (10, 10, 0)
    (tmp_path / "odd.jsonl").write_text('{"nodes": [{"label": "strange"}], "edges": []}\n')
    with pytest.warns(UserWarning, match=r"odd\.jsonl: .*'strange'"):
        embed_shards(tmp_path / "model", tmp_path / "odd.jsonl", tmp_path / "out")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"workers": 0}, InvalidParameter, "workers=0"),
        ({"block": 0}, InvalidParameter, "block=0"),
        ({"errors": "stop"}, InvalidParameter, "errors='stop'"),
        ({"columns": ["vector"]}, InvalidParameter, "'vector' cannot be written"),
        ({"columns": ["problem"], "errors": "nan"}, InvalidParameter, "why a row is empty"),
        ({"reading": ReadOptions(label="y")}, InvalidParameter, "label and units"),
        ({"out": "a.smi/out"}, InvalidParameter, "a file in its place"),
        ({"model": "none"}, FileMissing, "no model folder"),
        ({"model": "damaged"}, InvalidFile, "checksum"),
    ],
)
def test_mistakes(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.smi").write_text("C\n")
    shutil.copytree(model, "damaged")
    Path("damaged/model.safetensors").write_bytes(b"")
    with pytest.raises(error, match=words):
        embed_shards(**{"model": model, "inputs": "a.smi", "out": "out", **given})


def test_a_finished_job_reads_records_and_nothing_else(model: Path, write: Write, tmp_path: Path) -> None:
    """Shards and vectors could as well be noise."""
    for n in range(10):
        write(f"p{n}.parquet", ["C"])
    embed_shards(model, tmp_path / "in", tmp_path / "out")
    for path in [*tmp_path.glob("in/*.parquet"), *tmp_path.glob("out/*.parquet")]:
        was = path.stat()
        path.write_bytes(bytes(was.st_size))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    again = embed_shards(model, tmp_path / "in", tmp_path / "out")
    assert again.skipped == 10 and again.complete and counts(again) == (10, 10, 0)

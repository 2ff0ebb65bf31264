"""Whole jobs in this process: every row accounted for, faults, restarts."""

from __future__ import annotations

import csv
import errno
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import GIN, Column, InfoGraph, load
from infograph.data.graphset import save_graphs
from infograph.data.read import ReadOptions
from infograph.data.vectors import read_embeddings
from infograph.errors import FileMissing, InvalidFile, InvalidGraph, InvalidParameter, JobStopped
from infograph.scale import Progress, embed_shards
from tests.scale.conftest import column, everything, molecules, vectors


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def embed(model, tmp_path, out):
    """The model on tmp_path/in, to tmp_path/out, unless told otherwise."""
    return lambda **given: embed_shards(**{"model": model, "inputs": tmp_path / "in", "out": out, **given})


def counts(report):
    return report.rows, report.embedded, report.rejected


def rejected(out, name="a"):
    with (out / "_rejected" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def assert_vectors(path, expected):
    np.testing.assert_allclose(vectors(path), expected, rtol=1e-5, atol=1e-5)


def test_a_file_of_edges_without_a_graph_is_a_shard_of_rejected_rows(model, tmp_path, out):
    (tmp_path / "a.csv").write_text("source,target,graph\n,2,g\n")
    report = embed_shards(model, tmp_path / "a.csv", out, errors="skip")
    assert counts(report) == (1, 0, 1) and rejected(out)[0]["id"] == "g"


@pytest.mark.parametrize("block", [7, 1000])
def test_vectors_are_those_of_transform(embed, model, write, out, block):
    parts = [molecules(20, seed) for seed in range(3)]
    for n, part in enumerate(parts):
        write(f"p{n}.parquet", part, name=[f"m{n}.{i}" for i in range(20)], w=np.arange(20))
    seen = []
    report = embed(block=block, columns=["w", "smiles"], progress=seen.append)
    assert counts(report) == (60, 60, 0) and report.complete and report.dim == 12
    for n, part in enumerate(parts):
        path = out / f"p{n}.parquet"
        assert_vectors(path, load(model).transform(part))
        assert column(path, "id") == [f"m{n}.{i}" for i in range(20)]
        assert column(path, "w") == list(range(20)) and column(path, "smiles") == part
    assert np.array_equal(read_embeddings(path).vectors, vectors(path))
    assert not list((out / "_rejected").iterdir()) and seen[-1] == Progress(60, 3, 3, 1.0)
    assert len(parquet.read_table(out)) == 60  # the folder as a whole is a table


def test_bad_rows_are_listed_or_keep_their_places(embed, model, write, tmp_path, out):
    good = molecules(3)
    write("a.parquet", [good[0], "C((", None, *good[1:]], id=[f"m{n}" for n in range(5)])
    assert counts(embed(block=2)) == (5, 3, 2)
    assert_vectors(out / "a.parquet", load(model).transform(good))
    assert column(out / "a.parquet", "id") == ["m0", "m3", "m4"]
    first, second = rejected(out)
    assert (first["row"], first["id"]) == ("1", "m1") and first["problem"].startswith(
        "row 2: the SMILES 'C(('"
    )
    assert (second["row"], second["problem"]) == ("2", "row 3: no SMILES: the text is empty")
    kept = tmp_path / "kept"
    assert counts(embed(out=kept, block=2, errors="nan")) == (5, 3, 2) and rejected(kept) == rejected(out)
    found = vectors(kept / "a.parquet")
    np.testing.assert_allclose(found[[0, 3, 4]], load(model).transform(good), rtol=1e-5, atol=1e-5)
    assert np.isnan(found[[1, 2]]).all()
    assert [each is None for each in column(kept / "a.parquet", "problem")] == [
        True,
        False,
        False,
        True,
        True,
    ]
    with pytest.raises(InvalidGraph, match=r"graph 1 \(id 'm1'\): .*a.parquet, row 2: the SMILES 'C\(\('"):
        embed(out=tmp_path / "none", errors="raise")
    assert not list((tmp_path / "none").glob("*.parquet"))


def test_shards_without_rows_and_of_bad_rows_only(embed, write, tmp_path, out):
    write("empty.parquet", [], w=pa.array([], pa.float64()))
    write("a.parquet", ["((", "x"], w=[1.0, 2.0])
    (tmp_path / "in" / "head.csv").write_text("smiles,w\n")
    report = embed(columns=["w"])
    assert counts(report) == (2, 0, 2) and report.complete and len(rejected(out)) == 2
    for name in ("empty", "a", "head"):
        table = parquet.read_table(out / f"{name}.parquet")
        assert table.num_rows == 0 and table.column_names == ["id", "w", "vector"]
        assert table.schema.field("vector").type.list_size == 12
    assert parquet.read_table(out / "empty.parquet").schema.field("w").type == pa.float64()


def test_a_corrupt_shard_does_not_stop_the_others(embed, write, tmp_path, out):
    for name in "abc":
        write(f"{name}.parquet", molecules(30))
    (tmp_path / "in" / "d.smi").write_bytes("\n".join(molecules(30)).encode() + b"\n\xff\n")
    broken = tmp_path / "in" / "b.parquet"
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2])
    report = embed(block=4)
    assert counts(report) == (60, 60, 0) and not report.complete
    failure, late = report.failed
    assert (failure.shard, failure.path) == ("b", str(broken))
    assert "is damaged or no Parquet file" in failure.problem and "UTF-8" in late.problem
    assert not list(out.rglob("*b.*")) and not list(out.rglob("*d.*"))
    broken.write_bytes(whole)
    again = embed(block=4)
    assert counts(again) == (90, 90, 0) and (again.skipped, again.done) == (2, 30)
    with pytest.raises(InvalidFile, match="UTF-8"):
        embed(out=tmp_path / "other", errors="raise")


def test_a_changed_shard_is_done_again(embed, write, out):
    write("a.parquet", molecules(5))
    write("b.parquet", ["(", *molecules(5)])
    embed()
    write("b.parquet", molecules(6, seed=3))
    report = embed()
    assert counts(report) == (11, 11, 0) and report.skipped == 1
    assert not (out / "_rejected" / "b.csv").exists()
    (out / ".." / "in" / "b.parquet").write_bytes(b"gone bad")
    assert embed().failed and not (out / "b.parquet").exists()  # vectors of what is no longer there


def test_files_that_went_missing_are_made_again(embed, write, out):
    write("a.parquet", ["(", *molecules(5)])
    embed()
    expected = everything(out)
    for victim in ("a.parquet", "_rejected/a.csv"):
        (out / victim).unlink()
        assert embed().skipped == 0 and everything(out) == expected
    (out / "_shards" / "a.json").write_text("{")
    assert embed().skipped == 0 and everything(out) == expected


def test_other_models_settings_and_files_are_refused(embed, model, write, tmp_path):
    path = write("a.parquet", molecules(5), w=range(5))
    embed()
    other = InfoGraph(dim=12, epochs=0, random_state=1, encoder=GIN(layers=2)).fit(molecules(60))
    namesake = tmp_path / "a.smi"
    namesake.write_text("C\n")
    for given, words in (
        ({"model": other.save(tmp_path / "other")}, r"a\.parquet was made by another model: choose another"),
        ({"columns": ["w"]}, r"columns=\[\], while this job has columns=\['w'\]"),
        ({"reading": ReadOptions(hydrogens=True)}, "hydrogens=None, while this job has hydrogens=True"),
        ({"inputs": namesake}, r"holds the vectors of .*in/a\.parquet"),
        ({"inputs": [path, namesake]}, r"holds the vectors of .*in/a\.parquet"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            embed(**given)
    shutil.copy(path, tmp_path / "out" / "b.parquet")  # somebody's
    write("b.parquet", molecules(3))
    with pytest.raises(InvalidParameter, match="was not written by such a job"):
        embed()
    (tmp_path / "in" / "b.parquet").unlink()
    load(model).save(tmp_path / "copy")
    assert embed(model=tmp_path / "copy", block=3).skipped == 1
    path.rename(tmp_path / "a.parquet")
    assert embed(inputs=tmp_path / "a.parquet").skipped == 1  # the same file elsewhere


def test_one_job_per_folder(embed, write):
    write("a.parquet", molecules(5))

    def meanwhile(_):
        with pytest.raises(JobStopped, match="is in use: another job writes to it"):
            embed()

    assert embed(progress=meanwhile).complete
    assert embed().complete  # a lock that nobody holds is none


def test_a_full_disk(embed, write, out, monkeypatch):
    for name in "abc":
        write(f"{name}.parquet", molecules(20))
    full = iter([False] * 5 + [True])

    class Full(parquet.ParquetWriter):
        def write_table(self, table, *more, **options):
            if next(full):
                raise OSError(errno.ENOSPC, "No space left on device")
            super().write_table(table, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "ParquetWriter", Full)
        with pytest.raises(JobStopped, match=r"out cannot be written to \(the disk is full.*: make"):
            embed(block=5)
    assert [path.name for path in out.glob("*.parquet")] == ["a.parquet"]
    assert [path.name for path in (out / "_shards").iterdir()] == ["a.json"]
    report = embed(block=5)
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
def test_killed_and_run_again(embed, model, write, tmp_path, out):
    for name in "abc":
        write(f"{name}.parquet", [*molecules(30), "("])
    command = [sys.executable, "-c", KILLED, *map(str, (model, tmp_path / "in", out, 51))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path for path in out.iterdir() if path.name.startswith(".b-")]
    assert left and [path.name for path in out.glob("[!.]*.parquet")] == ["a.parquet"]
    report = embed(block=10)
    assert counts(report) == (93, 90, 3) and report.skipped == 1 and not left[0].exists()
    embed(out=tmp_path / "undisturbed", block=10)
    assert everything(out) == everything(tmp_path / "undisturbed")


def test_a_shard_that_changes_while_it_is_read(embed, tmp_path):
    path = tmp_path / "a.smi"
    path.write_text("\n".join(molecules(30)))

    def append(now):
        if now.rows == 10:
            with path.open("a") as file:
                file.write("\nC")

    report = embed(inputs=path, block=10, progress=append)
    assert "was changed while it was read" in report.failed[0].problem
    assert embed(inputs=path).rows == 31


def test_vectors_that_are_not_finite_are_rejected(embed, tmp_path, out):
    lines = [{"nodes": [{"x": float(n)}, {"x": 1.0}], "edges": [[0, 1]]} for n in range(6)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    own = InfoGraph(dim=32, epochs=0, encoder=GIN(layers=2)).fit(path).save(tmp_path / "own")
    lines[3] = {"nodes": [{"x": 3e38}] * 50, "edges": [[0, n] for n in range(1, 50)]}
    path.write_text("\n".join(map(json.dumps, lines)))
    assert counts(embed(model=own, inputs=path, block=2)) == (6, 5, 1)
    (row,) = rejected(out)
    assert row["row"] == "3" and row["id"] == "a:3" and "its vector is not finite" in row["problem"]


def test_saved_graphs_and_warnings(embed, tmp_path, out, corner_cases):
    own = InfoGraph(dim=4, epochs=0, encoder=GIN(layers=2)).fit(corner_cases).save(tmp_path / "own")
    save_graphs(corner_cases, tmp_path / "in" / "saved")
    assert counts(embed(model=own, block=3)) == (10, 10, 0)
    assert_vectors(out / "saved.parquet", load(own).transform(corner_cases))
    columns = corner_cases.with_column("graph", Column("w", "float"), np.arange(10.0))[:0]
    save_graphs(columns, tmp_path / "none")
    report = embed(model=own, inputs=tmp_path / "none", out=tmp_path / "empty", columns=["w"])
    assert counts(report) == (0, 0, 0) and report.complete
    assert parquet.read_schema(tmp_path / "empty" / "none.parquet").field("w").type == pa.float64()
    (tmp_path / "odd.jsonl").write_text('{"nodes": [{"label": "strange"}], "edges": []}\n')
    with pytest.warns(UserWarning, match=r"odd\.jsonl: .*'strange'"):
        embed(model=own, inputs=tmp_path / "odd.jsonl")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"workers": 0}, InvalidParameter, "workers=0"),
        ({"block": 0}, InvalidParameter, "block=0"),
        ({"errors": "stop"}, InvalidParameter, "errors='stop'"),
        ({"columns": ["vector"]}, InvalidParameter, "'vector' cannot be written"),
        ({"columns": ["problem"], "errors": "nan"}, InvalidParameter, "why a row is empty"),
        ({"reading": ReadOptions(label="y")}, InvalidParameter, "label, units and nodes"),
        ({"reading": ReadOptions(nodes="n.csv")}, InvalidParameter, "label, units and nodes"),
        ({"inputs": "nets", "out": "nets/out"}, InvalidParameter, "out is in .*nets, which is read here"),
        ({"out": "a.smi/out"}, InvalidParameter, "a file in its place"),
        ({"model": "none"}, FileMissing, "no model folder"),
        ({"model": "damaged"}, InvalidFile, "checksum"),
    ],
)
def test_mistakes(embed, model, tmp_path, monkeypatch, given, error, words):
    monkeypatch.chdir(tmp_path)
    Path("a.smi").write_text("C\n")
    Path("nets").mkdir()
    shutil.copytree(model, "damaged")
    Path("damaged/model.safetensors").write_bytes(b"")
    with pytest.raises(error, match=words):
        embed(**{"inputs": "a.smi", **given})

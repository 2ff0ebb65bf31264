"""Records of finished shards: what was read, with what, and where every row went."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infograph.data.storage import read_json, replaced_file
from infograph.errors import InvalidFile, InvalidParameter
from infograph.scale.job import Job
from infograph.scale.places import RECORDS, record_of, rejected_of, vectors_of
from infograph.scale.shards import Shard

FORMAT = "infograph-shard-1"
Record = dict[str, Any]


def make_record(
    job: Job, shard: Shard, *, rows: int, embedded: int, rejected: int, dim: int, seconds: float
) -> Record:
    """The record of a shard whose files are in their places."""
    return {
        "format": FORMAT,
        "shard": shard.name,
        "input": {"path": shard.path, "size": shard.size, "mtime_ns": shard.mtime_ns},
        "settings": job.settings(),
        "rows": rows,
        "embedded": embedded,
        "rejected": rejected,
        "dim": dim,
        "bytes": vectors_of(job.out, shard.name).stat().st_size,
        "seconds": round(seconds, 3),
    }


@contextmanager
def begun(job: Job, shard: Shard) -> Iterator[None]:
    """Say in a record that the files of a shard are this job's, and remove those of an earlier run of it.

    The record stays where a job is killed, so that the next one knows them as its own; `check_records` has
    made sure that there are none of somebody else's.
    """
    content = {"format": FORMAT, "shard": shard.name, "input": {"path": shard.path}, "begun": True}
    files = (vectors_of(job.out, shard.name), rejected_of(job.out, shard.name))
    write_record(job, content)
    for path in files:
        path.unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        for path in (*files, record_of(job.out, shard.name)):
            path.unlink(missing_ok=True)
        raise


def write_record(job: Job, record: Record) -> None:
    """Write it, whole or not at all: from then on the shard is finished."""
    with replaced_file(record_of(job.out, record["shard"])) as work:
        work.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_records(out: str | Path) -> dict[str, Record]:
    """All records of a folder by shard; a damaged one is of a shard that has begun, and is done again."""
    records = {}
    for path in sorted((Path(out) / RECORDS).glob("*.json")):
        try:
            record = read_json(path)
        except InvalidFile:
            record = {}
        ours = record.get("format") == FORMAT and record.get("shard") == path.stem
        records[path.stem] = record if ours else {"begun": True}
    return records


def check_records(job: Job, shards: Sequence[Shard], records: Mapping[str, Record]) -> None:
    """Make sure that what is in the folder belongs to this job.

    Raises:
        InvalidParameter: it was made by another model or with other settings, the name of a shard stands
            for another file there, or a file has the name of a shard's vectors and is in no record.
    """
    for shard in shards:
        for path in (vectors_of(job.out, shard.name), rejected_of(job.out, shard.name)):
            if shard.name not in records and path.exists():
                raise InvalidParameter(
                    f"{path} is there and was not written by such a job: choose another folder, or move it"
                )
    records = {name: record for name, record in records.items() if not record.get("begun")}
    settings = job.settings()
    for name, record in records.items():
        found = record["settings"]
        strange = [key for key in settings if found.get(key) != settings[key]]
        if strange:
            raise InvalidParameter(f"{_difference(strange[0], found, settings, job.out, name)}")
    paths = {shard.path: shard.name for shard in shards}
    for name, record in records.items():
        now = paths.get(record["input"]["path"], name)
        if now != name:
            raise InvalidParameter(
                f"{vectors_of(job.out, name)} already holds {record['input']['path']}, which would now be "
                f"called {now!r}: choose another folder"
            )
    for shard in shards:
        old = records.get(shard.name)
        if old and not _same_input(old, shard) and old["input"]["path"] != shard.path:
            raise InvalidParameter(
                f"{vectors_of(job.out, shard.name)} holds the vectors of {old['input']['path']} and not of "
                f"{shard.path}: choose another folder, or rename the file"
            )


def is_finished(job: Job, shard: Shard, record: Record | None) -> bool:
    """Whether a record is of this shard as it is now, and its files are there."""
    if record is None or record.get("begun") or not _same_input(record, shard):
        return False
    vectors = vectors_of(job.out, shard.name)
    listed = not record["rejected"] or rejected_of(job.out, shard.name).is_file()
    return vectors.is_file() and vectors.stat().st_size == record["bytes"] and listed


def _same_input(record: Record, shard: Shard) -> bool:
    was = record["input"]
    return bool((was["size"], was["mtime_ns"]) == (shard.size, shard.mtime_ns))


def _difference(key: str, found: Record, now: Record, out: str, name: str) -> str:
    what = (
        "by another model"
        if key == "model"
        else f"with {key}={found.get(key)!r}, while this job has {key}={now[key]!r}"
    )
    return (
        f"{vectors_of(out, name)} was made {what}: choose another folder, or remove {out} to embed all "
        f"shards anew"
    )

"""Records of finished shards: what was read, with what, and where every row went."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def write_record(job: Job, record: Record) -> None:
    """Write it, whole or not at all: from then on the shard is finished."""
    with replaced_file(record_of(job.out, record["shard"])) as work:
        work.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_records(out: str | Path) -> dict[str, Record]:
    """All records of a folder by shard; a damaged one counts as none, and its shard is done again."""
    records = {}
    for path in sorted((Path(out) / RECORDS).glob("*.json")):
        try:
            record = read_json(path)
        except InvalidFile:
            continue
        if record.get("format") == FORMAT and record.get("shard") == path.stem:
            records[path.stem] = record
    return records


def check_records(job: Job, shards: Sequence[Shard], records: Mapping[str, Record]) -> None:
    """Make sure that what is in the folder belongs to this job.

    Raises:
        InvalidParameter: it was made by another model or with other settings, or the name of a shard stands
            for another file there.
    """
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
    if record is None or not _same_input(record, shard):
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

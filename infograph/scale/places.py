"""The folder of a job: one Parquet file per shard, and beside them what tools that read the folder skip.

    out/<shard>.parquet             vectors
    out/_rejected/<shard>.csv       rows that could not be embedded; only where there are any
    out/_shards/<shard>.json        the record of a finished shard, written last

Names that begin with "_" or "." are no data to Arrow, Spark and pandas, so `pandas.read_parquet(out)` reads
the vectors of all shards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

REJECTED, RECORDS, LOCK = "_rejected", "_shards", ".lock"


def vectors_of(out: str | Path, name: str) -> Path:
    """The file of a shard's vectors."""
    return Path(out) / f"{name}.parquet"


def rejected_of(out: str | Path, name: str) -> Path:
    """The list of a shard's rows that could not be embedded."""
    return Path(out) / REJECTED / f"{name}.csv"


def record_of(out: str | Path, name: str) -> Path:
    """The record of a finished shard."""
    return Path(out) / RECORDS / f"{name}.json"


def progress_of(out: str | Path, name: str) -> Path:
    """Where a worker that cannot be asked says how many rows of a shard it has read; gone with the shard."""
    return Path(out) / RECORDS / f".rows-{name}.json"


def sweep(out: str | Path, names: Iterable[str]) -> None:
    """Remove the temporary files that a killed job left behind of these shards, and nothing else.

    They are called as `replaced_file` calls them, with the number of a process behind the name.
    """
    left = {Path(out): ".parquet", Path(out) / REJECTED: ".csv", Path(out) / RECORDS: ".json"}
    known = set(names)
    for folder, ending in left.items():
        for path in folder.glob(f".*{ending}"):
            found = re.fullmatch(r"\.(.+)-\d+", path.stem)
            if found and found[1] in known:
                path.unlink(missing_ok=True)
    for name in known:
        progress_of(out, name).unlink(missing_ok=True)

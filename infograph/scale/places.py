"""The folder of a job: one Parquet file per shard, and beside them what tools that read the folder skip.

    out/<shard>.parquet             vectors
    out/_rejected/<shard>.csv       rows that could not be embedded; only where there are any
    out/_shards/<shard>.json        the record of a finished shard, written last

Names that begin with "_" or "." are no data to Arrow, Spark and pandas, so `pandas.read_parquet(out)` reads
the vectors of all shards.
"""

from __future__ import annotations

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


def clear(out: str | Path, name: str) -> None:
    """Forget a shard; the record goes first, so that nothing half-removed looks finished."""
    for path in (record_of(out, name), vectors_of(out, name), rejected_of(out, name)):
        path.unlink(missing_ok=True)


def sweep(out: str | Path) -> None:
    """Remove the temporary files that a killed job left behind."""
    for folder in (Path(out), Path(out) / REJECTED, Path(out) / RECORDS):
        if folder.is_dir():
            for ending in ("parquet", "csv", "json"):
                for path in folder.glob(f".*-*.{ending}"):
                    path.unlink(missing_ok=True)

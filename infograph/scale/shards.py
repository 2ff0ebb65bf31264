"""Which files a job is about, what is done to each, and the records of finished ones."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from infograph.data.graphset import MARKER
from infograph.data.read import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES, ReadOptions, kind
from infograph.data.tables import READ, Shard
from infograph.data.vectors import PROBLEM, check_names
from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.estimators.folder import read_config
from infograph.io import json_ready, read_json, replaced_file

ENDINGS = (".parquet", *TABLES, *SMILES_FILES, *SDF_FILES, *JSON_LINES)
MAGIC = "*?["
Inputs = str | Path | Sequence[str | Path]
REJECTED, RECORDS = "_rejected", "_shards"
FORMAT = "infograph-shard-1"
Record = dict[str, Any]
BadRows = Literal["raise", "skip", "nan"]
BLOCK = 10_000  # rows: some 20 MB of vectors of 512 numbers


def is_pattern(source: str | Path) -> bool:
    """Whether a text is a pattern such as `shards/*.parquet`, and not the name of a file that is there."""
    return any(sign in str(source) for sign in MAGIC) and not Path(source).exists()


def find_shards(inputs: Inputs) -> list[Shard]:
    """The shards of a pattern, a folder or a list of files, in the order of their paths (lists keep theirs).

    Of a folder the files of molecules and of JSON lines count, and the GraphSets saved in it; a folder
    without any is one shard itself: a saved GraphSet, a TU folder, a folder of networks.
    """
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    found = [path for each in paths for path in _expand(each)]
    if not found:
        raise FileMissing("no shards: the list of files is empty")
    absolute = [path.absolute() for path in found]
    twice = [path for path, times in Counter(absolute).items() if times > 1]
    if twice:
        raise InvalidParameter(f"{twice[0]} is named twice among the shards: name it once")
    return [shard_at(name, path) for name, path in zip(_names(absolute), absolute, strict=True)]


def _expand(source: str | Path) -> list[Path]:
    path = Path(source).expanduser()
    if is_pattern(path):
        steps = path.parts
        first = next(place for place, step in enumerate(steps) if any(sign in step for sign in MAGIC))
        found = sorted(
            each for each in Path(*steps[:first]).glob(str(Path(*steps[first:]))) if _visible(each)
        )
        if not found:
            raise FileMissing(f"no file matches {str(source)!r}")
        return found
    if not path.exists():
        raise FileMissing(f"{path} does not exist; expected a pattern, a folder or files of graphs")
    if path.is_file() or (path / MARKER).is_file():
        return [path]
    shards = (
        each
        for each in path.iterdir()
        if _visible(each) and (kind(each) in ENDINGS if each.is_file() else (each / MARKER).is_file())
    )
    return sorted(shards) or [path]


def _visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def shard_at(name: str, path: Path) -> Shard:
    """A shard as it is now."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    seen = [each.stat() for each in files]
    return Shard(
        name,
        str(path),
        sum(each.st_size for each in seen),
        max((each.st_mtime_ns for each in seen), default=0),
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """The stem of every path; where two are equal the ending too, then the folders, then a number."""
    ways: list[Callable[[Path], str]] = [
        lambda path: path.name.removesuffix(".gz").removesuffix(kind(path)) if path.is_file() else path.name,
        lambda path: path.name.replace(".", "-"),
        lambda path: "-".join([*path.parent.parts[-2:], path.name]).replace(".", "-").replace("/", ""),
    ]
    names = [""] * len(paths)
    open_places = list(range(len(paths)))
    for way in ways:
        for place in open_places:
            names[place] = way(paths[place])
        times = Counter(names)
        open_places = [place for place, name in enumerate(names) if times[name] > 1]
    for number, place in enumerate(open_places):
        names[place] += f"-{number}"
    return names


# The folder of a job: one Parquet file per shard, and beside them what tools that read the folder skip.
#
#     out/<shard>.parquet             vectors
#     out/_rejected/<shard>.csv       rows that could not be embedded; only where there are any
#     out/_shards/<shard>.json        the record of a finished shard, written last
#
# Names that begin with "_" or "." are no data to Arrow, Spark and pandas, so `pandas.read_parquet(out)`
# reads the vectors of all shards.


def vectors_of(out: str | Path, name: str) -> Path:
    """The file of a shard's vectors."""
    return Path(out) / f"{name}.parquet"


def rejected_of(out: str | Path, name: str) -> Path:
    """The list of a shard's rows that could not be embedded."""
    return Path(out) / REJECTED / f"{name}.csv"


def record_of(out: str | Path, name: str) -> Path:
    """The record of a finished shard."""
    return Path(out) / RECORDS / f"{name}.json"


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


def make_record(job: Job, shard: Shard, rows: int, rejected: int, dim: int, seconds: float) -> Record:
    """The record of a shard whose files are in their places."""
    return {
        "format": FORMAT,
        "shard": shard.name,
        "input": {"path": shard.path, "size": shard.size, "mtime_ns": shard.mtime_ns},
        "settings": job.settings(),
        "rows": rows,
        "embedded": rows - rejected,
        "rejected": rejected,
        "dim": dim,
        "bytes": vectors_of(job.out, shard.name).stat().st_size,
        "seconds": round(seconds, 3),
    }


@dataclass(frozen=True)
class Job:
    """One job over many shards.

    Attributes:
        model: the model's folder.
        checksum: of all that the model's vectors depend on.
        out: the folder of the vectors.
        columns: columns of the inputs to write beside the vectors; None for all.
        errors: what happens to a row that cannot be embedded.
        block: rows that are in memory at a time.
        reading: the options of `ReadOptions` that a user may give, by name.
    """

    model: str
    checksum: str
    out: str
    columns: tuple[str, ...] | None
    errors: BadRows
    block: int
    reading: dict[str, Any]

    @classmethod
    def of(
        cls,
        model: str | Path,
        out: str | Path,
        *,
        columns: Sequence[str] | None,
        errors: BadRows,
        block: int,
        reading: ReadOptions | None,
    ) -> Job:
        """A checked job."""
        if errors not in get_args(BadRows):
            raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
        if block < 1:
            raise InvalidParameter(f"block={block}: expected at least one row")
        if columns is not None:
            check_names(columns)
            if errors == "nan" and PROBLEM in columns:
                raise InvalidParameter(
                    f"the column {PROBLEM!r} says why a row is empty: leave the files' own one out"
                )
        read = reading or ReadOptions()
        if read.label is not None or read.units:
            raise InvalidParameter(
                "label and units describe columns, which are copied as they are here: name them in columns"
            )
        return cls(
            model=str(Path(model).absolute()),
            checksum=model_checksum(Path(model)),
            out=str(Path(out).absolute()),
            columns=None if columns is None else tuple(columns),
            errors=errors,
            block=block,
            reading={name: json_ready(getattr(read, name)) for name in READ},
        )

    def settings(self) -> dict[str, Any]:
        """What the vectors depend on: shards of other settings do not belong into the same folder."""
        columns = "all" if self.columns is None else list(self.columns)
        return {"model": self.checksum, "columns": columns, "errors": self.errors, **self.reading}

    def options(self, schema: Any) -> ReadOptions:
        """How a model of this schema reads the shards; bad rows are always listed."""
        return ReadOptions(errors="skip", schema=schema, **self.reading)


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
    """Make sure that what is in the folder belongs to this job, and to these files."""
    for shard in shards:
        for path in (vectors_of(job.out, shard.name), rejected_of(job.out, shard.name)):
            if shard.name not in records and path.exists():
                raise InvalidParameter(
                    f"{path} is there and was not written by such a job: choose another folder, or move it"
                )
    settings = job.settings()
    names, by_name = {shard.path: shard.name for shard in shards}, {shard.name: shard for shard in shards}
    for name, record in records.items():
        if record.get("begun"):
            continue
        path, source, before = vectors_of(job.out, name), record["input"]["path"], record["settings"]
        for key, now in settings.items():
            if before.get(key) != now:
                other = f"with {key}={before.get(key)!r}, while this job has {key}={now!r}"
                raise InvalidParameter(
                    f"{path} was made {'by another model' if key == 'model' else other}: choose another "
                    f"folder, or remove {job.out} to embed all shards anew"
                )
        if names.get(source, name) != name:
            raise InvalidParameter(
                f"{path} already holds {source}, which would now be called {names[source]!r}: choose another "
                f"folder"
            )
        same = by_name.get(name)
        if same is not None and same.path != source and not _same_input(record, same):
            raise InvalidParameter(
                f"{path} holds the vectors of {source} and not of {same.path}: choose another folder, or "
                f"rename the file"
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


def model_checksum(folder: Path) -> str:
    """A checksum of weights, settings and schema; the same for a copy of the folder."""
    config = read_config(folder)
    parts = {name: config[name] for name in ("class", "params", "learned", "sha256")}
    text = json.dumps([parts, read_json(folder / "schema.json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

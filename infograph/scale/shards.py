"""Which files a job is about, and the records of finished ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infograph.data.graphset import MARKER
from infograph.data.network_files import LABELS, NETWORKS, network_files
from infograph.data.read import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES, kind
from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.io import read_json

ENDINGS = (".parquet", *TABLES, *SMILES_FILES, *SDF_FILES, *JSON_LINES)
MAGIC = "*?["
Inputs = str | Path | Sequence[str | Path]
BLOCK = 10_000  # rows: some 20 MB of vectors of 512 numbers
FORMAT = "infograph-shard-1"
Record = dict[str, Any]


@dataclass(frozen=True)
class Shard:
    """One input file, or a folder with a saved GraphSet."""

    name: str  # of its output, without an ending; no two shards of a job share it
    path: str
    size: int
    mtime_ns: int


def is_pattern(source: str | Path) -> bool:
    """Whether a text is a pattern such as `shards/*.parquet`, and not the name of a file that is there."""
    return any(sign in str(source) for sign in MAGIC) and not Path(source).exists()


def find_shards(inputs: Inputs) -> list[Shard]:
    """The shards of a pattern, a folder or a list of files, in the order of their paths (lists keep theirs).

    Of a folder the files of molecules and of JSON lines count, and the GraphSets saved in it; a folder
    without any is one shard itself: a saved GraphSet, a TU folder, a folder of networks, with their labels.
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
    path = Path(source)
    with suppress(RuntimeError):  # of a user who does not exist
        path = path.expanduser()
    if is_pattern(path):
        steps = path.parts
        first = next(n for n in range(len(steps)) if not Path(*steps[: n + 1]).exists())  # of the pattern
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
    networks = any(kind(each) in NETWORKS and kind(each) not in ENDINGS for each in network_files(path))
    shards = (
        each
        for each in path.iterdir()
        if _visible(each)
        and not (networks and each.name == LABELS)
        and (kind(each) in ENDINGS if each.is_file() else (each / MARKER).is_file())
    )
    return sorted(shards) or [path]


def _visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def shard_at(name: str, path: Path) -> Shard:
    """A shard as it is now."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    seen = [each.stat() for each in files]
    size, changed = sum(each.st_size for each in seen), max((each.st_mtime_ns for each in seen), default=0)
    return Shard(name, str(path), size, changed)


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


# ---- the folder of a job


def files_of(out: str, shard: str) -> tuple[Path, Path, Path]:
    """The files of a shard: its vectors, its rejected rows, its record."""
    folder = Path(out)
    rejected, record = folder / "_rejected" / f"{shard}.csv", folder / "_shards" / f"{shard}.json"
    return folder / f"{shard}.parquet", rejected, record


def sweep(out: str, shards: Iterable[Shard]) -> None:
    """Remove the temporary files that a killed job left behind of these shards, and nothing else.

    They are called as `replaced_file` calls them, with the number of a process behind the name.
    """
    known = {shard.name for shard in shards}
    for like in files_of(out, "*"):
        for path in like.parent.glob(f".*{like.suffix}"):
            found = re.fullmatch(r"\.(.+)-\d+", path.stem)
            if found and found[1] in known:
                path.unlink(missing_ok=True)


def read_records(out: str) -> dict[str, Record]:
    """The records of finished shards; a damaged one is none, and its shard is done again."""
    records = {}
    for path in sorted(files_of(out, "*")[2].parent.glob("*.json")):
        try:
            record = read_json(path)
        except InvalidFile:
            continue
        if record.get("format") == FORMAT and "settings" in record:
            records[path.stem] = record
    return records


def check_records(
    out: str, settings: Mapping[str, Any], shards: Sequence[Shard], records: Mapping[str, Record]
) -> None:
    """Make sure that what is in the folder is of these settings, and of these files."""
    for shard in shards:
        *written, record_file = files_of(out, shard.name)
        strange = next((path for path in written if path.exists() and not record_file.exists()), None)
        if strange:
            raise InvalidParameter(f"{strange} is there and was not written by such a job: choose another")
    names, by_name = {shard.path: shard.name for shard in shards}, {shard.name: shard for shard in shards}
    for name, record in records.items():
        path, source, before = files_of(out, name)[0], record["input"]["path"], record["settings"]
        for key, now in settings.items():
            if before.get(key) != now:
                how = f"with {key}={before.get(key)!r}, while this job has {key}={now!r}"
                how = "by another model" if key == "model" else how
                raise InvalidParameter(f"{path} was made {how}: choose another folder")
        shard = by_name.get(name, Shard(name, source, 0, 0))
        taken = shard.path != source and not _same_input(record, shard)
        if taken or names.get(source, name) != name:
            raise InvalidParameter(f"{path} holds the vectors of {source}: choose another folder")


def is_finished(out: str, shard: Shard, record: Record | None) -> bool:
    """Whether a record is of this shard as it is now, and its files are there."""
    if record is None or not _same_input(record, shard):
        return False
    vectors, rejected, _ = files_of(out, shard.name)
    whole = vectors.is_file() and vectors.stat().st_size == record["bytes"]
    return whole and (not record["rejected"] or rejected.is_file())


def _same_input(record: Record, shard: Shard) -> bool:
    was = record["input"]
    return bool((was["size"], was["mtime_ns"]) == (shard.size, shard.mtime_ns))

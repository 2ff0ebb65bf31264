"""Which files a job is about: a pattern, a folder or a list -> shards, each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from infograph.data.files import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES
from infograph.data.formats.network_files import kind
from infograph.data.storage import MARKER
from infograph.errors import FileMissing, InvalidParameter

ENDINGS = (".parquet", *TABLES, *SMILES_FILES, *SDF_FILES, *JSON_LINES)
MAGIC = "*?["
Inputs = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Shard:
    """One input file, or a folder with a saved GraphSet.

    Attributes:
        name: what its output is called, without an ending; no two shards of a job share it.
        path: where it is.
        size: bytes.
        mtime_ns: when it was last changed.
    """

    name: str
    path: str
    size: int
    mtime_ns: int


def is_pattern(source: str | Path) -> bool:
    """Whether a text is a pattern such as `shards/*.parquet`, and not the name of a file that is there."""
    return any(sign in str(source) for sign in MAGIC) and not Path(source).exists()


def find_shards(inputs: Inputs) -> list[Shard]:
    """The shards of a pattern, a folder or a list of files, in the order of their paths (lists keep theirs).

    Of a folder the files of molecules and of JSON lines count, and the GraphSets saved in it; a folder
    without any is one shard itself: a saved GraphSet, a TU folder, a folder of networks.

    Raises:
        FileMissing: there is nothing.
        InvalidParameter: a file is named twice.
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
    return sorted(each for each in path.iterdir() if _visible(each) and _is_shard(each)) or [path]


def _visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _is_shard(path: Path) -> bool:
    return kind(path) in ENDINGS if path.is_file() else (path / MARKER).is_file()


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
        _stem,
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


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(kind(path)) if path.is_file() else path.name

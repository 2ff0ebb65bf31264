"""Where the text files of a TU data set are: a zip, a folder, or a folder in a folder."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from infograph.data.tu.numbers import FRESH_COPY
from infograph.errors import FileMissing, InvalidFile

ARCS = "_A.txt"
DEPTH = 2  # PyG keeps NAME/raw/NAME_A.txt, a zip unpacked by hand often has NAME/NAME/NAME_A.txt


@dataclass(frozen=True)
class TuFiles:
    """The files of one TU set.

    Attributes:
        container: the zip or folder.
        prefix: path inside the container up to and including the set's name, as in `MUTAG/MUTAG`.
        members: paths of all files inside the container.
    """

    container: Path
    prefix: str
    members: frozenset[str]

    @property
    def name(self) -> str:
        """The set's name, as its files spell it."""
        return PurePosixPath(self.prefix).name

    def has(self, part: str) -> bool:
        """Whether the set has that file, for instance "node_labels"."""
        return f"{self.prefix}_{part}.txt" in self.members

    def where(self, part: str) -> str:
        """That file's name for error messages."""
        return str(self.container / f"{self.prefix}_{part}.txt")

    def read(self, part: str) -> bytes:
        """The content of that file.

        Raises:
            FileMissing: the set has no such file.
            InvalidFile: it cannot be unpacked.
        """
        member = f"{self.prefix}_{part}.txt"
        if member not in self.members:
            raise FileMissing(
                f"{self.where(part)} is missing: every TU data set has one; get a fresh copy of the set"
            )
        if self.container.is_dir():
            return (self.container / member).read_bytes()
        try:
            with zipfile.ZipFile(self.container) as archive:
                return archive.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise InvalidFile(f"{self.where(part)} cannot be unpacked ({error}); {FRESH_COPY}") from error


def tu_files(path: str | Path, name: str | None = None) -> TuFiles:
    """The TU set in a zip or folder; `name` says which one where there are several.

    Raises:
        FileMissing: there is no such path.
        InvalidFile: no TU set is there, or several.
    """
    path = Path(path)
    members = frozenset(_members(path))
    arcs = sorted((m for m in members if m.endswith(ARCS)), key=lambda m: (m.count("/"), m))
    prefixes = [member.removesuffix(ARCS) for member in arcs]
    names = list(dict.fromkeys(PurePosixPath(prefix).name for prefix in prefixes))
    wanted = name if name is not None else (names[0] if len(names) == 1 else path.stem)
    for prefix in prefixes:
        if PurePosixPath(prefix).name.casefold() == wanted.casefold():
            return TuFiles(path, prefix, members)
    if not names:
        raise InvalidFile(f"{path} is no TU data set: no file in it ends in {ARCS}")
    listed = ", ".join(names[:8])
    raise InvalidFile(f"{path} holds the TU data sets {listed}, not {wanted!r}: pass name= with one of these")


def find_tu(folder: Path, name: str) -> Path | None:
    """The zip or folder of a set inside `folder`, or `folder` itself if it is the set's own; None if neither.

    Looks for `NAME.zip`, `NAME/` (files at most two levels deep, as PyG lays them out) and `NAME_A.txt`; case
    does not matter.
    """
    try:
        children = {child.name.casefold(): child for child in sorted(folder.iterdir(), reverse=True)}
    except OSError:
        return None
    archive = children.get(f"{name}.zip".casefold())
    if archive is not None and archive.is_file():
        return archive
    own = children.get(name.casefold())
    if own is not None and own.is_dir() and _holds(own, name, DEPTH):
        return own
    return folder if _holds(folder, name, 0) or _holds(folder / "raw", name, 0) else None


def list_tu(folder: Path) -> list[str]:
    """Names of the TU sets that `find_tu` finds in a folder, sorted."""
    try:
        children = [child for child in folder.iterdir() if not child.name.startswith(".")]
    except OSError:
        return []
    folders = [child.name for child in children if child.is_dir() and _holds(child, child.name, DEPTH)]
    archives = [child.stem for child in children if child.suffix.lower() == ".zip" and _holds_zipped(child)]
    own = [path.name.removesuffix(ARCS) for path in folder.glob(f"*{ARCS}")]
    return sorted({*folders, *archives, *own})


def _members(path: Path) -> Iterable[str]:
    if path.is_dir():
        inside = [
            p.relative_to(path).as_posix() for d in range(DEPTH + 1) for p in path.glob("*/" * d + "*.txt")
        ]
    elif path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                inside = archive.namelist()
        except (zipfile.BadZipFile, EOFError, ValueError) as error:
            raise InvalidFile(f"{path} is no zip file ({error}); {FRESH_COPY}") from error
    else:
        raise FileMissing(f"{path}: no such file or folder; expected a TU data set as NAME.zip or NAME/")
    # macOS puts "._NAME_A.txt" beside each file it zips.
    return (member for member in inside if not PurePosixPath(member).name.startswith("."))


def _holds(folder: Path, name: str, depth: int) -> bool:
    wanted = f"{name}{ARCS}".casefold()
    return any(
        p.name.casefold() == wanted for d in range(depth + 1) for p in folder.glob("*/" * d + f"*{ARCS}")
    )


def _holds_zipped(archive: Path) -> bool:
    try:
        return tu_files(archive, archive.stem).has("graph_indicator")
    except InvalidFile:
        return False

"""Files and folders that appear whole or not at all, JSON, arrays as memory maps, a lock per folder."""

from __future__ import annotations

import ctypes
import errno
import glob
import gzip
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import psutil
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from infograph.errors import DiskFull, FileMissing, InvalidFile, InvalidParameter, JobStopped

LOCK = ".lock"
OLD = "-old"  # the end of the name of a folder that is being replaced
UNPACKED = 100_000_000  # bytes that any packed file may become
RATIO = 100  # how many times its size a packed file may become beyond that: texts of graphs become 3 to 20
# What Python and numpy say of malformed texts and headers, some of it made to exhaust them.
UNREADABLE = (
    ValueError,
    TypeError,
    SyntaxError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    tokenize.TokenError,
)
CHECKED = 1 << 26  # bytes of an array whose checksum is compared when it is opened: 0.06 s


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that is written whole and replaced whole."""

    what: str  # for sentences, such as "a model"
    marker: str  # the file that says what the folder is
    form: str | tuple[str, ...]  # the format that it names, or several that may be replaced
    files: Callable[[Mapping[str, Any]], Iterable[str]]  # the other files, from what the marker says
    inside: tuple[tuple[str, FolderKind], ...] = ()  # folders written later, by a pattern and their kind


def listed_arrays(content: Mapping[str, Any]) -> Iterator[str]:
    """The files of a folder whose marker lists its arrays."""
    return (f"{name}.npy" for name in content["arrays"])


def json_ready(value: Any) -> Any:
    """A setting as JSON gives it back: numpy's numbers and arrays as Python's, sequences as lists."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    return [json_ready(item) for item in value] if isinstance(value, Iterable) else str(value)


def without_nan(content: Any) -> Any:
    """The same with None for every number that is none, for which JSON has no word."""
    return json.loads(json.dumps(json_ready(content)), parse_constant=lambda _: None)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    if not path.is_file():
        raise FileMissing(f"{path} is missing: it is part of every saved folder of its kind")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{path} is damaged, it holds no JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidFile(f"{path} is damaged: expected a JSON object, it holds a {type(content).__name__}")
    return content


def check_unpacked(path: object, packed: int, size: int) -> None:
    """Refuse a file that becomes far more, unpacked, than any data set does: it would fill the memory."""
    if size > max(UNPACKED, RATIO * packed):
        raise InvalidFile(
            f"{path} becomes {size / 1e6:,.1f} MB or more, unpacked from {packed / 1e6:,.3f} MB: if that is "
            f"meant, unpack it first"
        )


class _Unpacking(gzip.GzipFile):
    """A gzip file that is checked while it is read: what it says of its size may be wrong."""

    def _checked(self, content: bytes) -> bytes:
        check_unpacked(self.name, Path(self.name).stat().st_size, self.tell())
        return content

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))


def open_unpacked(path: Path) -> gzip.GzipFile | BufferedReader:
    """The bytes of a file, unpacked where it ends in `.gz`."""
    return _Unpacking(path) if path.suffix == ".gz" else path.open("rb")


def check_outputs(inputs: Iterable[str | Path | None], *outputs: str | Path | None) -> None:
    """Refuse, before anything starts, an output that is an input or holds one, also through a link.

    The first output may be a folder that is replaced whole, and holds none of the others.
    """
    # not `Path.exists`, which raises for what is too long for a path: a name of a data set, or a SMILES
    given = (Path(each) for each in inputs if each is not None)
    read = [path for path in given if os.path.exists(path)]  # noqa: PTH110
    below = [path for each in read if each.is_dir() for path in each.rglob("*") if path.is_file()]
    known = {(path.stat().st_dev, path.stat().st_ino) for path in (*read, *below)}
    written = [Path(each) for each in outputs if each is not None]
    for place, output in enumerate(written):
        real = output.resolve()
        if output.exists() and (output.stat().st_dev, output.stat().st_ino) in known:
            raise InvalidParameter(f"{output} is read here and cannot be written, too: choose another name")
        if any(real == other.resolve() for other in written[:place]):
            raise InvalidParameter(f"{output} is named for two outputs: choose another name for one of them")
        held = next((each for each in read if real in each.resolve().parents), None)
        if held is not None:
            raise InvalidParameter(f"{output} holds {held}, which is read here: choose another folder")
        if place and written[0].resolve() in real.parents:
            raise InvalidParameter(
                f"{output} is in {written[0]}, which appears as a whole: name it elsewhere"
            )


def check_replaceable(folder: str | Path, kind: FolderKind) -> None:
    """Refuse, before the work, to replace anything but an empty folder and one of this kind and no more."""
    folder = Path(folder)
    if folder.is_file():
        raise InvalidParameter(f"{folder} is a file; {kind.what} is saved to a folder")
    if folder.resolve() == Path.cwd():
        raise InvalidParameter(f"the working directory cannot be replaced by {kind.what}; name one in it")
    if folder.is_dir() and any(folder.iterdir()):
        listed = _listed(folder, kind)
        if listed is None:
            raise InvalidParameter(f"{folder} holds other files; save {kind.what} to a folder of its own")
        strange = _strange(folder, listed)
        if strange:
            raise InvalidParameter(f"{folder} also holds {strange[0]}, which would be lost: move that away")
    check_folder(folder.absolute().parent)


def check_own(folder: Path, names: Iterable[str], marker: str, keys: set[str]) -> None:
    """Refuse to overwrite files that were not written together with `marker`, a JSON file with these keys."""
    there = [name for name in names if (folder / name).exists()]
    try:
        ours = not there or keys <= read_json(folder / marker).keys()
    except (FileMissing, InvalidFile):
        ours = False
    if not ours:
        raise InvalidParameter(
            f"{folder / there[0]} is there and has nothing to do with this: choose another folder"
        )


def remove_folder(folder: Path, kind: FolderKind) -> None:
    """Remove a folder of this kind; one that holds anything else stays as it is."""
    listed = _listed(folder, kind)
    if listed is not None and not _strange(folder, listed):
        shutil.rmtree(folder, ignore_errors=True)


def _listed(folder: Path, kind: FolderKind) -> set[str] | None:
    """The files that a folder of this kind says it has; None for any other folder."""
    try:
        content = read_json(folder / kind.marker)
        if content.get("format") not in ((kind.form,) if isinstance(kind.form, str) else kind.form):
            return None
        listed = {kind.marker, *kind.files(content)}
    except (FileMissing, InvalidFile, KeyError, TypeError, AttributeError):
        return None
    for pattern, inner in kind.inside:
        for each in folder.glob(pattern):
            listed |= {f"{each.relative_to(folder).as_posix()}/{name}" for name in _listed(each, inner) or ()}
    return listed


def _strange(folder: Path, listed: set[str]) -> list[str]:
    """What a folder holds besides the listed files and the folders they are in."""
    known = listed | {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents}
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(name for name in found if name not in known)


@contextmanager
def replaced_folder(folder: str | Path, kind: FolderKind) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` once the block is through without an error.

    They change places in one step where the system can; a second process that wants to write it is refused.
    """
    check_replaceable(folder, kind)
    folder = Path(folder).resolve()  # behind a symbolic link, the folder itself is replaced
    with writing(folder), _room(folder):
        work = Path(tempfile.mkdtemp(prefix=f"{_beside(folder)}{os.getpid()}-", dir=folder.parent))
        old = work.with_name(f"{work.name}{OLD}")
        work.chmod(0o755)
        try:
            yield work
            if not folder.exists():
                work.replace(folder)
            elif not _exchange(work, folder):
                folder.replace(old)
                work.replace(folder)
        finally:
            if old.exists() and not folder.exists():
                old.replace(folder)
            for path in (work, old):
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _room(path: Path) -> Iterator[None]:
    """Say so where the disk is full: libraries do that in words of their own, or in none."""
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        said = "No space left" in str(error) or re.search(r"\d+ requested and \d+ written", str(error))
        if said or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"the disk is full: {path} could not be written, what stood there and all that was finished "
                f"before is kept; make room and start again, a training with resume"
            ) from error
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where the system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        system = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*names, 2) == 0)
        return bool(system.renameat2(-100, names[0], -100, names[1], 2) == 0)  # AT_FDCWD, RENAME_EXCHANGE
    except (OSError, TypeError, AttributeError):
        return False


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keep other processes from writing a folder, and sweep what a killed one left beside it."""
    file = folder.with_name(f".{folder.name}{LOCK}")
    busy = f"{folder} is being written by another process: wait, or choose another folder"
    with locked(file, busy, again=True):
        for path in _left_beside(folder):
            if path.name.endswith(OLD) and not folder.exists():
                path.replace(folder)  # killed between two renames
            else:
                shutil.rmtree(path, ignore_errors=True)
        yield


@contextmanager
def temporary_folder(beside: Path) -> Iterator[Path]:
    """A folder beside a path, for the time of a block; those of killed processes are swept before."""
    for path in _left_beside(beside):
        shutil.rmtree(path, ignore_errors=True)
    prefix = f"{_beside(beside)}{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=beside.parent) as name:
        yield Path(name)


def _beside(folder: Path) -> str:
    """How the names of this machine's temporary folders beside a folder begin; their process is next."""
    return f".{folder.name}-{platform.node()}-"


def _left_beside(folder: Path) -> Iterator[Path]:
    """The temporary folders of processes of this machine that are gone."""
    for path in folder.parent.glob(f"{glob.escape(_beside(folder))}*"):
        number = path.name.removeprefix(_beside(folder)).partition("-")[0]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            yield path


@contextmanager
def replaced_file(path: str | Path) -> Iterator[Path]:
    """A temporary path that takes the place of `path` once the block is through without an error."""
    path = Path(path)
    check_writable(path)
    real = path.resolve()  # behind a symbolic link, the file itself is replaced
    work = real.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        with _room(path):
            yield work
            work.replace(real)
    finally:
        work.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, errors: str = "strict") -> None:
    """Write a file, whole or not at all."""
    with replaced_file(path) as work:
        work.write_text(text, encoding="utf-8", errors=errors)


def check_writable(path: str | Path) -> None:
    """Make sure that a file can be written to `path`, before the work that leads to it."""
    path = Path(path)
    if path.is_dir():
        raise InvalidParameter(f"{path} is a folder; expected the name of a file")
    check_folder(path.parent)


def check_folder(folder: str | Path) -> None:
    """Make a folder if need be, and make sure that files can be written to it."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidParameter(f"{folder} cannot be a folder: there is a file in its place") from error
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def described(marker: Path, form: str, what: str, again: str) -> Iterator[dict[str, Any]]:
    """What the marker file of a saved folder says, to be used in a block that fails where it is damaged.

    It should name the format `form` of `what`; `again` says what to do about a damaged one.
    """
    content = read_json(marker)
    if content.get("format") != form:
        found = content.get("format")
        raise InvalidFile(f"{marker.parent}: not {what} (format {found!r}, expected {form!r})")
    try:
        yield content
    except KeyError as error:
        raise InvalidFile(f"{marker} is damaged: {error} is missing; {again}") from error
    except (AttributeError, TypeError, IndexError) as error:
        raise InvalidFile(f"{marker} is damaged ({error}): {again}") from error


def checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The checksums of arrays in a folder, but of those that would take long to compare at each opening."""
    paths = {name: folder / f"{name}.npy" for name in names}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in paths.items()
        if path.stat().st_size <= CHECKED
    }


def open_arrays(
    folder: Path, shapes: Mapping[str, list[int]], again: str, sha256: Mapping[str, str] | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of a saved folder as memory maps, checked; `again` says what to do about bad ones."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        path = folder / f"{name}.npy"
        if not path.is_file():
            raise FileMissing(f"{path} is missing: {again}")
        try:
            empty = 0 in shape  # an empty file cannot be mapped
            values = arrays[name] = np.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
        except (*UNREADABLE, OSError, EOFError) as error:  # numpy parses a header
            raise InvalidFile(f"{path} is damaged ({error}): {again}") from error
        if list(values.shape) != shape:
            raise InvalidFile(f"{path} is damaged: shape {list(values.shape)}, expected {shape}; {again}")
    for name, found in checksums(folder, sha256 or ()).items():
        if found != (sha256 or {})[name]:
            raise InvalidFile(f"{folder / name}.npy was changed: its checksum is another; {again}")
    return arrays


@contextmanager
def locked(
    file: Path, problem: str, error: type[JobStopped] = JobStopped, *, again: bool = False
) -> Iterator[None]:
    """Hold a lock, which goes with this process, however it ends; where somebody has it, raise the error.

    With `again` the process that has it may take it once more.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file, timeout=0, is_singleton=again, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise error(problem) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            file.unlink(missing_ok=True)
        lock.release()

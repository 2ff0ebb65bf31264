"""Cells of a table: independent jobs, each with one small result file. A finished cell is never run twice.

A cell is known by its settings: another setting is another cell, with another file. While a cell is computed
its checkpoints are in a folder beside the results, which goes when the result is there, so that a run that
was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from infograph.errors import InvalidParameter, JobStopped
from infograph.io import read_json, replaced_file

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
Result = dict[str, Any]
FREE = ("random_state", "verbose", "device", "max_minutes", "memory_mb", "n_jobs")  # no part of a result
PACKAGES = ("infograph", "torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Cell:
    """One job of a table.

    Attributes:
        table: the table, "table1" or "table2".
        name: for people and for the file's name, such as "U0 infograph* 0".
        settings: everything that the result depends on, JSON-ready.
    """

    table: str
    name: str
    settings: dict[str, Any]

    @property
    def key(self) -> str:
        """The file's name without its ending: the cell's name, and a digest of its settings."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:8]
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.name.replace("*", "-star")).strip("-")
        return f"{plain}-{digest}"

    def path(self, results: Path) -> Path:
        """Where its result is."""
        return results / self.table / f"{self.key}.json"

    def read(self, results: Path) -> Result | None:
        """Its result, or None if there is none yet."""
        path = self.path(results)
        return read_json(path) if path.is_file() else None


def parameters_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Every parameter that an estimator's result depends on but for its seed, defaults too; JSON-ready."""
    given = estimator.get_params(deep=False)
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in given.items()
        if name not in FREE
    }


def pick_names(what: str, given: Sequence[str], known: Iterable[str]) -> list[str]:
    """Names, "all" written out, each once.

    Raises:
        InvalidParameter: there is no such name.
    """
    names = tuple(known)
    chosen = [one for each in given for one in (names if each == "all" else (each,))]
    strange = [each for each in chosen if each not in names]
    if strange or not chosen:
        raise InvalidParameter(f"no {what} {strange[0] if strange else ''!r}; there are: {', '.join(names)}")
    return list(dict.fromkeys(chosen))


class Busy(JobStopped):
    """Another process computes this cell."""


def run_cell(
    cell: Cell,
    compute: Callable[[Cell, Path], Result],
    results: Path,
    *,
    again: Callable[[Result], bool] = lambda found: False,
) -> Result:
    """The result of a cell: read, if it is there, else computed and kept.

    Args:
        cell: the cell.
        compute: (cell, folder for checkpoints) -> scores and whatever else belongs into the result. What it
            has under "measured" joins what is measured here.
        results: the folder of all results.
        again: whether a result that is there should be computed anew.

    Raises:
        Busy: another process computes it.
    """
    found = cell.read(results)
    if found is not None and not again(found):
        return found
    work = results / ".work" / cell.table / cell.key
    with _locked(work):
        found = cell.read(results)  # another process may have ended it by now
        if found is not None and not again(found):
            return found
        result = _computed(cell, compute, work)
        cell.path(results).parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(cell.path(results)) as partial:
            partial.write_text(as_text(result))
        shutil.rmtree(work, ignore_errors=True)
    return result


def _computed(cell: Cell, compute: Callable[[Cell, Path], Result], work: Path) -> Result:
    with measuring() as measured:
        content = compute(cell, work)
    took = content.pop("measured", {})
    return {"cell": cell.name, "settings": cell.settings, **content, "measured": measured | took}


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """A folder for the checkpoints of one process; the lock in it goes with the process, however it ends.

    Systems without such locks (Windows) have none: there, run one command at a time.
    """
    work.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with (work / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(
                f"another process computes {work.name}: wait for it and run the same command again, "
                f"or choose another folder for the results"
            ) from error
        yield


def as_text(result: Result) -> str:
    """JSON with an entry per line, and a line per record of a history: ten thousand numbers stay one line."""

    def text(value: Any) -> str:
        records = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
        if not records:
            return json.dumps(value, allow_nan=False)
        return "[\n  " + ",\n  ".join(json.dumps(each, allow_nan=False) for each in value) + "\n ]"

    return "{\n" + ",\n".join(f" {json.dumps(key)}: {text(value)}" for key, value in result.items()) + "\n}\n"


@contextmanager
def measuring() -> Iterator[dict[str, Any]]:
    """A record that is filled when the block ends; its versions are those at the beginning."""
    import torch

    record: dict[str, Any] = {}
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    commit = _commit()
    _forget_peak()
    started = time.perf_counter()
    yield record
    record["seconds"] = round(time.perf_counter() - started, 1)
    record["peak_mb"] = peak_mb()
    record["versions"] = versions
    record["commit"] = commit
    record["machine"] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


def _commit() -> str | None:
    """The commit of the code that runs, with "+" where it was changed since; None outside a repository."""
    package = Path(__file__).parent
    git = ["git", "-C", str(package)]
    try:
        if Path(_told([*git, "rev-parse", "--show-toplevel"])) != package.parent.resolve():
            return None  # installed below somebody else's repository
        changed = _told([*git, "status", "--porcelain", "--untracked-files=no", "--", "."])
        return _told([*git, "rev-parse", "HEAD"]) + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _told(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _forget_peak() -> None:
    """Let the largest memory be counted from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int | None:
    """The largest memory this process has had so far; None where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return None if found is None else int(found[1]) // 1024


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return platform.processor() or platform.machine() if found is None else found[1].strip()

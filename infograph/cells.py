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
from infograph.io import LOCK, locked, read_json, replaced_file
from infograph.parameters import flat, in_words, own_code

Result = dict[str, Any]
NOT_IN_NAME = ("random_state", "verbose", "device", "max_minutes", "memory_mb", "n_jobs")
PACKAGES = ("infograph", "torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Cell:
    """One job of a table."""

    table: str
    name: str  # for people and for the file's name, such as "U0 infograph* 0"
    settings: dict[str, Any]  # everything that the result depends on, JSON-ready

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
    given = {name: value for name, value in flat(estimator).items() if name not in NOT_IN_NAME}
    plain = (str, int, float, bool, type(None))
    code = own_code(estimator)
    found = {name: value if isinstance(value, plain) else in_words(value) for name, value in given.items()}
    return {**found, "code": code} if code else found


def pick_names(what: str, given: Sequence[str], known: Iterable[str]) -> list[str]:
    """Names, "all" written out, each once."""
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
    """The result of a cell: read, if it is there and need not be computed `again`, else computed and kept.

    `compute(cell, folder for checkpoints)` gives what belongs into the result; what it has under "measured"
    joins what is measured here. `Busy` is raised where another process computes the cell.
    """
    found = cell.read(results)
    if found is not None and not again(found):
        return found
    work = results / ".work" / cell.table / cell.key
    with locked(work / LOCK, f"another process computes {cell.key}: run the same command again later", Busy):
        found = cell.read(results)  # another process may have ended it by now
        if found is not None and not again(found):
            return found
        with measuring() as measured:
            content = compute(cell, work)
        measured |= content.pop("measured", {})
        result = {"cell": cell.name, "settings": cell.settings, **content, "measured": measured}
        with replaced_file(cell.path(results)) as partial:
            partial.write_text(as_text(result))
        shutil.rmtree(work, ignore_errors=True)
    return result


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
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the largest memory is counted from now on
    started = time.perf_counter()
    yield record
    record |= {"seconds": round(time.perf_counter() - started, 1), "peak_mb": peak_mb()}
    processor = _found_in("/proc/cpuinfo", r"model name\s*:\s*(.+)") or platform.machine()
    machine = {"processor": processor, "cores": os.cpu_count(), "threads": torch.get_num_threads()}
    record |= {"versions": versions, "commit": commit, "machine": machine}


def peak_mb() -> int | None:
    """The largest memory this process has had so far; None where the system does not tell."""
    found = _found_in("/proc/self/status", r"VmHWM:\s+(\d+)")
    return None if found is None else int(found) // 1024


def _found_in(path: str, pattern: str) -> str | None:
    with suppress(OSError):
        found = re.search(pattern, Path(path).read_text())
        return None if found is None else found[1].strip()
    return None


def _commit() -> str | None:
    """The commit of the code that runs, with "+" where it was changed since; None outside a repository."""
    package = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(package), *words]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != package.parent.resolve():
            return None  # installed below somebody else's repository
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None

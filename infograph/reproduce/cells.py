"""Cells of a table: independent jobs, each with one small result file. A finished cell is never run twice.

A cell is known by its settings: another setting is another cell, with another file. While a cell is computed
its checkpoints are in a folder beside the results, which goes when the result is there, so that a run that
was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from infograph.data.storage import read_json, replaced_file
from infograph.errors import InvalidParameter, JobStopped
from infograph.reproduce.measured import measuring

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Result = dict[str, Any]


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


FREE = ("random_state", "verbose", "device", "max_minutes", "memory_mb", "n_jobs")  # no part of a result


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

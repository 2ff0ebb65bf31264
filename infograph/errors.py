"""Everything the package raises on purpose: what came, what was expected, what to do.

Each error is also the built-in exception that Python programmers would expect (`ValueError`,
`FileNotFoundError`, `ImportError`), so existing `except` clauses keep working.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class InfoGraphError(Exception):
    """Base of all errors of this package; the command line turns it into one sentence and exit code 2."""


class InvalidGraph(InfoGraphError, ValueError):
    """A graph that cannot be used. `index` is its position in the input, `graph_id` the user's own id."""

    def __init__(self, problem: str, *, index: int | None = None, graph_id: object = None) -> None:
        self.problem, self.index, self.graph_id = problem, index, graph_id
        where = "" if index is None else f"graph {index}"
        if graph_id is not None and str(graph_id) != str(index):
            where = f"{where} (id {graph_id!r})".strip()
        super().__init__(f"{where}: {problem}" if where else problem)


class SchemaMismatch(InfoGraphError, ValueError):
    """Graphs whose columns are not the ones the model was fitted on."""


class InvalidFile(InfoGraphError, ValueError):
    """A file that is truncated, or not what its name says."""


class FileMissing(InfoGraphError, FileNotFoundError):
    """A file or folder that should be there and is not."""


class UnknownDataset(InfoGraphError, ValueError):
    """A name that is no file, no folder and no known data set."""


class InvalidParameter(InfoGraphError, ValueError):
    """A setting outside its range, or two settings that exclude each other."""


class CheckpointMismatch(InvalidParameter):
    """A checkpoint that is of another run than the one that is to go on from it."""


class InvalidTarget(InvalidParameter):
    """Labels that cannot be learned from, or that are not those of the graphs."""


class NothingLeft(InvalidParameter):
    """Not one of `n_graphs` inputs could be used; `rejected` has a `Rejected` for each, if that is known."""

    def __init__(self, problem: str, n_graphs: int = 0, rejected: Sequence[Any] = ()) -> None:
        self.n_graphs, self.rejected = n_graphs, tuple(rejected)
        super().__init__(problem)


class TrainingDiverged(InfoGraphError, ArithmeticError):
    """A loss that stopped being finite."""


class JobStopped(InfoGraphError, RuntimeError):
    """A job of many parts that cannot go on; the parts that are finished stay, and a restart goes on."""


class DiskFull(InfoGraphError, OSError):
    """A file or folder for which there is no room; what stood there before is kept."""


class MissingExtra(InfoGraphError, ImportError):
    """An optional package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(package, extra)

    def __str__(self) -> str:
        return f"this needs {self.package}, which is not installed: pip install 'infograph[{self.extra}]'"


class UnknownCategoryWarning(UserWarning):
    """Categories never seen in training; their nodes or edges are encoded as "unknown"."""


class TargetWarning(UserWarning):
    """Labels that can be used, but are probably not what was meant."""


class ColumnWarning(UserWarning):
    """Attributes that can be read in several ways, or that are not seen."""


def __getattr__(name: str) -> Any:
    """`NotFitted` is scikit-learn's own as well, which takes longer to import than everything here."""
    if name != "NotFitted":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError

    class NotFitted(InfoGraphError, NotFittedError):  # type: ignore[misc]
        """An estimator that is asked for results before `fit`."""

    NotFitted.__qualname__ = name
    globals()[name] = NotFitted
    return NotFitted

"""Errors and warnings as one readable sentence on standard error, and their exit codes."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from infograph.errors import InfoGraphError, UnknownCategoryWarning

MISTAKE, DEFECT, INTERRUPTED = 2, 1, 130
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer's own click, or the package of that name


class Interrupted(Exception):
    """Ctrl-C where there is something to say about it, such as how to go on."""


def explain(error: BaseException) -> int:
    """Print what happened in one sentence and give the exit code; INFOGRAPH_DEBUG=1 adds the traceback."""
    if os.environ.get("INFOGRAPH_DEBUG"):
        traceback.print_exception(error)
    sentence, code = _sentence(error)
    if sentence:
        print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, Interrupted):
        return str(error), INTERRUPTED
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "Interrupted.", INTERRUPTED
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - whoever read our output has left
        return "", DEFECT
    if isinstance(error, USAGE_ERROR):
        message: str = error.format_message()  # type: ignore[attr-defined]
        return f"Error: {message.rstrip('.')}. --help shows what is possible.", MISTAKE
    if isinstance(error, InfoGraphError):
        return f"Error: {error}", MISTAKE
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"Error: {where}{error.strerror or error}", MISTAKE
    kind = type(error).__name__
    return f"Failed: {kind}: {error} (INFOGRAPH_DEBUG=1 shows where; please report it)", DEFECT


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings as a line each, without the file they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UnknownCategoryWarning)
        warnings.showwarning = show
        yield

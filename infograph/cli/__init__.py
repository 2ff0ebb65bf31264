"""The command line: parse, call, print. Torch is imported where a verb needs it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0, 1 a defect, 2 a user's mistake, 130 interrupted, 143 ended.
    """
    # Threads that spin while they wait starve each other on a busy machine. Two trainings side by side on two
    # cores take 40 s each with the default and 9 s with this; one alone takes 1.5 s with either.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # read when torch is loaded
    from infograph.cli.app import app
    from infograph.cli.output import explain, plain_warnings

    given = sys.argv[1:] if arguments is None else list(arguments)
    if threading.current_thread() is threading.main_thread():  # so that files and processes are cleared up
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with plain_warnings():
            return int(app(given, prog_name="infograph", standalone_mode=False) or 0)
    except (Exception, KeyboardInterrupt) as error:
        return explain(error)

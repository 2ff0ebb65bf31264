"""The other side of `Children`: a process that is told lines on standard input and answers in JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

Say = Callable[[dict[str, Any]], None]


def run_child(main: Callable[[TextIO, Say], None]) -> None:
    """Call `main` with the lines it is told and with what it answers by, one line of JSON at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer

    def say(content: dict[str, Any]) -> None:
        channel.write(json.dumps(content) + "\n")
        channel.flush()

    try:
        main(sys.stdin, say)
    except BrokenPipeError:  # nobody listens any more
        os._exit(1)


def end_with_parent(lines: TextIO) -> None:
    """End this process, whatever it does, when the one that started it does; for children told no more lines.

    The thread reads the file and not the text: nobody else waits for its lock when the interpreter ends.
    """

    def wait() -> None:
        while os.read(lines.fileno(), 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

"""Ctrl-C in a training run: what to type to go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infograph.cli.failures import Interrupted


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Turn an interrupt into the sentence that says how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(_how_to_go_on(checkpoint)) from error


def _how_to_go_on(checkpoint: Path | None) -> str:
    from infograph.train.checkpoint import FILE, read_checkpoint

    kept = [] if checkpoint is None else sorted(checkpoint.rglob(FILE))
    if not kept:
        return "Interrupted; no state was kept. With --checkpoint DIR a run can be resumed."
    epochs = len(read_checkpoint(kept[-1].parent)[1]["history"])
    network = f" of network {len(kept)}" if len(kept) > 1 else ""
    again = shlex.join(["infograph", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"])
    return f"Interrupted after epoch {epochs}{network}; go on with: {again}"

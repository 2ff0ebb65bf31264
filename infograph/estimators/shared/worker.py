"""`python -m infograph.estimators.shared.worker`: one worker of a training run on this machine.

Standard input has one line of JSON: the job's folder, the rank, the number of workers. Standard output gets
lines of JSON: from the first worker {"progress": [...]}, from any {"problem": [...]} and {"done": true}.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

from infograph.errors import InfoGraphError
from infograph.train.loop import Progress


def main(say: TextIO) -> None:
    """Join the others, train, and tell."""
    import torch
    from torch import distributed as dist

    from infograph.estimators.shared.job import work

    torch.set_num_threads(1)
    given = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    store = dist.FileStore(given["store"], given["workers"])  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=given["rank"], world_size=given["workers"])

    def tell(progress: Progress) -> None:
        _say(say, {"progress": dataclasses.astuple(progress)})

    try:
        work(Path(given["folder"]), watchers=[tell])
    except InfoGraphError as error:
        _say(say, {"problem": [type(error).__name__, str(error)]})
        return
    _say(say, {"done": True})
    dist.destroy_process_group()


def _end_with_parent() -> None:
    """Standard input stays open as long as the process that started this one is there."""
    sys.stdin.read()
    os._exit(1)


def _say(say: TextIO, content: dict[str, Any]) -> None:
    say.write(json.dumps(content) + "\n")
    say.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no event
    main(channel)

"""`python -m infograph.scale.worker`: a process that embeds shards; what `ProcessPool` starts.

Standard input has the job on its first line and a shard on each further one. Standard output gets a line of
JSON per event: {"ready": true}, {"rows": 10000}, {"outcome": {...}}.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from typing import Any, TextIO

from infograph.errors import InfoGraphError
from infograph.scale.embedder import Embedder
from infograph.scale.job import Job
from infograph.scale.outcome import attempt, failed
from infograph.scale.shards import Shard


def main(lines: TextIO, say: TextIO) -> None:
    """Embed the shards that `lines` names, one after the other."""
    import torch

    torch.set_num_threads(1)
    job = Job.from_json(next(lines))
    try:
        embedder = Embedder(job)
    except InfoGraphError as error:
        _tell(say, {"outcome": dataclasses.asdict(failed("", error, strict=True, out=job.out))})
        return
    _tell(say, {"ready": True})
    for line in lines:
        outcome = attempt(embedder, Shard(**json.loads(line)), lambda rows: _tell(say, {"rows": rows}))
        _tell(say, {"outcome": dataclasses.asdict(outcome)})


def _tell(say: TextIO, content: dict[str, Any]) -> None:
    say.write(json.dumps(content) + "\n")
    say.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no event
    try:
        main(sys.stdin, channel)
    except BrokenPipeError:  # nobody listens any more
        os._exit(1)

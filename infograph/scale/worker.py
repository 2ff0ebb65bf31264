"""`python -m infograph.scale.worker`: a process that embeds shards; what `ProcessPool` starts.

It is told the job on the first line and a shard on each further one. It answers {"ready": true},
{"rows": 10000}, {"outcome": {...}}.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TextIO

from infograph.data.tables import Shard
from infograph.errors import InfoGraphError
from infograph.jobs import Say, run_child
from infograph.scale.embed import Embedder, attempt, failed
from infograph.scale.shards import Job


def main(lines: TextIO, say: Say) -> None:
    """Embed the shards that `lines` names, one after the other."""
    import torch

    torch.set_num_threads(1)
    job = Job.from_json(next(lines))
    try:
        embedder = Embedder(job)
    except InfoGraphError as error:
        say({"outcome": dataclasses.asdict(failed("", error, strict=True, out=job.out))})
        return
    say({"ready": True})
    for line in lines:
        outcome = attempt(embedder, Shard(**json.loads(line)), lambda rows: say({"rows": rows}))
        say({"outcome": dataclasses.asdict(outcome)})


if __name__ == "__main__":
    run_child(main)

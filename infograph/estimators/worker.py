"""`python -m infograph.estimators.worker`: one worker of a training run on this machine.

It is told one line of JSON: the job's folder, the rank, the number of workers. The first worker answers
{"progress": [...]}, any of them {"problem": [...]} and {"done": true}.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TextIO

from infograph.errors import InfoGraphError
from infograph.jobs import Say, end_with_parent, run_child


def main(lines: TextIO, say: Say) -> None:
    """Join the others, train, and tell."""
    import torch
    from torch import distributed as dist

    from infograph.estimators.distributed import work

    torch.set_num_threads(1)
    given = json.loads(lines.readline())
    end_with_parent(lines)
    store = dist.FileStore(given["store"], given["workers"])  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=given["rank"], world_size=given["workers"])
    try:
        work(
            Path(given["folder"]),
            watchers=[lambda progress: say({"progress": dataclasses.astuple(progress)})],
        )
    except InfoGraphError as error:
        say({"problem": [type(error).__name__, str(error)]})
        return
    say({"done": True})
    dist.destroy_process_group()


if __name__ == "__main__":
    run_child(main)

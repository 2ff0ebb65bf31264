"""Who trains: how many workers, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from infograph.errors import InvalidParameter
from infograph.mi.local_global import Negatives


@dataclass(frozen=True)
class Team:
    """Workers that share every batch.

    Attributes:
        workers: how many, with one thread each.
        on: "local" for processes of this machine, "ray" or "ray://address" for a Ray cluster.
        negatives: "global": a patch is contrasted with the graphs of all workers, as one process would do;
            "local": with those of its own worker, which needs less talk.
    """

    workers: int = 1
    on: str = "local"
    negatives: Negatives = "global"

    def __post_init__(self) -> None:
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise InvalidParameter(f"workers={self.workers!r}: expected 1 or more")
        if self.negatives not in get_args(Negatives):
            raise InvalidParameter(f"negatives={self.negatives!r}: expected 'global' or 'local'")
        if self.on != "local" and self.on.partition("://")[0] != "ray":
            raise InvalidParameter(
                f"on={self.on!r}: expected 'local', 'ray', or a cluster such as 'ray://host:10001'"
            )

    @property
    def alone(self) -> bool:
        """Whether it is just this process."""
        return self.workers == 1 and self.on == "local"

    @property
    def least(self) -> int:
        """Graphs that a batch must have: every worker gets one, and two where it has to find negatives."""
        return max(2, self.workers if self.negatives == "global" else 2 * self.workers)


SOLO = Team()

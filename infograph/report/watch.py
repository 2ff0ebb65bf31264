"""Who is told how far a longer job is."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Is told how far a job of several stages is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""
        ...

    def advance(self, done: int, text: str = "") -> None:
        """So many steps of it are done."""
        ...


class Silent:
    """A watch that tells nobody."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""

    def advance(self, done: int, text: str = "") -> None:
        """So many steps are done."""

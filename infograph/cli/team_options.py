"""The options of a training run by several workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

WORKERS = "Several workers, many graphs"
WHERE = "local, ray, or the address of a Ray cluster: ray://host:port."


@dataclass(frozen=True)
class TeamOptions:
    """Who trains."""

    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Processes of one core each that share every batch; 1 trains here, with all cores.",
            rich_help_panel=WORKERS,
        ),
    ] = 1
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE, rich_help_panel=WORKERS)] = "local"
    negatives: Annotated[
        Literal["global", "local"],
        typer.Option(
            help="Contrast with the graphs of all workers, or of one's own only.", rich_help_panel=WORKERS
        ),
    ] = "global"
    scratch: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep what does not fit into memory there.",
            rich_help_panel=WORKERS,
        ),
    ] = None

    def refuse(self) -> None:
        """Say what the options are for, where a model is to learn labels."""
        if self != TeamOptions():
            raise typer.BadParameter(
                "--workers, --on, --negatives and --scratch are for training without labels: leave out "
                "--target, and start from the encoder with --init-from"
            )

    def given(self) -> dict[str, Any]:
        """The options by name, as `InfoGraph.fit` takes them."""
        return asdict(self)

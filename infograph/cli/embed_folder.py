"""The part of `infograph embed` that is about many files: shards in, a folder of vectors out."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.failures import Interrupted
from infograph.cli.options import ReadingOptions, names
from infograph.cli.output import LISTED, print_json, say, show
from infograph.cli.progress import Rows
from infograph.cli.team_options import WHERE

MANY = "Many files"


@dataclass(frozen=True)
class FolderOptions:
    """How a folder of vectors is made."""

    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes, one core each.", rich_help_panel=MANY)
    ] = 1
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE, rich_help_panel=MANY)] = "local"
    block: Annotated[
        int, typer.Option(metavar="ROWS", min=1, help="Rows in memory at a time.", rich_help_panel=MANY)
    ] = 10_000

    def refuse(self) -> None:
        """Say what the options are for, where they are given for one file."""
        if self != FolderOptions():
            raise typer.BadParameter(
                "--workers, --on and --block are for many files: give a folder as --out, such as vectors/"
            )


def wants_folder(source: str, out: str) -> bool:
    """Whether vectors go to a folder: SOURCE is a pattern, or files are there and --out has no ending."""
    from infograph.data.embedding_files import ENDINGS
    from infograph.scale.shards import is_pattern

    a_file = Path(out).suffix in ENDINGS and not out.endswith(("/", "\\")) and not Path(out).is_dir()
    if is_pattern(source):
        if a_file:
            raise typer.BadParameter(
                f"{out} is one file, and the pattern {source!r} stands for many: give a folder",
                param_hint="--out",
            )
        return True
    a_folder = out.endswith(("/", "\\")) or not Path(out).suffix or Path(out).is_dir()
    return a_folder and Path(source).exists()


def embed_folder(
    model: Path,
    source: str,
    out: str,
    reading: ReadingOptions,
    options: FolderOptions,
    columns: str,
    errors: Literal["raise", "skip", "nan"],
    as_json: bool,
) -> None:
    """Embed all shards, and say what became of every row.

    Raises:
        JobStopped: a shard could not be embedded; the others are.
    """
    from infograph.errors import JobStopped
    from infograph.scale import embed_shards

    try:
        with Rows() as bar, redirect_stdout(sys.stderr):  # Ray has something to say of lost workers
            report = embed_shards(
                model,
                source,
                out,
                workers=options.workers,
                on=options.on,
                block=options.block,
                columns=None if columns == "all" else names(columns) or (),
                errors=errors,
                reading=reading.of_shards(),
                progress=bar,
            )
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted. The same command goes on with the shards that are left.") from error
    if as_json:
        print_json({**asdict(report), "out": out})
    else:
        before = f", {report.skipped} of them before" if report.skipped else ""
        show(
            f"{out}: {report.embedded:,} vectors of {report.dim} numbers, {report.rejected:,} of "
            f"{report.rows:,} rows rejected; {report.shards - len(report.failed)} of {report.shards} shards "
            f"done{before}"
        )
    for failure in report.failed[:LISTED]:
        say(f"  {failure.shard}: {failure.problem}")
    if report.failed:
        raise JobStopped(
            f"{len(report.failed)} of {report.shards} shards could not be embedded: mend or remove them and "
            f"run the same command again, which skips those that are done"
        )

"""`infograph embed`, `infograph store`, `infograph predict`: a model, or a job, on a user's graphs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli.options import READING, WHERE, AsJson, ReadingOptions, Source, grouped, names
from infograph.cli.output import (
    LISTED,
    Interrupted,
    in_options,
    print_json,
    print_predictions,
    say_rejected,
    show,
)
from infograph.progress import Rows, say

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


@grouped
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file or folder of graphs, a data set's name, or a pattern such as 'shards/*.parquet'.",
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="PLACE", help="A .parquet or .csv file, or a folder for many files.")
    ],
    reading: ReadingOptions,
    folder: FolderOptions,
    columns: Annotated[
        str,
        typer.Option(metavar="A,B", help="Graph columns to write beside the vectors; all for all of them."),
    ] = "",
    errors: Annotated[
        Literal["raise", "skip", "nan"] | None,
        typer.Option(
            help="At a graph that cannot be used: stop, leave it out, or keep its row with NaN.",
            show_default="raise for a file, skip for a folder",
            rich_help_panel=READING,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn graphs into vectors, keyed by your ids.

    Parquet has the columns id, the graph columns you ask for, and vector. CSV has v0, v1, ... instead of
    vector, NPZ an array per column. With --errors nan the column problem says what is wrong with a row.

    With a folder as --out, every file of SOURCE becomes a Parquet file in it, some rows at a time, in
    --workers processes or on a Ray cluster. Rows that cannot be used are listed in the folder _rejected. The
    same command again goes on where it was: finished files are skipped.

    Examples:

    [bold]infograph embed model MUTAG --out vectors.parquet --columns y[/bold]

    [bold]infograph embed model molecules.csv --id-column name --errors nan --out vectors.csv[/bold]

    [bold]infograph embed model 'shards/*.parquet' --out vectors/ --workers 8[/bold]
    """
    if wants_folder(source, out):
        embed_folder(model, source, out, reading, folder, columns, errors or "skip", as_json)
        return
    folder.refuse()
    from infograph.estimators.base import check_embeds, load
    from infograph.io import check_outputs
    from infograph.learn.predictions import embed_to_file

    check_outputs([model, source], out)
    fitted = load(model)
    check_embeds(fitted)
    strict = errors in (None, "raise")
    graphs = reading.read(source, errors="raise" if strict else "skip", schema=fitted.schema_)
    chosen = [column.name for column in graphs.schema.graph] if columns == "all" else names(columns)
    vectors = embed_to_file(fitted, graphs, Path(out), columns=chosen or (), keep_places=errors == "nan")
    say_rejected(graphs)
    if as_json:
        rejected = [vars(each) for each in graphs.rejected]
        print_json({"file": str(Path(out)), "rows": len(vectors), "dim": vectors.dim, "rejected": rejected})
        return
    empty = f", {len(graphs.rejected)} of them NaN" if errors == "nan" and graphs.rejected else ""
    show(f"{Path(out)}: {len(vectors):,} vectors of {vectors.dim} numbers{empty}")


def wants_folder(source: str, out: str) -> bool:
    """Whether vectors go to a folder: SOURCE is a pattern, or files are there and --out has no ending."""
    from infograph.data.vectors import ENDINGS
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


@grouped
def store(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A pattern in quotes, such as 'shards/*.parquet', a folder, or a file."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the GraphSet.")],
    reading: ReadingOptions,
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="Columns of molecule files to keep; all for all.")
    ] = "",
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Leave rows out that are no graphs, listed in this CSV."),
    ] = None,
    block: Annotated[int, typer.Option(metavar="ROWS", min=1, help="Rows in memory at a time.")] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Read files of graphs, however large, into one folder that opens at once and takes no memory.

    Examples:

    [bold]infograph store 'shards/*.parquet' --columns logS --rejects bad.csv --out graphs[/bold]

    [bold]infograph train graphs --workers 8 --out model[/bold]
    """
    from infograph.scale.store import store_graphs

    with Rows() as bar:
        stored = store_graphs(
            source,
            out,
            columns=None if columns == "all" else names(columns) or (),
            rejects=rejects,
            reading=reading.of_shards(),
            block=block,
            progress=bar,
        )
    if as_json:
        counts = {"rows": stored.rows, "graphs": len(stored.graphs), "rejected": stored.rejected}
        print_json({"out": str(out), **counts})
        return
    show(f"{out}: {len(stored.graphs):,} graphs; {stored.rejected:,} of {stored.rows:,} rows rejected")


@grouped
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of a model that predicts.")],
    source: Source,
    reading: ReadingOptions,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .parquet, .csv or .json file.", show_default="the terminal"),
    ] = None,
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="Graph columns to put beside the predictions; all for all.")
    ] = "",
    probabilities: Annotated[bool, typer.Option("--probabilities", help="A column for every class.")] = False,
    std: Annotated[bool, typer.Option("--std", help="The spread of an ensemble.")] = False,
    errors: Annotated[
        Literal["raise", "skip", "nan"],
        typer.Option(
            help="At a graph that cannot be used: stop, leave it out, or keep its row with NaN.",
            rich_help_panel=READING,
        ),
    ] = "raise",
    as_json: AsJson = False,
) -> None:
    """Predict graphs, keyed by your ids; errors are shown where the graphs have the target.

    Predictions are columns with the names of their targets. Units are metadata in Parquet, and in the header
    of CSV and JSON lines. Classes come with their probability.

    Examples:

    [bold]infograph predict model new.smi --out predictions.parquet[/bold]

    [bold]infograph predict model new.csv --columns all --errors nan --out predictions.csv[/bold]
    """
    from infograph.estimators.base import load
    from infograph.io import check_outputs
    from infograph.learn.predictions import (
        check_place,
        check_predicts,
        predict_table,
        rows_of,
        write_predictions,
    )

    if out is not None:
        check_outputs([model, source], out)
        check_place(out)
    fitted = load(model)
    check_predicts(fitted, probabilities=probabilities)
    graphs = reading.read(source, errors="raise" if errors == "raise" else "skip", schema=fitted.schema_)
    chosen = [column.name for column in graphs.schema.graph] if columns == "all" else names(columns)
    table = predict_table(
        fitted,
        graphs,
        columns=chosen or (),
        probabilities=probabilities,
        std=std,
        keep_places=errors == "nan",
    )
    say_rejected(graphs)
    for note in table.notes:
        say(in_options(note))
    if out is not None:
        write_predictions(table, out)
    if as_json:
        rows = {"rows": len(table)} if out else {"predictions": rows_of(table)}
        scores = [vars(score) for score in table.scores]
        rejected = [vars(each) for each in graphs.rejected]
        units = {"units": table.units, "scores": scores, "rejected": rejected}
        print_json({"file": None if out is None else str(out), **rows, **units})
        return
    if out is None:
        print_predictions(table)
    else:
        show(f"{out}: {len(table):,} predictions of {', '.join(fitted.target_names_)}")
    for score in table.scores:
        show(str(score))

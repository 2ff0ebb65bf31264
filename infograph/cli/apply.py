"""`infograph embed`, `infograph store`, `infograph predict`: a model, or a job, on a user's graphs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from infograph.cli import options as opt
from infograph.cli.output import LISTED, Interrupted, in_options, print_json, print_table, show
from infograph.progress import Report, say

SHOWN = 50  # predictions
BAD_GRAPHS = "At a graph that cannot be used: stop, leave it out, or keep its row with NaN."
MANY_FILES = "A pattern in quotes, such as 'shards/*.parquet', a folder, or a file."
ANY_SOURCE = "A file or folder of graphs, a data set's name, or a pattern such as 'shards/*.parquet'."
many = partial(opt.option, panel="Many files", min=1)


@dataclass(frozen=True)
class FolderOptions:
    """How a folder of vectors is made."""

    workers: Annotated[int, many("Processes, one core each.", "N")] = 1
    on: Annotated[str, opt.option(opt.WHERE, "WHERE", panel="Many files")] = "local"
    block: Annotated[int, many("Rows in memory at a time.", "ROWS")] = 10_000


@opt.grouped
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=ANY_SOURCE)],
    out: Annotated[str, opt.option("A .parquet or .csv file, or a folder for many files.", "PLACE")],
    reading: opt.ReadingOptions,
    folder: FolderOptions,
    columns: Annotated[str, opt.option("Graph columns to write, too; all for all.", "A,B")] = "",
    errors: Annotated[
        Literal["raise", "skip", "nan"] | None,
        opt.reads(BAD_GRAPHS, default="raise for a file, skip for a folder"),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Turn graphs into vectors, keyed by your ids.

    Parquet has the columns id, the graph columns you ask for, and vector. CSV has v0, v1, ... instead of
    vector. With --errors nan the column problem says what is wrong with a row.

    With a folder as --out, every file of SOURCE becomes a Parquet file in it, some rows at a time, in
    --workers processes or on a Ray cluster. Rows that cannot be used are listed in the folder _rejected. The
    same command again goes on where it was: finished files are skipped.

    Examples:

    [bold]infograph embed model MUTAG --out vectors.parquet --columns y[/bold]

    [bold]infograph embed model molecules.csv --id-column name --errors nan --out vectors.csv[/bold]

    [bold]infograph embed model 'shards/*.parquet' --out vectors/ --workers 8[/bold]
    """
    if _wants_folder(source, out):
        _embed_folder(model, source, out, reading, folder, columns, errors or "skip", as_json)
        return
    if folder != FolderOptions():
        raise typer.BadParameter(
            "--workers, --on and --block are for many files: give a folder as --out, such as vectors/"
        )
    from infograph.estimators.base import check_embeds, load
    from infograph.io import check_outputs
    from infograph.learn.predictions import embed_to_file

    check_outputs([model, source], out)
    fitted = load(model)
    check_embeds(fitted)
    how: Literal["raise", "skip"] = "raise" if errors in (None, "raise") else "skip"
    graphs = reading.read(source, errors=how, schema=fitted.schema_)
    chosen = opt.columns_of(graphs, columns)
    vectors = embed_to_file(fitted, graphs, Path(out), columns=chosen, keep_places=errors == "nan")
    if as_json:
        rejected = [vars(each) for each in graphs.rejected]
        print_json({"file": str(Path(out)), "rows": len(vectors), "dim": vectors.dim, "rejected": rejected})
        return
    empty = f", {len(graphs.rejected)} of them NaN" if errors == "nan" and graphs.rejected else ""
    show(f"{Path(out)}: {len(vectors):,} vectors of {vectors.dim} numbers{empty}")


def _wants_folder(source: str, out: str) -> bool:
    """Whether vectors go to a folder: SOURCE is a pattern, or files are there and --out has no ending."""
    from infograph.data.vectors import ENDINGS
    from infograph.scale.shards import is_pattern

    a_folder = out.endswith(("/", "\\")) or Path(out).is_dir()
    if not is_pattern(source):
        return (a_folder or not Path(out).suffix) and Path(source).exists()
    if Path(out).suffix in ENDINGS and not a_folder:
        raise opt.refused(
            f"{out} is one file, and the pattern {source!r} stands for many: give a folder", "out"
        )
    return True


def _embed_folder(
    model: Path,
    source: str,
    out: str,
    reading: opt.ReadingOptions,
    options: FolderOptions,
    columns: str,
    errors: Literal["raise", "skip", "nan"],
    as_json: bool,
) -> None:
    """Embed all shards, and say what became of every row."""
    from infograph.errors import JobStopped
    from infograph.scale import embed_shards

    try:
        with Report() as watch, redirect_stdout(sys.stderr):  # Ray has something to say of lost workers
            watch.stage("embedding", 100)
            report = embed_shards(
                model,
                source,
                out,
                columns=None if columns == "all" else opt.names(columns) or (),
                errors=errors,
                reading=reading.of_shards(),
                progress=watch.shards,
                **asdict(options),
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


@opt.grouped
def store(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=MANY_FILES)],
    out: Annotated[Path, opt.option("The folder of the GraphSet.", "DIR")],
    reading: opt.ReadingOptions,
    columns: Annotated[str, opt.option("Columns of molecules to keep; all for all.", "A,B")] = "",
    rejects: Annotated[Path | None, opt.option("Leave bad rows out, listed in this CSV.", "FILE")] = None,
    block: Annotated[int, opt.option("Rows in memory at a time.", "ROWS", min=1)] = 10_000,
    as_json: opt.AsJson = False,
) -> None:
    """Read files of graphs, however large, into one folder that opens at once and takes no memory.

    Examples:

    [bold]infograph store 'shards/*.parquet' --columns logS --rejects bad.csv --out graphs[/bold]

    [bold]infograph train graphs --workers 8 --out model[/bold]
    """
    from infograph.scale.store import store_graphs

    with Report() as watch:
        watch.stage("reading", 100)
        stored = store_graphs(
            source,
            out,
            columns=None if columns == "all" else opt.names(columns) or (),
            rejects=rejects,
            reading=reading.of_shards(),
            block=block,
            progress=watch.shards,
        )
    if as_json:
        counts = {"rows": stored.rows, "graphs": len(stored.graphs), "rejected": stored.rejected}
        print_json({"out": str(out), **counts})
        return
    show(f"{out}: {len(stored.graphs):,} graphs; {stored.rejected:,} of {stored.rows:,} rows rejected")


@opt.grouped
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of a model that predicts.")],
    source: opt.Source,
    reading: opt.ReadingOptions,
    out: Annotated[
        Path | None, opt.option("A .parquet, .csv or .json file.", "FILE", default="the terminal")
    ] = None,
    columns: Annotated[str, opt.option("Graph columns to write, too; all for all.", "A,B")] = "",
    probabilities: Annotated[bool, opt.option("A column for every class.", "--probabilities")] = False,
    std: Annotated[bool, opt.option("The spread of an ensemble.", "--std")] = False,
    errors: Annotated[Literal["raise", "skip", "nan"], opt.reads(BAD_GRAPHS)] = "raise",
    as_json: opt.AsJson = False,
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
    from infograph.learn import predictions
    from infograph.report.pages import cell_text

    if out is not None:
        check_outputs([model, source], out)
        predictions.check_place(out)
    fitted = load(model)
    predictions.check_predicts(fitted, probabilities=probabilities)
    graphs = reading.read(source, errors="raise" if errors == "raise" else "skip", schema=fitted.schema_)
    table = predictions.predict_table(
        fitted,
        graphs,
        columns=opt.columns_of(graphs, columns),
        probabilities=probabilities,
        std=std,
        keep_places=errors == "nan",
    )
    for note in table.notes:
        say(in_options(note))
    if out is not None:
        predictions.write_predictions(table, out)
    if as_json:
        rows = {"rows": len(table)} if out else {"predictions": predictions.rows_of(table)}
        scores = [vars(score) for score in table.scores]
        rejected = [vars(each) for each in graphs.rejected]
        units = {"units": table.units, "scores": scores, "rejected": rejected}
        print_json({"file": None if out is None else str(out), **rows, **units})
        return
    if out is None:
        shown = [map(cell_text, values[:SHOWN].tolist()) for values in table.columns.values()]
        texts = [place for place, name in enumerate(table.columns) if name == "problem"]
        print_table([*map(table.header, table.columns)], zip(*shown, strict=True), texts=texts)
        if len(table) > SHOWN:
            say(f"... and {len(table) - SHOWN:,} more; --out FILE writes all of them.")
    else:
        show(f"{out}: {len(table):,} predictions of {', '.join(fitted.target_names_)}")
    for score in table.scores:
        show(str(score))

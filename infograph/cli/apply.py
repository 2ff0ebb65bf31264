"""`infograph embed`, `store`, `predict`, `suggest`: a model, or a job, on a user's graphs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import infograph
from infograph.cli import options as opt
from infograph.cli.output import LISTED, Interrupted, Output, in_options, show, table
from infograph.progress import ProgressReport, Report, say

if TYPE_CHECKING:
    from infograph.learn.predictions import Predictions

SHOWN = 50  # predictions
BAD_GRAPHS = "At a graph that cannot be used: stop, leave it out, or keep its row with NaN."
MANY_FILES = "A pattern in quotes, such as 'shards/*.parquet', a folder, or a file."
ANY_SOURCE = "A file or folder of graphs, a data set's name, or a pattern such as 'shards/*.parquet'."
many = partial(opt.option, panel="Many files")
Columns = Annotated[str, opt.option("Graph columns to write, too; all for all.", "A,B")]
BadGraphs = Literal["raise", "skip", "nan"]


@dataclass(frozen=True)
class FolderOptions:
    """How a folder of vectors is made."""

    workers: Annotated[int, many("Processes, one core each.", "N", min=1)] = 1
    on: Annotated[str, many(opt.WHERE, "WHERE")] = "local"
    block: Annotated[int, many("Rows in memory at a time.", "ROWS", min=1)] = 10_000


@opt.verb
def embed(
    model: opt.Model,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=ANY_SOURCE)],
    out: Annotated[str, opt.option("A .parquet or .csv file, or a folder for many files.", "PLACE")],
    reading: opt.ReadingOptions,
    folder: FolderOptions,
    columns: Columns = "",
    errors: Annotated[BadGraphs | None, opt.reads(BAD_GRAPHS, "raise for a file, skip for a folder")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Turn graphs into vectors, keyed by your ids.

    Parquet has the columns id, the graph columns you ask for, and vector. CSV has v0, v1, ... instead of
    vector. With --errors nan the column problem says what is wrong with a row.

    With a folder as --out, every file of SOURCE becomes a Parquet file in it, some rows at a time, in
    --workers processes or on a Ray cluster. Rows that cannot be used are listed in the folder _rejected. The
    same command again goes on where it was: finished files are skipped.

    Examples:
        infograph embed model MUTAG --out vectors.parquet --columns y
        infograph embed model molecules.csv --id-column name --errors nan --out vectors.csv
        infograph embed model 'shards/*.parquet' --out vectors/ --workers 8
    """
    if _wants_folder(source, out):
        _embed_folder(model, source, out, reading, folder, columns, errors or "skip", as_json)
        return
    if folder != FolderOptions():
        raise typer.BadParameter(
            "--workers, --on and --block are for many files: give a folder as --out, such as vectors/"
        )
    from infograph.io import check_outputs
    from infograph.learn.predictions import embed_to_file

    check_outputs([model, source], out)
    fitted = infograph.load(model)
    graphs = reading.read(source, errors=errors or "raise", schema=fitted.schema_)
    chosen = opt.columns_of(graphs, columns)
    vectors = embed_to_file(fitted, graphs, Path(out), columns=chosen, keep_places=errors == "nan")
    rejected = [vars(each) for each in graphs.rejected]
    content = {"file": Path(out), "rows": len(vectors), "dim": vectors.dim, "rejected": rejected}
    empty = f", {len(rejected)} of them NaN" if errors == "nan" and rejected else ""
    show(as_json, content, [f"{Path(out)}: {len(vectors):,} vectors of {vectors.dim} numbers{empty}"])


def _wants_folder(source: str, out: str) -> bool:
    """Whether vectors go to a folder: SOURCE is a pattern, or files are there and --out has no ending."""
    from infograph.data.vectors import ENDINGS
    from infograph.scale.shards import is_pattern

    a_folder = out.endswith(("/", "\\")) or Path(out).is_dir()
    if not is_pattern(source):
        return (a_folder or not Path(out).suffix) and Path(source).exists()
    if Path(out).suffix in ENDINGS and not a_folder:
        raise opt.refused(f"{out} is one file, and the pattern {source!r} stands for many", "out")
    return True


def _embed_folder(
    model: Path,
    source: str,
    out: str,
    reading: opt.ReadingOptions,
    options: FolderOptions,
    columns: str,
    errors: BadGraphs,
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
                **vars(options),
            )
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted. The same command goes on with the shards that are left.") from error
    before = f", {report.skipped} of them before" if report.skipped else ""
    line = (
        f"{out}: {report.embedded:,} vectors of {report.dim} numbers, {report.rejected:,} of "
        f"{report.rows:,} rows rejected; {report.shards - len(report.failed)} of {report.shards} shards "
        f"done{before}"
    )
    show(as_json, {**asdict(report), "out": out}, [line])
    for failure in report.failed[:LISTED]:
        say(f"  {failure.shard}: {failure.problem}")
    if report.failed:
        raise JobStopped(
            f"{len(report.failed)} of {report.shards} shards could not be embedded: mend or remove them and "
            f"run the same command again, which skips those that are done"
        )


@opt.verb
def store(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=MANY_FILES)],
    out: Annotated[Path, opt.option("The folder of the GraphSet.", "DIR")],
    reading: opt.ReadingOptions,
    columns: Annotated[str, opt.option("Columns of molecules to keep; all for all.", "A,B")] = "",
    rejects: Annotated[Path | None, opt.option("Leave bad rows out, listed in this CSV.", "FILE")] = None,
    block: Annotated[int, opt.option("Rows in memory at a time.", "ROWS", min=1)] = 10_000,
) -> Output:
    """Read files of graphs, however large, into one folder that opens at once and takes no memory.

    Examples:
        infograph store 'shards/*.parquet' --columns logS --rejects bad.csv --out graphs
        infograph train graphs --workers 8 --out model
    """
    from infograph.scale import store_graphs

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
    counts = {"rows": stored.rows, "graphs": len(stored.graphs), "rejected": stored.rejected}
    line = f"{out}: {len(stored.graphs):,} graphs; {stored.rejected:,} of {stored.rows:,} rows rejected"
    return {"out": out, **counts}, [line]


@opt.verb
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of a model that predicts.")],
    source: opt.Source,
    reading: opt.ReadingOptions,
    out: Annotated[Path | None, opt.option("A .parquet, .csv or .json file.", "FILE", "the terminal")] = None,
    columns: Columns = "",
    probabilities: Annotated[bool, opt.option("A column for every class.", "--probabilities")] = False,
    std: Annotated[bool, opt.option("The spread of an ensemble.", "--std")] = False,
    interval: Annotated[float | None, opt.option("Bounds for that share of graphs.", "SHARE")] = None,
    errors: Annotated[BadGraphs, opt.reads(BAD_GRAPHS)] = "raise",
) -> Output:
    """Predict graphs, keyed by your ids; errors are shown where the graphs have the target.

    Predictions are columns with the names of their targets. Units are metadata in Parquet, and in the header
    of CSV and JSON lines. Classes come with their probability. --interval 0.9 adds the columns "low" and
    "high", and "unlike training" for graphs that are like none of the training.

    Examples:
        infograph predict model new.smi --out predictions.parquet
        infograph predict model new.csv --interval 0.9 --out predictions.csv
        infograph predict model new.csv --columns all --errors nan --out predictions.csv
    """
    from infograph.io import check_outputs
    from infograph.learn import predictions

    if out is not None:
        check_outputs([model, source], out)
        predictions.check_place(out)
    fitted = infograph.load(model)
    predictions.check_predicts(fitted, probabilities=probabilities, std=std, interval=interval)
    graphs = reading.read(source, errors=errors, schema=fitted.schema_)
    with ProgressReport() as report:
        found = predictions.predict_table(
            fitted,
            graphs,
            columns=opt.columns_of(graphs, columns),
            probabilities=probabilities,
            std=std,
            interval=interval,
            keep_places=errors == "nan",
            watchers=[report],
        )
    for note in found.notes:
        say(in_options(note))
    content = {
        "file": out,
        "units": found.units,
        "scores": [vars(score) for score in found.scores],
        "rejected": [vars(each) for each in graphs.rejected],
    }
    judged = [str(score) for score in found.scores]
    judged += ["Where the model learned from these graphs, new ones will have larger errors."] * bool(judged)
    if out is not None:
        predictions.write_predictions(found, out)
        of = ", ".join(fitted.target_names_[:3]) + " ..." * (len(fitted.target_names_) > 3)
        line = f"{out}: {len(found):,} predictions of {of}"
        return {**content, "rows": len(found)}, [line, *judged]
    return {**content, "predictions": predictions.rows_of(found)}, [*_rows(found), *judged]


@opt.verb
def suggest(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of a model that predicts.")],
    pool: Annotated[str, typer.Argument(metavar="POOL", help="The graphs to choose from, as a SOURCE.")],
    reading: opt.ReadingOptions,
    count: Annotated[int, opt.option("How many graphs to choose.", "-n", min=1)] = 20,
    known: Annotated[str | None, opt.option("Graphs that are measured already.", "FILE", "none")] = None,
    out: Annotated[Path | None, opt.option("A .parquet, .csv or .json file.", "FILE", "the terminal")] = None,
    errors: opt.Errors = "raise",
) -> Output:
    """Choose graphs to measure next, in the order to measure them.

    Chosen are graphs that stand for many of the pool of which the model is unsure. Graphs of the pool that
    are in --known, the table you trained on and whatever was measured since, are left out. Numbers have
    bounds that hold 90 % of values, classes their probability.

    Examples:
        infograph suggest model candidates.csv -n 20 --known measured.csv --out next.csv
    """
    from infograph.io import check_outputs
    from infograph.learn import predictions

    if out is not None:
        check_outputs([model, pool, known], out)
        predictions.check_place(out)
    fitted = infograph.load(model)
    predictions.check_predicts(fitted)
    graphs, *measured = (
        reading.read(source, errors=errors, schema=fitted.schema_)
        for source in (pool, known)
        if source is not None
    )
    found = infograph.suggest(fitted, graphs, count, known=measured[0] if measured else None)
    for note in found.notes:
        say(note)
    content = {"file": out, "units": found.units, "notes": found.notes}
    if out is not None:
        predictions.write_predictions(found, out)
        return {**content, "rows": len(found)}, [f"{out}: {len(found):,} graphs to measure next"]
    return {**content, "suggestions": predictions.rows_of(found)}, _rows(found)


def _rows(found: Predictions) -> list[Any]:
    """The first rows of a table, and how many more there are."""
    from infograph.notebook import cell_text

    shown = [map(cell_text, values[:SHOWN].tolist()) for values in found.columns.values()]
    texts = [place for place, name in enumerate(found.columns) if name in ("problem", "smiles")]
    short = (" low", " high")  # beside a prediction, whose unit they have
    heads = [name if name.endswith(short) else found.header(name) for name in found.columns]
    rows = table(heads, zip(*shown, strict=True), texts=texts)
    more = f"... and {len(found) - SHOWN:,} more; --out FILE writes all of them."
    return [rows, more] if len(found) > SHOWN else [rows]

"""`infograph train`, `infograph tune`, `infograph study`: graphs to a model folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infograph.cli.options import (
    READING,
    TRAINING,
    WHERE,
    AsJson,
    Classifiers,
    ColumnOptions,
    Errors,
    Folds,
    InnerFolds,
    LabelOptions,
    Method,
    ModelOptions,
    ReadingOptions,
    Repeats,
    Source,
    TeamOptions,
    grouped,
    names,
    source_name,
)
from infograph.cli.output import (
    Interrupted,
    print_errors,
    print_json,
    print_scores,
    print_table,
    print_trials,
    say_rejected,
    show,
)
from infograph.progress import Stages, err, say

if TYPE_CHECKING:
    from rich.console import Console

    from infograph.data.graphset import GraphSet
    from infograph.estimators.infograph import InfoGraph
    from infograph.estimators.labelled import SemiSupervised
    from infograph.learn.parts import Parts
    from infograph.progress import Progress, Watcher

SEARCH = "Search"
LISTED = 10  # settings in the table
# What is searched where nothing is said: the paper's values.
WITHOUT_LABELS = {"layers": [4, 8, 12], "lr": [1e-2, 1e-3, 1e-4]}
WITH_LABELS = {"lr": [1e-2, 1e-3, 1e-4], "weight_decay": [0.0, 1e-3, 1e-4], "lam": [1e-3, 1e-4, 1e-5]}


@grouped
def train(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder that the model is saved to.")],
    model: ModelOptions,
    labels: LabelOptions,
    columns: ColumnOptions,
    reading: ReadingOptions,
    team: TeamOptions,
    errors: Errors = "raise",
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Leave bad graphs out, listed in this CSV.", rich_help_panel=READING
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the state after every epoch there.", rich_help_panel=TRAINING),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from that state.", rich_help_panel=TRAINING)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train on graphs and save the model: without labels an encoder, with --target a model that predicts.

    Errors on held-out graphs are printed beside those of simple methods. Several values of --lam,
    --weight-decay or --lr are all tried, and the best on the validation graphs is kept.

    Examples:

    [bold]infograph train MUTAG --out model[/bold]

    [bold]infograph train REDDIT-BINARY --workers 8 --out model[/bold]

    [bold]infograph train mine.csv --smiles smiles --target logS --out model[/bold]

    [bold]infograph train QM9 --target U0 --labelled 5000 --objective infograph-star --out model[/bold]
    """
    if resume and checkpoint is None:
        raise typer.BadParameter("it needs --checkpoint DIR, the state to go on from", param_hint="--resume")
    labels.check_alone()
    if labels.target is not None:
        team.refuse()
    from infograph.data.read import write_rejected
    from infograph.estimators.folder import check_model_folder
    from infograph.io import check_outputs
    from infograph.train.checkpoint import FILE

    check_outputs([source, labels.init_from], out, rejects, checkpoint and checkpoint / FILE)
    check_model_folder(out)
    schema = labels.donor_schema()
    graphs = reading.read(source, errors="skip" if rejects else errors, columns=columns, schema=schema)
    say_rejected(graphs)
    if rejects is not None:
        write_rejected(graphs, rejects)
    keeping = Keeping(out, checkpoint, resume, as_json)
    if labels.target is None:
        train_encoder(graphs, model.estimator(columns), keeping, team)
    else:
        with naming_lines(source, graphs):
            learn_labels(graphs, model, labels, columns, keeping)


@grouped
def tune(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder that the best model is saved to.")],
    model: ModelOptions,
    labels: LabelOptions,
    columns: ColumnOptions,
    reading: ReadingOptions,
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What to search, again for more: lr=1e-4..1e-2, layers=2,4,8. "
            "[default: the paper's values of layers and lr; with --target lr, weight_decay and lam]",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="Settings to try.", rich_help_panel=SEARCH)
    ] = 27,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A result per training; a stopped search goes on. [default: runs/tune-SOURCE]",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Trainings at a time; 1 uses all threads here.", rich_help_panel=SEARCH
        ),
    ] = 1,
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE, rich_help_panel=SEARCH)] = "local",
    errors: Errors = "raise",
    as_json: AsJson = False,
) -> None:
    """Search settings: all are trained shortly, the better third longer, and so on up to --epochs.

    Without --target, settings of the encoder are judged by how well the label is predicted from its vectors,
    with it by the error on validation graphs. The best model is judged at the end on test graphs that the
    search never saw, beside the same model with the settings it had before.

    Examples:

    [bold]infograph tune MUTAG --epochs 90 --out model[/bold]

    [bold]infograph tune mine.csv --target logS --search lr=1e-4..1e-2 --search dim=32,64 --out model[/bold]
    """
    from infograph.estimators.folder import check_model_folder
    from infograph.io import check_outputs
    from infograph.learn.tune import parse_space
    from infograph.learn.tune import tune as search_settings

    labels.check_alone()
    check_outputs([source, labels.init_from], out, results)
    check_model_folder(out)
    graphs = reading.read(source, errors=errors, columns=columns, schema=labels.donor_schema())
    say_rejected(graphs)
    estimator, parts, space = _task(graphs, model, labels, columns)
    space = parse_space(search) if search else space
    say(f"{parts.sentence} The test graphs are not looked at before the end.")
    found = search_settings(
        estimator,
        space,
        parts,
        results or Path("runs") / f"tune-{source_name(source)}",
        trials=trials,
        seed=estimator.random_state,
        workers=workers,
        on=on,
        announce=lambda number, done, total, line: say(f"round {number}, {done} of {total}: {line}"),
    )
    found.model.save(out)
    if as_json:
        print_json({"model": str(out), "graphs": parts.counts, **found.to_dict()})
        return
    names = list(space)
    rows = [
        [*(str(each.settings[name]) for name in names), str(each.epochs), f"{each.error:.4g}"]
        for each in found.tried[:LISTED]
    ]
    print_table([*names, "epochs", "error"], rows, texts=(), bold=0)
    for target, tuned, before in zip(parts.targets, found.test, found.baseline, strict=True):
        show(
            f"{target}: error {tuned:.4g} on {len(parts.test):,} test graphs; before the search {before:.4g}"
        )
    show(f"Model: {out}")


def _task(
    graphs: GraphSet, model: ModelOptions, labels: LabelOptions, columns: ColumnOptions
) -> tuple[InfoGraph | SemiSupervised, Parts, dict[str, Any]]:
    """An estimator, what it learns from, and what is searched if nothing else is said."""
    from infograph.data.cleaning import prepare
    from infograph.learn.parts import make_parts

    if labels.target is None:
        encoder = model.estimator(columns)
        parts = make_parts(
            graphs, ["y"], task="classification", validation=0, test=0.2, seed=encoder.random_state
        )
        return encoder, parts, dict(WITHOUT_LABELS)
    graphs, notes = prepare(
        graphs, labels.targets, duplicates=labels.duplicates, task=labels.task, unlabelled=labels.mark
    )
    for note in notes:
        say(note)
    parts = labels.parts(graphs, model.seed or 0)
    estimator, grid = labels.estimator(parts.task, model, columns)
    if grid:
        return estimator, parts, {name: list(values) for name, values in grid.items()}
    weighed = hasattr(estimator._parts()["objective"], "lam")
    return estimator, parts, {name: each for name, each in WITH_LABELS.items() if weighed or name != "lam"}


@grouped
def study(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for model, vectors, map and report.")],
    model: ModelOptions,
    columns: ColumnOptions,
    reading: ReadingOptions,
    errors: Errors = "raise",
    classifier: Classifiers = "svm-rbf",
    repeats: Repeats = 5,
    folds: Folds = 10,
    inner_folds: InnerFolds = 5,
    method: Method = "tsne",
    as_json: AsJson = False,
) -> None:
    """Train, embed, cross-validate beside the untrained encoder, draw a map, and write a report.

    Leaves model/, embeddings.parquet, map.png, results.json and report.html in DIR. Each repeat trains an
    encoder of its own; the first one is saved.

    Examples:

    [bold]infograph study MUTAG --out runs/mutag[/bold]

    [bold]infograph study molecules.csv --label active --out runs/molecules --repeats 3[/bold]
    """
    from infograph.io import check_outputs
    from infograph.report.study import FILES
    from infograph.report.study import study as run

    check_outputs([source], *(out / each for each in ("model", *FILES)))
    name = source_name(source)
    graphs = reading.read(source, errors=errors, columns=columns)
    say_rejected(graphs)
    with Stages() as watch:
        found = run(
            graphs,
            out,
            name=name,
            estimator=model.estimator(columns),
            repeats=repeats,
            folds=folds,
            inner_folds=inner_folds,
            classifiers=names(classifier) or (),
            method=method,
            watch=watch,
        )
    if as_json:
        content = found.to_dict()
        chosen = ("source", "graphs", "label", "table", "difference", "notes", "seconds")
        print_json({"out": str(out), **{key: content[key] for key in chosen}})
        return
    for note in found.notes:
        say(note)
    if found.rows:
        print_scores(name, found.rows)
        show(f"{folds} folds, {repeats} repeats; ± over repeats.")
        show(f"InfoGraph minus untrained encoder: {found.difference}.")
    show(f"Report: {out / 'report.html'}")


@dataclass(frozen=True)
class Keeping:
    """Where a model goes, where its state is kept while it trains, and how the result is printed."""

    out: Path
    checkpoint: Path | None
    resume: bool
    as_json: bool


def train_encoder(graphs: GraphSet, estimator: InfoGraph, keeping: Keeping, team: TeamOptions) -> None:
    """Train without labels."""
    from infograph.progress import ProgressReport

    out, checkpoint = keeping.out, keeping.checkpoint
    with resumable(checkpoint), ProgressReport(err()) as report:
        estimator.fit(graphs, checkpoint=checkpoint, resume=keeping.resume, watchers=[report], **team.given())
    estimator.save(out)
    last = estimator.history_[-1] if estimator.history_ else {}
    if keeping.as_json:
        print_json(
            {
                "model": str(out),
                "graphs": len(graphs),
                "dim": len(estimator.get_feature_names_out()),
                "last_epoch": last,
            }
        )
        return
    loss = f", loss {last['loss']:.4g}" if last else ""
    show(f"{out}: trained on {len(graphs):,} graphs, {len(estimator.history_)} epochs{loss}")


def learn_labels(
    graphs: GraphSet, model: ModelOptions, labels: LabelOptions, columns: ColumnOptions, keeping: Keeping
) -> None:
    """Train on labelled and unlabelled graphs, and judge the model."""
    from infograph.data.cleaning import prepare
    from infograph.learn.training import announcement, gaps, learn, runs_of, unit_of
    from infograph.progress import ProgressReport

    graphs, notes = prepare(
        graphs, labels.targets, duplicates=labels.duplicates, task=labels.task, unlabelled=labels.mark
    )
    parts = labels.parts(graphs, model.seed or 0)
    estimator, grid = labels.estimator(parts.task, model, columns)
    report = ProgressReport(err(), unit=unit_of(parts), runs=runs_of(estimator, grid))
    with resumable(keeping.checkpoint), report:
        learned = learn(
            estimator,
            parts,
            grid=grid,
            validate_on=labels.validate_on,
            references=labels.references or "usual",
            checkpoint=keeping.checkpoint,
            resume=keeping.resume,
            watchers=[_once([*notes, parts.sentence], report.console), report],
            announce=lambda *trial: _print(announcement(*trial), report.console),
        )
    learned.model.save(keeping.out)
    for note in gaps(learned.rows, parts):
        say(note)
    if keeping.as_json:
        print_json({"model": str(keeping.out), **learned.to_dict()})
        return
    print_trials(learned.trials)
    print_errors(learned.rows)
    epochs = len(learned.model.history_)
    show(f"{keeping.out}: {parts.in_words}; {epochs} epoch{'s' * (epochs != 1)}")


def _once(notes: Sequence[str], console: Console) -> Watcher:
    """Says something when training has begun, and not if it never does: a mistake is one sentence."""
    left = list(notes)

    def watch(_: Progress) -> None:
        while left:
            _print(left.pop(0), console)

    return watch


def _print(text: str, console: Console) -> None:
    console.print(text, markup=False, soft_wrap=True)


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Turn an interrupt into the sentence that says how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(_how_to_go_on(checkpoint)) from error


def _how_to_go_on(checkpoint: Path | None) -> str:
    from infograph.train.checkpoint import FILE, read_checkpoint

    kept = [] if checkpoint is None else sorted(checkpoint.rglob(FILE))
    if not kept:
        return "Interrupted; no state was kept. With --checkpoint DIR a run can be resumed."
    epochs = len(read_checkpoint(kept[-1].parent)[1]["history"])
    network = f" of network {len(kept)}" if len(kept) > 1 else ""
    again = shlex.join(["infograph", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"])
    return f"Interrupted after epoch {epochs}{network}; go on with: {again}"


@contextmanager
def naming_lines(source: str, graphs: GraphSet) -> Iterator[None]:
    """A bad cell is named with its file and line, where the graphs came from a file of lines.

    Raises:
        InvalidTarget: instead of a `BadCell`.
    """
    from infograph.data.labels import BadCell
    from infograph.errors import InvalidTarget

    try:
        yield
    except BadCell as error:
        place = _place(Path(source).expanduser(), graphs, error.row)
        raise InvalidTarget(f"{source}, {place}: {error}" if place else str(error)) from error


def _place(path: Path, graphs: GraphSet, row: int) -> str:
    """Where the row of a graph stands in its table; empty for other files and folders."""
    from infograph.data.read import TABLES, kind, read_cells

    if not path.is_file() or kind(path) not in TABLES:
        return ""
    cells, rejected = read_cells(path, "skip"), {item.index for item in graphs.rejected}
    rows = [place for place in range(len(cells.lines)) if place not in rejected]
    return cells.place(rows[row]) if len(rows) == len(graphs) else ""

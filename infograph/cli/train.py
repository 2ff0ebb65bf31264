"""`infograph train`, `infograph tune`, `infograph study`: graphs to a model folder."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import infograph
from infograph.cli import options as opt
from infograph.cli.output import Interrupted, Output, error_table, in_options, score_table, table
from infograph.progress import ProgressReport, Report, say

if TYPE_CHECKING:
    from rich.table import Table

    from infograph.learn.parts import Parts
    from infograph.learn.tune import Trial
    from infograph.progress import Progress

LISTED = 10  # settings in the table
RATES = [1e-2, 1e-3, 1e-4]
# What is searched where nothing is said: the paper's values.
WITHOUT_LABELS: dict[str, list[Any]] = {"layers": [4, 8, 12], "lr": RATES}
WITH_LABELS = {"lr": RATES, "weight_decay": [0.0, 1e-3, 1e-4], "lam": [1e-3, 1e-4, 1e-5]}
SEARCH = (
    "What to search, again for more: lr=1e-4..1e-2, layers=2,4,8. [default: the paper's values of layers and "
    "lr; with --target lr, weight_decay and lam]"
)
KEPT = "A result per training; a stopped search goes on. [default: runs/tune-SOURCE]"
searches = partial(opt.option, panel="Search")


@opt.verb
def train(
    source: opt.Source,
    out: Annotated[Path, opt.option("The folder that the model is saved to.", "MODEL")],
    model: opt.ModelOptions,
    labels: opt.LabelOptions,
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    team: opt.TeamOptions,
    errors: opt.Errors = "raise",
    rejects: Annotated[Path | None, opt.reads("Leave bad graphs out, listed here.", "FILE")] = None,
    checkpoint: Annotated[Path | None, opt.trains("Keep the state after epochs there.", "DIR")] = None,
    resume: Annotated[bool, opt.trains("Go on from that state.", "--resume")] = False,
) -> Output:
    """Train on graphs and save the model: without labels an encoder, with --target a model that predicts.

    Errors on held-out graphs are printed beside those of simple methods. Several values of --lam,
    --weight-decay or --lr are all tried, and the best on the validation graphs is kept.

    Examples:
        infograph train MUTAG --out model
        infograph train REDDIT-BINARY --workers 8 --out model
        infograph train mine.csv --smiles smiles --target logS --out model
        infograph train QM9 --target U0 --labelled 5000 --objective infograph-star --out model
    """
    from infograph.estimators.folder import MODEL
    from infograph.io import check_outputs, check_replaceable, writing
    from infograph.train.checkpoint import FILE

    labels.check()
    if resume and checkpoint is None:
        raise opt.refused("it needs --checkpoint DIR, the state to go on from", "resume")
    if labels.target is not None and team != opt.TeamOptions():
        raise opt.refused("--workers and --on are for training without labels", "target")
    check_outputs([source, model.start], out, rejects, checkpoint and checkpoint / FILE)
    check_replaceable(out, MODEL)
    with writing(out.resolve()):
        schema = labels.donor_schema(model)
        graphs = reading.read(source, errors="skip" if rejects else errors, columns=columns, schema=schema)
        if rejects is not None:
            infograph.write_rejected(graphs, rejects)
        keep: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume}
        if labels.target is not None:
            return _learn_labels(graphs, model, labels, columns, out, keep)
        estimator = model.estimator(columns)
        with _resumable(checkpoint), ProgressReport() as report:
            estimator.fit(graphs, watchers=[report], **keep, **vars(team))
        estimator.save(out)
        last = estimator.history_[-1] if estimator.history_ else {}
        dim, loss = len(estimator.get_feature_names_out()), f", loss {last['loss']:.4g}" if last else ""
        content = {"model": out, "graphs": len(graphs), "dim": dim, "last_epoch": last}
        started = f" from {estimator.started_from_}" if estimator.started_from_ else ""
        epochs = f"{len(estimator.history_)} epochs{started}{loss}{opt.used(estimator.schema_)}"
        return content, [f"{out}: trained on {len(graphs):,} graphs, {epochs}"]


def _learn_labels(
    graphs: infograph.GraphSet,
    model: opt.ModelOptions,
    labels: opt.LabelOptions,
    columns: opt.ColumnOptions,
    out: Path,
    keep: dict[str, Any],
) -> Output:
    """Train on labelled and unlabelled graphs, and judge the model."""
    from infograph.learn.training import gaps, learn, runs_of, unit_of
    from infograph.report.training import write_report

    parts, notes = labels.parts(graphs, model.seed or 0)
    estimator, grid = labels.estimator(parts.task, model, columns)
    report = ProgressReport(unit=unit_of(parts), runs=runs_of(estimator, grid))
    unsaid, began = [*notes, parts.sentence], time.perf_counter()

    def say_notes(_: Progress | None = None) -> None:  # once training has begun: a mistake is one sentence
        while unsaid:
            report.note(in_options(unsaid.pop(0)))

    def announce(line: str) -> None:
        say_notes()
        report.note(f"{timedelta(seconds=round(time.perf_counter() - began))}  {line}")

    with _resumable(keep["checkpoint"]), report:
        learned = learn(
            estimator,
            parts,
            grid=grid,
            validate_on=labels.validate_on,
            references=labels.references or "usual",
            watchers=[say_notes, report],
            announce=announce,
            **keep,
        )
        learned.model.save(out)
        write_report(learned, out, notes=[in_options(note) for note in notes], announce=announce)
    for note in gaps(learned.rows, parts):
        say(note)
    epochs = len(learned.model.history_)
    trained = "" if learned.model.inputs_ else f"; {epochs} epoch{'s' * (epochs != 1)}"
    several = len(learned.verdicts) > 1
    lines: list[Any] = [
        error_table(learned.rows),
        *filter(None, [learned.model.choice_]),
        *(f"{each.target}: {each}" if several else str(each) for each in learned.verdicts),
        f"{out}: {parts.in_words}{trained}{opt.used(learned.model.schema_)}",
        f"Report: {out / 'report.html'}",
    ]
    if learned.trials:
        lines.insert(0, _trials(learned.trials))
    return {"model": out, **learned.to_dict()}, lines


def _trials(trials: Sequence[Trial]) -> Table:
    """The settings that were tried, and which of them was chosen."""
    best = min(trials, key=lambda trial: (math.isnan(trial.error), trial.error))
    rows = []
    for each in trials:
        values = [f"{value:g}" for value in each.settings.values()]
        rows.append([*values, f"{each.error:.4g}", "chosen" if each is best else ""])
    return table((*best.settings, "validation", ""), rows)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Let an interrupt say how to go on."""
    from infograph.train.checkpoint import FILE

    try:
        yield
    except KeyboardInterrupt as error:
        if checkpoint is None or not any(checkpoint.rglob(FILE)):
            problem = "Interrupted; no state was kept. With --checkpoint DIR a run can be resumed."
            raise Interrupted(problem) from error
        again = shlex.join(["infograph", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"])
        raise Interrupted(f"Interrupted; go on with: {again}") from error


@opt.verb
def tune(
    source: opt.Source,
    out: Annotated[Path, opt.option("The folder that the best model is saved to.", "MODEL")],
    model: opt.ModelOptions,
    labels: opt.LabelOptions,
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    search: Annotated[list[str] | None, searches(SEARCH, "NAME=VALUES")] = None,
    trials: Annotated[int, searches("Settings to try.", "N", min=1)] = 27,
    results: Annotated[Path | None, searches(KEPT, "DIR")] = None,
    workers: Annotated[int, searches("Trainings at a time; 1 uses all threads here.", "N", min=1)] = 1,
    on: Annotated[str, searches(opt.WHERE, "WHERE")] = "local",
    errors: opt.Errors = "raise",
) -> Output:
    """Search settings: all are trained shortly, the better third longer, and so on up to --epochs.

    Without --target, settings of the encoder are judged by how well the label is predicted from its vectors,
    with it by the error on validation graphs. The best model is judged at the end on test graphs that the
    search never saw, beside the same model with the settings it had before.

    Examples:
        infograph tune MUTAG --epochs 90 --out model
        infograph tune mine.csv --target logS --search lr=1e-4..1e-2 --search dim=32,64 --out model
    """
    from infograph.estimators.folder import MODEL
    from infograph.io import check_outputs, check_replaceable
    from infograph.learn.tune import parse_space
    from infograph.learn.tune import tune as search_settings

    labels.check()
    for name in ("validate_on", "references"):
        if getattr(labels, name) is not None:
            raise opt.refused("it belongs to infograph train", name)
    results = results or Path("runs") / f"tune-{opt.source_name(source)}"
    check_outputs([source, model.start], out, results)
    check_replaceable(out, MODEL)
    graphs = reading.read(source, errors=errors, columns=columns, schema=labels.donor_schema(model))
    estimator, parts, usual = _to_search(graphs, model, labels, columns)
    space = parse_space(search) if search else usual
    say(f"{parts.sentence} The test graphs are not looked at before the end.")
    found = search_settings(
        estimator,
        space,
        parts,
        results,
        trials=trials,
        seed=estimator.random_state,
        workers=workers,
        on=on,
        announce=lambda number, done, total, line: say(f"round {number}, {done} of {total}: {line}"),
    )
    found.model.save(out)
    tried = [
        [*(str(each.settings[name]) for name in space), str(each.epochs), f"{each.error:.4g}"]
        for each in found.tried[:LISTED]
    ]
    judged = [
        f"{target}: error {after:.4g} on {len(parts.test):,} test graphs; before the search {before:.4g}"
        for target, after, before in zip(parts.targets, found.test, found.baseline, strict=True)
    ]
    content = {"model": out, "graphs": parts.counts, **found.to_dict()}
    return content, [table([*space, "epochs", "error"], tried, bold=0), *judged, f"Model: {out}"]


def _to_search(
    graphs: infograph.GraphSet, model: opt.ModelOptions, labels: opt.LabelOptions, columns: opt.ColumnOptions
) -> tuple[Any, Parts, dict[str, Any]]:
    """The estimator to search, the graphs, divided, and what is searched where nothing is said."""
    from infograph.learn.parts import make_parts

    seed = model.seed or 0
    if labels.target is None:
        parts = make_parts(graphs, ["y"], task="classification", validation=0, test=0.2, seed=seed)
        return model.estimator(columns), parts, WITHOUT_LABELS
    parts, notes = labels.parts(graphs, seed)
    for note in notes:
        say(in_options(note))
    estimator, grid = labels.estimator(parts.task, model, columns)
    weighed = hasattr(estimator._parts()["objective"], "lam")
    usual = {name: values for name, values in WITH_LABELS.items() if weighed or name != "lam"}
    return estimator, parts, {name: list(values) for name, values in grid.items()} or usual


@opt.verb
def study(
    source: opt.Source,
    out: Annotated[Path, opt.option("The folder for model, vectors, map and report.", "DIR")],
    model: opt.ModelOptions,
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    errors: opt.Errors = "raise",
    classifier: opt.Classifiers = "svm-rbf",
    judging: opt.JudgeOptions = opt.USUAL,
    method: Annotated[opt.Method, opt.option(opt.NEIGHBOURS)] = "tsne",
) -> Output:
    """Train, embed, cross-validate beside the untrained encoder, draw a map, and write a report.

    Leaves model/, embeddings.parquet, map.png, results.json and report.html in DIR. Each repeat trains an
    encoder of its own; the first one is saved.

    Examples:
        infograph study MUTAG --out runs/mutag
        infograph study molecules.csv --label active --out runs/molecules --repeats 3
    """
    from infograph.io import check_outputs
    from infograph.report.study import FILES
    from infograph.report.study import study as run

    check_outputs([source], *(out / each for each in ("model", *FILES)))
    graphs = reading.read(source, errors=errors, columns=columns)
    name = opt.source_name(source)
    with Report() as watch:
        found = run(
            graphs,
            out,
            name=name,
            estimator=model.estimator(columns),
            classifiers=opt.names(classifier) or (),
            method=method,
            watch=watch,
            **vars(judging),
        )
    for note in found.notes:
        say(note)
    judged = [
        score_table(name, found.rows),
        str(judging),
        f"InfoGraph minus untrained encoder: {found.difference}.",
    ]
    content = found.to_dict()
    chosen = ("source", "graphs", "label", "table", "difference", "notes", "seconds")
    return (
        {"out": out, **{key: content[key] for key in chosen}},
        [*(judged if found.rows else ()), f"Report: {out / 'report.html'}"],
    )

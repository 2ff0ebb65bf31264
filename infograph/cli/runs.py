"""Training runs on the command line: watched, resumable, saved, and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infograph.cli.label_options import LabelOptions
from infograph.cli.model_options import ModelOptions
from infograph.cli.options import ColumnOptions
from infograph.cli.output import err, print_errors, print_json, print_trials, say, show
from infograph.cli.resume import resumable
from infograph.cli.team_options import TeamOptions

if TYPE_CHECKING:
    from rich.console import Console

    from infograph.data.graphset import GraphSet
    from infograph.estimators.infograph import InfoGraph
    from infograph.train.loop import Progress, Watcher


@dataclass(frozen=True)
class Keeping:
    """Where a model goes, where its state is kept while it trains, and how the result is printed."""

    out: Path
    checkpoint: Path | None
    resume: bool
    as_json: bool


def train_encoder(graphs: GraphSet, estimator: InfoGraph, keeping: Keeping, team: TeamOptions) -> None:
    """Train without labels."""
    from infograph.train.progress import ProgressReport

    out, checkpoint = keeping.out, keeping.checkpoint
    with resumable(checkpoint), ProgressReport(err()) as report:
        estimator.fit(graphs, checkpoint=checkpoint, resume=keeping.resume, watchers=[report], **team.given())
    estimator.save(out)
    last = estimator.history_[-1] if estimator.history_ else {}
    if keeping.as_json:
        print_json(
            {"model": str(out), "graphs": len(graphs), "dim": estimator.network_.dim, "last_epoch": last}
        )
        return
    loss = f", loss {last['loss']:.4g}" if last else ""
    show(f"{out}: trained on {len(graphs):,} graphs, {len(estimator.history_)} epochs{loss}")


def learn_labels(
    graphs: GraphSet, model: ModelOptions, labels: LabelOptions, columns: ColumnOptions, keeping: Keeping
) -> None:
    """Train on labelled and unlabelled graphs, and judge the model."""
    from infograph.learn.prepare import prepare
    from infograph.learn.references import gaps
    from infograph.learn.run import announcement, learn, runs_of, unit_of
    from infograph.train.progress import ProgressReport

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

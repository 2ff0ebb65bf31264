"""`infograph evaluate`: how well vectors predict a column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import (
    JUDGING,
    AsJson,
    Classifiers,
    Folds,
    MaybeSource,
    ReadingOptions,
    Repeats,
    names,
)
from infograph.cli.output import percent, print_json, print_table, say, show
from infograph.cli.progress import Stages


@grouped
def evaluate(
    which: Annotated[
        Path, typer.Argument(metavar="VECTORS|MODEL", help="A file of vectors, or a model folder.")
    ],
    reading: ReadingOptions,
    source: MaybeSource = None,
    classifier: Classifiers = "svm-rbf",
    repeats: Repeats = 5,
    folds: Folds = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first repeat.", rich_help_panel=JUDGING)] = 0,
    as_json: AsJson = False,
) -> None:
    """Cross-validate how well vectors predict a column, with nothing chosen on test folds.

    All repeats judge the same vectors; infograph study trains anew for each.

    Examples:

    [bold]infograph evaluate model MUTAG[/bold]

    [bold]infograph evaluate vectors.parquet --label y --classifier svm-rbf,logistic[/bold]
    """
    from infograph.report.judge import judge
    from infograph.report.represent import represent

    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    vectors = represent(which, read)
    label = reading.label if source is None and reading.label else "y"
    with Stages() as watch:
        watch.stage("cross-validation", repeats * folds)
        evaluation, left_out = judge(
            vectors,
            label,
            classifiers=names(classifier) or (),
            repeats=repeats,
            folds=folds,
            random_state=seed,
            progress=lambda done, total: watch.advance(done),
        )
    score, plan = evaluation.leak_free(), evaluation.plan
    if as_json:
        summary = {
            "mean": score.mean,
            "std": score.std,
            "std_folds": score.std_folds,
            "majority": plan.majority,
        }
        counts = {"graphs": plan.n_graphs, "left_out": left_out}
        print_json({**summary, **counts, "evaluation": evaluation.to_dict()})
        return
    if left_out:
        say(f"{left_out} graphs without a vector or a label were left out.")
    each = {name: evaluation.select(classifiers=[name]).leak_free() for name in names(classifier) or ()}
    rows = [
        (name, percent(100 * one.mean, 100 * one.std), f"± {100 * one.std_folds:.1f}")
        for name, one in each.items()
    ]
    if len(each) > 1:
        rows.append(
            (
                "best on inner folds",
                percent(100 * score.mean, 100 * score.std),
                f"± {100 * score.std_folds:.1f}",
            )
        )
    rows.append(("majority class", percent(100 * plan.majority), ""))
    print_table(("classifier", "accuracy", "over folds"), rows)
    show(f"{plan.n_graphs:,} graphs, {plan.folds} folds, {repeats} repeats; ± over repeats.")

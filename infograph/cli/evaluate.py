"""`infograph evaluate`: how well vectors predict a column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.options import (
    JUDGING,
    AsJson,
    Classifiers,
    Folds,
    InnerFolds,
    MaybeSource,
    ReadingOptions,
    Repeats,
    names,
)
from infograph.cli.output import print_json, print_scores, say, show
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
    inner_folds: InnerFolds = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first repeat.", rich_help_panel=JUDGING)] = 0,
    as_json: AsJson = False,
) -> None:
    """Cross-validate how well vectors predict a column, with nothing chosen on test folds.

    All repeats judge the same vectors; infograph study trains anew for each.

    Examples:

    [bold]infograph evaluate model MUTAG[/bold]

    [bold]infograph evaluate vectors.parquet --label y --classifier svm-rbf,logistic[/bold]
    """
    from infograph.data.units import LABEL
    from infograph.report.judge import judge, score_rows
    from infograph.report.represent import represent

    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    vectors = represent(which, read)
    label = reading.label or LABEL
    if source is not None:  # reading has called the label y
        own = {label if name == LABEL else name: values for name, values in vectors.columns.items()}
        vectors = replace(vectors, columns=own)
    with Stages() as watch:
        watch.stage("cross-validation", repeats * folds)
        evaluation, left_out = judge(
            vectors,
            label,
            classifiers=names(classifier) or (),
            repeats=repeats,
            folds=folds,
            inner_folds=inner_folds,
            random_state=seed,
            progress=lambda done, total: watch.advance(done),
        )
    rows, plan = score_rows(evaluation), evaluation.plan
    if as_json:
        counts = {"graphs": plan.n_graphs, "left_out": left_out}
        table = [row.to_dict() for row in rows]
        print_json({"label": label, **counts, "table": table, "evaluation": evaluation.to_dict()})
        return
    if left_out:
        say(f"{left_out} graphs without a vector or a label were left out.")
    print_scores("classifier", rows)
    show(f"{plan.n_graphs:,} graphs, {plan.folds} folds, {repeats} repeats; ± over repeats.")

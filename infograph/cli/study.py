"""`infograph study`: the whole job on one set of graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.model_options import ModelOptions
from infograph.cli.options import (
    AsJson,
    Classifiers,
    ColumnOptions,
    Errors,
    Folds,
    InnerFolds,
    Method,
    ReadingOptions,
    Repeats,
    Source,
    names,
    source_name,
)
from infograph.cli.output import print_json, print_scores, say, say_rejected, show
from infograph.cli.progress import Stages


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
    from infograph.data.storage import check_outputs
    from infograph.report.study import study as run
    from infograph.report.study_files import FILES

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

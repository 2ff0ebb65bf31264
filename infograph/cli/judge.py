"""`infograph evaluate`, `compare`, `info`, `datasets` and `history`: how good, and what is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import infograph
from infograph.cli import options as opt
from infograph.cli.output import Output, score_table, table
from infograph.progress import Report, say

if TYPE_CHECKING:
    from infograph.evaluate.evaluation import Evaluation, Row

METHODS = (
    "All, or some of rw, sp, gk, wl, dgk, mlg, node2vec, sub2vec, graph2vec, infograph, infograph-paper, "
    "untrained, wl-oa, ltp, labels, degrees and predictions; of molecules pretrained, atoms and morgan."
)
COMPARED = "The folder for the table and the results per method. [default: runs/compare-SOURCE]"
SCORING = "accuracy, roc_auc, average_precision; rmse, mae, r2. [default: accuracy; rmse of numbers]"
JUDGED = "A file of vectors, or a model folder."
WHAT = "A model folder, a file of vectors, graphs, or a data set's name."
TRAINED = "A model folder, or the result file of a table's cell."


@opt.verb
def evaluate(
    which: Annotated[Path, typer.Argument(metavar="VECTORS|MODEL", help=JUDGED)],
    reading: opt.ReadingOptions,
    source: opt.MaybeSource = None,
    classifier: opt.Classifiers = "svm-rbf",
    scoring: Annotated[str | None, opt.judges(SCORING, "NAME")] = None,
    scaffolds: Annotated[bool, opt.judges("No scaffold is in two folds.", "--scaffolds")] = False,
    judging: opt.JudgeOptions = opt.USUAL,
    seed: opt.FirstSeed = 0,
) -> Output:
    """Cross-validate how well vectors predict a column, with nothing chosen on test folds.

    The column holds classes or measured values; several columns (--label a,b) are judged by their mean.

    All repeats judge the same vectors; infograph study trains anew for each.

    Examples:
        infograph evaluate model MUTAG
        infograph evaluate vectors.parquet --label y --classifier svm-rbf,logistic
        infograph evaluate model molecules.csv --label logS --scaffolds --classifier ridge-rbf,forest
    """
    import numpy as np

    from infograph.data.labels import is_known
    from infograph.data.splits import group_by_scaffold
    from infograph.data.units import LABEL
    from infograph.evaluate.cross_validation import cross_validate
    from infograph.index.graph_index import represent

    labels = opt.names(reading.label) or [LABEL]
    several = len(labels) > 1
    reading = replace(reading, label=None) if several else reading
    vectors = represent(which, reading.reader(source))
    if source is not None and not several:  # reading has called the label y
        own = {labels[0] if name == LABEL else name: values for name, values in vectors.columns.items()}
        vectors = replace(vectors, columns=own)
    columns = [vectors.column(name) for name in labels]
    values = np.column_stack(columns) if several else columns[0]
    judged = vectors.usable & np.logical_or.reduce([is_known(column) for column in columns])
    groups = group_by_scaffold(vectors.column("smiles")[judged]) if scaffolds else None
    left_out = int((~judged).sum())
    with Report() as watch:
        evaluation = cross_validate(
            vectors.vectors[judged],
            values[judged],
            classifiers=opt.names(classifier) or (),
            scoring=scoring,
            groups=groups,
            random_state=seed,
            progress=watch.count("cross-validation"),
            **vars(judging),
        )
    if left_out:
        say(f"{left_out} graphs without a vector or a label were left out.")
    rows, n_graphs = _score_rows(evaluation), evaluation.plan.n_graphs
    content: dict[str, Any] = {"label": ", ".join(labels), "graphs": n_graphs, "left_out": left_out}
    content["scoring"] = evaluation.scoring
    content |= {"table": [row.to_dict() for row in rows], "evaluation": evaluation.to_dict()}
    return content, [score_table("classifier", rows, evaluation.scoring), f"{n_graphs:,} graphs, {judging}"]


def _score_rows(evaluation: Evaluation) -> list[Row]:
    """A line per classifier, one for the best on the inner folds if there are several, and the majority."""
    from infograph.evaluate.evaluation import Row
    from infograph.evaluate.judges import SCORINGS

    classifiers = list(dict.fromkeys(candidate.classifier for candidate in evaluation.candidates))
    scores = {name: evaluation.select(classifiers=[name]).leak_free() for name in classifiers}
    if len(scores) > 1:
        scores["best on inner folds"] = evaluation.leak_free()
    digits = 1 if SCORINGS[evaluation.scoring].percent else 3
    notes = {name: f"single folds ± {score.in_table[2]:.{digits}f}" for name, score in scores.items()}
    rows = [Row.of(name, score, notes[name]) for name, score in scores.items()]
    by_accuracy = evaluation.scoring == "accuracy" and evaluation.plan.class_sizes
    return [*rows, Row("majority class", 100 * evaluation.plan.majority)] if by_accuracy else rows


@opt.verb
def compare(
    source: opt.Source,
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    methods: Annotated[str, opt.option(METHODS, "NAME,...")] = "all",
    out: Annotated[Path | None, opt.option(COMPARED, "DIR")] = None,
    budget: Annotated[str, opt.option("What a method may take: 90s, 30m or 2h.", "TIME")] = "30m",
    memory: Annotated[str, opt.option("The same in memory, such as 8G.", "SIZE")] = "8G",
    workers: Annotated[int, opt.option("Methods at a time; each is then slower than alone.", "N", min=1)] = 1,
    on: Annotated[str, opt.option(opt.WHERE, "WHERE")] = "local",
    scoring: Annotated[str | None, opt.judges(SCORING, "NAME")] = None,
    scaffolds: Annotated[bool, opt.judges("No scaffold is in two folds.", "--scaffolds")] = False,
    judging: opt.JudgeOptions = opt.USUAL,
    seed: opt.FirstSeed = 0,
    errors: opt.Errors = "raise",
) -> Output:
    """Compare InfoGraph with kernels, embeddings and plain references on your graphs.

    Every method runs in a process of its own and is judged by the same nested cross-validation. One that
    takes more than the budget is stopped, and its line says so. What was computed before is not computed
    again. The column holds classes or measured values; several (--label a,b) are judged by their mean.

    Examples:
        infograph compare MUTAG --methods all
        infograph compare mine.csv --label class --methods wl,graph2vec,infograph --budget 5m
        infograph compare molecules.csv --label logS --scaffolds --folds 5 --methods atoms,morgan,predictions
    """
    from infograph.data.units import LABEL
    from infograph.evaluate.compare import Limits, Protocol, cells, head
    from infograph.io import check_outputs
    from infograph.report.comparison import FILES, Comparison, as_record

    name = opt.source_name(source)
    out = out or Path("runs") / f"compare-{name}"
    check_outputs([source], *(out / each for each in FILES))
    several = opt.names(reading.label) or [LABEL]
    single = len(several) == 1
    graphs = (reading if single else replace(reading, label=None)).read(
        source, errors=errors, columns=columns
    )
    protocol = Protocol(**vars(judging), seed=seed, scoring=scoring, scaffolds=scaffolds)
    labels = [LABEL] if single else several  # reading calls a single one y
    job = Comparison(graphs, opt.names(methods) or [], name, protocol, labels)
    limits = Limits(opt.seconds(budget), opt.quantity(memory, opt.SIZE, "a size such as 500M or 8G"))
    with Report() as watch:
        rows = job.run(out, limits, watch, workers=workers, on=on)
    shown = table(head(rows), [cells(row) for row in rows], texts=(6,), bold=0)
    content = {"out": out, "table": [as_record(row) for row in rows]}
    return content, [shown, *job.notes, f"Table: {out / 'comparison.html'}"]


@opt.verb
def info(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=WHAT)],
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    errors: opt.Errors = "raise",
) -> Output:
    """Say what a model, a file of vectors, or a set of graphs holds.

    Examples:
        infograph info MUTAG
        infograph info model --json
    """
    from infograph.data.vectors import holds_embeddings, read_embeddings
    from infograph.report.describe import describe_embeddings, describe_graphs, describe_model, in_words

    path = Path(what)
    if (path / "config.json").is_file():
        content: dict[str, Any] = describe_model(infograph.load(path))
    elif holds_embeddings(path):
        content = describe_embeddings(read_embeddings(path))
    else:
        content = describe_graphs(reading.read(what, errors=errors, columns=columns))
    return content, [table(("", ""), in_words(content), texts=(1,))]


@opt.verb
def datasets(
    root: Annotated[Path | None, opt.option("A folder with data sets, searched first.")] = None,
) -> Output:
    """List the benchmark data sets, where each was found, and their statistics.

    Examples:
        infograph datasets
    """
    from infograph.data.datasets import describe_datasets

    found = describe_datasets(root=root)
    rows = []
    for each in found:
        counts = ("" if count is None else f"{count:,}" for count in (each.graphs, each.classes))
        means = ("" if mean is None else f"{mean:.1f}" for mean in (each.mean_nodes, each.mean_edges))
        rows.append((each.name, each.where, *counts, *means))
    return [vars(each) for each in found], [
        table(("name", "found", "graphs", "classes", "nodes", "edges"), rows, texts=(1,)),
        "Nodes and edges are means per graph. Any other name of the TU collection is downloaded.",
    ]


@opt.verb
def history(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=TRAINED)],
    out: Annotated[Path | None, opt.option("A .png, .svg or .csv file.", "FILE", "the terminal")] = None,
) -> Output:
    """Draw the convergence of a training run: every loss term over the epochs, and the validation error.

    Examples:
        infograph history model --out history.png
        infograph history model
    """
    from infograph.io import check_outputs
    from infograph.report.figures import draw_history, history_of, history_table, write_history

    check_outputs([model], out)
    records, unit = history_of(model)
    content = {"file": out, "unit": unit, "history": records}
    if out is None:
        head, rows = history_table(records, unit)
        return content, [table([name.replace(", ", ",\n") for name in head], rows)]
    if out.suffix == ".csv":
        write_history(records, out)
    else:
        draw_history(records, out, unit=unit)
    return content, [f"{out}: {len(records):,} epochs"]

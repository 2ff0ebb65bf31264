"""`infograph evaluate`, `compare`, `info`, `datasets` and `history`: how good, and what is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from infograph.cli import options as opt
from infograph.cli.output import print_facts, print_json, print_scores, print_table, show
from infograph.progress import Report, say

METHODS = (
    "All, or some of rw, sp, gk, wl, dgk, mlg, node2vec, sub2vec, graph2vec, infograph, untrained, labels "
    "and degrees."
)
COMPARED = "The folder for the table and the results per method. [default: runs/compare-SOURCE]"
WHAT = "A model folder, a file of vectors, graphs, or a data set's name."
TRAINED = "A model folder, or the result file of a table's cell."


@opt.grouped
def evaluate(
    which: Annotated[
        Path, typer.Argument(metavar="VECTORS|MODEL", help="A file of vectors, or a model folder.")
    ],
    reading: opt.ReadingOptions,
    source: opt.MaybeSource = None,
    classifier: opt.Classifiers = "svm-rbf",
    judging: opt.JudgeOptions = opt.USUAL,
    seed: opt.FirstSeed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Cross-validate how well vectors predict a column, with nothing chosen on test folds.

    All repeats judge the same vectors; infograph study trains anew for each.

    Examples:

    [bold]infograph evaluate model MUTAG[/bold]

    [bold]infograph evaluate vectors.parquet --label y --classifier svm-rbf,logistic[/bold]
    """
    from infograph.data.labels import as_classes, is_known
    from infograph.data.units import LABEL
    from infograph.evaluate.compare import score_rows
    from infograph.evaluate.cross_validation import cross_validate
    from infograph.index.graph_index import represent

    read = None if source is None else lambda schema: reading.read(source, schema=schema)
    vectors = represent(which, read)
    label = reading.label or LABEL
    if source is not None:  # reading has called the label y
        own = {label if name == LABEL else name: values for name, values in vectors.columns.items()}
        vectors = replace(vectors, columns=own)
    values = as_classes(vectors.column(label), label)
    judged = vectors.usable & is_known(values)
    left_out = int((~judged).sum())
    with Report() as watch:
        evaluation = cross_validate(
            vectors.vectors[judged],
            values[judged],
            classifiers=opt.names(classifier) or (),
            random_state=seed,
            progress=watch.count("cross-validation"),
            **vars(judging),
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
    show(f"{plan.n_graphs:,} graphs, {judging}")


@opt.grouped
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
    judging: opt.JudgeOptions = opt.USUAL,
    seed: opt.FirstSeed = 0,
    errors: opt.Errors = "raise",
    as_json: opt.AsJson = False,
) -> None:
    """Compare InfoGraph with kernels, embeddings and plain references on your graphs.

    Every method runs in a process of its own and is judged by the same nested cross-validation. One that
    takes more than the budget is stopped, and its line says so. What was computed before is not computed
    again.

    Examples:

    [bold]infograph compare MUTAG --methods all[/bold]

    [bold]infograph compare mine.csv --label class --methods wl,graph2vec,infograph --budget 5m[/bold]
    """
    from infograph.evaluate.compare import Limits, Protocol
    from infograph.io import check_outputs
    from infograph.report.comparison import FILES, HEAD, Comparison, best_line, cells

    name = opt.source_name(source)
    out = out or Path("runs") / f"compare-{name}"
    check_outputs([source], *(out / each for each in FILES))
    graphs = reading.read(source, errors=errors, columns=columns)
    job = Comparison(graphs, opt.names(methods) or [], name, Protocol(**vars(judging), seed=seed))
    limits = Limits(opt.parse_duration(budget), opt.parse_size(memory))
    with Report() as watch:
        rows = job.run(out, limits, watch, workers=workers, on=on)
    if as_json:
        print_json({"out": str(out), "table": [vars(row) for row in rows]})
        return
    print_table(HEAD, [cells(row) for row in rows], texts=(5,), bold=best_line(rows))
    for note in job.notes:
        show(note)
    show(f"Table: {out / 'comparison.html'}")


@opt.grouped
def info(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=WHAT)],
    columns: opt.ColumnOptions,
    reading: opt.ReadingOptions,
    errors: opt.Errors = "raise",
    as_json: opt.AsJson = False,
) -> None:
    """Say what a model, a file of vectors, or a set of graphs holds.

    Examples:

    [bold]infograph info MUTAG[/bold]

    [bold]infograph info model --json[/bold]
    """
    from infograph.data.vectors import holds_embeddings, read_embeddings
    from infograph.report.describe import describe_embeddings, describe_graphs, describe_model, in_words

    path = Path(what)
    if (path / "config.json").is_file():
        from infograph.estimators.base import load

        content: dict[str, Any] = describe_model(load(path))
    elif holds_embeddings(path):
        content = describe_embeddings(read_embeddings(path))
    else:
        content = describe_graphs(reading.read(what, errors=errors, columns=columns))
    if as_json:
        print_json(content)
    else:
        print_facts(in_words(content))


def datasets(
    root: Annotated[Path | None, opt.option("A folder with data sets, searched first.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """List the benchmark data sets, where each was found, and their statistics.

    Example: [bold]infograph datasets[/bold]
    """
    from infograph.data.datasets import describe_datasets

    found = describe_datasets(root=root)
    if as_json:
        print_json([vars(info) for info in found])
        return
    rows = []
    for info in found:
        counts = ("" if each is None else f"{each:,}" for each in (info.graphs, info.classes))
        means = ("" if each is None else f"{each:.1f}" for each in (info.mean_nodes, info.mean_edges))
        rows.append((info.name, info.where, *counts, *means))
    print_table(("name", "found", "graphs", "classes", "nodes", "edges"), rows, texts=(1,))
    show("Nodes and edges are means per graph. Any other name of the TU collection is downloaded.")


def history(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=TRAINED)],
    out: Annotated[
        Path | None, opt.option("A .png, .svg or .csv file.", "FILE", default="the terminal")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Draw the convergence of a training run: every loss term over the epochs, and the validation error.

    Examples:

    [bold]infograph history model --out history.png[/bold]

    [bold]infograph history model[/bold]
    """
    from infograph.io import check_outputs
    from infograph.report.figures import draw_history, history_of, history_table, write_history

    check_outputs([model], out)
    records, unit = history_of(model)
    if out is not None and out.suffix == ".csv":
        write_history(records, out)
    elif out is not None:
        draw_history(records, out, unit=unit)
    if as_json:
        print_json({"file": None if out is None else str(out), "unit": unit, "history": records})
    elif out is None:
        head, rows = history_table(records, unit)
        print_table([name.replace(", ", ",\n") for name in head], rows)
    else:
        show(f"{out}: {len(records):,} epochs")

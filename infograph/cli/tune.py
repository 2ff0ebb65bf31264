"""`infograph tune`: the settings of a model, searched without looking at the test graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infograph.cli.groups import grouped
from infograph.cli.label_options import LabelOptions
from infograph.cli.model_options import ModelOptions
from infograph.cli.options import AsJson, ColumnOptions, Errors, ReadingOptions, Source, source_name
from infograph.cli.output import print_json, print_table, say, say_rejected, show
from infograph.cli.team_options import WHERE

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.estimators.infograph import InfoGraph
    from infograph.estimators.semi import SemiSupervised
    from infograph.learn.parts import Parts

SEARCH = "Search"
LISTED = 10  # settings in the table
# What is searched where nothing is said: the paper's values.
WITHOUT_LABELS = {"layers": [4, 8, 12], "lr": [1e-2, 1e-3, 1e-4]}
WITH_LABELS = {"lr": [1e-2, 1e-3, 1e-4], "weight_decay": [0.0, 1e-3, 1e-4], "lam": [1e-3, 1e-4, 1e-5]}


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
    from infograph.contract import check_model_folder
    from infograph.data.storage import check_outputs
    from infograph.tune import tune as search_settings
    from infograph.tune.space import parse_space

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
        [*(str(each.setting[name]) for name in names), str(each.epochs), f"{each.error:.4g}"]
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
    from infograph.learn.parts import make_parts
    from infograph.learn.prepare import prepare
    from infograph.methods.objectives import WEIGHED

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
    weighed = estimator.objective in WEIGHED
    return estimator, parts, {name: each for name, each in WITH_LABELS.items() if weighed or name != "lam"}

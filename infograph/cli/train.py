"""`infograph train`: graphs to a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.groups import grouped
from infograph.cli.label_options import LabelOptions
from infograph.cli.lines import naming_lines
from infograph.cli.model_options import ModelOptions
from infograph.cli.options import (
    READING,
    TRAINING,
    AsJson,
    ColumnOptions,
    Errors,
    ReadingOptions,
    Source,
)
from infograph.cli.output import say_rejected
from infograph.cli.runs import Keeping, learn_labels, train_encoder
from infograph.cli.team_options import TeamOptions


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
    from infograph.contract import check_model_folder
    from infograph.data.rejected import write_rejected
    from infograph.data.storage import check_outputs
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

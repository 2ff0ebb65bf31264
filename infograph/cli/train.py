"""`infograph train`: graphs to a model folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.failures import Interrupted
from infograph.cli.groups import grouped
from infograph.cli.options import (
    TRAINING,
    AsJson,
    ColumnOptions,
    Errors,
    ModelOptions,
    ReadingOptions,
    Source,
)
from infograph.cli.output import err, print_json, say_rejected, show


@grouped
def train(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder that the model is saved to.")],
    model: ModelOptions,
    columns: ColumnOptions,
    reading: ReadingOptions,
    errors: Errors = "raise",
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the state after every epoch there.", rich_help_panel=TRAINING),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from that state.", rich_help_panel=TRAINING)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train an encoder on graphs, without labels, and save it.

    Examples:

    [bold]infograph train MUTAG --out model[/bold]

    [bold]infograph train molecules.csv --smiles SMILES --out model --epochs 50 --checkpoint state[/bold]
    """
    if resume and checkpoint is None:
        raise typer.BadParameter("it needs --checkpoint DIR, the state to go on from", param_hint="--resume")
    from infograph.contract import check_model_folder
    from infograph.train.progress import ProgressReport

    check_model_folder(out)
    graphs = reading.read(source, errors=errors, columns=columns)
    say_rejected(graphs)
    estimator = model.estimator(columns)
    try:
        with ProgressReport(err()) as report:
            estimator.fit(graphs, checkpoint=checkpoint, resume=resume, watchers=[report])
    except KeyboardInterrupt as error:
        raise Interrupted(_how_to_go_on(checkpoint)) from error
    estimator.save(out)
    last = estimator.history_[-1] if estimator.history_ else {}
    if as_json:
        print_json(
            {"model": str(out), "graphs": len(graphs), "dim": estimator.network_.dim, "last_epoch": last}
        )
        return
    loss = f", loss {last['loss']:.4g}" if last else ""
    show(f"{out}: trained on {len(graphs):,} graphs, {len(estimator.history_)} epochs{loss}")


def _how_to_go_on(checkpoint: Path | None) -> str:
    from infograph.train.checkpoint import FILE, read_checkpoint

    if checkpoint is None or not (checkpoint / FILE).is_file():
        return "Interrupted; no state was kept. With --checkpoint DIR a run can be resumed."
    epochs = len(read_checkpoint(checkpoint)[1]["history"])
    again = [word for word in sys.argv[1:] if word != "--resume"]
    return f"Interrupted after epoch {epochs}; go on with: {shlex.join(['infograph', *again, '--resume'])}"

"""The command `infograph` and its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from infograph import __version__
from infograph.cli.apply import embed, predict, store, suggest
from infograph.cli.doctor import doctor
from infograph.cli.judge import compare, datasets, evaluate, history, info
from infograph.cli.look import draw, explore, index, search
from infograph.cli.reproduce import reproduce
from infograph.cli.train import study, train, tune

app = typer.Typer(
    name="infograph",
    help="Whole graphs to vectors, a few labels to predictions: InfoGraph.",
    epilog="Start with: infograph study MUTAG --out runs/mutag",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(reproduce, name="reproduce")
for verb in (study, train, tune, embed, store, predict, suggest, evaluate, compare):
    app.command()(verb)
app.command("map")(draw)
for verb in (index, search, explore, history, info, datasets, doctor):
    app.command()(verb)


@app.callback(invoke_without_command=True)
def infograph(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Whole graphs to vectors, a few labels to predictions: InfoGraph."""
    if version or context.invoked_subcommand is None:
        typer.echo(f"infograph {__version__}" if version else context.get_help())
        raise typer.Exit()

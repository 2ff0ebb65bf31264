"""The command `infograph` and its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from infograph import __version__
from infograph.cli.apply import embed, predict, store
from infograph.cli.judge import compare, datasets, evaluate, history, info
from infograph.cli.look import draw, explore, index, search
from infograph.cli.output import show
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
app.command("study")(study)
app.command("train")(train)
app.command("tune")(tune)
app.command("embed")(embed)
app.command("store")(store)
app.command("predict")(predict)
app.command("evaluate")(evaluate)
app.command("compare")(compare)
app.command("map")(draw)
app.command("index")(index)
app.command("search")(search)
app.command("explore")(explore)
app.command("history")(history)
app.add_typer(reproduce, name="reproduce")
app.command("info")(info)
app.command("datasets")(datasets)


@app.callback(invoke_without_command=True)
def infograph(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Whole graphs to vectors, a few labels to predictions: InfoGraph."""
    if version:
        show(f"infograph {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit()

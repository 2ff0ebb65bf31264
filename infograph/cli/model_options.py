"""The options of an encoder and its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli.options import MODEL, SEEN, TRAINING, ColumnOptions, names

if TYPE_CHECKING:
    from infograph.estimators.infograph import InfoGraph


class Numbers:
    """A number, or several of which the best is searched; what `numbers` gives."""


def numbers(text: str) -> Any:
    """ "0.1" -> 0.1, and "0.1,0.2" -> (0.1, 0.2)."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}, expected a number, or several with commas between") from error
    return found[0] if len(found) == 1 else found


@dataclass(frozen=True)
class ModelOptions:
    """The settings of InfoGraph that were given; the estimator has the defaults and explains each."""

    epochs: Annotated[
        int | None,
        typer.Option(
            help="Passes over the graphs.", rich_help_panel=TRAINING, show_default="20, with --target 50"
        ),
    ] = None
    lr: Annotated[
        Numbers | None,
        typer.Option(
            parser=numbers,
            metavar="NUMBER",
            help="Learning rate.",
            rich_help_panel=TRAINING,
            show_default="0.001",
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(help="Graphs per step.", rich_help_panel=TRAINING, show_default="128, with --target 20"),
    ] = None
    weight_decay: Annotated[
        Numbers | None,
        typer.Option(
            parser=numbers, metavar="NUMBER", help="L2 penalty.", rich_help_panel=TRAINING, show_default="0"
        ),
    ] = None
    max_nodes: Annotated[
        int | None, typer.Option(help="Nodes per step.", rich_help_panel=TRAINING, show_default="200000")
    ] = None
    memory_mb: Annotated[
        float | None, typer.Option(help="Memory for scores.", rich_help_panel=TRAINING, show_default="512")
    ] = None
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda ...", rich_help_panel=TRAINING, show_default="auto")
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of everything random.", rich_help_panel=TRAINING, show_default="0"),
    ] = None
    encoder: Annotated[
        Literal["auto", "gin", "enn-s2s"] | None,
        typer.Option(
            help="enn-s2s sees coordinates and continuous edges.",
            rich_help_panel=MODEL,
            show_default="gin, with --target auto",
        ),
    ] = None
    dim: Annotated[
        int | None,
        typer.Option(
            help="Length of the vectors.", rich_help_panel=MODEL, show_default="512, with --target 128"
        ),
    ] = None
    layers: Annotated[
        int | None,
        typer.Option(help="Layers, or message steps.", rich_help_panel=MODEL, show_default="4, of enn-s2s 3"),
    ] = None
    readout: Annotated[
        Literal["sum", "mean", "max"] | None,
        typer.Option(help="How nodes become a graph.", rich_help_panel=MODEL, show_default="sum"),
    ] = None
    norm: Annotated[
        bool | None,
        typer.Option(
            "--norm/--no-norm", help="BatchNorm after each layer.", rich_help_panel=MODEL, show_default="norm"
        ),
    ] = None
    learn_eps: Annotated[
        bool | None, typer.Option("--learn-eps", help="Learn GIN's eps.", rich_help_panel=MODEL)
    ] = None
    weighting: Annotated[
        Literal["graph", "node"] | None,
        typer.Option(help="What counts equally.", rich_help_panel=MODEL, show_default="graph"),
    ] = None
    bound: Annotated[
        Literal["jsd", "dv", "infonce"] | None,
        typer.Option(help="Bound on mutual information.", rich_help_panel=MODEL, show_default="jsd"),
    ] = None
    discriminator: Annotated[
        Literal["paper", "conditioned"] | None,
        typer.Option(
            help="As published, or better conditioned.", rich_help_panel=MODEL, show_default="paper"
        ),
    ] = None
    prior: Annotated[
        float | None, typer.Option(help="Weight of the prior term.", rich_help_panel=MODEL, show_default="0")
    ] = None
    node_features: Annotated[
        Literal["auto", "constant", "degree"] | None,
        typer.Option(help="The columns, a constant, or degrees.", rich_help_panel=SEEN, show_default="auto"),
    ] = None

    def settings(self, columns: ColumnOptions) -> dict[str, Any]:
        """What was given, by the names that estimators have for it."""
        edge = names(columns.edge_columns)
        given = {
            **{"random_state" if name == "seed" else name: value for name, value in vars(self).items()},
            "node_columns": names(columns.node_columns),
            "edge_columns": edge if edge is None or columns.weight is None else [*edge, columns.weight],
        }
        return {name: value for name, value in given.items() if value is not None}

    def estimator(self, columns: ColumnOptions) -> InfoGraph:
        """An estimator with these settings, not fitted."""
        from infograph.estimators.infograph import InfoGraph

        settings = self.settings(columns)
        several = [name for name, value in settings.items() if isinstance(value, tuple)]
        if several:
            option = f"--{several[0].replace('_', '-')}"
            raise typer.BadParameter("several values are a search, which needs --target", param_hint=option)
        return InfoGraph(**settings)

"""The options that verbs share: where graphs come from, how they are read, what the encoder is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.data.schema import Schema
    from infograph.estimators.infograph import InfoGraph

READING = "Reading the graphs"
SEEN = "What the encoder sees"
MODEL = "The encoder"
TRAINING = "Training"
JUDGING = "Evaluation"

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A file or folder of graphs, or a data set's name.")
]
MaybeSource = Annotated[
    str | None,
    typer.Argument(
        metavar="[SOURCE]", help="The graphs; not needed where a file of vectors holds the column."
    ),
]
Errors = Annotated[
    Literal["raise", "skip"],
    typer.Option(help="At a graph that cannot be used: stop, or leave it out.", rich_help_panel=READING),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")]
Classifiers = Annotated[
    str,
    typer.Option(
        "--classifier",
        metavar="NAME,...",
        help="svm-rbf, svm-linear, logistic, knn; of several, the best on the inner folds.",
        rich_help_panel=JUDGING,
    ),
]
Repeats = Annotated[int, typer.Option(help="Repeats.", rich_help_panel=JUDGING)]
Folds = Annotated[int, typer.Option(help="Folds of each repeat.", rich_help_panel=JUDGING)]
InnerFolds = Annotated[
    int, typer.Option(help="Folds of each training part, where C is chosen.", rich_help_panel=JUDGING)
]
Method = Annotated[Literal["tsne", "pca"], typer.Option(help="tsne keeps neighbourhoods, pca distances.")]


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns the encoder sees."""

    node_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Node columns or attributes; by default those marked as used.",
            rich_help_panel=SEEN,
        ),
    ] = None
    edge_columns: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The same for edges; turns GIN into GINE.", rich_help_panel=SEEN),
    ] = None
    weight: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Edge attribute that multiplies messages.", rich_help_panel=SEEN),
    ] = None


@dataclass(frozen=True)
class ReadingOptions:
    """How the graphs of a source are read; `infograph.data.files.read_graphs` explains each."""

    smiles: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the SMILES.", rich_help_panel=READING)
    ] = None
    id_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of your ids.", rich_help_panel=READING)
    ] = None
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the labels; y by default.", rich_help_panel=READING),
    ] = None
    directed: Annotated[
        bool, typer.Option("--directed", help="Edge lists are directed.", rich_help_panel=READING)
    ] = False
    hydrogens: Annotated[
        bool | None, typer.Option(help="Hydrogens of molecules become nodes.", rich_help_panel=READING)
    ] = None
    stereo: Annotated[
        bool | None, typer.Option(help="Stereochemistry of molecules is seen.", rich_help_panel=READING)
    ] = None
    salts: Annotated[
        Literal["keep", "strip"] | None,
        typer.Option(help="Keep counter-ions and solvents of molecules, or not.", rich_help_panel=READING),
    ] = None
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=UNIT",
            help="A column's unit, if its header does not end in it; repeatable.",
            rich_help_panel=READING,
        ),
    ] = None

    def read(
        self,
        source: str,
        *,
        errors: Literal["raise", "skip"] = "raise",
        schema: Schema | None = None,
        columns: ColumnOptions | None = None,
    ) -> GraphSet:
        """The graphs of a source.

        Raises:
            SchemaMismatch: there is no such label.
        """
        from infograph.data.files import read_graphs

        columns = columns or ColumnOptions()
        return read_graphs(
            source,
            errors=errors,
            schema=schema,
            smiles=self.smiles,
            id=self.id_column,
            label=self.label,
            node=names(columns.node_columns),
            edge=names(columns.edge_columns),
            weight=columns.weight,
            directed=self.directed,
            hydrogens=self.hydrogens,
            stereo=self.stereo,
            salts=self.salts,
            units=dict(map(_unit, self.unit or ())),
        )


@dataclass(frozen=True)
class ModelOptions:
    """The settings of InfoGraph; its docstring explains each."""

    epochs: Annotated[int, typer.Option(help="Passes over the graphs.", rich_help_panel=TRAINING)] = 20
    lr: Annotated[float, typer.Option(help="Learning rate.", rich_help_panel=TRAINING)] = 1e-3
    batch_size: Annotated[int, typer.Option(help="Graphs per step.", rich_help_panel=TRAINING)] = 128
    weight_decay: Annotated[float, typer.Option(help="L2 penalty.", rich_help_panel=TRAINING)] = 0.0
    max_nodes: Annotated[int, typer.Option(help="Nodes per step.", rich_help_panel=TRAINING)] = 200_000
    memory_mb: Annotated[float, typer.Option(help="Memory for scores.", rich_help_panel=TRAINING)] = 512.0
    device: Annotated[str, typer.Option(help="auto, cpu, cuda ...", rich_help_panel=TRAINING)] = "auto"
    seed: Annotated[int, typer.Option(help="Seed of everything random.", rich_help_panel=TRAINING)] = 0
    dim: Annotated[int, typer.Option(help="Length of the vectors.", rich_help_panel=MODEL)] = 512
    layers: Annotated[int, typer.Option(help="GIN layers.", rich_help_panel=MODEL)] = 4
    readout: Annotated[
        Literal["sum", "mean", "max"], typer.Option(help="How nodes become a graph.", rich_help_panel=MODEL)
    ] = "sum"
    norm: Annotated[bool, typer.Option(help="BatchNorm after each layer.", rich_help_panel=MODEL)] = True
    learn_eps: Annotated[
        bool, typer.Option("--learn-eps", help="Learn GIN's eps.", rich_help_panel=MODEL)
    ] = False
    weighting: Annotated[
        Literal["graph", "node"], typer.Option(help="What counts equally.", rich_help_panel=MODEL)
    ] = "graph"
    bound: Annotated[
        Literal["jsd", "dv", "infonce"],
        typer.Option(help="Bound on mutual information.", rich_help_panel=MODEL),
    ] = "jsd"
    discriminator: Annotated[
        Literal["paper", "conditioned"],
        typer.Option(help="As published, or better conditioned.", rich_help_panel=MODEL),
    ] = "paper"
    prior: Annotated[float, typer.Option(help="Weight of the prior term.", rich_help_panel=MODEL)] = 0.0
    node_features: Annotated[
        Literal["auto", "constant", "degree"],
        typer.Option(help="The columns, a constant, or degrees.", rich_help_panel=SEEN),
    ] = "auto"

    def estimator(self, columns: ColumnOptions) -> InfoGraph:
        """An estimator with these settings, not fitted."""
        from infograph.estimators.infograph import InfoGraph

        edge = names(columns.edge_columns)
        settings = {name: value for name, value in vars(self).items() if name != "seed"}
        return InfoGraph(
            **settings,
            random_state=self.seed,
            node_columns=names(columns.node_columns),
            edge_columns=edge if edge is None or columns.weight is None else [*edge, columns.weight],
        )


def _unit(text: str) -> tuple[str, str]:
    name, equals, unit = (part.strip() for part in text.rpartition("="))
    if not (name and equals and unit):
        raise typer.BadParameter(f"{text!r}, expected COLUMN=UNIT such as logS=mol/L", param_hint="--unit")
    return name, unit


def names(text: str | None) -> list[str] | None:
    """ "a, b" -> ["a", "b"]; nothing given is None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def source_name(source: str) -> str:
    """What to call the graphs: a data set as its makers spell it, a file by its name."""
    from infograph.data.sets.catalogue import entry_for

    path = Path(source)
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return path.name or str(path.resolve().name)
    return entry_for(source).name

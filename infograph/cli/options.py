"""The options that verbs share: where graphs come from, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from infograph.data.formats.reading import ReadOptions
    from infograph.data.graphset import GraphSet
    from infograph.data.schema import Schema

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
Method = Annotated[
    Literal["umap", "tsne", "pca"],
    typer.Option(help="umap and tsne keep neighbourhoods, pca distances."),
]
MapMethod = Annotated[
    Literal["umap", "tsne", "pca"] | None,
    typer.Option(
        help="umap and tsne keep neighbourhoods, pca distances.",
        show_default="tsne for a picture, else umap where it is installed",
    ),
]


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

    units: Annotated[
        Literal["hartree", "eV", "kcal/mol", "kJ/mol"] | None,
        typer.Option(help="Energies in this unit.", rich_help_panel=READING),
    ] = None
    atomisation: Annotated[
        bool,
        typer.Option("--atomisation", help="U0, U, H, G of QM9 without free atoms.", rich_help_panel=READING),
    ] = False

    def of_shards(self) -> ReadOptions:
        """How many files are read, whose columns are kept as they are.

        Raises:
            InvalidParameter: an option that says what columns hold.
        """
        from infograph.data.formats.reading import ReadOptions
        from infograph.errors import InvalidParameter

        if self.label or self.unit or self.units or self.atomisation:
            raise InvalidParameter(
                "--label, --unit, --units and --atomisation are not for many files, whose columns are kept "
                "as they are: name them in --columns"
            )
        return ReadOptions(
            smiles=self.smiles,
            id=self.id_column,
            directed=self.directed,
            hydrogens=self.hydrogens,
            stereo=self.stereo,
            salts=self.salts,
        )

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
        from infograph.cli.progress import Reading
        from infograph.data.files import read_graphs

        columns = columns or ColumnOptions()
        with Reading(source) as bar:
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
                energies=self.units,
                atomisation=self.atomisation,
                download=True,
                progress=bar,
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
    from infograph.errors import UnknownDataset

    path = Path(source)
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return path.name or str(path.resolve().name)
    try:
        return entry_for(source).name
    except UnknownDataset:  # a SMILES
        return source

"""The options that verbs share: where graphs come from, and how they are read."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from infograph.data.graphset import GraphSet
    from infograph.data.labels import Task
    from infograph.data.read import ReadOptions
    from infograph.data.schema import Schema
    from infograph.estimators.infograph import InfoGraph
    from infograph.estimators.labelled import SemiSupervised
    from infograph.learn.parts import Parts

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
LABELS = "Learning from labels"
HELD_OUT = "0.1, at most 10000"
OBJECTIVES = Literal[
    "infograph-star",
    "infograph*",
    "infograph",
    "mean-teacher",
    "supervised",
    "pi-model",
    "vat",
    "pseudo-label",
    "entropy",
]
FOR_CLASSES = ("pseudo-label", "entropy")
WORKERS = "Several workers, many graphs"
WHERE = "local, ray, or the address of a Ray cluster: ray://host:port."
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MEGABYTES = {"M": 1, "G": 1024, "T": 1024**2}


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
    """How the graphs of a source are read; `infograph.data.read.read_graphs` explains each."""

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
        from infograph.data.read import ReadOptions
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
        from infograph.data.read import read_graphs
        from infograph.progress import Reading

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
    from infograph.data.datasets import entry_for
    from infograph.errors import UnknownDataset

    path = Path(source)
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return path.name or str(path.resolve().name)
    try:
        return entry_for(source).name
    except UnknownDataset:  # a SMILES
        return source


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
        from infograph.parameters import changed

        settings = self.settings(columns)
        several = [name for name, value in settings.items() if isinstance(value, tuple)]
        if several:
            option = f"--{several[0].replace('_', '-')}"
            raise typer.BadParameter("several values are a search, which needs --target", param_hint=option)
        return changed(InfoGraph(), settings)


@dataclass(frozen=True)
class LabelOptions:
    """What is learned from which labels; the estimators have the defaults and explain each."""

    target: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Columns to predict; empty is unlabelled.", rich_help_panel=LABELS),
    ] = None
    task: Annotated[
        Literal["regression", "classification"] | None,
        typer.Option(help="What they hold.", rich_help_panel=LABELS, show_default="by the column"),
    ] = None
    objective: Annotated[
        OBJECTIVES | None,
        typer.Option(
            metavar="NAME",
            help="infograph-star, infograph, mean-teacher, supervised, pi-model, vat; for classes "
            "pseudo-label, entropy.",
            rich_help_panel=LABELS,
            show_default="infograph-star",
        ),
    ] = None
    lam: Annotated[
        Numbers | None,
        typer.Option(
            parser=numbers,
            metavar="NUMBER",
            help="Weight of InfoGraph's term; 1e-3,1e-4 tries both, as do --weight-decay and --lr.",
            rich_help_panel=LABELS,
            show_default="0.001",
        ),
    ] = None
    labelled: Annotated[
        int | None,
        typer.Option(help="Use only so many labels.", rich_help_panel=LABELS, show_default="all"),
    ] = None
    unlabelled: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="A value that means unlabelled.", rich_help_panel=LABELS),
    ] = None
    validation: Annotated[
        float | None,
        typer.Option(
            help="Share or count held out to choose by.", rich_help_panel=LABELS, show_default=HELD_OUT
        ),
    ] = None
    test: Annotated[
        float | None,
        typer.Option(
            help="Share or count held out to test on.", rich_help_panel=LABELS, show_default=HELD_OUT
        ),
    ] = None
    split: Annotated[
        Literal["random", "scaffold"] | None,
        typer.Option(help="How they are drawn.", rich_help_panel=LABELS, show_default="random"),
    ] = None
    validate_on: Annotated[
        int | None,
        typer.Option(help="So many choose the epoch; all judge.", rich_help_panel=LABELS, show_default="all"),
    ] = None
    early_stopping: Annotated[
        int | None,
        typer.Option(help="Epochs without improvement.", rich_help_panel=LABELS, show_default="50"),
    ] = None
    n_models: Annotated[
        int | None,
        typer.Option(help="Networks of an ensemble.", rich_help_panel=LABELS, show_default="1"),
    ] = None
    init_from: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Start from its encoder.", rich_help_panel=LABELS),
    ] = None
    transfer: Annotated[
        Literal["random", "all", "last"] | None,
        typer.Option(help="Layers of InfoGraph*'s term.", rich_help_panel=LABELS, show_default="random"),
    ] = None
    duplicates: Annotated[
        Literal["mean", "median", "first", "drop", "keep"] | None,
        typer.Option(help="Molecules that stand there twice.", rich_help_panel=LABELS),
    ] = None
    references: Annotated[
        Literal["none", "usual", "all"] | None,
        typer.Option(
            help="Methods to compare with; all adds fingerprints.",
            rich_help_panel=LABELS,
            show_default="usual",
        ),
    ] = None

    @property
    def targets(self) -> list[str]:
        """The columns to predict."""
        found = names(self.target) or []
        if not found:
            raise typer.BadParameter(f"{self.target!r} names no column to predict", param_hint="--target")
        return found

    @property
    def mark(self) -> str | int | float | None:
        """The value that means unlabelled: a number where it is spelled like one."""
        return None if self.unlabelled is None else parse_value(self.unlabelled)

    def check_alone(self) -> None:
        """Refuse options that say nothing without --target, and a --target that says nothing."""
        if self.target is not None:
            _ = self.targets
        given = [name for name, value in vars(self).items() if value is not None]
        if given and self.target is None:
            option = f"--{given[0].replace('_', '-')}"
            raise typer.BadParameter("it needs --target, the column to predict", param_hint=option)

    def donor_schema(self) -> Schema | None:
        """What graphs must look like for the encoder that is the start."""
        if self.init_from is None:
            return None
        from infograph.estimators.base import load

        schema: Schema = load(self.init_from).schema_
        return schema

    def parts(self, graphs: GraphSet, seed: int) -> Parts:
        """The graphs, divided, once `prepare` has made unlabelled what is."""
        from infograph.learn.parts import make_parts

        return make_parts(
            graphs,
            self.targets,
            task=self.task,
            labelled=self.labelled,
            validation=self.validation,
            test=self.test,
            how=self.split or "random",
            seed=seed,
        )

    def estimator(
        self, task: Task, model: ModelOptions, columns: ColumnOptions
    ) -> tuple[SemiSupervised, dict[str, tuple[float, ...]]]:
        """An estimator with what was given, not fitted, and the settings to search."""
        from infograph.estimators.labelled import InfoGraphClassifier, InfoGraphRegressor
        from infograph.parameters import changed

        own = ("lam", "early_stopping", "n_models", "transfer", "init_from", "objective")
        given: dict[str, Any] = {**model.settings(columns), **{name: getattr(self, name) for name in own}}
        given["objective"] = "infograph*" if self.objective == "infograph-star" else self.objective
        given["init_from"] = None if self.init_from is None else str(self.init_from)
        given["unlabelled"] = self.mark
        settings = {name: value for name, value in given.items() if value is not None}
        if task == "regression" and self.objective in FOR_CLASSES:
            raise typer.BadParameter(
                f"{self.objective} is for classes, and the target holds numbers; use another objective, or "
                f"--task classification where whole numbers are classes",
                param_hint="--objective",
            )
        kind = InfoGraphRegressor if task == "regression" else InfoGraphClassifier
        grid = {name: value for name, value in settings.items() if isinstance(value, tuple)}
        made = changed(kind(), {name: value for name, value in settings.items() if name not in grid})
        for name, values in grid.items():
            changed(made, {name: values[0]})  # refuses what its objective does not have
        return made, grid


@dataclass(frozen=True)
class TeamOptions:
    """Who trains."""

    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Processes of one core each that share every batch; 1 trains here, with all cores.",
            rich_help_panel=WORKERS,
        ),
    ] = 1
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE, rich_help_panel=WORKERS)] = "local"

    def refuse(self) -> None:
        """Say what the options are for, where a model is to learn labels."""
        if self != TeamOptions():
            raise typer.BadParameter(
                "--workers and --on are for training without labels: leave out "
                "--target, and start from the encoder with --init-from"
            )

    def given(self) -> dict[str, Any]:
        """The options by name, as `InfoGraph.fit` takes them."""
        return asdict(self)


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter of `verb` that is a dataclass by the fields of that dataclass.

    A verb `def train(source: Source, reading: ReadingOptions)` becomes a function of `source` and of each
    option in `ReadingOptions`, which Typer turns into a command; called, it puts the dataclasses together
    again.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
            for field in dataclasses.fields(groups[name])
        ]

    @functools.wraps(verb)
    def flat(**given: Any) -> None:
        for name, group in groups.items():
            own = {field.name: given.pop(field.name) for field in dataclasses.fields(group)}
            given[name] = group(**own)
        verb(**given)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def parse_duration(text: str) -> float:
    """ "90s", "30m", "2h" or "1d" in seconds; a number alone counts minutes."""
    return _parse(text, SECONDS, "m", "a time such as 90s, 30m or 2h")


def parse_size(text: str) -> float:
    """ "500M" or "8G" in megabytes; a number alone counts megabytes."""
    return _parse(text, MEGABYTES, "M", "a size such as 500M or 8G")


def parse_value(text: str) -> str | int | float:
    """ "-999" and "-999.0" -> -999, "-99.5" -> -99.5, and "?" is itself, as is "nan"."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() else number


def _parse(text: str, units: dict[str, int], usual: str, expected: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]?)[Bb]?\s*", text)
    unit = (found[2] or usual) if found else ""
    known = {name.casefold(): factor for name, factor in units.items()}
    if not found or unit.casefold() not in known or not float(found[1]):
        raise typer.BadParameter(f"{text!r} is not {expected}")
    return float(found[1]) * known[unit.casefold()]

"""The options that verbs share, a line each, and what makes a command of a function.

Those of the model are None where they are not given: the estimators have the defaults, and what help says of
them is compared with the estimators by a test.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

import infograph
from infograph.cli.output import Output, flag, say_rejected, show
from infograph.errors import InvalidGraph
from infograph.progress import Report

if TYPE_CHECKING:
    from infograph.data.labels import Task
    from infograph.data.read import ReadOptions
    from infograph.estimators.labelled import SemiSupervised
    from infograph.learn.parts import Parts


def option(help: str, *words: str, panel: str | None = None, **more: Any) -> Any:
    """An option: --names where they are special, CAPITALS for its value, other words for its default."""
    names = [word for word in words if word.startswith("-")]
    metavar = next((word for word in words if word.isupper() and word not in names), None)
    default = next((word for word in words if word not in (*names, metavar)), True)
    return typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel=panel, show_default=default, **more
    )


def numbers(text: str) -> Any:
    """A number, or several of which the best is searched: "0.1" -> 0.1, and "0.1,0.2" -> (0.1, 0.2)."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r}, expected a number, or several: 0.001,0.0001") from None
    return found[0] if len(found) == 1 else found


def epochs_of(text: str) -> Any:
    """ "20" -> 20, and "auto" as it is."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r}, expected a number, or auto") from None


reads = partial(option, panel="Reading the graphs")
seen = partial(option, panel="What the encoder sees")
encodes = partial(option, panel="The encoder")
trains = partial(option, panel="Training")
judges = partial(option, panel="Evaluation")
learns = partial(option, panel="Learning from labels")
shares = partial(option, panel="Several workers, many graphs")

WHERE = "local, ray, or the address of a Ray cluster: ray://host:port."
HELD_OUT = "0.1, at most 10000"
NEIGHBOURS = "umap and tsne keep neighbourhoods, pca distances."
SOURCE = "A file or folder of graphs, or a data set's name."
MAYBE_SOURCE = "The graphs; not needed where a file of vectors holds the column."
CLASSIFIERS = "svm-rbf, svm-linear, logistic, ridge, ridge-rbf, forest, knn; of several, the best inside."
LAM = "Weight of InfoGraph's term; 1e-3,1e-4 tries both, as do --weight-decay and --lr."
OBJECTIVES = (
    "auto, vectors, infograph-star, infograph, mean-teacher, supervised, pi-model, vat; for classes "
    "pseudo-label, entropy."
)

Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE)]
MaybeSource = Annotated[str | None, typer.Argument(metavar="[SOURCE]", help=MAYBE_SOURCE)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
Errors = Annotated[Literal["raise", "skip"], reads("At a graph that cannot be used: stop, or leave it out.")]
AsJson = Annotated[bool, option("Print JSON, and nothing else, to standard output.", "--json")]
Classifiers = Annotated[str, judges(CLASSIFIERS, "--classifier", "NAME,...")]
FirstSeed = Annotated[int, judges("Seed of the first repeat.")]
Method = Literal["umap", "tsne", "pca"]
Encoder = Literal["auto", "gin", "enn-s2s"]
NodeFeatures = Literal["auto", "constant", "degree"]
Bound = Literal["jsd", "dv", "infonce"]
Discriminator = Literal["paper", "conditioned"]
Readout = Literal["log", "sum", "mean", "max"]
Kind = Literal["regression", "classification"]
Layers = Literal["random", "all", "last"]
References = Literal["none", "usual", "all"]
Energy = Literal["hartree", "eV", "kcal/mol", "kJ/mol"]
Duplicates = Literal["mean", "median", "first", "drop", "keep"]
Star = Literal["infograph-star", "infograph*"]  # the second has to be quoted in a shell
Others = Literal["infograph", "mean-teacher", "supervised", "pi-model", "vat", "pseudo-label", "entropy"]
Objective = Literal["auto", "vectors", Star, Others]


@dataclass(frozen=True)
class JudgeOptions:
    """The cross-validation."""

    repeats: Annotated[int, judges("Repeats.")] = 5
    folds: Annotated[int, judges("Folds of each repeat.")] = 10
    inner_folds: Annotated[int, judges("Folds of each training part, where C is chosen.")] = 5

    def __str__(self) -> str:
        return f"{self.folds} folds, {self.repeats} repeats; ± over repeats."


USUAL = JudgeOptions()


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns the encoder sees."""

    node_columns: Annotated[str | None, seen("Node columns; by default those marked as used.", "A,B")] = None
    edge_columns: Annotated[str | None, seen("The same for edges; makes GIN GINE.", "A,B")] = None
    weight: Annotated[str | None, seen("Edge attribute that multiplies messages.", "NAME")] = None


@dataclass(frozen=True)
class ReadingOptions:
    """How the graphs of a source are read; `infograph.read_graphs` explains each."""

    smiles: Annotated[str | None, reads("Column of the SMILES.", "COLUMN")] = None
    id_column: Annotated[str | None, reads("Column of your ids.", "COLUMN")] = None
    label: Annotated[str | None, reads("Column of the labels; y by default.", "COLUMN")] = None
    nodes: Annotated[str | None, reads("Nodes of a table of edges.", "FILE")] = None
    directed: Annotated[bool, reads("Edge lists are directed.", "--directed")] = False
    hydrogens: Annotated[bool | None, reads("Hydrogens of molecules become nodes.")] = None
    stereo: Annotated[bool | None, reads("Stereochemistry of molecules is seen.")] = None
    salts: Annotated[Literal["keep", "strip"] | None, reads("Keep counter-ions and solvents, or not.")] = None
    unit: Annotated[list[str] | None, reads("Unit of a column; repeatable.", "COLUMN=UNIT")] = None
    units: Annotated[Energy | None, reads("Energies in this unit.")] = None
    atomisation: Annotated[bool, reads("U0, U, H, G of QM9 without free atoms.", "--atomisation")] = False

    def _of_files(self) -> dict[str, Any]:
        same = ("smiles", "nodes", "directed", "hydrogens", "stereo", "salts")
        return {"id": self.id_column, **{name: getattr(self, name) for name in same}}

    def of_shards(self) -> ReadOptions:
        """How many files are read, whose columns are kept as they are."""
        from infograph.data.read import ReadOptions

        if self.label or self.unit or self.units or self.atomisation or self.nodes:
            raise typer.BadParameter(
                "--label, --unit, --units, --nodes and --atomisation are not for many files, whose columns "
                "are kept as they are: name them in --columns"
            )
        return ReadOptions(**self._of_files())

    def read(
        self,
        source: str,
        *,
        errors: Literal["raise", "skip", "nan"] | None = "raise",
        schema: infograph.Schema | None = None,
        columns: ColumnOptions | None = None,
    ) -> infograph.GraphSet:
        """The graphs of a source; what was left out is said."""
        columns = columns or ColumnOptions()
        with Report() as report, _hint(errors == "raise"):
            graphs = infograph.read_graphs(
                source,
                errors="raise" if errors in (None, "raise") else "skip",
                schema=schema,
                label=self.label,
                node=names(columns.node_columns),
                edge=names(columns.edge_columns),
                weight=columns.weight,
                units=dict(map(_unit, self.unit or ())),
                energies=self.units,
                atomisation=self.atomisation,
                download=True,
                progress=report.count(f"reading {source}"),
                **self._of_files(),
            )
        say_rejected(graphs)
        return graphs

    def reader(self, source: str | None) -> Callable[[infograph.Schema | None], infograph.GraphSet] | None:
        """What reads the source, once it is known how."""
        return None if source is None else lambda schema: self.read(source, errors=None, schema=schema)


@contextmanager
def _hint(useful: bool) -> Iterator[None]:
    """Let a bad graph say how to do without it only where there is a way."""
    from infograph.data.read import SKIP

    try:
        yield
    except InvalidGraph as bad:
        if useful:
            raise
        problem = bad.problem.removesuffix(SKIP)
        raise InvalidGraph(problem, index=bad.index, graph_id=bad.graph_id) from None


def _unit(text: str) -> tuple[str, str]:
    name, equals, unit = (part.strip() for part in text.rpartition("="))
    if not (name and equals and unit):
        raise refused(f"{text!r}, expected COLUMN=UNIT such as logS=mol/L", "unit")
    return name, unit


@dataclass(frozen=True)
class ModelOptions:
    """The encoder and its training."""

    paper: Annotated[bool, trains("The paper's settings, but for those given.", "--paper")] = False
    epochs: Annotated[
        Any, trains("Passes, or auto.", "NUMBER", "auto, with --target 30", parser=epochs_of)
    ] = None
    lr: Annotated[Any, trains("Learning rate.", "NUMBER", "0.001", parser=numbers)] = None
    batch_size: Annotated[int | None, trains("Graphs per step.", "128, with --target auto")] = None
    weight_decay: Annotated[Any, trains("L2 penalty.", "NUMBER", "0", parser=numbers)] = None
    memory_mb: Annotated[float | None, trains("Memory for scores.", "512")] = None
    device: Annotated[str | None, trains("auto, cpu, cuda ...", "auto")] = None
    seed: Annotated[int | None, trains("Seed of everything random.", "0")] = None
    init_from: Annotated[Path | None, trains("Start from its encoder, or from none.", "MODEL")] = None
    encoder: Annotated[Encoder | None, encodes("enn-s2s sees coordinates.", "gin, with --target auto")] = None
    dim: Annotated[int | None, encodes("Length of the vectors.", "512, with --target 128")] = None
    layers: Annotated[int | None, encodes("Layers, or message steps.", "4, of enn-s2s 3")] = None
    readout: Annotated[Readout | None, encodes("From nodes to graphs.", "log, with --target sum")] = None
    norm: Annotated[bool | None, encodes("BatchNorm after each layer.", "--norm/--no-norm", "norm")] = None
    learn_eps: Annotated[bool | None, encodes("Learn GIN's eps.", "--learn-eps")] = None
    weighting: Annotated[Literal["graph", "node"] | None, encodes("What counts equally.", "graph")] = None
    bound: Annotated[Bound | None, encodes("On information.", "infonce, with --target jsd")] = None
    discriminator: Annotated[
        Discriminator | None, encodes("Its conditioning.", "conditioned, with --target paper")
    ] = None
    prior: Annotated[float | None, encodes("Weight of the prior term.", "0")] = None
    node_features: Annotated[NodeFeatures | None, seen("The columns, a constant, or degrees.", "auto")] = None

    def settings(self, columns: ColumnOptions) -> dict[str, Any]:
        """What was given, by the names that estimators have for it."""
        own = [name for name in vars(self) if name not in ("paper", "init_from")]
        edge = names(columns.edge_columns)
        given = {
            **{"random_state" if name == "seed" else name: getattr(self, name) for name in own},
            "node_columns": names(columns.node_columns),
            "edge_columns": edge if edge is None or columns.weight is None else [*edge, columns.weight],
        }
        start = {} if self.init_from is None else {"init_from": self.start}
        return {name: value for name, value in given.items() if value is not None} | start

    @property
    def start(self) -> str | None:
        """The model whose encoder is the start, where one is asked for."""
        return None if self.init_from is None or str(self.init_from) == "none" else str(self.init_from)

    def estimator(self, columns: ColumnOptions) -> infograph.InfoGraph:
        """An estimator with these settings, not fitted."""
        from infograph.parameters import changed

        settings = self.settings(columns)
        for name, value in settings.items():
            if isinstance(value, tuple):
                raise refused("several values are a search, which needs --target", name)
        return changed(infograph.InfoGraph.paper() if self.paper else infograph.InfoGraph(), settings)


@dataclass(frozen=True)
class LabelOptions:
    """What is learned from which labels."""

    target: Annotated[str | None, learns("Columns to predict, or all; empty is unlabelled.", "A,B")] = None
    task: Annotated[Kind | None, learns("What they hold.", "by the column")] = None
    objective: Annotated[Objective | None, learns(OBJECTIVES, "NAME", "auto")] = None
    lam: Annotated[Any, learns(LAM, "NUMBER", "0.001", parser=numbers)] = None
    labelled: Annotated[int | None, learns("Use only so many labels.", "all")] = None
    unlabelled: Annotated[str | None, learns("A value that means unlabelled.", "VALUE")] = None
    validation: Annotated[float | None, learns("Share or count to choose by.", HELD_OUT)] = None
    test: Annotated[float | None, learns("Share or count to test on.", HELD_OUT)] = None
    split: Annotated[Literal["random", "scaffold"] | None, learns("How they are drawn.", "random")] = None
    validate_on: Annotated[int | None, learns("So many choose the epoch; all judge.", "all")] = None
    early_stopping: Annotated[int | None, learns("Epochs without improvement.", "50")] = None
    n_models: Annotated[int | None, learns("Networks of an ensemble.", "1")] = None
    n_splits: Annotated[int | None, learns("Draws of labels by which auto chooses.", "1")] = None
    transfer: Annotated[Layers | None, learns("Layers of InfoGraph*'s term.", "random")] = None
    duplicates: Annotated[Duplicates | None, learns("Molecules that stand there twice.")] = None
    references: Annotated[References | None, learns("To compare with; all: whatever it takes.", "usual")] = (
        None
    )

    def check(self) -> None:
        """Refuse options that say nothing without --target, and a --target that says nothing."""
        if self.target is not None and not names(self.target):
            raise refused(f"{self.target!r} names no column to predict", "target")
        for name, value in vars(self).items():
            if self.target is None and value is not None:
                raise refused("it needs --target, the column to predict", name)

    def donor_schema(self, model: ModelOptions) -> infograph.Schema | None:
        """What graphs with labels must look like for the encoder that is the start."""
        return None if self.target is None or model.start is None else infograph.load(model.start).schema_

    def parts(self, graphs: infograph.GraphSet, seed: int) -> tuple[Parts, list[str]]:
        """The graphs, cleaned and divided, and what a reader must know of the cleaning."""
        from infograph.data.cleaning import prepare
        from infograph.learn.parts import make_parts

        targets = names(self.target) or []
        if targets == ["all"]:
            targets = [column.name for column in graphs.schema.graph if column.kind != "text"]
            if not targets:
                raise refused("the graphs have no column of numbers or classes", "target")
        graphs, notes = prepare(
            graphs, targets, duplicates=self.duplicates, task=self.task, unlabelled=self.unlabelled
        )
        parts = make_parts(
            graphs,
            targets,
            task=self.task,
            labelled=self.labelled,
            validation=self.validation,
            test=self.test,
            how=self.split or "random",
            seed=seed,
        )
        return parts, list(notes)

    def estimator(
        self, task: Task, model: ModelOptions, columns: ColumnOptions
    ) -> tuple[SemiSupervised, dict[str, tuple[float, ...]]]:
        """An estimator with what was given, not fitted, and the settings to search."""
        from infograph.parameters import changed, check_parameters

        if task == "regression" and self.objective in ("pseudo-label", "entropy"):
            raise refused(
                f"{self.objective} is for classes, and the target holds numbers; use another objective, or "
                f"--task classification where whole numbers are classes",
                "objective",
            )
        own = ("lam", "early_stopping", "n_models", "n_splits", "transfer", "unlabelled")
        given: dict[str, Any] = {**model.settings(columns), **{name: getattr(self, name) for name in own}}
        given["objective"] = "infograph*" if self.objective == "infograph-star" else self.objective
        settings = {name: value for name, value in given.items() if value is not None}
        grid = {name: value for name, value in settings.items() if isinstance(value, tuple)}
        classes = task == "classification"
        cls: Any = infograph.InfoGraphClassifier if classes else infograph.InfoGraphRegressor
        usual = cls.paper() if model.paper else cls()
        made = changed(usual, {name: value for name, value in settings.items() if name not in grid})
        for name, values in grid.items():
            for value in values:  # before the first of them is trained
                check_parameters(changed(made, {name: value}))
        return made, grid


@dataclass(frozen=True)
class TeamOptions:
    """Who trains without labels."""

    workers: Annotated[int, shares("Processes of one core that share every batch.", "N", min=1)] = 1
    on: Annotated[str, shares(WHERE, "WHERE")] = "local"


def refused(problem: str, name: str) -> typer.BadParameter:
    """What to raise about an option, by the name of its field."""
    return typer.BadParameter(problem, param_hint=flag(name))


def verb(function: Callable[..., Output | None]) -> Callable[..., None]:
    """Make of a function what Typer makes a command of.

    Each parameter that is a dataclass of options is replaced by its fields. A function that returns a result
    gets the option --json, and the result is printed. Indented lines of the docstring are examples.
    """
    hints = get_type_hints(function, include_extras=True)
    prints = hints.pop("return") is not type(None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    option = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            for field in dataclasses.fields(groups[name]):
                options.append(option(field.name, default=field.default, annotation=types[field.name]))
        else:
            options.append(option(name, default=parameter.default, annotation=hints[name]))
    if prints:
        options.append(option("as_json", default=False, annotation=AsJson))

    @functools.wraps(function)
    def flat(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        as_json = prints and given.pop("as_json")
        result = function(**given)
        if result is not None:
            show(as_json, *result)

    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in options}
    joined = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.getdoc(function) or "")  # the terminal breaks lines
    flat.__doc__ = re.sub(r"\n +(infograph .*)", r"\n\n[bold]\1[/bold]", joined)
    return flat


def names(text: str | None) -> list[str] | None:
    """'a, "b, c"' -> ["a", "b, c"]; nothing given is None."""
    if text is None:
        return None
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in cells if name.strip()]


def used(schema: infograph.Schema) -> str:
    """Which columns an encoder sees, for the end of a line."""
    seen = {level: [c.name for c in schema.features(level)] for level in ("node", "edge")}
    seen["weight"] = [schema.weight.name] if schema.weight else []
    found = "; ".join(f"{level} {', '.join(names)}" for level, names in seen.items() if names)
    return f"; used: {found}" if found else ""


def columns_of(graphs: infograph.GraphSet, text: str) -> list[str]:
    """Graph columns as typed: "all", or their names."""
    return [column.name for column in graphs.schema.graph] if text == "all" else names(text) or []


def source_name(source: str) -> str:
    """What to call the graphs: a data set as its makers spell it, a file by its name."""
    from infograph.data.datasets import entry_for

    path = Path(source)
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return path.resolve().name
    return entry_for(source).name


TIME = {"": 60, "s": 1, "m": 60, "h": 3600, "d": 86400}  # to seconds; a number alone counts minutes
SIZE = {"": 1, "m": 1, "g": 1024, "t": 1024**2}  # to megabytes


def seconds(text: str) -> float:
    """ "90s", "30m" or "2h" in seconds."""
    return quantity(text, TIME, "a time such as 90s, 30m or 2h")


def quantity(text: str, units: dict[str, int], expected: str) -> float:
    """ "90s" or "8G" as a number of the least unit."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]?)b?\s*", text.lower())
    if not found or found[2] not in units or not float(found[1]):
        raise typer.BadParameter(f"{text!r} is not {expected}")
    return float(found[1]) * units[found[2]]

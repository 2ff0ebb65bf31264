"""The options of learning from labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from infograph.cli.model_options import ModelOptions, Numbers, numbers
from infograph.cli.options import ColumnOptions, names
from infograph.cli.quantities import parse_value

if TYPE_CHECKING:
    from infograph.contract import Task
    from infograph.data.graphset import GraphSet
    from infograph.data.schema import Schema
    from infograph.estimators.semi import SemiSupervised
    from infograph.learn.parts import Parts

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
        from infograph.contract import load

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
        from infograph.estimators.classifier import InfoGraphClassifier
        from infograph.estimators.regressor import InfoGraphRegressor

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
        strange = [name for name in settings if name not in kind._get_param_names()]
        if strange:
            option = f"--{strange[0].replace('_', '-')}"
            raise typer.BadParameter("it is for training without --target", param_hint=option)
        grid = {name: value for name, value in settings.items() if isinstance(value, tuple)}
        return kind(**{name: value for name, value in settings.items() if name not in grid}), grid

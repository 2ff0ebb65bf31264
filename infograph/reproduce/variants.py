"""What else could a method be on these data sets: one thing changed at a time, in a table of its own.

Variants were thought of after the grid of Table 1 was fixed: their figures stand beside it and never in it.
Each changes one setting of Table 1, its base, and stands beside that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infograph.contract import GraphTransformer
from infograph.evaluate import Evaluation
from infograph.reproduce.cells import Cell, Result, parameters_of
from infograph.reproduce.methods import METHODS
from infograph.reproduce.table1 import FOLDS, INNER_FOLDS, REPEATS, SMALL, collect, judged, table1_cell
from infograph.train.loop import Watcher

BASES = {"infograph": "layers=4 lr=0.001", "gk": "size=4 normalise=True"}  # method -> a setting of Table 1
UNLABELLED = ("IMDB-BINARY", "IMDB-MULTI")  # no node labels


@dataclass(frozen=True)
class Variant:
    """One change.

    Attributes:
        name: on the command line and in file names.
        title: in words.
        parameters: of the estimator, that differ.
        judging: of `cross_validate`, that differ; JSON-ready.
        data: the data sets where it makes a difference.
        epochs: where the training run is looked at; None where Table 1 does.
        method: what is changed, with the setting BASES has for it.
    """

    name: str
    title: str
    parameters: dict[str, Any] = field(default_factory=dict)
    judging: dict[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = SMALL
    epochs: tuple[int, ...] | None = None
    method: str = "infograph"

    def make(self, seed: int) -> GraphTransformer:
        """The estimator."""
        made = METHODS[self.method].searched[BASES[self.method]](seed)
        made.set_params(**self.parameters)
        return made


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("unscaled", "vectors not standardised", judging={"scale": False}),
        Variant("linear", "a linear support vector machine", judging={"classifiers": "svm-linear"}),
        Variant("node", "a weight per node instead of per graph", {"weighting": "node"}),
        Variant("conditioned", "the conditioned discriminator", {"discriminator": "conditioned"}),
        Variant("mean", "mean readout", {"readout": "mean"}),
        Variant("degree", "degrees as node features", {"node_features": "degree"}, data=UNLABELLED),
        Variant("edges", "edge labels (GINE)", {"edge_columns": ["label"]}, data=("MUTAG", "PTC_MR")),
        Variant("batch 32", "batches of 32 graphs", {"batch_size": 32}),
        Variant("dim 128", "vectors of 128 numbers", {"dim": 128}),
        Variant("every epoch", "judged after each of the first 20 epochs", epochs=tuple(range(1, 21))),
        Variant("connected", "connected graphlets only", {"connected_only": True}, method="gk"),
    )
}


def variants_of(method: str) -> list[str]:
    """The names of a method's variants."""
    return [name for name, variant in VARIANTS.items() if variant.method == method]


def variant_cells(
    data: Sequence[str] = SMALL,
    names: Sequence[str] = tuple(VARIANTS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some variants, the first repeat of all first."""
    return [
        variant_cell(one, VARIANTS[name], repeat)
        for repeat in repeats
        for one in data
        for name in names
        if one in VARIANTS[name].data
    ]


def variant_cell(data: str, variant: Variant, repeat: int) -> Cell:
    """One variant on one data set, made and judged with the seed `repeat`."""
    settings: dict[str, Any] = {
        "data": data,
        "method": variant.name,
        "setting": variant.name,
        "repeat": repeat,
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "parameters": parameters_of(variant.make(0)),
        "judging": variant.judging,
    }
    epochs = METHODS[variant.method].epochs if variant.epochs is None else variant.epochs
    if epochs:
        settings["epochs"] = list(epochs)
        del settings["parameters"]["epochs"]
    return Cell("variants", f"{data} {variant.name} {repeat}", settings)


# (data set, variant, or method for its base) -> what was found
Variants = dict[tuple[str, str], Evaluation | None]


def read_variants(results: Path) -> Variants:
    """All variants and their bases on all data sets, from the result files that are there."""
    found: Variants = {}
    for data in SMALL:
        for method, setting in BASES.items():
            base = [table1_cell(data, METHODS[method], setting, repeat) for repeat in range(REPEATS)]
            found[data, method] = _collect(base, results)
        for name, variant in VARIANTS.items():
            cells = [variant_cell(data, variant, repeat) for repeat in range(REPEATS)]
            found[data, name] = _collect(cells, results) if data in variant.data else None
    return found


def _collect(cells: Sequence[Cell], results: Path) -> Evaluation | None:
    return collect(result for result in (cell.read(results) for cell in cells) if result is not None)


def compute_variant(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Train, and judge after each of the epochs."""
    settings = cell.settings
    model = VARIANTS[settings["method"]].make(settings["repeat"])
    return judged(model, settings, work, watchers, **settings["judging"])

"""A comparison of methods on one set of graphs, from its labels to the files it leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.labels import is_known
from infograph.data.units import LABEL
from infograph.errors import InvalidParameter
from infograph.evaluate import paired_test
from infograph.evaluate.compare import Compared, Limits, Protocol, cells, compare, constant_line, head
from infograph.evaluate.judges import SCORINGS
from infograph.evaluate.methods import find_method, usual_methods
from infograph.io import check_own, write_text
from infograph.progress import Watch
from infograph.report.pages import Sheet, as_markdown, bar, render, text

FILES = tuple(f"comparison.{ending}" for ending in ("json", "md", "html"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods ("all" for all) to compare on graphs by one graph column, or by the mean of several."""

    graphs: GraphSet
    methods: Sequence[str]
    name: str = "graphs"
    protocol: Protocol = Protocol()  # noqa: RUF009 - frozen
    labels: Sequence[str] = (LABEL,)

    @property
    def chosen(self) -> list[str]:
        """The methods, "all" written out, each once."""
        usual = usual_methods(self.graphs)
        named = [one for name in self.methods for one in (usual if name == "all" else [name])]
        if not named:
            raise InvalidParameter(f"no methods to compare; there are: all, {', '.join(usual)}")
        return list(dict.fromkeys(find_method(name).name for name in named))

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        p = self.protocol
        cut = " that share no scaffold" if p.scaffolds else ""
        return [
            f"{p.folds} folds{cut}, {p.repeats} repeats; the deviation is over repeats. C and the settings "
            f"of each method are chosen on {p.inner_folds} inner folds.",
            "Methods see all graphs, without labels, before the folds are cut (as in the paper); InfoGraph's "
            "predictions are learned from training folds alone.",
            "p is that of a paired test against the best of the simple references, which has none "
            "(Nadeau and Bengio 2003).",
            "Seconds and memory are those of making features or Gram matrices, classifier excluded; of "
            "methods with a random part, for all repeats.",
        ]

    def _judged(self) -> tuple[GraphSet, NDArray[Any], list[str]]:
        """The graphs with a label, their labels (G,) or (G, T), and what is to be said of the others."""
        for name in self.labels:
            if self.graphs.schema.column("graph", name) is None:
                have = ", ".join(repr(column.name) for column in self.graphs.schema.graph) or "none"
                raise InvalidParameter(
                    f"nothing to compare by: no graph column {name!r}; there are {have}. Name one."
                )
        columns = [self.graphs.values("graph", name) for name in self.labels]
        values = columns[0] if len(columns) == 1 else np.column_stack(columns)
        known = np.logical_or.reduce(
            [is_known(column).reshape(len(values), -1).any(axis=1) for column in columns]
        )
        lost = int(np.count_nonzero(~known))
        notes = [f"{lost:,} graphs without a label were left out."] if lost else []
        return self.graphs[np.flatnonzero(known)], values[known], notes

    def run(
        self, out: Path, limits: Limits, watch: Watch, *, workers: int = 1, on: str = "local"
    ) -> list[Compared]:
        """Judge all methods, and leave `comparison.*` and a result file per method in a folder.

        Graphs without a label are left out. See `infograph.evaluate.compare` for `limits`, `workers`, `on`.
        """
        chosen, (graphs, labels, lost) = self.chosen, self._judged()
        check_own(out, FILES, "comparison.json", {"source", "protocol", "table"})
        watch.stage("methods", len(chosen))
        rows: list[Compared] = compare(
            graphs,
            labels,
            chosen,
            out,
            protocol=self.protocol,
            limits=limits,
            watch=lambda title, done, total, reason: watch.advance(done, reason or title),
            workers=workers,
            on=on,
        )
        plain = constant_line(graphs, labels, self.protocol)
        rows = ordered([*rows, plain] if plain else rows)
        title, notes = f"Methods on {self.name}", [*self.notes, *lost]
        table = [as_record(row) for row in rows]
        content = {
            "source": self.name,
            "graphs": len(graphs),
            "protocol": self.protocol.about,
            "notes": notes,
            "table": table,
        }
        contents = (
            json.dumps(content, indent=1) + "\n",
            f"# {title}\n\n{as_markdown(as_sheet(rows))}\n\n" + "".join(f"- {note}\n" for note in notes),
            render("comparison.html", title=title, sheet=as_sheet(rows, bars=True), notes=notes),
        )
        out.mkdir(parents=True, exist_ok=True)
        for name, written in zip(FILES, contents, strict=True):
            write_text(out / name, written)
        return rows


def ordered(rows: Sequence[Compared]) -> list[Compared]:
    """The best first, those without a figure last; each tested against the best simple reference."""
    filled, empty = [row for row in rows if not row.empty], [row for row in rows if row.empty]
    if not filled:
        return empty
    filled.sort(key=lambda row: row.mean, reverse=not SCORINGS[filled[0].scoring].lower)
    best = next((row for row in filled if row.reference), None)
    tested = []
    for row in filled:
        if best is not None and row is not best and row.evaluation and best.evaluation:
            row = replace(row, p_value=paired_test(row.evaluation, best.evaluation).p_value)
        tested.append(row)
    return tested + empty


def as_record(row: Compared) -> dict[str, Any]:
    """A line for JSON."""
    shown = {name: value for name, value in vars(row).items() if name != "evaluation"}
    return {name: None if value != value else value for name, value in shown.items()}


def as_sheet(rows: Sequence[Compared], *, bars: bool = False) -> Sheet:
    """The table, all that show the best figure in bold; reasons give way to `bars`, and stand below names."""
    found = []
    for row in rows:
        name, figure, *figures, reason = cells(row)
        best = not row.empty and figure == cells(rows[0])[1]
        first = text(name, reason if bars else "", bold=best)
        last = bar(_length(row, rows[0])) if bars else reason
        found.append((first, text(figure, bold=best), *figures, last))
    return Sheet.of(head(rows), found)


def _length(row: Compared, best: Compared) -> float:
    """Of a bar, in per cent: scores as they are, errors relative to the best."""
    if row.empty:
        return 0.0
    if SCORINGS[row.scoring].lower:
        return 100 * best.mean / row.mean if row.mean else 100.0
    return max(0.0, row.mean if SCORINGS[row.scoring].percent else 100 * row.mean)

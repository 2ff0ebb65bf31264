"""A comparison of methods on one set of graphs, from its labels to the files it leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter
from infograph.evaluate.compare import (
    METHODS,
    Compared,
    Limits,
    Protocol,
    Target,
    compare,
    find_method,
    majority_line,
)
from infograph.io import check_own, replaced_file
from infograph.progress import Watch
from infograph.report.pages import Sheet, as_markdown, bar, render, text

HEAD = ("method", "accuracy, %", "deviation", "seconds", "peak, MB", "")
FILES = tuple(f"comparison.{ending}" for ending in ("json", "md", "html"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods ("all" for all) to compare on graphs with classes in the column `y`."""

    graphs: GraphSet
    methods: Sequence[str]
    name: str = "graphs"
    protocol: Protocol = Protocol()  # noqa: RUF009 - frozen

    @property
    def chosen(self) -> list[str]:
        """The methods, "all" written out, each once."""
        named = [one for name in self.methods for one in (METHODS if name == "all" else [name])]
        if not named:
            raise InvalidParameter(f"no methods to compare; there are: all, {', '.join(METHODS)}")
        return list(dict.fromkeys(find_method(name).name for name in named))

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        p = self.protocol
        return [
            f"{p.folds} folds, {p.repeats} repeats; the deviation is over repeats. C and the settings of "
            f"each method are chosen on {p.inner_folds} inner folds.",
            "Methods see all graphs, without labels, before the folds are cut (as in the paper).",
            "Seconds and memory are those of making features or Gram matrices, classifier excluded; of "
            "methods with a random part, for all repeats.",
        ]

    def run(
        self, out: Path, limits: Limits, watch: Watch, *, workers: int = 1, on: str = "local"
    ) -> list[Compared]:
        """Judge all methods, and leave `comparison.*` and a result file per method in a folder.

        Graphs without a label are left out. See `infograph.evaluate.compare` for `limits`, `workers`, `on`.
        """
        chosen, target = self.chosen, Target.of(self.graphs, self.protocol.folds, self.protocol.inner_folds)
        if target.judged is None:
            raise InvalidParameter(f"nothing to compare by: {target.notes[0]} Name a column of classes.")
        check_own(out, FILES, "comparison.json", {"source", "protocol", "table"})
        graphs, labels = self.graphs[np.flatnonzero(target.judged)], target.values[target.judged]
        watch.stage("methods", len(chosen))
        rows = compare(
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
        rows.append(majority_line(labels))
        title, notes = f"Methods on {self.name}", [*self.notes, *target.notes]
        table = [{key: None if value != value else value for key, value in vars(row).items()} for row in rows]
        content = {
            "source": self.name,
            "graphs": len(graphs),
            "protocol": vars(self.protocol),
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
            with replaced_file(out / name) as work:
                work.write_text(written, encoding="utf-8")
        return rows


def best_line(rows: Sequence[Compared]) -> int | None:
    """Where the highest accuracy stands; None where there is none."""
    filled = [place for place, row in enumerate(rows) if not row.empty]
    return max(filled, key=lambda place: rows[place].mean, default=None)


def cells(row: Compared) -> tuple[str, ...]:
    """A line as text; a reason in the last cell where there is no figure."""
    figures = ((row.mean, ".1f"), (row.std, ".1f"), (row.seconds, ".3g"), (row.peak_mb, ",.0f"))
    return (row.method, *("" if value != value else f"{value:{form}}" for value, form in figures), row.empty)


def as_sheet(rows: Sequence[Compared], *, bars: bool = False) -> Sheet:
    """The table with the best method in bold; reasons give way to `bars`, and stand below names."""
    found = []
    for place, row in enumerate(rows):
        name, accuracy, *figures, reason = cells(row)
        best = place == best_line(rows)
        last = bar(0 if row.empty else row.mean) if bars else text(reason)
        first = text(name, reason if bars else "", bold=best)
        found.append((first, text(accuracy, bold=best), *map(text, figures), last))
    return Sheet(HEAD, tuple(found))

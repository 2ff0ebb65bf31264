"""A comparison of methods on one set of graphs, from its labels to the files it leaves."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from infograph.report import pages

HEAD = ("method", "accuracy, %", "deviation", "seconds", "peak, MB", "")
FILES = tuple(f"comparison.{ending}" for ending in ("json", "csv", "md", "html"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods to compare on graphs with classes in the column `y`.

    Attributes:
        graphs: the graphs; those without a label are left out.
        methods: names, or "all".
        name: what the graphs are called.
        protocol: how methods are judged.
    """

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

        Args:
            out: the folder.
            limits: what each method may take.
            watch: told of every method.
            workers, on: see `infograph.evaluate.compare`.

        Raises:
            InvalidParameter: the graphs have no classes, or an unknown method is asked for.
        """
        chosen, target = self.chosen, Target.of(self.graphs, self.protocol.folds, self.protocol.inner_folds)
        if target.judged is None:
            raise InvalidParameter(
                f"nothing to compare by: {target.notes[0]} Name a column of classes with --label."
            )
        check_comparison_folder(out)
        judged = np.flatnonzero(target.judged)
        graphs = self.graphs if len(judged) == len(self.graphs) else self.graphs[judged]
        began: set[str] = set()

        def tell(title: str, done: int, total: int, reason: str) -> None:
            if title in began:
                watch.advance(1 if workers == 1 else done, reason or title * (workers > 1))
            elif workers == 1:
                watch.stage(title, 1)
            elif not began:
                watch.stage("methods", total)
            began.add(title)

        rows = compare(
            graphs,
            target.values[judged],
            chosen,
            out,
            protocol=self.protocol,
            limits=limits,
            watch=tell,
            workers=workers,
            on=on,
        )
        rows.append(majority_line(target.values[judged]))
        about = {"source": self.name, "graphs": len(graphs), "protocol": vars(self.protocol)}
        write_comparison(rows, out, f"Methods on {self.name}", [*self.notes, *target.notes], about)
        return rows


def best_line(rows: Sequence[Compared]) -> int | None:
    """Where the highest accuracy stands; None where there is none."""
    filled = [place for place, row in enumerate(rows) if not row.empty]
    return max(filled, key=lambda place: rows[place].mean, default=None)


def cells(row: Compared) -> tuple[str, ...]:
    """A line as text; a reason in the last cell where there is no figure."""
    figures = (row.mean, row.std, row.seconds, row.peak_mb)
    formats = ("{:.1f}", "{:.1f}", "{:.3g}", "{:,.0f}")
    shown = [
        "" if value != value else form.format(value) for value, form in zip(figures, formats, strict=True)
    ]
    return (row.method, *shown, row.empty)


def as_markdown(rows: Sequence[Compared]) -> str:
    """A table with the best method in bold."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    for place, row in enumerate(rows):
        shown = list(cells(row))
        if place == best_line(rows):
            shown[:2] = [f"**{text}**" for text in shown[:2]]
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in shown) + " |")
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[Compared]) -> str:
    """All figures, not rounded; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(vars(Compared("")))
    for row in rows:
        writer.writerow("" if value != value else value for value in vars(row).values())
    return text.getvalue()


def as_html(rows: Sequence[Compared], title: str, notes: Sequence[str]) -> str:
    """A page that needs nothing else."""
    body = []
    for place, row in enumerate(rows):
        name, *figures, reason = cells(row)
        first = pages.text(name, reason, bold=place == best_line(rows))
        body.append((first, *map(pages.text, figures), pages.bar(0 if row.empty else row.mean)))
    sheet = pages.Sheet(HEAD, tuple(body))
    return pages.render("comparison.html", title=title, sheet=sheet, notes=notes)


def check_comparison_folder(folder: Path) -> None:
    """Refuse, before the work that leads to it, a folder with files of these names that are not ours."""
    check_own(folder, FILES, "comparison.json", {"source", "protocol", "table"})


def write_comparison(
    rows: Sequence[Compared], folder: Path, title: str, notes: Sequence[str], about: Mapping[str, Any]
) -> None:
    """`comparison.json`, `.csv`, `.md` and `.html` in a folder."""
    table = [{key: None if value != value else value for key, value in vars(row).items()} for row in rows]
    contents = (
        json.dumps({**about, "notes": list(notes), "table": table}, indent=1) + "\n",
        as_csv(rows),
        f"# {title}\n\n{as_markdown(rows)}\n" + "".join(f"- {note}\n" for note in notes),
        as_html(rows, title, notes),
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(FILES, contents, strict=True):
        with replaced_file(folder / name) as partial:
            partial.write_text(content, encoding="utf-8")

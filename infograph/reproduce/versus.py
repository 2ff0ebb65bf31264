"""One against another on the same folds: InfoGraph and the untrained encoder, a method and its variants."""

from __future__ import annotations

from dataclasses import dataclass

from infograph.evaluate.paired import PairedTest, paired_test
from infograph.reproduce.accuracies import Table1
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.table1 import SMALL
from infograph.reproduce.variants import VARIANTS, Variants

TRAINED, UNTRAINED = "infograph", "untrained"
LEVEL = 0.05  # of significance
LEAST = 0.001  # p-values below it are not told apart


@dataclass(frozen=True)
class Versus:
    """One data set: the test, and of how many repeats it is."""

    data: str
    test: PairedTest
    repeats: int

    @property
    def p(self) -> str:
        """The p-value: "0.031", or "below 0.001"."""
        return f"{self.test.p_value:.3f}" if self.test.p_value >= LEAST else f"below {LEAST}"

    @property
    def change(self) -> str:
        """The difference and its p-value: "+1.5 points, p = 0.713"."""
        p = self.p if self.p.startswith("below") else f"= {self.p}"
        return f"{100 * self.test.difference:+.1f} points, p {p}"

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.test.p_value >= LEVEL:
            return "no difference found"
        return "better" if self.test.difference > 0 else "worse"


def against_untrained(table: Table1) -> list[Versus]:
    """InfoGraph minus the untrained encoder, leak-free, for data sets that have both; shared repeats only."""
    rows = []
    for data in paper_table1().datasets:
        pair = [table[data, method] for method in (TRAINED, UNTRAINED)]
        seeds = [set(() if cell.evaluation is None else cell.evaluation.seeds) for cell in pair]
        shared = seeds[0] & seeds[1]
        trained, untrained = (cell.of_repeats(shared) for cell in pair)
        if trained is not None and untrained is not None:
            rows.append(Versus(data, paired_test(trained, untrained), len(shared)))
    return rows


def against_base(found: Variants) -> list[tuple[str, Versus]]:
    """Every variant minus what it is a variant of, leak-free, where both have the same repeats; by name."""
    rows = []
    for name, variant in VARIANTS.items():
        for data in SMALL:
            own, base = found[data, name], found[data, variant.method]
            if own is not None and base is not None and own.seeds == base.seeds:
                rows.append((name, Versus(data, paired_test(own, base), len(own.seeds))))
    return rows

"""Does training help? InfoGraph against the same encoder with random weights, on the same folds."""

from __future__ import annotations

from dataclasses import dataclass

from infograph.evaluate.paired import PairedTest, paired_test
from infograph.reproduce.accuracies import Table1
from infograph.reproduce.paper import paper_table1

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

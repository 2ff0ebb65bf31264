"""What came out, in sentences made from the figures: what was reproduced, what was not, what is missing."""

from __future__ import annotations

from infograph.reproduce.accuracies import Table1
from infograph.reproduce.ratios import Table2
from infograph.reproduce.table1_findings import table1_findings, variant_findings
from infograph.reproduce.table2_findings import table2_findings
from infograph.reproduce.variants import Variants


def findings(table1: Table1, table2: Table2, variants: Variants) -> list[str]:
    """All sentences, Table 1 first."""
    return [*table1_findings(table1), *variant_findings(table1, variants), *table2_findings(table2)]

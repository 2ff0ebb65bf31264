"""The paper's tables: what was published, and what comes out here."""

from infograph.evaluate.published import PaperTable1 as PaperTable1
from infograph.evaluate.published import PaperTable2 as PaperTable2
from infograph.evaluate.published import paper_score as paper_score
from infograph.evaluate.published import paper_table1 as paper_table1
from infograph.evaluate.published import paper_table2 as paper_table2

from __future__ import annotations

from infograph.data.datasets import CATALOGUE
from infograph.evaluate.published import paper_score, paper_table1, paper_table2


def test_infograph_row_is_the_published_one() -> None:
    names = ("MUTAG", "PTC_MR", "REDDIT-BINARY", "REDDIT-MULTI-5K", "IMDB-BINARY", "IMDB-MULTI")
    means = [score[0] for name in names if (score := paper_score("InfoGraph", name))]
    assert means == [89.01, 61.65, 82.50, 53.46, 73.03, 49.69]
    assert paper_score("InfoGraph", "MUTAG") == (89.01, 1.13)


def test_what_was_not_published_is_none() -> None:
    assert paper_score("RW", "REDDIT-BINARY") is None
    assert paper_table1().rows["RW"]["REDDIT-BINARY"] == "out of memory"
    assert paper_score("node2vec", "IMDB-BINARY") is None
    assert paper_score("InfoGraph", "my.csv") is None
    assert paper_score("no method", "MUTAG") is None


def test_data_sets_are_those_of_the_catalogue() -> None:
    counts = {entry.name: entry.counts.graphs for entry in CATALOGUE if entry.counts and entry.counts.classes}
    assert dict(paper_table1().graphs) == counts


def test_table2_counts_of_wins() -> None:
    table = paper_table2()
    better = [target for target in table.targets if table.ratios["InfoGraph*"][target] < 1]
    assert len(table.targets) == 12
    assert len(better) == 12
    plain = list(table.ratios["InfoGraph"].values())
    assert (sum(r < 1 for r in plain), sum(r == 1 for r in plain), sum(r > 1 for r in plain)) == (8, 1, 3)
    assert table.units["U0"] == "Ha total"
    assert table.supervised["r2"] == 10.0469


def test_later_work_names_no_figure_it_does_not_have() -> None:
    later = paper_table1().later
    assert later["DDM"]["MUTAG"] == 91.51
    assert later["GraphMAE"]["PTC_MR"] is None

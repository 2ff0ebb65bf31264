from __future__ import annotations

from infograph.evaluate.published import paper_score, paper_table1, paper_table2


def test_figures_are_the_published_ones() -> None:
    names = ("MUTAG", "PTC_MR", "REDDIT-BINARY", "REDDIT-MULTI-5K", "IMDB-BINARY", "IMDB-MULTI")
    assert set(paper_table1().datasets) == set(names)
    means = [score[0] for name in names if (score := paper_score("InfoGraph", name))]
    assert means == [89.01, 61.65, 82.50, 53.46, 73.03, 49.69]
    assert paper_score("RW", "REDDIT-BINARY") is None and paper_score("no method", "MUTAG") is None
    assert paper_table1().rows["RW"]["REDDIT-BINARY"] == "out of memory"
    assert paper_table1().later["GraphMAE"]["PTC_MR"] is None
    table = paper_table2()
    assert all(ratio < 1 for ratio in table.ratios["InfoGraph*"].values()) and len(table.targets) == 12
    assert sum(ratio < 1 for ratio in table.ratios["InfoGraph"].values()) == 8
    assert table.supervised["r2"] == 10.0469

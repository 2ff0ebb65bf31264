from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from infograph import InfoGraph, load
from infograph.data.graphset import GraphSet
from infograph.data.vectors import read_embeddings
from infograph.errors import InvalidParameter
from infograph.evaluate import Evaluation, cross_validate
from infograph.report.study import Study, study

Make = Callable[..., GraphSet]
SMALL = InfoGraph(dim=8, layers=2, epochs=2, batch_size=16)


class Page(HTMLParser):
    """What a browser would see: tags, text, and everything that would be fetched."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.addresses: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "srcset", "href")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def finished(make_graphs: Make, tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    out = tmp_path_factory.mktemp("study")
    graphs = make_graphs(["ring", "star"] * 15)
    return study(graphs, out, name="MUTAG", estimator=SMALL, repeats=2, folds=3), out


def test_every_file_is_there_and_opens(finished: tuple[Study, Path], two_classes: GraphSet) -> None:
    _, out = finished
    names = ["embeddings.parquet", "map.png", "model", "report.html", "results.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    vectors = read_embeddings(out / "embeddings.parquet")
    assert vectors.ids.tolist() == [f"g{i}" for i in range(30)]
    assert vectors.columns["y"].tolist() == ["ring", "star"] * 15
    assert np.array_equal(vectors.vectors, load(out / "model").transform(two_classes))
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")


def test_saved_model_is_the_first_repeat(finished: tuple[Study, Path], two_classes: GraphSet) -> None:
    found, _ = finished
    alone = InfoGraph(dim=8, layers=2, epochs=2, batch_size=16, random_state=0).fit_transform(two_classes)
    assert np.array_equal(found.embeddings.vectors, alone)
    assert found.model.random_state == 0


def test_scores_are_those_of_one_encoder_per_repeat(
    finished: tuple[Study, Path], two_classes: GraphSet
) -> None:
    found, _ = finished

    def vectors(seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return InfoGraph(dim=8, layers=2, epochs=2, batch_size=16, random_state=seed).fit_transform(
            two_classes
        )

    expected = cross_validate(vectors, two_classes.values("graph", "y"), repeats=2, folds=3).leak_free()
    assert found.rows[0].mean == pytest.approx(100 * expected.mean)
    assert found.rows[0].std == pytest.approx(100 * expected.std)


def test_table_names_the_paper_only_for_its_data_sets(
    make_graphs: Make, finished: tuple[Study, Path], tmp_path: Path
) -> None:
    found, _ = finished
    assert [row.method for row in found.rows] == [
        "InfoGraph",
        "untrained encoder",
        "InfoGraph in the paper",
        "majority class",
    ]
    assert (found.rows[2].mean, found.rows[2].std) == (89.01, 1.13)
    assert found.rows[3].mean == 50
    other = study(
        make_graphs(["a", "b"] * 10), tmp_path, name="mine.csv", estimator=SMALL, repeats=1, folds=2
    )
    assert "paper" not in " ".join(row.method for row in other.rows)


def test_results_hold_every_score(finished: tuple[Study, Path]) -> None:
    found, out = finished
    content = json.loads((out / "results.json").read_text())
    again = Evaluation.from_dict(content["evaluation"])
    assert again.select(["InfoGraph"]).mean == pytest.approx(found.rows[0].mean / 100)
    assert content["settings"]["dim"] == 8
    assert len(content["history"]) == 2


def test_report_needs_nothing_else(finished: tuple[Study, Path]) -> None:
    source = (finished[1] / "report.html").read_text(encoding="utf-8")
    page = Page(source)
    assert len(page.addresses) == 4
    assert all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert not re.search(r"https?://|//cdn|@import|url\(", source)
    assert not {"script", "link", "iframe"} & set(page.tags)
    text = " ".join(page.text)
    for expected in (
        "transductive",
        "untrained encoder",
        "89.0 %",
        "batch_size",
        "No test fold",
        "seeds 0 to 1",
    ):
        assert expected in text


def test_everything_of_the_user_is_escaped(make_graphs: Make, tmp_path: Path) -> None:
    evil = "<script>alert('&')</script>"
    graphs = make_graphs([evil, "b"] * 10)
    study(graphs, tmp_path, name=f"{evil}.csv", estimator=SMALL, repeats=1, folds=2)
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(source)
    assert "script" not in page.tags
    assert "<script" not in source
    assert evil in " ".join(page.text)


def test_measured_values_are_drawn_and_not_judged(measured: GraphSet, tmp_path: Path) -> None:
    found = study(measured, tmp_path, estimator=SMALL)
    assert found.rows == ()
    assert found.evaluation is None
    assert "measured values" in (tmp_path / "report.html").read_text()


def test_graphs_without_labels_are_studied(make_graphs: Make, two_classes: GraphSet, tmp_path: Path) -> None:
    bare = make_graphs(list(range(12)), column="rank")
    found = study(bare, tmp_path, estimator=SMALL)
    assert found.label == ""
    assert "no labels" in found.notes[0]
    assert (tmp_path / "map.png").is_file()


def test_unlabelled_graphs_are_trained_on_and_not_judged(make_graphs: Make, tmp_path: Path) -> None:
    graphs = make_graphs(["ring", "star"] * 10 + [None, None])
    found = study(graphs, tmp_path, estimator=SMALL, repeats=1, folds=2)
    assert len(found.embeddings) == 22
    assert found.evaluation is not None
    assert found.evaluation.plan.n_graphs == 20
    assert "2 graphs without a label" in found.notes[0]


def test_untrained_study_has_no_curve(make_graphs: Make, tmp_path: Path) -> None:
    graphs = make_graphs(["ring", "star"] * 6)
    found = study(
        graphs, tmp_path, estimator=InfoGraph(dim=8, layers=2, epochs=0), repeats=1, folds=2, inner_folds=2
    )
    assert found.rows[0].mean == found.rows[1].mean
    assert "was not trained" in (tmp_path / "report.html").read_text()


def test_mistakes_are_found_before_training(two_classes: GraphSet, tmp_path: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the training began")

    class Watch:
        stage = advance = never

    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InvalidParameter, match="is a file"):
        study(two_classes, file, watch=Watch())
    with pytest.raises(InvalidParameter, match="fewer than folds=20"):
        study(two_classes, tmp_path / "out", folds=20, watch=Watch())
    with pytest.raises(InvalidParameter, match="no classifier 'tree'"):
        study(two_classes, tmp_path / "out", classifiers="tree", watch=Watch())
    other = tmp_path / "out" / "model"
    other.mkdir(parents=True)
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidParameter, match="holds other files"):
        study(two_classes, tmp_path / "out", watch=Watch())
    assert (other / "thesis.txt").read_text() == "years of work"


def test_other_files_stay(two_classes: GraphSet, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    for _ in range(2):
        study(two_classes, tmp_path, estimator=SMALL, repeats=1, folds=2)
    assert (tmp_path / "notes.txt").read_text() == "keep"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]

"""The study: its files, its scores, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from infograph import InfoGraph, load
from infograph.data.vectors import read_embeddings
from infograph.errors import InvalidParameter
from infograph.evaluate import Evaluation, cross_validate
from infograph.report.study import Study, study
from tests.report.conftest import rings_and_stars

TWO_CLASSES = rings_and_stars(["ring", "star"] * 15)
EVIL = "<script>alert('&')</script>"


def small(seed: int = 0, epochs: int | Literal["auto"] = 2) -> InfoGraph:
    return InfoGraph(dim=8, epochs=epochs, batch_size=16, random_state=seed)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    out = tmp_path_factory.mktemp("study")
    return study(TWO_CLASSES, out, name="MUTAG", estimator=small(), repeats=2, folds=3), out


def test_every_file_is_there_and_holds_what_was_found(finished: tuple[Study, Path]) -> None:
    found, out = finished
    names = ["embeddings.parquet", "map.png", "model", "report.html", "results.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    vectors = read_embeddings(out / "embeddings.parquet")
    assert vectors.ids.tolist() == [f"g{i}" for i in range(30)]
    assert vectors.columns["y"].tolist() == ["ring", "star"] * 15
    assert np.array_equal(vectors.vectors, load(out / "model").transform(TWO_CLASSES))
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((out / "results.json").read_text())
    again = Evaluation.from_dict(content["evaluation"])
    assert again.select(["InfoGraph"]).mean == pytest.approx(found.rows[0].mean / 100)
    assert content["settings"]["dim"] == 8 and len(content["history"]) == 2


def test_scores_are_those_of_one_encoder_per_repeat(finished: tuple[Study, Path]) -> None:
    found, _ = finished
    vectors = [small(seed).fit_transform(TWO_CLASSES) for seed in range(2)]
    assert np.array_equal(found.embeddings.vectors, vectors[0])  # the first is saved
    labels = TWO_CLASSES.values("graph", "y")
    expected = cross_validate({"InfoGraph": vectors}, labels, repeats=2, folds=3).leak_free()
    assert found.rows[0].mean == pytest.approx(100 * expected.mean)
    assert [row.method for row in found.rows] == [
        "InfoGraph",
        "untrained encoder",
        "InfoGraph in the paper",
        "majority class",
    ]
    assert (found.rows[2].mean, found.rows[2].std, found.rows[3].mean) == (89.01, 1.13, 50)


def test_report_needs_nothing_else(finished: tuple[Study, Path]) -> None:
    source = (finished[1] / "report.html").read_text(encoding="utf-8")
    assert source.count("<figure") == 2 and source.count("<svg") == 2
    assert not re.search(r"https?://|//cdn|@import|<(script|link|iframe)", source)
    assert all(
        found.startswith(("#", "data:")) for found in re.findall(r'(?:src|srcset|href)="(.*?)"', source)
    )
    words = " ".join(re.sub("<.*?>", " ", source).split())
    for expected in (
        "transductive",
        "untrained encoder",
        "89.0 %",
        "batch_size",
        "No test fold",
        "2 repeats (seeds 0 to 1): each",
        "paper reports the best average",
        "Time: training ",
    ):
        assert expected in unescape(words).replace("\xa0", " ")


def test_everything_of_the_user_is_escaped(tmp_path: Path) -> None:
    graphs = rings_and_stars([EVIL, "b"] * 10)
    found = study(graphs, tmp_path, name=f"{EVIL}.csv", estimator=small(epochs=0), repeats=1, folds=2)
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in source and EVIL in unescape(source)
    assert "paper" not in " ".join(row.method for row in found.rows)  # which has no such set
    assert found.rows[0].mean == found.rows[1].mean and "was not trained" in source


@pytest.mark.parametrize(
    ("labels", "column", "note"),
    [
        (np.linspace(0.5, 9.7, 12).tolist(), "y", "measured values"),
        (list(range(12)), "rank", "no labels"),
    ],
)
def test_what_has_no_classes_is_drawn_and_not_judged(
    labels: list[float], column: str, note: str, tmp_path: Path
) -> None:
    found = study(rings_and_stars(labels, column), tmp_path, estimator=small(epochs="auto"))
    assert f"in {len(found.model.history_)} epochs" in (tmp_path / "report.html").read_text()
    assert found.rows == () and found.evaluation is None and found.difference is None
    assert note in found.notes[0] and found.notes[0] in (tmp_path / "report.html").read_text()
    assert found.label == ("y" if column == "y" else "") and (tmp_path / "map.png").is_file()


def test_unlabelled_graphs_are_trained_on_and_not_judged(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    graphs = rings_and_stars(["ring", "star"] * 10 + [None, None])
    for _ in range(2):  # a second time over its own files
        found = study(graphs, tmp_path, estimator=small(), repeats=1, folds=2)
    assert len(found.embeddings) == 22
    assert found.evaluation is not None and found.evaluation.plan.n_graphs == 20
    assert "2 graphs without a label" in found.notes[0]
    assert (tmp_path / "notes.txt").read_text() == "keep"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_mistakes_are_found_before_training(tmp_path: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the training began")

    class Watch:
        stage = advance = never

    (tmp_path / "file").write_text("mine")
    other = tmp_path / "other" / "model"
    other.mkdir(parents=True)
    (other / "thesis.txt").write_text("years of work")
    for out, given, words in (
        ("file", {}, "is a file"),
        ("out", {"folds": 20}, "too few for folds=20"),
        ("out", {"classifiers": "tree"}, "no classifier 'tree'"),
        ("out", {"repeats": 0}, "at least 1"),
        ("other", {}, "holds other files"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            study(TWO_CLASSES, tmp_path / out, watch=Watch(), **given)
    assert (other / "thesis.txt").read_text() == "years of work"

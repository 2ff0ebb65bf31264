"""Maps and convergence plots, looked at as pixels and as SVG."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray

from infograph.data.vectors import Embeddings
from infograph.errors import InvalidParameter, MissingExtra
from infograph.look.svg import DARK, LIGHT
from infograph.report.figures import (
    as_svg,
    draw_embeddings,
    draw_history,
    history_figure,
    history_table,
    map_figure,
    write_figure,
    write_history,
)
from infograph.report.pages import TEMPLATES

POINTS = np.random.default_rng(0).normal(size=(120, 2))
RATES, ERRORS = [1e-3, 1e-3, 7e-4, 7e-4, 4.9e-4], [9.0, 4.0, 5.0, 0.3, 0.4]
HISTORY = [
    {
        "epoch": e + 1,
        "loss": 5.0 / (e + 1),
        "supervised": 2.0 / (e + 1),
        "unsupervised": 2.0 - e,
        "accuracy": 0.6,
        "seconds": 1.0,
        "lr": RATES[e],
        "validation": ERRORS[e],
    }
    for e in range(5)
]


def share_of(path: Path, hue: str, tolerance: int = 80) -> float:
    """The share of pixels that are near a colour."""
    image: NDArray[Any] = np.rint(imread(path)[..., :3] * 255).astype(int)
    wanted = np.array([int(hue[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(image - wanted).sum(axis=-1) < tolerance).mean())


def test_map_draws_every_class_in_its_hue(tmp_path: Path) -> None:
    labels = np.array(["a", "b", "c"], dtype=object)[np.arange(120) % 3]
    embeddings = Embeddings(np.arange(120), POINTS.astype(np.float32), {"kind": labels})
    path = tmp_path / "deep" / "map.png"
    assert draw_embeddings(embeddings, path, column="kind", title="Three") == 120
    assert [share_of(path, hue) > 0.002 for hue in LIGHT.hues[:4]] == [True, True, True, False]
    assert [file.name for file in path.parent.iterdir()] == ["map.png"]
    draw_embeddings(embeddings, tmp_path / "again.png", column="kind", title="Three")
    assert (tmp_path / "again.png").read_bytes() == path.read_bytes()


def test_measured_values_get_a_colour_bar() -> None:
    values = np.linspace(0, 1, 120) ** 2
    values[:50] = np.nan
    points, bar = map_figure(POINTS, values, column="logS").axes
    assert bar.get_ylabel() == "logS (70, 50 without)"
    assert [len(drawn.get_offsets()) for drawn in points.collections] == [50, 70]


def test_many_classes_become_twenty_groups() -> None:
    labels = np.array([f"class {i}" for i in range(40) for _ in range(i + 1)] + [None, None], dtype=object)
    figure = map_figure(np.random.default_rng(0).normal(size=(len(labels), 2)), labels)
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(legend) == 21
    assert [legend[place] for place in (0, -2, -1)] == [
        "class 39 (40)",
        "21 other values (231)",
        "no value (2)",
    ]
    assert sum(len(drawn.get_offsets()) for drawn in figure.axes[0].collections) == len(labels)


@pytest.mark.parametrize("name", ["$x_{", "_hidden", "<b>", "分子", "a\nb", "\\frac", "long " * 30])
def test_any_name_can_be_drawn(name: str) -> None:
    labels = np.array([name, "other"], dtype=object)[np.arange(120) % 2]
    svg = as_svg(map_figure(POINTS, labels, title=name, column=name))
    assert "var(--hue1)" in svg and "<b>" not in svg


def test_a_figure_in_a_page_has_the_colours_of_the_page() -> None:
    before = dict(matplotlib.rcParams)
    svg = as_svg(history_figure(HISTORY))
    assert dict(matplotlib.rcParams) == before  # the user's
    assert "data:image/png;base64" in as_svg(map_figure(np.tile(POINTS, (50, 1)), None))  # of many points
    assert not re.search("|".join((*LIGHT.hues, LIGHT.ink, LIGHT.page)), svg)
    assert "http" not in svg and "loss" in svg and svg == as_svg(history_figure(HISTORY))
    css = TEMPLATES.get_template("page.css").render()
    light, _, dark = css.partition("@media")
    for theme, rules in ((LIGHT, light), (DARK, dark)):
        assert all(f"--hue{place}: {hue};" in rules for place, hue in enumerate(theme.hues))
        names = ("page", "ink", "faint", "missing")
        assert all(f"--{name}: {getattr(theme, name)};" in rules for name in names)


def test_every_term_of_a_history_has_a_panel_and_the_error_its_unit(tmp_path: Path) -> None:
    panels = history_figure(HISTORY, "hartree").axes
    assert [axes.get_title("left") for axes in panels] == [
        "loss",
        "supervised",
        "unsupervised",
        "pairs, %",
        "validation, hartree",
        "learning rate",
    ]
    assert panels[1].lines[0].get_ydata() == pytest.approx([2.0, 1.0, 2 / 3, 0.5, 0.4])
    assert panels[3].lines[0].get_ydata() == pytest.approx([60.0] * 5)
    assert [axes.get_yscale() for axes in panels] == ["linear"] * 4 + ["log", "linear"]
    both = history_figure([{**one, "model": m} for m in (1.0, 2.0) for one in HISTORY])
    assert len(both.axes[0].lines) == 2
    path = draw_history(HISTORY, tmp_path / "history.png")
    assert all(share_of(path, hue) > 0.0003 for hue in LIGHT.hues[:6])
    assert draw_history(HISTORY, tmp_path / "history.svg").read_text().startswith("<?xml")


def test_a_history_as_a_table(tmp_path: Path) -> None:
    head, rows = history_table(HISTORY * 40, "hartree")
    assert head == ["epoch", *(axes.get_title("left") for axes in history_figure(HISTORY, "hartree").axes)]
    assert len(rows) <= 21 and rows[0][:2] == ["1", "5"] and rows[-1][0] == "5"
    wrong = [{"epoch": 1.0, "loss": 1.0, "supervised": 1.0, "validation": 0.125}]
    assert history_table(wrong, "% wrong") == (["epoch", "loss", "validation, % wrong"], [["1", "1", "12.5"]])
    with write_history(HISTORY, tmp_path / "history.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [float(row["validation"]) for row in written] == ERRORS and list(written[0]) == list(HISTORY[0])


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for call, words in (
        (lambda: history_figure([]), "not trained"),
        (lambda: history_table([]), "not trained"),
        (lambda: write_figure(map_figure(POINTS, None), tmp_path), "is a folder"),
        (lambda: draw_history(HISTORY, tmp_path / "history.pdf"), r"drawn to \.png or \.svg files"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            call()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'infograph\[plot\]'"):
        map_figure(POINTS, None)

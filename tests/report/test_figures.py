from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray

from infograph.errors import InvalidParameter, MissingExtra
from infograph.look.svg import DARK, LIGHT
from infograph.report.figures import draw_history, draw_map, group_points, png_history, png_map

HISTORY = [{"epoch": e, "loss": 3.0 / e, "accuracy": 0.5 + e / 40} for e in range(1, 11)]


def pixels(png: bytes | Path) -> NDArray[Any]:
    image: NDArray[Any] = imread(io.BytesIO(png) if isinstance(png, bytes) else png)
    return np.rint(image[..., :3] * 255).astype(int)


def share_of(image: NDArray[Any], hue: str, tolerance: int = 80) -> float:
    """The share of pixels that are near a colour."""
    wanted = np.array([int(hue[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(image - wanted).sum(axis=-1) < tolerance).mean())


@pytest.fixture
def points() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(120, 2))


def test_map_draws_every_class_in_its_hue(points: NDArray[np.float64], tmp_path: Path) -> None:
    labels = np.array(["a", "b", "c"], dtype=object)[np.arange(120) % 3]
    path = draw_map(points, labels, tmp_path / "deep" / "map.png", title="Three", column="kind")
    image = pixels(path)
    assert share_of(image, LIGHT.page) < 0.99
    for hue in LIGHT.hues[:3]:
        assert share_of(image, hue) > 0.002
    assert share_of(image, LIGHT.hues[3]) == 0
    assert [file.name for file in path.parent.iterdir()] == ["map.png"]


def test_map_is_the_same_every_time(points: NDArray[np.float64]) -> None:
    assert png_map(points, None, title="x") == png_map(points, None, title="x")


def test_dark_map_is_dark(points: NDArray[np.float64]) -> None:
    assert pixels(png_map(points, None)).mean() > 200
    assert pixels(png_map(points, None, theme=DARK)).mean() < 60


def test_measured_values_get_a_colour_bar(points: NDArray[np.float64]) -> None:
    values = np.linspace(0, 1, 120) ** 2
    image = pixels(png_map(points, values, column="logS"))
    right = image[:, int(image.shape[1] * 0.85) :]
    assert share_of(right, "#fde725", 40) > 0.005  # the bright end of viridis
    values[:60] = np.nan
    assert share_of(pixels(png_map(points, values)), LIGHT.missing, 20) > 0.0005


def test_many_classes_become_twenty_groups() -> None:
    labels = np.array([f"class {i}" for i in range(40) for _ in range(i + 1)] + [None, None], dtype=object)
    groups = group_points(labels, LIGHT)
    assert len(groups) == 21
    assert groups[0].legend == "class 39 (40)"
    assert groups[-2].legend == "21 other values (231)"
    assert groups[-1].legend == "no value (2)"
    looks = {(group.hue, group.marker) for group in groups}
    assert len(looks) == 21
    assert sorted(np.concatenate([group.rows for group in groups])) == list(range(len(labels)))


def test_whole_floats_are_classes() -> None:
    groups = group_points(np.array([0.0, 1.0, 1.0, np.nan]), LIGHT)
    assert [group.legend for group in groups] == ["1 (2)", "0 (1)", "no value (1)"]


@pytest.mark.parametrize("name", ["$x_{", "_hidden", "<b>", "分子", "a\nb", "\\frac", "long " * 30])
def test_any_name_can_be_drawn(points: NDArray[np.float64], name: str) -> None:
    labels = np.array([name, "other"], dtype=object)[np.arange(120) % 2]
    image = pixels(png_map(points, labels, title=name, column=name))
    assert share_of(image, LIGHT.hues[1]) > 0.002


def test_pyplot_of_the_user_is_left_alone(points: NDArray[np.float64]) -> None:
    before = dict(matplotlib.rcParams)
    png_map(points, None)
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_history_draws_both_curves(tmp_path: Path) -> None:
    image = pixels(draw_history(HISTORY, tmp_path / "history.png"))
    middle = image.shape[1] // 2
    assert share_of(image[:, :middle], LIGHT.hues[0]) > 0.001
    assert share_of(image[:, middle:], LIGHT.hues[1]) > 0.001
    assert png_history(HISTORY[:1]) != png_history(HISTORY)


def test_bad_input_is_named(points: NDArray[np.float64], tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="3 labels came for 120 points"):
        png_map(points, np.zeros(3))
    with pytest.raises(InvalidParameter, match=r"shape \(120, 1\) came"):
        png_map(points[:, :1], None)
    with pytest.raises(InvalidParameter, match="not trained"):
        png_history([])
    with pytest.raises(InvalidParameter, match="is a folder"):
        draw_map(points, None, tmp_path)


def test_missing_matplotlib_says_what_to_install(
    points: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'infograph\[plot\]'"):
        png_map(points, None)

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from infograph.errors import InvalidParameter
from infograph.look.svg import LIGHT
from infograph.report.figures import (
    best_rows,
    draw_history,
    history_table,
    panels_of,
    png_history,
    rate_changes,
    write_history,
)
from tests.report.test_figures import pixels, share_of

RATES = [1e-3, 1e-3, 7e-4, 7e-4, 4.9e-4]
ERRORS = [9.0, 4.0, 5.0, 0.3, 0.4]


def record(epoch: int, **more: float) -> dict[str, float]:
    terms = {"supervised": 2.0 / epoch, "unsupervised": 3.0 - epoch, "transfer": 0.1}
    return {"epoch": epoch, "loss": 5.0 / epoch, **terms, "accuracy": 0.6, "seconds": 1.0, **more}


HISTORY = [record(e + 1, lr=RATES[e], validation=ERRORS[e]) for e in range(5)]


def test_every_term_has_a_panel_and_the_error_its_unit() -> None:
    panels = panels_of(HISTORY, "hartree")
    assert [panel.title for panel in panels] == [
        "loss",
        "supervised",
        "unsupervised",
        "transfer",
        "pairs told apart (%)",
        "validation error (hartree)",
        "learning rate",
    ]
    assert panels[1].lines == (([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 2 / 3, 0.5, 0.4]),)
    assert panels[4].lines[0][1] == [60.0] * 5
    assert [panel.logarithmic for panel in panels] == [False] * 5 + [True, False]


def test_shares_of_wrong_classes_are_per_cent() -> None:
    wrong = [{"epoch": 1.0, "loss": 1.0, "supervised": 1.0, "validation": 0.125}]
    assert [panel.title for panel in panels_of(wrong, "% wrong")] == ["loss", "validation error (% wrong)"]
    assert panels_of(wrong, "% wrong")[-1].lines[0][1] == [12.5]
    assert history_table(wrong, "% wrong") == (
        ["epoch", "loss", "validation, % wrong"],
        [["1 *", "1", "12.5"]],
    )


def test_rates_and_the_best_epoch_are_found() -> None:
    assert rate_changes(HISTORY) == [3.0, 5.0]
    assert best_rows(HISTORY) == [3]
    two = [{**one, "model": m} for m in (1.0, 2.0) for one in HISTORY]
    assert best_rows(two) == [3, 8]
    assert len(panels_of(two)[0].lines) == 2
    assert best_rows([record(1)]) == []


def test_a_long_table_keeps_the_best_and_the_last_epoch() -> None:
    long = [record(e, lr=1e-3, validation=abs(e - 77.0)) for e in range(1, 201)]
    _, rows = history_table(long, most=20)
    assert len(rows) <= 22
    assert [row[0] for row in rows if "*" in row[0]] == ["77 *"]
    assert (rows[0][0], rows[-1][0]) == ("1", "200")


@pytest.mark.parametrize("width", [140, 80, 60, 40, 20])
def test_a_narrow_table_keeps_the_error(width: int) -> None:
    head, rows = history_table(HISTORY, "hartree", width=width)
    wide = sum(max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)) - 2
    assert wide <= max(width, len("epoch  validation, hartree"))
    assert head[-1] in ("lr", "validation, hartree")
    assert "validation, hartree" in head
    assert ("supervised" in head) == (width >= 40)


def test_figure_shows_rates_and_every_curve(tmp_path: Path) -> None:
    image = pixels(draw_history(HISTORY, tmp_path / "history.png", unit="hartree"))
    for hue in LIGHT.hues[:6]:
        assert share_of(image, hue) > 0.0003
    flat = [{**one, "lr": 1e-3} for one in HISTORY]
    dotted = share_of(image, LIGHT.missing, 20) - share_of(pixels(png_history(flat)), LIGHT.missing, 20)
    assert dotted > 0
    path = draw_history(HISTORY, tmp_path / "history.svg", unit="hartree")
    assert path.read_text().startswith("<?xml")
    assert draw_history(HISTORY, tmp_path / "again.svg", unit="hartree").read_bytes() == path.read_bytes()


def test_csv_has_every_record(tmp_path: Path) -> None:
    path = write_history(HISTORY, tmp_path / "history.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["validation"]) for row in rows] == ERRORS
    assert list(rows[0]) == list(HISTORY[0])


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="was not trained"):
        history_table([])
    with pytest.raises(InvalidParameter, match=r"drawn to \.png or \.svg files"):
        draw_history(HISTORY, tmp_path / "history.pdf")

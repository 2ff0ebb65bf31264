"""The course of a training run as figures: what can be drawn, and a table of epochs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infograph.contract import load
from infograph.data.storage import read_json, replaced_file
from infograph.errors import InvalidFile, InvalidParameter
from infograph.train.figures import ERROR, WRONG, terms_of
from infograph.train.progress import validation_unit

History = Sequence[Mapping[str, float]]
TITLES = {"mi": "mutual information", "accuracy": "pairs told apart (%)", "lr": "learning rate"}
PERCENT = ("accuracy", "confident")


@dataclass(frozen=True)
class Panel:
    """One figure over the epochs.

    Attributes:
        key: its name in the history.
        title: for people, with its unit.
        lines: (epochs, values) of every network.
        logarithmic: whether the axis should be.
    """

    key: str
    title: str
    lines: tuple[tuple[list[float], list[float]], ...]
    logarithmic: bool = False


def panels_of(history: History, unit: str = "") -> list[Panel]:
    """What of a history is worth a look, in order: loss, its terms, accuracy, validation, learning rate.

    Raises:
        InvalidParameter: nothing was trained.
    """
    _check(history)
    keys = [key for key in _keys(history) if _worth(history, key)]
    return [_panel(history, key, unit) for key in keys]


def rate_changes(history: History) -> list[float]:
    """The epochs of the first network from which on the learning rate was lower."""
    epochs, rates = _lines(history, "lr")[0] if any("lr" in record for record in history) else ([], [])
    return [epochs[i] for i in range(1, len(rates)) if rates[i] < rates[i - 1]]


def history_table(
    history: History, unit: str = "", *, most: int = 20, width: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows for a terminal: evenly chosen epochs, the best and the last one among them.

    The best epoch of every network is marked with a star. Where `width` letters are too few for all columns,
    the error of the whole is the last to go, and the terms of the loss are the last but one.
    """
    _check(history)
    keys = [key for key in _keys(history) if _worth(history, key)]
    for key in _least_needed(keys):
        head, rows = _table(history, keys, unit, most)
        wide = sum(max(map(len, column)) + 2 for column in zip(head, *rows, strict=True))
        if width is None or wide - 2 <= width:
            break
        keys = [other for other in keys if other != key]
    return _table(history, keys, unit, most)


def _least_needed(keys: Sequence[str]) -> list[str]:
    """The columns to leave out, in that order, where not all fit."""
    each = [key for key in keys if key.startswith(f"{ERROR} ")]
    first = [*each, *(key for key in (*PERCENT, "lr", "loss") if key in keys)]
    return [*first, *(key for key in reversed(keys) if key not in first and key != ERROR)]


def _table(history: History, keys: Sequence[str], unit: str, most: int) -> tuple[list[str], list[list[str]]]:
    head = ["epoch", *(_heading(key, unit) for key in keys)]
    if "model" in history[0]:
        head.insert(0, "network")
    best = set(best_rows(history))
    step = max(1, -(-len(history) // most))
    shown = sorted({*range(0, len(history), step), *best, len(history) - 1})
    rows = []
    for row in shown:
        record = history[row]
        star = " *" if row in best else ""
        cells = [f"{record['epoch']:g}{star}", *(_cell(record.get(key), key, unit) for key in keys)]
        rows.append([f"{record['model']:g}", *cells] if "model" in record else cells)
    return head, rows


def best_rows(history: History) -> list[int]:
    """The record of every network whose weights were kept; none where there was no validation."""
    best: dict[float, int] = {}
    for row, record in enumerate(history):
        model = record.get("model", 1.0)
        if ERROR in record and (model not in best or record[ERROR] < history[best[model]][ERROR]):
            best[model] = row
    return list(best.values())


def write_history(history: History, path: str | Path) -> Path:
    """Write all records to a CSV file, whole or not at all."""
    _check(history)
    names = list(dict.fromkeys(name for record in history for name in record))
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(history)
    return Path(path)


def history_of(path: str | Path) -> tuple[History, str]:
    """The history of a model folder, or of a result file, and the unit of its validation error.

    Raises:
        FileMissing, InvalidFile: there is no such thing, or it is something else.
    """
    path = Path(path)
    if path.suffix != ".json" or path.is_dir():
        model = load(path)
        return model.history_, history_unit(model)
    content = read_json(path)
    history = content.get("history")
    if not isinstance(history, list):
        raise InvalidFile(f"{path} has no history of a training run")
    return history, str(content.get("unit", ""))


def history_unit(model: Any) -> str:
    """The unit of the validation error of a fitted model's history; empty for models without one."""
    units = getattr(model, "target_units_", None)
    return "" if units is None else validation_unit(units, classes=hasattr(model, "classes_"))


def _check(history: History) -> None:
    if not history:
        raise InvalidParameter("there is no history to draw: the model was not trained")


def _keys(history: History) -> list[str]:
    record = history[0]
    known = ["loss", *terms_of(record), "mi", "accuracy", "confident", ERROR]
    each = [name for name in record if name.startswith(f"{ERROR} ")]
    return [key for key in [*known, *each, "lr"] if key in record]


def _worth(history: History, key: str) -> bool:
    if key == "mi":  # the same curve as the loss, upside down
        return False
    if key in terms_of(history[0]) and len(terms_of(history[0])) == 1 and "loss" in history[0]:
        return False  # one term alone is the loss
    return key != "lr" or len({record.get("lr") for record in history}) > 1


def _lines(history: History, key: str) -> list[tuple[list[float], list[float]]]:
    lines: dict[float, tuple[list[float], list[float]]] = {}
    for record in history:
        epochs, values = lines.setdefault(record.get("model", 1.0), ([], []))
        if key in record:
            epochs.append(float(len(epochs) + 1))
            values.append(record[key])
    return list(lines.values())


def _panel(history: History, key: str, unit: str) -> Panel:
    factor = 100.0 if key in PERCENT or (key == ERROR and unit == WRONG) else 1.0
    lines = tuple((epochs, [factor * v for v in values]) for epochs, values in _lines(history, key))
    every = [value for _, values in lines for value in values]
    positive = key not in PERCENT and min(every) > 0
    return Panel(key, _title(key, unit), lines, positive and max(every) > 20 * min(every))


def _title(key: str, unit: str) -> str:
    if key == ERROR:
        return f"validation error ({unit})" if unit else "validation error"
    return TITLES.get(key, f"{key} (%)" if key in PERCENT else key)


def _heading(key: str, unit: str) -> str:
    if key == ERROR:
        return f"validation, {unit}" if unit else "validation"
    return {"accuracy": "pairs, %", "confident": "confident, %"}.get(key, key)


def _cell(value: float | None, key: str, unit: str) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f}" if key in PERCENT or (key == ERROR and unit == WRONG) else f"{value:.4g}"

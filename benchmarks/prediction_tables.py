"""What predictions are worth: tables and figures, made from results/predictions."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from infograph.data.qm9 import TARGETS
from infograph.look.describe import holm
from infograph.look.svg import LIGHT, circle, document, label, number
from infograph.paper.predictions import LEVEL, REFERENCES, SETS, prediction_cell
from infograph.report.pages import signed

CHOOSING_SEEDS, REPORT_SEEDS = range(100, 105), range(5, 10)
Found = dict[tuple[str, str, int], dict[str, Any]]  # set, method, seed -> result
COLUMNS = {
    "mean": "mean",
    "atom counts": "atom counts",
    "forest": "forest",
    "supervised": "supervised",
    "infograph": "InfoGraph",
    "infograph*": "InfoGraph\\*",
    "vectors": "vectors",
    "auto": "auto",
}
SIMPLE = ("atom counts", "forest")  # what auto has to beat
MEASURED = tuple(name for name, of in SETS.items() if of.how == "scaffold" and not of.labels)
FIGURES = {"rmse": "RMSE", "mae": "MAE", "roc_auc": "ROC-AUC, %"}
# On the order of DeepChem and OGB, as others published them: InfoGraph by others, forest on ECFP.
PUBLISHED = {
    "BACE": (73.9, 86.6),
    "Tox21": (68.4, 67.4),
    "SIDER": (62.7, 63.0),
    "ClinTox": (84.5, 68.9),
    "ESOL": (1.12, 1.70),
}
TRAINED, TESTED = 0.8, 0.1  # shares of a split
NONE = "–"
PRINTS = "fingerprints and descriptors"  # what a head of "vectors" without vectors sees
DRAW = 0.01  # a smaller share of the error is called a draw
SHOWN = ("alpha", "gap", "U0")  # of QM9
ENDING = " 20 per update cosine"  # how networks are trained on QM9
CURVES = {
    "forest": "forest",
    **{name + ENDING: COLUMNS[name] for name in ("supervised", "infograph", "infograph*")},
    "vectors": "vectors",
}
PANEL, HEIGHT, LEFT, TOP, BELOW = 250, 210, 52, 52, 58  # of the figure, in pixels


def read_predictions(results: Path) -> Found:
    """All results; of a name that has several, the one of today's settings."""
    found: Found = {}
    for path in sorted((results / "predictions").glob("*.json")):
        content = json.loads(path.read_text())
        of = content["settings"]
        place = of["data"], of["method"], of["seed"]
        if place not in found or path == prediction_cell(*place).path(results):
            found[place] = content
    return found


def measured_table(found: Found) -> str:
    """The six sets on scaffold splits, and what auto gains over the better of forest and atom counts."""
    judged = {method for name, method, seed in found if name in MEASURED and seed in REPORT_SEEDS}
    columns = {method: title for method, title in COLUMNS.items() if method in judged}
    titles = [*columns.values(), "splits", "auto over the better simple one", "auto took"]
    lines = [_head(["set", "figure", *titles], 2)]
    gains = _gains(found)
    for name in MEASURED:
        cells = [_mean(found, name, method, REPORT_SEEDS) for method in columns]
        splits = len(_shared(found, name, ("auto", *SIMPLE), REPORT_SEEDS))
        took = ", ".join(f"{kind} {n}" for kind, n in _taken(found, name).most_common())
        end = [str(splits), _gain_text(gains.get(name)), took or NONE]
        lines.append(_row([name, FIGURES[SETS[name].figure], *cells, *end]))
    return "\n".join([*lines, "", auto_sentence(found)])


def property_table(found: Found) -> str:
    """Two measured values on scaffold splits: the default beside a forest, atom counts and the mean."""
    shown = {"mean": "the mean", "atom counts": "atom counts", "forest": "forest", "auto": "infograph"}
    rows = {"ESOL": "solubility (ESOL), log(mol/L)", "FreeSolv": "hydration energy (FreeSolv), kcal/mol"}
    gains = _gains(found)
    titles = [*shown.values(), "less error than the better simple one", "splits"]
    lines = [_head(["RMSE on new scaffolds", *titles], 1)]
    for data, title in rows.items():
        seeds = _shared(found, data, list(shown), REPORT_SEEDS)
        cells = [_mean(found, data, name, seeds) for name in shown]
        lines.append(_row([title, *cells, _gain_text(gains.get(data)), str(len(seeds))]))
    return "\n".join([*lines, "", auto_sentence(found)])


def auto_sentence(found: Found) -> str:
    """How often auto has less error than the better of forest and atom counts; where it took no encoder."""
    gains = _gains(found)
    if not gains:
        return '`objective="auto"` has no results yet.'
    won, lost = ([name for name, each in gains.items() if each[2] == sign] for sign in (1, -1))
    p_values = holm(np.array([each[1] for each in gains.values()]))
    kept = [name for name, p in zip(gains, p_values, strict=True) if p < 0.05 and gains[name][2]]
    ahead = sum(each[0] > 0 for each in gains.values())
    bare = [
        f" On {name} it took {PRINTS}, without any encoder, on {taken[PRINTS]} of {taken.total()} splits."
        for name in gains
        if (taken := _taken(found, name))[PRINTS]
    ]
    return (
        f'On scaffold splits of {len(gains)} public sets, `objective="auto"` has less error in the mean than '
        f"the better of a forest and of atom counts on {ahead}. By the corrected paired test per set it has "
        f"significantly less on {_named(won)}, and more on {_named(lost)}; after Holm's correction over the "
        f"{len(gains)} tests {_named(kept)} of these {'is' if len(kept) == 1 else 'are'} left.{''.join(bare)}"
    )


def _named(names: Sequence[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "0"


def _gain_text(gain: tuple[float, float, int] | None) -> str:
    return NONE if gain is None else f"{signed(100 * gain[0], 1)} % (p = {gain[1]:.2g})"


def _taken(found: Found, data: str) -> Counter[str]:
    """What auto took on a set: a network, a head on vectors, or one that sees no vectors; and how often."""
    taken = Counter[str]()
    for seed in _shared(found, data, ["auto"], REPORT_SEEDS):
        of = found[data, "auto", seed]
        if of.get("chosen") == "vectors" and "vectors" not in of["inputs"].split("+"):
            taken[PRINTS] += 1
        elif "chosen" in of:
            taken[COLUMNS[of["chosen"]]] += 1
    return taken


def _gains(found: Found) -> dict[str, tuple[float, float, int]]:
    seeds = {name: _shared(found, name, ("auto", *SIMPLE), REPORT_SEEDS) for name in MEASURED}
    every = {name: _gain(found, name, "auto", SIMPLE, seeds[name]) for name in MEASURED}
    return {name: gain for name, gain in every.items() if gain is not None}


def ordered_table(found: Found) -> str:
    """DeepChem's deterministic order, opened once, beside our forest and what others published."""
    titles = ["auto", "our forest", "InfoGraph by others", "forest on ECFP by others"]
    lines = [_head(["set", "figure", *titles], 2)]
    for name, published in PUBLISHED.items():
        of = SETS[f"{name} ordered"]
        cells = [_mean(found, of.title, method, [REPORT_SEEDS[0]]) for method in ("auto", "forest")]
        digits = 2 if of.figure == "rmse" else 1
        lines.append(_row([name, FIGURES[of.figure], *cells, *(f"{each:.{digits}f}" for each in published)]))
    return "\n".join(lines)


def labels_table(found: Found) -> str:
    """Three targets of QM9 over numbers of labels; a network learns all twelve at once."""
    methods = {"mean": "mean", "atom counts": "atom counts", **CURVES}
    lines = [_head(["target", "labels", *methods.values(), "seeds"], 1)]
    for target, of in product(SHOWN, (of for of in SETS.values() if of.labels)):
        seeds = {name: len(_shared(found, of.title, [name], REPORT_SEEDS)) for name in methods}
        most = max(seeds.values())
        fewer = {name: f" ({count})" if 0 < count < most else "" for name, count in seeds.items()}
        cells = [_mean(found, of.title, name, REPORT_SEEDS, target) + fewer[name] for name in methods]
        if most:
            lines.append(_row([target, f"{of.labels:,}", *cells, str(most)]))
    return "\n".join(lines) if len(lines) > 1 else "No results yet."


def qm9_table(found: Found) -> str:
    """The twelve targets of QM9 with the most labels, and whether a network is below every reference."""
    data = max((of for of in SETS.values()), key=lambda of: of.labels).title
    methods = {"mean": "mean", "atom counts": "atom counts", **CURVES}
    seeds = _shared(found, data, REFERENCES, REPORT_SEEDS)
    learned = [name for name in methods if name not in REFERENCES and _shared(found, data, [name], seeds)]
    if not learned:
        return "No results yet."
    lines = [_head(["target", "unit", *methods.values(), "best below references"], 2)]
    below, close = 0, list[str]()
    for column in TARGETS:
        errors = {name: _average(found, data, name, seeds, column.name) for name in methods}
        best, other = (min(errors[name] for name in names) for names in (learned, REFERENCES))
        below += best < other
        close += [column.name] * (abs(1 - best / other) < DRAW)
        cells = [_mean(found, data, name, seeds, column.name) for name in methods]
        lines.append(_row([column.name, column.unit, *cells, f"{100 * (1 - best / other):.1f} %"]))
    drawn = f"; by less than {100 * DRAW:g} %, which is a draw, on {', '.join(close)}" if close else ""
    told = f"The best of ours is below every reference on {below} of {len(TARGETS)} targets{drawn}."
    return "\n".join([*lines, "", told])


def coverage_table(found: Found) -> str:
    """How often values lie between the bounds, how wide these are, and whether widths rank errors."""
    head = [
        "set",
        "split",
        "method",
        f"inside, % (asked: {100 * LEVEL:g})",
        "width",
        "rank correlation",
        "splits",
    ]
    lines = [_head(head, 3)]
    for (name, method), known in _intervals(found).items():
        of = SETS[name]
        width, rank = (np.mean([each["intervals"][what] for each in known]) for what in ("width", "rank"))
        cells = [of.name, of.how, COLUMNS[method], f"{_inside(known):.1f}", f"{width:.2f}", f"{rank:.2f}"]
        lines.append(_row([*cells, str(len(known))]))
    return "\n".join(lines) if len(lines) > 1 else "No results yet."


def _intervals(found: Found) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The results with intervals, by set and method."""
    sets = [name for name, of in SETS.items() if of.figure == "rmse" and of.how != "ordered"]
    known: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, method, seed in product(sets, ("vectors", "infograph*", "auto"), range(5, 15)):
        if "intervals" in found.get((name, method, seed), {}):
            known.setdefault((name, method), []).append(found[name, method, seed])
    return known


def _inside(known: Sequence[Mapping[str, Any]]) -> float:
    """How often values lie between the bounds, in per cent, pooled over the molecules of all splits."""
    shares = [each["intervals"]["coverage"] for each in known]
    return float(100 * np.average(shares, weights=[each["n_test"] for each in known]))


def candidates_table(found: Found) -> str:
    """What was tried on the sets and seeds that choose."""
    sets = [name for name, of in SETS.items() if of.role == "choosing" and of.how == "scaffold"]
    sets = [name for name in sets if any(each[0] == name and each[2] in CHOOSING_SEEDS for each in found)]
    methods = list(dict.fromkeys(each[1] for each in sorted(found) if each[2] in CHOOSING_SEEDS))
    if not methods:
        return "No results yet."
    lines = [_head(["candidate", *sets], 1)]
    for method in methods:
        cells = []
        for name in sets:
            seeds = _shared(found, name, [method], CHOOSING_SEEDS)
            fewer = f" ({len(seeds)})" if 0 < len(seeds) < len(CHOOSING_SEEDS) else ""
            cells.append(_mean(found, name, method, CHOOSING_SEEDS) + fewer)
        lines.append(_row([method, *cells]))
    told = (
        "Development figures that choose, not results; in brackets the number of splits where it is not five."
        " QM9: the mean over twelve columns of the MAE on validation molecules, in deviations of what a "
        "network has to learn, which is what composition leaves."
    )
    return "\n".join([*lines, "", told])


def _gain(
    found: Found, data: str, method: str, others: Sequence[str], seeds: Sequence[int]
) -> tuple[float, float, int] | None:
    """How much less error a method has than the best of others, its p-value, and who wins."""
    if len(seeds) < 2:
        return None
    errors = {name: _errors(found, data, name, seeds) for name in (method, *others)}
    best = min(others, key=lambda name: float(errors[name].mean()))
    less = (errors[best] - errors[method]) / errors[best].mean()
    spread = math.sqrt((1 / len(less) + TESTED / TRAINED) * less.var(ddof=1))
    p_value = 2 * float(student.sf(abs(less.mean()) / spread, len(less) - 1)) if spread else 1.0
    return float(less.mean()), p_value, int(np.sign(less.mean())) if p_value < 0.05 else 0


def _errors(found: Found, data: str, method: str, seeds: Iterable[int]) -> Any:
    scores = np.array([found[data, method, seed]["test"] for seed in seeds])
    return 1 - scores if SETS[data].figure == "roc_auc" else scores


def _shared(found: Found, data: str, methods: Sequence[str], seeds: Iterable[int]) -> list[int]:
    return [seed for seed in seeds if all((data, name, seed) in found for name in methods)]


def _average(found: Found, data: str, method: str, seeds: Iterable[int], target: str = "") -> float:
    """The mean over seeds, of one column or of all, on QM9 in deviations of validation molecules, or NaN."""
    results = [found[data, method, seed] for seed in _shared(found, data, [method], seeds)]
    place = [column.name for column in TARGETS].index(target) if target else 0
    whole = "validation" if SETS[data].labels else "test"
    return float(
        np.mean(
            [each["scores"][place] if target else each.get(whole, np.nan) for each in results] or [np.nan]
        )
    )


def _mean(found: Found, data: str, method: str, seeds: Iterable[int], target: str = "") -> str:
    mean = _average(found, data, method, seeds, target)
    if math.isnan(mean):
        return NONE
    return f"{100 * mean:.1f}" if SETS[data].figure == "roc_auc" else f"{mean:.3g}"


def _head(cells: Sequence[str], texts: int) -> str:
    return f"| {' | '.join(cells)} |\n|{'---|' * texts}{'--:|' * (len(cells) - texts)}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# ---- figures

Curves = Mapping[str, Mapping[int, float]]  # name -> number of labels -> error


def labels_figure(found: Found) -> str:
    """The error over the number of labels, a panel per target."""
    named = {title.replace("\\", ""): name for name, title in CURVES.items()}
    units = {column.name: column.unit for column in TARGETS}
    panels = {
        f"{each}, {units[each]}": {title: _curve(found, each, name) for title, name in named.items()}
        for each in SHOWN
    }
    return _figure("What labels bring: mean absolute error on QM9 over the number of labels", panels)


def suggest_figure(measured: Mapping[str, Any]) -> str:
    """The error over the number of labels, drawn at random or suggested."""
    panels: dict[str, Curves] = {}
    for name, of in measured.items():
        rules = [each.removesuffix(" rmse") for each in of if each.endswith(" rmse")]
        panels[f"{name}, RMSE"] = {
            each: dict(zip(of["labels"], of[f"{each} rmse"]["mean"], strict=True)) for each in rules
        }
    return _figure("What to measure next: test error with labels that are drawn or suggested", panels)


def coverage_figure(found: Found) -> str:
    """How many values lie inside intervals, split by split; the bar is that of all splits together."""
    title = f"Measured values inside {100 * LEVEL:g} % intervals, in per cent: a dot per split, a bar for all"
    rows, (left, step, right) = _intervals(found), (190, 36, 700)
    shares = [100 * each["intervals"]["coverage"] for known in rows.values() for each in known]
    low = 5 * math.floor(min(shares, default=80) / 5)
    across = lambda share: left + (share - low) / (100 - low) * (right - left)  # noqa: E731
    bottom = TOP + step * len(rows)
    parts = [label(12, 22, title, 13, LIGHT.ink, more=' font-weight="bold"')]
    for mark in range(low, 101, 5):
        asked = mark == round(100 * LEVEL)
        ends = [(across(mark), TOP - 10), (across(mark), bottom)]
        parts.append(_line(ends, LIGHT.ink if asked else LIGHT.faint, 1.5 if asked else 1))
        parts.append(label(across(mark), bottom + 18, str(mark), 11, LIGHT.ink, anchor="middle"))
    for place, ((name, method), known) in enumerate(rows.items()):
        of, y, hue = SETS[name], TOP + step * (place + 0.4), LIGHT.hues[SETS[name].how == "random"]
        parts.append(label(12, y + 4, f"{of.name}, {of.how}, {COLUMNS[method]}", 12, LIGHT.ink))
        x = across(_inside(known))
        parts.append(_line([(x, y - 13), (x, y + 13)], hue, 4))
        for each in known:
            share, seed = 100 * each["intervals"]["coverage"], each["settings"]["seed"]
            parts.append(circle(across(share), y, 4.5, hue, title=f"seed {seed}: {share:.1f} %"))
    return document(right + 40, bottom + 32, LIGHT, title, parts) + "\n"


def _curve(found: Found, target: str, method: str) -> dict[int, float]:
    """The errors over the seeds that all methods have which were judged with so many labels."""
    curve = {}
    for of in (of for of in SETS.values() if of.labels):
        judged = [name for name in CURVES if _shared(found, of.title, [name], REPORT_SEEDS)]
        if method in judged:
            seeds = _shared(found, of.title, judged, REPORT_SEEDS)
            curve[of.labels] = _average(found, of.title, method, seeds, target)
    return {count: error for count, error in curve.items() if not math.isnan(error)}


def _figure(title: str, panels: Mapping[str, Curves]) -> str:
    parts = [label(12, 22, title, 13, LIGHT.ink, more=' font-weight="bold"')]
    for place, name in enumerate(next(iter(panels.values()))):
        x = 16 + 120 * place
        parts.append(circle(x, HEIGHT + TOP + BELOW - 16, 5, LIGHT.hues[place]))
        parts.append(label(x + 10, HEIGHT + TOP + BELOW - 12, name, 12, LIGHT.ink))
    for place, (name, curves) in enumerate(panels.items()):
        parts += _panel(place * PANEL, name, curves)
    width = max(PANEL * len(panels), 9 * len(title)) + 12
    return document(width, HEIGHT + TOP + BELOW, LIGHT, title, parts) + "\n"


def _panel(left: float, title: str, curves: Curves) -> list[str]:
    """Both axes are logarithmic."""
    values = [value for curve in curves.values() for value in curve.values()]
    counts = sorted({count for curve in curves.values() for count in curve})
    parts = [label(left + LEFT, TOP - 8, title, 12, LIGHT.ink)]
    if len(counts) < 2:
        return [*parts, label(left + LEFT, TOP + 20, "No results yet.", 12, LIGHT.ink)]
    low, high = math.log(min(values) * 0.95), math.log(max(values) * 1.05)
    span = math.log(counts[-1] / counts[0])
    across = lambda count: left + LEFT + 8 + math.log(count / counts[0]) / span * (PANEL - LEFT - 36)  # noqa: E731
    down = lambda value: TOP + (high - math.log(value)) / (high - low) * (HEIGHT - 30)  # noqa: E731
    for mark in np.exp(np.linspace(low, high, 4)):
        y = down(float(mark))
        parts.append(_line([(left + LEFT, y), (left + PANEL - 20, y)], LIGHT.faint, 1))
        parts.append(label(left + LEFT - 6, y + 4, f"{mark:.2g}", 11, LIGHT.ink, anchor="end"))
    shown = -math.inf
    for count in counts:  # as many numbers as there is room for
        if across(count) - shown > 30:
            shown = across(count)
            parts.append(label(shown, TOP + HEIGHT - 12, f"{count:,}", 11, LIGHT.ink, anchor="middle"))
    for hue, (name, curve) in zip(LIGHT.hues, curves.items(), strict=False):
        points = [(across(count), down(value)) for count, value in sorted(curve.items())]
        parts += [_line(points, hue, 2)] if len(points) > 1 else []
        parts += [
            circle(x, y, 4, hue, title=f"{name}, {count:,} labels: {curve[count]:.3g}")
            for (x, y), count in zip(points, sorted(curve), strict=True)
        ]
    return parts


def _line(points: Sequence[tuple[float, float]], colour: str, width: float) -> str:
    placed = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polyline points="{placed}" fill="none" stroke="{colour}" stroke-width="{number(width)}"/>'

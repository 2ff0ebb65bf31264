"""What training adds, and what was tried before: tables and a figure, made from results/vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from infograph.cells import Cell
from infograph.evaluate import Evaluation, merge, paired_test
from infograph.evaluate.judges import SCORINGS
from infograph.io import read_json
from infograph.look.describe import holm
from infograph.look.svg import LIGHT, circle, document, label, number
from infograph.paper.vectors import (
    DEFAULT,
    DEFAULT_UNTRAINED,
    FRESH,
    IDEAS,
    METHODS,
    PRETRAINED,
    REFERENCES,
    SETS,
    vector_cell,
)
from infograph.report.pages import signed

CHOOSING_SEEDS, REPORT_SEEDS = range(100, 105), range(10)
LEVEL = 0.05
COLUMNS = {  # the gain stands behind the first three
    "untrained": "untrained",
    DEFAULT_UNTRAINED: "untrained, its inputs",
    DEFAULT: "the default",
    PRETRAINED: "pre-trained",
    "paper": "the paper's settings",
}
FIGURES = {"accuracy": "accuracy", "roc_auc": "ROC-AUC", "rmse": "RMSE"}
TITLES = {
    "wl": "WL",
    "wl-oa": "WL-OA",
    "ltp": "LTP",
    "morgan bits": "bits",
    "morgan counts": "counts",
    "morgan counts + descriptors": "counts + descriptors",
    DEFAULT_UNTRAINED: "untrained, its inputs",
}
_A1 = ("paper", "conditioned", "conditioned dv", "conditioned infonce", "cosine infonce")
_OWN = {f"+ {idea}": f"untrained {idea}" for idea in ("joined", "log", "degrees", "edges")}
_A2 = tuple(f"+ {idea}" for idea in (*IDEAS, "averaged", "joined", "views", "masked"))  # four are gone
_BEST = "conditioned infonce"  # of A1
_B = ("log edges", "log edges degrees", "log edges averaged", "log edges auto")
_C = ("auto 3 layers", "auto 8 patches", "auto 3 layers 8 patches", "auto slower")
ROUNDS = {  # title -> candidates and what each is compared with, and what all are compared with
    "Round A1, over the untrained encoder": (dict.fromkeys(_A1, "untrained"), "untrained"),
    f"Round A2, over {_BEST}, the best of A1": (dict.fromkeys(_A2, _BEST), _BEST),
    "Round A2, over the better of the candidate's own and today's untrained encoder": (
        {name: _OWN.get(name, "untrained") for name in _A2},
        "untrained",
    ),
    "Round B, over the better of its own and today's untrained encoder": (
        dict.fromkeys(_B, "untrained log edges"),
        "untrained",
    ),
    f"Round C, over {_B[-1]}, the best of B": (dict.fromkeys(_C, _B[-1]), _B[-1]),
    f"Round D, started from the pre-trained model, over {_B[-1]}": ({DEFAULT: _B[-1]}, _B[-1]),
}
NONE = "–"
_MOLECULES = tuple(name for name, of in SETS.items() if of.molecules)
_GRAPHS = tuple(name for name in SETS if name not in _MOLECULES)
_MORGAN = ("morgan bits", "morgan counts", "morgan counts + descriptors")
_OTHERS, _PRINTS = (
    "the strongest of WL, WL-OA, LTP and graph2vec",
    "the strongest of three Morgan fingerprints",
)
TOLD = (  # what over what, method, references, sets
    (f"The default over {_OTHERS}", DEFAULT, ("wl", "wl-oa", "ltp", "graph2vec"), _GRAPHS),
    (f"The default over {_PRINTS} under a forest", DEFAULT, _MORGAN, _MOLECULES),
    ("The default over the same from fresh weights", DEFAULT, (FRESH,), _MOLECULES),
    ("The default over the pre-trained model as it is", DEFAULT, (PRETRAINED,), _MOLECULES),
    (
        "The pre-trained model over the better untrained encoder",
        PRETRAINED,
        ("untrained", DEFAULT_UNTRAINED),
        _MOLECULES,
    ),
    (f"The pre-trained model over {_PRINTS} under a forest", PRETRAINED, _MORGAN, _MOLECULES),
)
HUES = {1: LIGHT.hues[0], 0: LIGHT.missing, -1: LIGHT.hues[1]}  # by verdict
WIDTH, LEFT, RIGHT, ROW, TOP = 560, 130, 78, 24, 44  # of the figure, in pixels


def gain_table(results: Path) -> str:
    """What training adds: a row per set, over the report's seeds alone."""
    titles = [*COLUMNS.values()]
    head = ["set", *titles[:3], "gain", *titles[3:], "best reference"]
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    gains = {each.data: each for each in report_gains(results)}
    for name, of in SETS.items():
        own = {method: seeds_of(results, name, [method], REPORT_SEEDS) for method in (*COLUMNS, *REFERENCES)}
        found = {method: evaluation_of(results, name, method, seeds) for method, seeds in own.items()}
        known = {method: evaluation for method, evaluation in found.items() if evaluation is not None}
        most = max(map(len, own.values()))
        fewer = {method: f" ({len(seeds)})" if len(seeds) < most else "" for method, seeds in own.items()}
        shown = [_mean(known[method]) + fewer[method] if method in known else NONE for method in COLUMNS]
        title = f"{name}, {FIGURES[of.scoring]}"
        title += f"<br>{most} of {len(REPORT_SEEDS)} seeds" if 0 < most < len(REPORT_SEEDS) else ""
        gain = f"{_gain(gains[name])} ({_chance(gains[name])})" if name in gains else NONE
        row = [title, *shown[:3], gain, *shown[3:], _best(known, fewer)]
        lines.append(f"| {' | '.join(row)} |")
    others = filter(None, (_duels_told(results, *each) for each in TOLD))
    return "\n\n".join(["\n".join(lines), gain_sentence(results), *others])


def gain_sentence(results: Path) -> str:
    """How often the default is better than the better untrained encoder, also as one family of tests."""
    gains = report_gains(results)
    if not gains:
        return "The default has no results yet."
    won, lost = (sum(each.verdict == sign for each in gains) for sign in (1, -1))
    p_values = holm(np.array([each.p_value for each in gains]))
    kept = [each.data for each, p in zip(gains, p_values, strict=True) if p < LEVEL and each.verdict]
    ahead = sum(each.gain > 0 for each in gains)
    named = f" ({', '.join(kept)})" if kept else ""
    return (
        f"Over the better untrained encoder training is ahead on {ahead} of {len(gains)} sets in the mean. "
        f"With a test per set it is significantly ahead on {won} and behind on {lost}; after Holm's "
        f"correction over the {len(gains)} tests {len(kept)} of these are left{named}."
    )


def _duels_told(
    results: Path,
    title: str,
    method: str,
    references: Sequence[str],
    sets: Sequence[str],
    wanted: Sequence[int] = REPORT_SEEDS,
) -> str:
    """How a method does on every set against the reference it gains least over, with the seeds both have."""
    found: list[tuple[Duel, int]] = []
    for name in sets:
        fought = []
        for reference in references:
            seeds = seeds_of(results, name, [method, reference], wanted)
            fought += [
                (each, len(seeds)) for each in duels(results, name, {method: reference}, seeds, reference)
            ]
        found += sorted(fought, key=lambda each: each[0].gain)[:1]
    if not found:
        return ""
    marks = {1: "significantly better", 0: "not to be told apart", -1: "significantly worse"}
    named = {each: f" ({TITLES.get(each, each)})" if len(references) > 1 else "" for each in references}
    parts = [f"{_gain(each)} on {each.data}{named[each.reference]}, n = {n}" for each, n in found]
    counts = [f"{sum(each.verdict == sign for each, _ in found)} {name}" for sign, name in marks.items()]
    return f"{title}: {'; '.join(parts)}. By a test per set {', '.join(counts)}."


def report_gains(results: Path) -> list[Duel]:
    """The default against the better untrained encoder, on every set where both were judged."""
    found = []
    for name in SETS:
        seeds = seeds_of(results, name, ["untrained", DEFAULT, DEFAULT_UNTRAINED], REPORT_SEEDS)
        found += duels(results, name, {DEFAULT: DEFAULT_UNTRAINED}, seeds)
    return found


def candidate_tables(results: Path) -> str:
    """What every candidate gained on the sets that choose, over the seeds that choose."""
    sets = [name for name, of in SETS.items() if of.role == "choosing"]
    blocks = ["**Development figures that chose the default, not results.**"]
    for title, (candidates, other) in ROUNDS.items():
        found = {name: _round_on(results, name, candidates, other) for name in sets}
        most = max((n_seeds for each in found.values() for _, n_seeds in each.values()), default=0)
        lines = [
            f"| candidate | {' | '.join(sets)} | won − 2 × lost |",
            "|---" + "|--:" * (len(sets) + 1) + "|",
        ]
        for candidate in candidates:
            cells, verdicts = [], []
            for name in sets:
                duel, n_seeds = found[name].get(candidate, (None, 0))
                fewer = f" ({n_seeds})" if n_seeds < most else ""
                cells.append(NONE if duel is None else _gain(duel) + fewer)
                verdicts.append(0 if duel is None else duel.verdict)
            score = verdicts.count(1) - 2 * verdicts.count(-1)
            lines.append(f"| {candidate} | {' | '.join(cells)} | {score} |")
        blocks += [f"{title}; {most} seed{'s' if most != 1 else ''}:", "\n".join(lines)]
    drawn = (
        _duels_told(
            results,
            f"{n} nodes drawn over all",
            f"auto {n} patches",
            _B[-1:],
            ("REDDIT-BINARY",),
            CHOOSING_SEEDS,
        )
        for n in (64, 32)
    )
    return "\n\n".join([*blocks, *filter(None, drawn)])


def _round_on(
    results: Path, data: str, candidates: Mapping[str, str], other: str
) -> dict[str, tuple[Duel, int]]:
    """The duel of every candidate on a set, and its number of seeds; those of equal seeds are one round."""
    groups: dict[tuple[int, ...], dict[str, str]] = {}
    for candidate, own in candidates.items():
        seeds = seeds_of(results, data, [candidate, own, other], CHOOSING_SEEDS)
        groups.setdefault(tuple(seeds), {})[candidate] = own
    fought = [(duels(results, data, each, seeds, other), len(seeds)) for seeds, each in groups.items()]
    return {duel.candidate: (duel, n_seeds) for several, n_seeds in fought for duel in several}


def seeds_of(results: Path, data: str, methods: Iterable[str], wanted: Sequence[int]) -> list[int]:
    """The seeds for which all these methods have a result."""
    return [seed for seed in wanted if all(result_file(results, data, name, seed) for name in methods)]


def _mean(evaluation: Evaluation) -> str:
    digits = 1 if SCORINGS[evaluation.scoring].percent else 3
    return f"{evaluation.leak_free().in_table[0]:.{digits}f}"


def _best(found: Mapping[str, Evaluation], fewer: Mapping[str, str]) -> str:
    known = {name: each for name, each in found.items() if name in REFERENCES}
    if not known:
        return NONE
    best = _better(known)
    name = best.replace("morgan", "Morgan") if best in _MORGAN else TITLES.get(best, best)
    return f"{_mean(known[best])}{fewer[best]}, {name}"


def _better(known: Mapping[str, Evaluation]) -> str:
    """The method with the best mean."""
    lower = SCORINGS[next(iter(known.values())).scoring].lower
    return (min if lower else max)(known, key=lambda name: known[name].mean)


def _gain(duel: Duel) -> str:
    unit = " %" if SCORINGS[SETS[duel.data].scoring].lower else ""
    shown = f"{signed(100 * duel.gain, 1)}{unit}"
    return f"**{shown}**" if duel.verdict else shown


def _chance(duel: Duel) -> str:
    return "p < 0.001" if duel.p_value < 1e-3 else f"p = {duel.p_value:.2g}"


def gain_figure(results: Path) -> str:
    """A dot and an interval per set: what the default gains over the better untrained encoder."""
    gains = report_gains(results)
    height = TOP + ROW * max(len(gains), 1) + 46
    bottom, title = height - 46, "What training adds: the default minus the better untrained encoder"
    parts = [label(12, 22, title, 13, LIGHT.ink, more=' font-weight="bold"')]
    if not gains:
        parts.append(label(12, TOP + 16, "No results yet.", 12, LIGHT.ink))
        return document(WIDTH, height, LIGHT, title, parts) + "\n"
    ends = [100 * end for each in gains for end in each.interval]
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100) if (max(ends) - min(ends)) / s <= 8 or s == 100)
    low, high = step * math.floor(min(0, *ends) / step), step * math.ceil(max(0, *ends) / step)
    across = lambda value: LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)  # noqa: E731
    for mark in range(round((high - low) / step) + 1):
        value = low + mark * step
        dark = LIGHT.ink if value == 0 else LIGHT.faint
        parts.append(_line(across(value), TOP, across(value), bottom, dark, 1))
        parts.append(
            label(across(value), bottom + 16, f"{value:+g}" if value else "0", 11, LIGHT.ink, anchor="middle")
        )
    for place, each in enumerate(gains):
        y, hue = TOP + ROW * (place + 0.5), HUES[each.verdict]
        start, end = (across(100 * value) for value in each.interval)
        weight = ' font-weight="bold"' if each.verdict else ""
        parts += [
            label(LEFT - 10, y + 4, each.data, 12, LIGHT.ink, anchor="end"),
            _line(start, y, end, y, hue, 3),
            circle(across(100 * each.gain), y, 5, hue, title=f"{each.data}: {_gain(each)}"),
            label(WIDTH - 12, y + 4, _gain(each).strip("*"), 12, LIGHT.ink, anchor="end", more=weight),
        ]
    below = "Points of accuracy or ROC-AUC, or % less error. Lines: 95 % intervals. Coloured: p < "
    parts.append(label(12, height - 8, f"{below}{LEVEL:g}.", 11, LIGHT.ink))
    return document(WIDTH, height, LIGHT, title, parts) + "\n"


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, width: float) -> str:
    ends = zip(("x1", "y1", "x2", "y2"), (x, y, to_x, to_y), strict=True)
    placed = " ".join(f'{name}="{number(value)}"' for name, value in ends)
    return f'<line {placed} stroke="{colour}" stroke-width="{number(width)}"/>'


# ---- what decides


@dataclass(frozen=True)
class Duel:
    """A candidate against the better of two methods on one set, over some seeds."""

    data: str
    candidate: str
    reference: str  # the better one
    gain: float  # better by so much; relative for errors
    interval: tuple[float, float]  # of the gain, 95 %
    p_value: float  # after Holm's correction over the candidates of the round

    @property
    def verdict(self) -> int:
        """1 for a win, -1 for a loss, 0 where the folds cannot tell."""
        return int(np.sign(self.gain)) if self.p_value < LEVEL else 0


def evaluation_of(results: Path, data: str, method: str, seeds: Sequence[int]) -> Evaluation | None:
    """The evaluation of a method on a set over some seeds; None where one is missing."""
    paths = [result_file(results, data, method, seed) for seed in seeds]
    found = [read_json(path) for path in paths if path is not None]
    if not seeds or len(found) < len(seeds) or any("empty" in each for each in found):
        return None
    return merge(Evaluation.from_dict(each["evaluation"]) for each in found)


def result_file(results: Path, data: str, method: str, seed: int) -> Path | None:
    """The result of a cell by its name, for which no graphs are needed; None where there is none.

    Where a name has results of several settings, it is the one of today's.
    """
    name = Cell("vectors", f"{data} {method} {seed}", {}).key[:-8]
    there = [*(results / "vectors").glob(f"{name}{'?' * 8}.json")]
    if len(there) > 1 and method in METHODS:
        there = [path for path in there if path == vector_cell(data, method, seed).path(results)]
    return there[0] if there else None


def duels(
    results: Path, data: str, candidates: Mapping[str, str], seeds: Sequence[int], other: str = "untrained"
) -> list[Duel]:
    """Candidates on one set, each against the better of its own untrained encoder and of another method."""
    known = {
        name: evaluation_of(results, data, name, seeds) for name in {*candidates, *candidates.values(), other}
    }
    found = []
    for name, own in candidates.items():
        mine = known[name]
        others = {each: there for each in (own, other) if (there := known[each]) is not None}
        if mine is None or len(others) < len({own, other}):
            continue
        reference, lower = _better(others), SCORINGS[mine.scoring].lower
        rival = others[reference]
        test = paired_test(mine, rival)
        gain, *ends = (value / rival.mean if lower else value for value in (test.difference, *test.interval))
        found.append(Duel(data, name, reference, gain, (ends[0], ends[1]), test.p_value))
    adjusted = holm(np.array([each.p_value for each in found])).tolist()
    return [replace(each, p_value=p) for each, p in zip(found, adjusted, strict=True)]

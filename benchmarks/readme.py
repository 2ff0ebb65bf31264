"""The tables of README and docs, made from the result files and from the docstrings of public names.

    python -m benchmarks.readme

Replaces what stands between `<!-- name -->` and `<!-- /name -->`, whichever page has it. A test fails where a
text differs from what the files give.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.methods import SETS
from benchmarks.prediction_tables import (
    candidates_table,
    coverage_figure,
    coverage_table,
    labels_figure,
    labels_table,
    measured_table,
    ordered_table,
    property_table,
    qm9_table,
    read_predictions,
    suggest_figure,
)
from benchmarks.public_names import names_tables
from benchmarks.scale_tables import plan, scale_table
from benchmarks.vector_tables import candidate_tables, gain_figure, gain_sentence, gain_table
from infograph.evaluate import compare
from infograph.evaluate.published import figure_text, paper_table1, paper_table2
from infograph.paper.report import (
    COLUMNS2,
    INSIDE,
    absent,
    agreement_sheet,
    best_accuracies,
    digits,
    least_errors,
    measured_sets,
    provenance,
    published_error,
    reduced_grids,
    remarks,
    results_of,
    rounded,
    training_remarks,
    won,
)
from infograph.paper.table1 import CONFIDENCE, REPEATS, Table1, majority, read_table1, row_titles
from infograph.paper.table2 import ENOUGH, OBJECTIVES, REFERENCE, UNITS, Table2, read_table2
from infograph.report.pages import Entry, Sheet, as_markdown, grid, plain, text

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
MARKER = re.compile(r"<!-- (\S+) -->\n.*?<!-- /\1 -->", re.DOTALL)
NETWORKS = ("REDDIT-BINARY", "REDDIT-MULTI-5K", "IMDB-BINARY", "IMDB-MULTI")


def study_table(study: dict[str, Any]) -> str:
    """Accuracies of a study."""
    lines = ["| method | accuracy, % | deviation over repeats |", "|---|---|---|"]
    for row in study["table"]:
        deviation = "" if row["std"] is None else f"{row['std']:.2f}"
        lines.append(f"| {row['method']} | {row['mean']:.2f} | {deviation} |")
    return "\n".join(lines)


def training_table(result: dict[str, Any]) -> str:
    """Seconds per epoch, and how many times faster than the reference."""
    lines = [
        "| data | infograph, s | PyG reference, s | times faster | share of peak | 64 nodes per graph, s "
        "| times faster than all nodes | `transform`, graphs/s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['data']} | {row['seconds_per_epoch']:.3g} | {row['reference_seconds_per_epoch']:.3g} "
            f"| {row['times_faster']:.1f} | {row['share_of_peak']:.0%} "
            f"| {row['drawn_seconds_per_epoch']:.3g} | {row['drawn_times_faster']:.1f} "
            f"| {row['transform_graphs_per_second']:,.0f} |"
        )
    machine, peak = result["machine"], result["peak_gflops_per_second"]
    worst = max(max(row["float64_difference"].values()) for row in result["rows"])
    lines += [
        "",
        f"{machine['threads']} threads, torch {machine['torch']}; the peak is this machine's matrix product, "
        f"{peak:.0f} GFLOP/s. In float64 losses and gradients differ by at most {worst:.0e}.",
    ]
    return "\n".join(lines)


def memory_table(rows: list[dict[str, Any]]) -> str:
    """Peak memory of training."""
    lines = ["| training | peak memory, MB |", "|---|---|"]
    return "\n".join(lines + [f"| {row['case']} | {row['peak_mb']:,.0f} |" for row in rows])


def molecules_table(result: dict[str, Any]) -> str:
    """Seconds of enn-s2s and InfoGraph*, and how many times faster than the reference."""
    lines = ["| on QM9 | infograph, s | PyG reference, s | times faster |", "|---|---|---|---|"]
    for row in result["rows"]:
        reference = f"{row['reference_seconds']:.3g}" if "reference_seconds" in row else ""
        times = f"{row['times_faster']:.0f}" if "times_faster" in row else ""
        lines.append(f"| {row['case']} | {row['seconds']:.3g} | {reference} | {times} |")
    encoder, step, _, reading = result["rows"]
    lines += [
        "",
        f"{result['machine']['threads']} threads. Vectors differ by at most {encoder['difference']:.0e}; "
        f"{encoder['share_of_peak']:.0%} of this machine's matrix product at the time, "
        f"{result['peak_gflops_per_second']:.0f} GFLOP/s. An update needs "
        f"{step['memory_mb']:.0f} MB. QM9 opens in {1000 * reading['again_seconds']:.0f} ms once read.",
    ]
    return "\n".join(lines)


def kernels_table(result: dict[str, Any]) -> str:
    """Gram matrices by this package and by GraKeL, and which of them are the same."""
    lines = ["| data | kernel | infograph, s | GraKeL, s | times faster |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        stopped = "grakel_stopped_after" in row
        theirs = (
            f"stopped at {row['grakel_stopped_after']:.0f}" if stopped else f"{row['grakel_seconds']:.3g}"
        )
        times = f"{'over ' if stopped else ''}{row['times_faster']:,.0f}"
        lines.append(f"| {row['data']} | {row['kernel']} | {row['seconds']:.2g} | {theirs} | {times} |")
    same = [row for row in result["rows"] if row.get("difference", 1.0) == 0]
    apart = [row for row in result["rows"] if row.get("difference", 0.0) > 0]
    told = ", ".join(f"{row['kernel']} on {row['data']}" for row in same)
    told = f"{result['threads']} thread each. The same Gram matrices: {told}."
    for row in apart:
        told += f" {row['kernel']} on {row['data']} differs by {row['difference']:.1e} of the largest entry."
    told += " GK counts connected graphlets of four nodes, of which GraKeL misses some (by brute force)."
    lines += ["", told]
    return "\n".join(lines)


def judges_table(result: dict[str, Any]) -> str:
    """The same cross-validation by our support vector machines and by LIBSVM."""
    lines = [
        "| data | graphs | classes | infograph, s | LIBSVM, s | times faster |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['data']} | {row['graphs']:,} | {row['classes']} | {row['seconds']:.3g} "
            f"| {row['libsvm_seconds']:.3g} | {row['times_faster']:.1f} |"
        )
    same = "all scores are the same" if all(row["same"] for row in result["rows"]) else "scores differ"
    told = f"{result['folds']} folds with 5 inner folds each, seven C, 1 thread; {same}."
    return "\n".join([*lines, "", told])


def methods_table(rows: list[dict[str, Any]], skipgram: dict[str, Any]) -> str:
    """Seconds of every method on every data set, and the most memory one of them took."""
    found = {(row["method"], row["data"]): row for row in rows}
    sets = [name for name in SETS if any(data == name for _, data in found)]
    lines = [f"| method | {' | '.join(sets)} | peak, MB |", "|---" * (len(sets) + 2) + "|"]
    for name, method in compare.METHODS.items():
        cells = [found.get((name, data), {}) for data in sets]
        if not any(cells):
            continue
        peak = max((cell.get("peak_mb", 0) for cell in cells), default=0)
        seconds = [_seconds(cell) for cell in cells]
        lines.append(f"| {method.title} | {' | '.join(seconds)} | {peak:,.0f} |")
    several = ", ".join(
        f"{compare.METHODS[row['method']].title} on {row['data']}" for row in rows if row["threads"] > 1
    )
    lines += [
        "",
        f"Seconds for one seed on one thread ({several or 'nothing'}: two), vectors or Gram matrix, "
        "classifier excluded; DGK with all four structures. Rows are of different days and machines of two "
        "cores. The skip-gram behind DGK, node2vec, sub2vec and graph2vec reads "
        f"{skipgram['words_per_second']:,.0f} words a second of made-up walks over 20,000 words, "
        f"{skipgram['times_faster']:.1f} times as many as one worker of gensim; up to ten contexts share an "
        "update, which gensim does not do.",
    ]
    return "\n".join(lines)


def explorer_table(result: dict[str, Any], search: dict[str, Any]) -> str:
    """Making the map of all of QM9, opening it, and using it; then searches among as many vectors."""
    making, opening = result["making"], result["opening"]
    stages = making["map_seconds"]
    lines = [
        f"| {making['graphs']:,} molecules, vectors of {making['dim']} numbers | |",
        "|---|---|",
        f"| embedding, once | {making['embedding_seconds']:.0f} s |",
        f"| UMAP, once | {stages['map']:.0f} s |",
        "| clusters, their descriptions, outliers, predictions, once | "
        f"{sum(stages.values()) - stages['map']:.0f} s |",
        f"| starting the server | {opening['server_seconds']:.1f} s |",
        f"| opening the page, until all points are drawn | {opening['usable_seconds']:.1f} s |",
        f"| drawing a molecule under the pointer, median | {opening['hover_median_ms']:.0f} ms |",
        f"| its nearest neighbours and columns, median | {opening['neighbours_median_ms']:.0f} ms |",
        f"| an unseen SMILES: its vector and its neighbours, median | {opening['smiles_median_ms']:.0f} ms |",
        f"| a frame while the map moves, median, no graphics card | {opening['frame_median_ms']:.0f} ms |",
        f"| memory of the server | {opening['server_peak_mb']:,.0f} MB |",
        "",
    ]
    rows = {(row["case"], row["metric"]): row for row in search["rows"] if "median_ms" in row}
    told = "; ".join(
        f"{metric}: exact {rows['exact search', metric]['median_ms']:.0f} ms, "
        f"faiss {rows['search by faiss', metric]['median_ms']:.1f} ms with "
        f"{rows['search by faiss', metric]['recall_at_10']:.1%} of the ten nearest"
        for metric in ("cosine", "euclidean")
    )
    lines.append(f"Search alone, among as many clustered random vectors. {told[0].upper()}{told[1:]}.")
    return "\n".join(lines)


def _seconds(cell: dict[str, Any]) -> str:
    if "seconds" not in cell:
        return str(cell.get("empty", ""))
    return "<1" if cell["seconds"] < 1 else f"{cell['seconds']:,.0f}"


def table1_block(table: Table1) -> str:
    """Table 1 for a narrow page: leak-free, below it ours by the paper's protocol and the paper's."""
    sets, best = measured_sets(table), best_accuracies(table)

    def entry(name: str, data: str) -> Entry:
        if name == "majority":
            return text(rounded(majority(table, data), 1))
        cell = table[data, name]
        if not cell.planned:
            return text("")
        published = f"{cell.published[0]:.2f}" if isinstance(cell.published, tuple) else cell.published
        theirs = f"({published})" if published else ""
        if cell.ours is None or cell.leak_free is None:
            return text(absent(cell.found), theirs)
        second = " ".join(filter(None, [f"{cell.ours[0]:.1f}", theirs, INSIDE if cell.inside else ""]))
        bold = cell.leak_free[0] == best[data]
        return text(figure_text(cell.leak_free, 1), second, *cell.lacks, bold=bold)

    rows = {name: (text(title),) for name, title in row_titles().items()}
    rows["majority"] = (text("majority class"),)
    note = [
        f"Accuracy in per cent, leak-free mean ± deviation over {REPEATS} repeats unless it says otherwise. "
        "Below: ours by the paper's protocol (best setting on the test folds), in brackets the paper's "
        f"figure, {INSIDE} where that lies inside the {100 * CONFIDENCE:g} % interval of ours over repeats: "
        "other folds are in it and, for methods that draw, another seed. Bold is the best of a column. "
        "Vectors are standardised by the training folds, which the authors' code does not do.",
        *won(table),
        *reduced_grids(table),
        *_not_run(paper_table1().datasets, sets),
        *provenance(result for cell in table.values() for result in cell.found),
    ]
    return _block(grid(("method",), rows, {data: data for data in sets}, entry), note)


def table2_block(table: Table2) -> str:
    """Table 2 for a narrow page: the error, below it our ratio and the paper's."""
    trained = [t for t in paper_table2().targets if any(table.errors[t, o].results for o in OBJECTIVES)]
    least = least_errors(table)

    def entry(target: str, objective: str) -> Entry:
        error = table.errors[target, objective]
        theirs = f"({published_error(error)})" if published_error(error) else ""
        if error.mae is None:
            return text(absent(error.reason), theirs)
        ratio = "" if objective == REFERENCE else rounded(error.ratio, 2)
        second = " ".join(filter(None, [ratio, theirs, INSIDE if error.inside else ""]))
        return text(digits(error.mae, 3), second, bold=error.mae == least[target])

    note = [
        "Mean absolute test error; below: its ratio to the supervised model's, the mean over seeds, in "
        f"brackets the paper's ratio (for the supervised model its error), {INSIDE} where that lies inside "
        f"our {100 * CONFIDENCE:g} % interval, over seeds where there are {ENOUGH} of them, else over test "
        "molecules only. Bold is the least error of a row. The first 2,000 of the 10,000 validation "
        "molecules choose the epoch.",
        *training_remarks(table),
        *_not_run(paper_table2().targets, trained),
        *provenance(results_of(table)),
    ]
    rows = {target: (text(target, UNITS[target], str(table.lengths[target])),) for target in trained}
    return _block(grid(("target",), rows, COLUMNS2, entry), note)


def _not_run(planned: Sequence[str], there: Sequence[str]) -> list[str]:
    missing = [name for name in planned if name not in there]
    return [f"Not run yet: {', '.join(missing)}."] if missing else []


def _block(sheet: Sheet, note: Sequence[str]) -> str:
    return f"{as_markdown(sheet)}\n\n{plain(' '.join(note))}"


def _read(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def networks_table(table: Table1) -> str:
    """The sets of networks among Table 1's: InfoGraph beside simple methods and the best of the others."""
    titles = row_titles()
    shown = ("wl", "degrees", "untrained", "infograph")
    lines = [
        f"| accuracy, % | {' | '.join(titles[name] for name in shown)} | best of the others |",
        "|---|" + "--:|" * (len(shown) + 1),
    ]
    for data in (data for data in NETWORKS if data in measured_sets(table)):
        cells = [table[data, name] for name in shown]
        figures = [figure_text(cell.leak_free, 1) if cell.leak_free else absent(cell.found) for cell in cells]
        others = {
            n: cell.leak_free for n in titles if n != "infograph" and (cell := table[data, n]).leak_free
        }
        best = max(others, key=lambda name: others[name][0])
        figures.append(f"{figure_text(others[best], 1)}, {titles[best]}")
        lacks = sorted({each for cell in cells for each in cell.lacks})
        lines.append(f"| {', '.join([data, *lacks])} | {' | '.join(figures)} |")
    return "\n".join(lines)


def clusters_table(rows: list[dict[str, Any]]) -> str:
    """How many graphs are in clusters, and whether these come again."""
    lines = [
        "| molecules | method | clusters | in one | in the largest | come again | silhouette | described |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['graphs']:,} of {row['set']} | {row['method']} | {row['clusters']} | {row['share']:.0%} "
            f"| {row['largest']:.0%} | {row['again']:.2f} | {row['silhouette']:.2f} | {row['described']} |"
        )
    return "\n".join(lines)


def map_sentence(file: dict[str, Any]) -> str:
    """The size of a map as one file, and how long it takes to open."""
    size = f"{file['bytes'] / 1e6:.1f} MB for {file['molecules']:,} molecules of ESOL"
    opened = f", which Chromium opens in {file['open_seconds']:.1f} s" if "open_seconds" in file else ""
    return f"It has {size}{opened}."


@cache
def blocks() -> dict[str, str]:
    """What stands between the markers of README and docs, by the marker's name."""
    found, rows = read_predictions(RESULTS), _read("scale")
    table1, table2 = read_table1(RESULTS), read_table2(RESULTS)
    return {
        "gain": gain_sentence(RESULTS),
        "property": property_table(found),
        "networks": networks_table(table1),
        "agreement": _block(agreement_sheet(table1, table2), remarks("agreement")),
        "study:MUTAG": study_table(json.loads((RESULTS / "study-MUTAG.json").read_text())),
        "benchmark:training": training_table(_read("training")),
        "benchmark:memory": memory_table(_read("memory")),
        "benchmark:molecules": molecules_table(_read("molecules")),
        "benchmark:kernels": kernels_table(_read("kernels")),
        "benchmark:judges": judges_table(_read("judges")),
        "benchmark:methods": methods_table(_read("methods")["rows"], _read("skipgram")),
        "benchmark:explorer": explorer_table(_read("explorer"), _read("search")),
        "benchmark:scale": scale_table(rows),
        "plan": plan(rows),
        "benchmark:clusters": clusters_table(_read("map")["clusters"]),
        "benchmark:map": map_sentence(_read("map")["file"]),
        "table1": table1_block(table1),
        "table2": table2_block(table2),
        "vectors": gain_table(RESULTS),
        "vectors:candidates": candidate_tables(RESULTS),
        "predictions": measured_table(found),
        "predictions:ordered": ordered_table(found),
        "predictions:labels": labels_table(found),
        "predictions:qm9": qm9_table(found),
        "predictions:coverage": coverage_table(found),
        "predictions:candidates": candidates_table(found),
        **names_tables(),
    }


def render(text: str) -> str:
    """A page with what stands between its markers made anew."""

    def made(marker: re.Match[str]) -> str:
        name = marker[1]
        if name not in blocks():
            raise ValueError(f"nothing is made for the marker {name}")
        return f"<!-- {name} -->\n{blocks()[name]}\n<!-- /{name} -->"

    return MARKER.sub(made, text)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FIGURES: dict[str, Callable[[], str]] = {
    "training_gain.svg": lambda: gain_figure(RESULTS),
    "labels.svg": lambda: labels_figure(read_predictions(RESULTS)),
    "coverage.svg": lambda: coverage_figure(read_predictions(RESULTS)),
    "suggest.svg": lambda: suggest_figure(_read("suggest")),
}


def main() -> None:
    for path in PAGES:
        path.write_text(render(path.read_text()))
    for name, drawn in FIGURES.items():
        (ROOT / "docs" / name).write_text(drawn())


if __name__ == "__main__":
    main()

"""The figures of concepts.md: the objective, colours, InfoGraph*, and the two protocols.

    python docs/figures.py

writes the SVG files beside this one. The colours of nodes are computed by the package, not drawn by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from infograph.data.colours import refine  # noqa: E402
from infograph.data.convert import as_graphset  # noqa: E402
from infograph.look.svg import LIGHT, circle, document, label, number  # noqa: E402

INK, FAINT, SOFT = LIGHT.ink, LIGHT.faint, "#6b7480"
BLUE, ORANGE, GREEN = LIGHT.hues[:3]
PALE = {BLUE: "#d9eaf6", ORANGE: "#f9e3d2", GREEN: "#d5efe6", FAINT: "#f3f5f7"}
Point = tuple[float, float]


def line(a: Point, b: Point, colour: str = FAINT, width: float = 1.5, *, arrow: bool = False) -> str:
    """From a to b; an arrow ends a little before b."""
    drawn = (
        f'<line x1="{number(a[0])}" y1="{number(a[1])}" x2="{number(b[0])}" y2="{number(b[1])}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )
    if not arrow:
        return drawn
    along = np.subtract(b, a) / np.hypot(*np.subtract(b, a))
    across, foot = np.array([-along[1], along[0]]), np.asarray(b) - 9 * along
    corners = [np.asarray(b), foot + 4 * across, foot - 4 * across]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'{drawn}<polygon points="{points}" fill="{colour}"/>'


def box(x: float, y: float, width: float, height: float, texts: Sequence[str], colour: str = FAINT) -> str:
    """A box with lines of text in its middle, the first in bold."""
    lines = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{PALE[colour]}" '
        f'stroke="{colour}"/>'
    ]
    first = y + height / 2 + 4.5 - 8 * (len(texts) - 1)
    for place, text in enumerate(texts):
        bold = "" if place else ' font-weight="bold"'
        middle = x + width / 2
        lines.append(label(middle, first + 16 * place, text, 13, INK, anchor="middle", more=bold))
    return "".join(lines)


def network(graph: nx.Graph, places: Mapping[int, Point], fills: Mapping[int, str], radius: float) -> str:
    """Nodes at their places, edges below them."""
    edges = [line(places[a], places[b], SOFT) for a, b in graph.edges]
    ring = f' stroke="{INK}" stroke-width="0.8"'
    nodes = [circle(*places[node], radius, fills[node], more=ring) for node in graph]
    return "".join(edges + nodes)


def objective() -> str:
    """Every patch scored against every graph of a batch: its own is a positive pair, others are negatives."""
    graphs = {"G1": nx.path_graph(3), "G2": nx.cycle_graph(4), "G3": nx.star_graph(2)}
    places = {
        "G1": [(60, 70), (105, 92), (150, 70)],
        "G2": [(75, 150), (130, 150), (130, 200), (75, 200)],
        "G3": [(103, 262), (60, 300), (148, 300)],
    }
    hues = dict(zip(graphs, (BLUE, ORANGE, GREEN), strict=True))
    parts = [
        label(20, 26, "a batch of graphs", 14, INK),
        label(270, 26, "patches h(u)", 14, INK),
    ]
    row, top, left, cell = 0, 62, 470, 62
    parts.append(label(left, 26, "graphs H(G), sums of patches", 14, INK))
    for column, name in enumerate(graphs):
        middle = left + cell * (column + 0.5)
        parts.append(
            label(middle, 52, f"H({name})", 13, hues[name], anchor="middle", more=' font-weight="bold"')
        )
    for name, graph in graphs.items():
        at = dict(enumerate(places[name]))
        parts.append(label(20, at[0][1] - 12 if name != "G3" else 250, name, 13, hues[name]))
        parts.append(network(graph, at, dict.fromkeys(graph, hues[name]), 9))
        for node in graph:
            y = top + 27 * row
            parts.append(line((at[node][0] + 14, at[node][1]), (268, y + 11), FAINT, 1))
            for place in range(8):  # a vector
                shade = PALE[hues[name]] if (place * 7 + row * 3) % 5 < 2 else hues[name]
                parts.append(f'<rect x="{270 + 14 * place}" y="{y}" width="12" height="20" fill="{shade}"/>')
            for column, other in enumerate(graphs):
                own = other == name
                fill = hues[name] if own else PALE[FAINT]
                x = left + cell * column
                parts.append(f'<rect x="{x}" y="{y}" width="{cell - 4}" height="22" rx="3" fill="{fill}"/>')
                sign, ink = ("+", "#ffffff") if own else ("−", SOFT)
                parts.append(label(x + cell / 2 - 2, y + 16, sign, 15, ink, anchor="middle"))
            row += 1
    below = top + 27 * row + 24
    parts.append(label(270, below, "T(h(u), H(G)) is high for + and low for −: that is the loss", 14, INK))
    return document(790, below + 24, LIGHT, "The objective: patches scored against graphs", parts)


def colours() -> str:
    """Rounds of Weisfeiler-Lehman colours of two networks, as `infograph.data.colours.refine` makes them."""
    tree = nx.Graph([(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8)])
    at = {0: (0, -62), 1: (-66, -6), 2: (0, -6), 3: (66, -6), 4: (-86, 52), 5: (-46, 52), 6: (-18, 52)}
    at |= {7: (18, 52), 8: (66, 52)}
    found = refine(as_graphset([tree]), 3)
    parts = []
    for rounds, kinds in enumerate(found.node_colours):
        names = list(dict.fromkeys(kinds))
        hues = {node: LIGHT.hues[names.index(kinds[node])] for node in tree}
        middle = 110 + 190 * rounds
        parts.append(network(tree, {node: (x + middle, y + 120) for node, (x, y) in at.items()}, hues, 12))
        told = f"{len(names)} colour{'s' * (len(names) > 1)} for {len(tree)} nodes"
        parts.append(label(middle, 28, f"round {rounds}", 14, INK, anchor="middle"))
        parts.append(label(middle, 214, told, 13, SOFT, anchor="middle"))
    return document(790, 236, LIGHT, "Colours of nodes, round by round", parts)


def infograph_star() -> str:
    """A student that learns labels, a teacher that learns without, and what the one takes from the other."""
    parts = [
        box(20, 40, 150, 50, ("labelled graphs",), BLUE),
        box(20, 150, 150, 50, ("unlabelled graphs",), FAINT),
        box(270, 30, 170, 70, ("student encoder", "layers 1 ... K"), BLUE),
        box(270, 140, 170, 70, ("teacher encoder", "layers 1 ... K"), ORANGE),
        box(540, 30, 220, 70, ("supervised", "error of the predictions"), BLUE),
        box(540, 140, 220, 70, ("unsupervised", "patches against graphs"), ORANGE),
        line((170, 65), (270, 65), SOFT, arrow=True),
        line((170, 165), (270, 92), SOFT, arrow=True),
        line((170, 78), (270, 158), SOFT, arrow=True),
        line((170, 182), (270, 182), SOFT, arrow=True),
        line((440, 65), (540, 65), BLUE, arrow=True),
        line((440, 175), (540, 175), ORANGE, arrow=True),
        line((355, 106), (355, 134), GREEN, 2.5),
        label(368, 125, "λ × transfer: the vectors of layer k, k drawn for each update", 13, GREEN),
        label(
            20,
            246,
            "loss = supervised + unsupervised + λ × transfer (Eq. 7); predictions come from the student",
            14,
            INK,
        ),
    ]
    return document(790, 268, LIGHT, "InfoGraph*: student, teacher and transfer", parts)


def protocols() -> str:
    """Ten outer folds; what is chosen inside the nine (leak-free), or on the tenth (the paper's)."""
    parts = [label(20, 28, "ten outer folds, each is the test fold once", 14, INK)]
    for fold in range(10):
        fill = ORANGE if fold == 3 else BLUE
        parts.append(f'<rect x="{20 + 74 * fold}" y="42" width="70" height="30" rx="3" fill="{fill}"/>')
    parts.append(label(20 + 74 * 3 + 35, 62, "test", 13, "#ffffff", anchor="middle"))
    parts.append(label(20, 108, "five inner folds of the other nine", 14, INK))
    for fold in range(5):
        fill = GREEN if fold == 1 else BLUE
        parts.append(f'<rect x="{20 + 74 * fold}" y="122" width="70" height="24" rx="3" fill="{fill}"/>')
    parts.append(label(20 + 74 + 35, 139, "choose", 13, "#ffffff", anchor="middle"))
    parts += [
        box(20, 176, 360, 62, ("leak-free", "setting and C are those best on the inner folds"), GREEN),
        box(
            400,
            176,
            360,
            62,
            ("the paper's protocol", "the setting with the best mean over test folds"),
            ORANGE,
        ),
        line((129, 148), (129, 174), GREEN, 2, arrow=True),
        line((277, 74), (560, 174), ORANGE, 2, arrow=True),
    ]
    return document(790, 258, LIGHT, "The two protocols: where settings are chosen", parts)


FIGURES = {
    "objective.svg": objective,
    "colours.svg": colours,
    "infograph_star.svg": infograph_star,
    "protocols.svg": protocols,
}


def main() -> None:
    """Write all figures."""
    for name, drawn in FIGURES.items():
        (HERE / name).write_text(drawn() + "\n")


if __name__ == "__main__":
    main()

"""Any graph as nodes and lines: coloured by scores or by a category, thin and sampled where it is huge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.report.palette import Theme
from infograph.understand.arcs import arrow_heads, distinct, left_out, loops, plain_edges
from infograph.understand.layout import layout
from infograph.understand.node_colours import NodeColours, by_category, by_score
from infograph.understand.scale import THUMBNAIL, tell
from infograph.understand.svg import circle, document, label, number

MOST_NODES = 20_000
LETTERS = 270_000  # of a drawing; edges beyond are left out
MANY = 1_000  # nodes; beyond, they are strokes of one path per colour, and edges are hairlines
NAMED = 300  # nodes that have a title each


@dataclass(frozen=True)
class _Sample:
    """The part of a graph that is drawn: its nodes, all arcs between them, those drawn, what is left out."""

    nodes: IntArray
    arcs: IntArray
    drawn: IntArray
    note: str


def draw_network(
    graph: GraphSet,
    size: tuple[int, int],
    theme: Theme,
    *,
    title: str,
    scores: NDArray[np.float64] | None = None,
) -> str:
    """One graph as SVG.

    Args:
        graph: a set of one graph.
        size: width and height in pixels.
        theme: the page.
        title: what the drawing is called.
        scores: one number per node; else colours are those of the first categorical node column.
    """
    sample = _sample(graph)
    colours = (
        by_category(graph, sample.nodes, size, theme)
        if scores is None
        else by_score(scores[sample.nodes], size, theme)
    )
    width, height = size
    small = min(size) < THUMBNAIL
    noted = 0.0 if not sample.note or small else 16.0
    margin = max(3.0, min(size) * 0.045)
    box = (margin, margin + noted, width - 2 * margin, height - 2 * margin - noted - colours.height)
    points = layout(len(sample.nodes), sample.arcs, box)
    radius = _radius(points, sample.drawn, size)
    parts = [_edges(sample.drawn, points, size, theme, radius)]
    parts += _nodes(points, colours, sample.nodes, scores, radius, theme)
    parts.append(colours.legend)
    if noted:
        parts.append(label(margin, margin + 8, sample.note, 11, theme.ink, more=' opacity="0.75"'))
    return document(width, height, theme, f"{title}; {sample.note}" if sample.note else title, parts)


def _sample(graph: GraphSet) -> _Sample:
    """All of a graph, or its nodes of highest degree and some of their edges, evenly spread."""
    nodes, arcs, notes = np.arange(graph.n_nodes), np.asarray(graph.edges, np.int64), []
    if graph.n_nodes > MOST_NODES:
        degree = np.bincount(arcs.ravel(), minlength=graph.n_nodes)
        nodes = np.sort(np.argsort(-degree, kind="stable")[:MOST_NODES])
        number_of = np.full(graph.n_nodes, -1, np.int64)
        number_of[nodes] = np.arange(MOST_NODES)
        arcs = number_of[arcs]
        arcs = arcs[:, (arcs >= 0).all(axis=0)]
        notes.append(f"the {MOST_NODES:,} of {graph.n_nodes:,} nodes with most edges")
    lines = distinct(np.sort(arcs, axis=0))
    most = _most_edges(len(nodes))
    if lines.shape[1] > most:
        notes.append(f"{most:,} of {lines.shape[1]:,} edges")
        lines = lines[:, np.linspace(0, lines.shape[1] - 1, most).astype(np.int64)]
        lines = np.hstack([lines, lines[::-1]])  # too many to show directions
    else:
        lines = arcs
    notes += left_out(arcs)
    return _Sample(nodes, arcs, lines, f"drawn: {', '.join(notes)}" if notes else "")


def _most_edges(n_nodes: int) -> int:
    """How many edges fit beside the nodes: dots and lines are 10 and 14 letters, with decimals 130 and 26."""
    node, edge = (10, 14) if n_nodes > MANY else (130, 26)
    return (LETTERS - node * n_nodes) // edge


def _radius(points: NDArray[np.float64], arcs: IntArray, size: tuple[int, int]) -> float:
    """Of a node: a share of the room that each has, and of the length of an edge, so that edges are seen."""
    radius = 0.13 * (size[0] * size[1] / len(points)) ** 0.5
    between = arcs[:, arcs[0] != arcs[1]]
    if between.shape[1]:
        lengths = np.linalg.norm(points[between[0]] - points[between[1]], axis=1)
        radius = min(radius, 0.3 * float(np.median(lengths)))
    return float(np.clip(radius, 0.6, min(size) * 0.028))


def _edges(
    arcs: IntArray, points: NDArray[np.float64], size: tuple[int, int], theme: Theme, radius: float
) -> str:
    """All edges as one path; heads for arcs without an opposite, circles for self-loops."""
    lines, single = plain_edges(arcs)
    digits = 0 if len(points) > MANY else 1
    start, stop = points[lines[0]], points[lines[1]]
    ink = float(np.linalg.norm(stop - start, axis=1).sum()) / (size[0] * size[1])  # length of line per area
    thickness = 0.4 if len(points) > MANY else float(np.clip(1.4 / (1 + 4 * ink) ** 0.5, 0.5, 1.4))
    thickness, opacity = min(thickness, max(radius * 0.35, 0.4)), max(0.48 / (1 + ink) ** 1.2, 0.16)
    line = f'stroke="{theme.ink}" stroke-width="{thickness:.2f}" stroke-opacity="{opacity:.2f}"'
    stroke = f'fill="none" {line}'
    drawn = [f'<path class="edges" d="{_segments(start, stop, digits)}" {stroke}/>'] if len(start) else []
    drawn += loops(arcs, points, radius, stroke)
    drawn += arrow_heads(points[single[0]], points[single[1]], radius, theme.ink)
    return "".join(drawn)


def _segments(start: NDArray[np.float64], stop: NDArray[np.float64], digits: int) -> str:
    """Lines as a path; whole pixels with relative ends are 10 letters each."""
    if digits:
        pairs = zip(start.tolist(), stop.tolist(), strict=True)
        return "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for (a, b), (c, d) in pairs)
    first = np.rint(start).astype(int)
    step = (np.rint(stop).astype(int) - first).tolist()
    return "".join(
        f"M{a} {b}l{c}{d}" if d < 0 else f"M{a} {b}l{c} {d}"
        for (a, b), (c, d) in zip(first.tolist(), step, strict=True)
    )


def _nodes(
    points: NDArray[np.float64],
    colours: NodeColours,
    nodes: IntArray,
    scores: NDArray[np.float64] | None,
    radius: float,
    theme: Theme,
) -> list[str]:
    if len(points) > MANY:
        return _strokes(points, colours, radius)
    paper = theme.faint if theme.page == "none" else theme.page
    edge = f'stroke="{paper}"' if scores is None else f'stroke="{theme.ink}" stroke-opacity="0.45"'
    rim = f' class="node" {edge} stroke-width="{np.clip(radius * 0.12, 0.3, 1.2):.1f}"'
    titles = [""] * len(points)
    if len(points) <= NAMED:
        titles = [
            _title(node, name, scores) for node, name in zip(nodes.tolist(), colours.names, strict=True)
        ]
    return [
        circle(x, y, radius, colour, title=title, more=rim)
        for (x, y), colour, title in zip(points.tolist(), colours.colours, titles, strict=True)
    ]


def _title(node: int, name: str, scores: NDArray[np.float64] | None) -> str:
    parts = [f"node {node}", *([name] if name else [])]
    return ", ".join(parts) + (f": {tell(float(scores[node]))}" if scores is not None else "")


def _strokes(points: NDArray[np.float64], colours: NodeColours, radius: float) -> list[str]:
    """Nodes as dots of one path per colour: a node costs nine letters instead of fifty."""
    places = np.rint(points).astype(int).tolist()
    dots: dict[str, list[str]] = {}
    for (x, y), colour in zip(places, colours.colours, strict=True):
        dots.setdefault(colour, []).append(f"M{x} {y}h0")
    return [
        f'<path class="nodes" d="{"".join(marks)}" stroke="{colour}" stroke-width="{2 * radius:.1f}" '
        f'stroke-linecap="round" fill="none"/>'
        for colour, marks in dots.items()
    ]

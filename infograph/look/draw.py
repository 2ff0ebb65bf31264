"""One graph as a picture: a molecule as chemists draw it, anything else as nodes and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.datasets import recognise_atoms
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import class_name
from infograph.errors import InvalidParameter
from infograph.look.layout import Points, distinct, layout
from infograph.look.molecules import LARGEST, draw_molecule, has_molecules, molecule_of
from infograph.look.svg import (
    THUMBNAIL,
    Scale,
    Theme,
    check_scores,
    check_size,
    check_theme,
    circle,
    document,
    label,
    legend_height,
    make_scale,
    number,
    scale_legend,
    shorten,
    tell,
)

if TYPE_CHECKING:
    from infograph.estimators.infograph import InfoGraph

THUMBNAIL_SIZE = (120, 120)
LARGE = (600, 600)
MOST_NODES = 20_000
LETTERS = 270_000  # of a drawing; edges beyond are left out
MANY = 1_000  # nodes; beyond, they are strokes of one path per colour, and edges are hairlines
NAMED = 300  # nodes that have a title each
LEVELS = 32  # colours of scores in a drawing of many nodes, each one path
MOST_MARKS = 1_000  # heads and self-loops; more would be a grey cloud


def draw_graph(
    graphs: GraphSet,
    index: int,
    *,
    scores: Any = None,
    size: tuple[int, int] = LARGE,
    theme: str | Theme = "light",
    hydrogens: bool = False,
) -> str:
    """One graph as SVG, to be written to a file or put into a page as it is.

    Molecules (graphs with the columns `element` and `bond` of `from_molecules`, QM9, and all of MUTAG and
    PTC_MR; `name_atoms` names those of a part of these two) are drawn by RDKit where it is installed. Other
    graphs are laid out by springs; arcs without an opposite have a head. Beyond 1,000 nodes edges are
    hairlines; beyond 20,000 nodes, or some 5,000 edges, a part is drawn and the picture says which.

    Colours: with `scores` a scale with a legend, from blue over grey to orange around zero if there are both
    signs, else from pale to blue; without, elements as usual, or a hue per category of the first categorical
    node column. The same input gives the same text, which holds no scripts, ids or outside addresses.

    Args:
        graphs: the graphs.
        index: which one; negative counts from the end.
        scores: one number per node of this graph, in its order, such as `InfoGraph.score_nodes` gives them.
            Of hydrogens that are nodes but not drawn, scores do not show.
        size: width and height in pixels; `THUMBNAIL` is 120 x 120, `LARGE` 600 x 600.
        theme: "light", "dark", or a Theme; its page "none" is see-through.
        hydrogens: whether hydrogens that are nodes are drawn as atoms.

    Raises:
        IndexError: there is no such graph.
        InvalidParameter: scores of another number of nodes, an unknown theme, or an impossible size.
    """
    chosen, paper = check_size(size), check_theme(theme)
    named = recognise_atoms(graphs)
    graph = named[int(index)]
    values = None if scores is None else check_scores(scores, graph.n_nodes)
    title = f"graph {graph.ids[0]}"
    if graph.n_nodes == 0:
        raise InvalidParameter(f"{title} has no nodes: there is nothing to draw")
    if graph.n_nodes <= LARGEST and has_molecules(graph):
        smiles = f": {graph.graph['smiles'][0]}" if "smiles" in graph.graph else ""
        molecule = molecule_of(graph, 0, hydrogens=hydrogens)
        return draw_molecule(molecule, chosen, paper, title=title + smiles, scores=values)
    return draw_network(graph, chosen, paper, title=title, scores=values)


def contribution_drawing(
    model: InfoGraph,
    graph: Any,
    *,
    size: tuple[int, int] = LARGE,
    theme: str | Theme = "light",
    hydrogens: bool = False,
) -> str:
    """One graph with its nodes coloured by T(h_u, H(G)), what each contributes to the mutual information.

    T is the discriminator's score of a node and its own graph (Eq. 4): nodes of a high score are typical of
    the graph as the model sees it, nodes below zero could as well be another graph's.

    Args:
        model: a fitted InfoGraph.
        graph: one graph, as anything `model.transform` accepts.
        size, theme, hydrogens: as of `draw_graph`.

    Raises:
        InvalidParameter: another number of graphs, or a model that does not score nodes.
    """
    if not hasattr(model, "score_nodes"):
        raise InvalidParameter(f"{type(model).__name__} does not score nodes; give a fitted InfoGraph")
    known = as_graphset(graph) if isinstance(graph, GraphSet) else as_graphset(graph, schema=model.schema_)
    if len(known) != 1:
        raise InvalidParameter(f"{len(known):,} graphs: expected one, such as graphs[0]")
    return draw_graph(known, 0, scores=model.score_nodes(known), size=size, theme=theme, hydrogens=hydrogens)


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


@dataclass(frozen=True)
class NodeColours:
    """A colour per node, the names they stand for (empty where they stand for numbers), and the legend."""

    colours: list[str]
    names: list[str]
    legend: str
    height: float


def by_score(scores: NDArray[np.float64], size: tuple[int, int], theme: Theme) -> NodeColours:
    """Colours of a scale."""
    scale = make_scale(scores, theme)
    shown = scores if len(scores) <= 1000 else _rounded(scores, scale)
    legend = scale_legend(scale, size, theme)
    return NodeColours(scale.colours(shown), [""] * len(scores), legend, legend_height(size))


def by_category(graph: GraphSet, nodes: IntArray, size: tuple[int, int], theme: Theme) -> NodeColours:
    """Hues of the first categorical node column; one hue where there is none.

    Seven categories have a hue, by their place in the schema, so that a category looks the same in all
    drawings of a set; where there are more, the most frequent of this graph have one and the rest is grey.
    """
    column = next((c for c in graph.schema.node if c.kind == "categorical"), None)
    if column is None:
        return NodeColours([theme.hues[0]] * len(nodes), [""] * len(nodes), "", 0.0)
    codes = np.asarray(graph.node[column.name])[nodes]
    present, counts = np.unique(codes, return_counts=True)
    ordered = present[np.argsort(-counts, kind="stable")].tolist()
    fixed = column.unknown <= len(theme.hues)
    hued = sorted(ordered) if fixed else ordered[: len(theme.hues)]
    hue = {
        code: theme.hues[code if fixed else place] for place, code in enumerate(hued) if code < column.unknown
    }
    name = {code: class_name(column.categories[code]) for code in ordered if code < column.unknown}
    entries = [(hue[code], name[code]) for code in hued if code in hue]
    if len(entries) < len(ordered):
        entries.append((theme.missing, "other"))
    legend, height = _legend(entries, f"{column.name}: ", size, theme)
    return NodeColours(
        [hue.get(code, theme.missing) for code in codes.tolist()],
        [f"{column.name} {name[code]}" if code in name else "" for code in codes.tolist()],
        legend,
        height,
    )


def _legend(
    entries: list[tuple[str, str]], head: str, size: tuple[int, int], theme: Theme
) -> tuple[str, float]:
    """Dots and names in rows at the lower edge; none in a thumbnail, where there is no room."""
    width, height = size
    if min(size) < THUMBNAIL:
        return "", 0.0
    rows: list[list[tuple[float, str, str]]] = [[]]
    x = 0.0
    for colour, name in [("", head), *((colour, shorten(name)) for colour, name in entries)]:
        length = 6.2 * len(name) + (18.0 if colour else 2.0)
        if rows[-1] and x + length > width - 24:
            rows.append([])
            x = 0.0
        rows[-1].append((x, colour, name))
        x += length + (10.0 if colour else 0.0)
    top = height - 16.0 * len(rows)
    parts = []
    for place, row in enumerate(rows):
        y = top + 16.0 * place + 4
        for x, colour, name in row:
            if colour:
                parts.append(circle(12 + x + 5, y - 1, 4, colour))
            parts.append(label(12 + x + (13 if colour else 0), y + 3, name, 11, theme.ink))
    return f'<g class="legend">{"".join(parts)}</g>', 16.0 * len(rows) + 6


def _rounded(scores: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Scores in a few levels, so that there are few colours."""
    span = (scale.high - scale.low) or 1.0
    return np.asarray(scale.low + np.rint((scores - scale.low) / span * LEVELS) / LEVELS * span)


def plain_edges(arcs: IntArray) -> tuple[IntArray, IntArray]:
    """Each edge once, without self-loops (2, e); and arcs that have no opposite (2, a).

    A repeated edge is one line.
    """
    between = distinct(arcs[:, arcs[0] != arcs[1]])
    if not between.shape[1]:
        return between, between
    base = int(between.max()) + 1
    forward, backward = between[0] * base + between[1], between[1] * base + between[0]
    place = np.searchsorted(forward, backward)  # they are sorted
    opposite = forward[np.minimum(place, len(forward) - 1)] == backward
    return distinct(np.sort(between, axis=0)), between[:, ~opposite]


def left_out(arcs: IntArray) -> list[str]:
    """What of a graph's arcs is too much to be shown, in words."""
    _, single = plain_edges(arcs)
    n_loops = len(np.unique(arcs[0, arcs[0] == arcs[1]]))
    return [
        *(["no self-loops"] if n_loops > MOST_MARKS else []),
        *(["no directions"] if single.shape[1] > MOST_MARKS else []),
    ]


def arrow_heads(start: Points, stop: Points, radius: float, colour: str) -> list[str]:
    """Triangles that end at the rim of the target, as one path."""
    if not len(start) or len(start) > MOST_MARKS:
        return []
    along = stop - start
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    along = along / length
    across = along[:, ::-1] * [-1.0, 1.0]
    size = max(radius * 1.1, 2.5)
    tip = stop - along * (radius + 0.5)
    left, right = (tip - along * size + side * across * size * 0.45 for side in (1, -1))
    marks = [
        f"M{number(a)} {number(b)}L{number(c)} {number(d)}L{number(e)} {number(f)}Z"
        for (a, b), (c, d), (e, f) in zip(tip.tolist(), left.tolist(), right.tolist(), strict=True)
    ]
    return [f'<path class="heads" d="{"".join(marks)}" fill="{colour}" fill-opacity="0.55"/>']


def loops(arcs: IntArray, points: Points, radius: float, stroke: str) -> list[str]:
    """A small circle above every node with a self-loop, as one path."""
    places = points[np.unique(arcs[0, arcs[0] == arcs[1]])]
    if not len(places) or len(places) > MOST_MARKS:
        return []
    r = max(radius * 0.9, 1.5)
    marks = [f"M{number(x)} {number(y)}a{number(r)} {number(r)} 0 1 1 .1 0" for x, y in places.tolist()]
    return [f'<path class="loops" d="{"".join(marks)}" {stroke}/>']

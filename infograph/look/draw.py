"""One graph as a picture: a molecule as chemists draw it, anything else as nodes and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import class_name
from infograph.data.units import with_unit
from infograph.errors import InvalidParameter
from infograph.look.layout import Points, distinct, layout
from infograph.look.molecules import LARGEST, draw_molecule, has_molecules, molecule_of, recognise_atoms
from infograph.look.svg import (
    THEMES,
    THUMBNAIL,
    Theme,
    circle,
    document,
    label,
    legend_height,
    number,
    score_colours,
    shorten,
    tell,
)
from infograph.notebook import Drawing

if TYPE_CHECKING:
    from infograph.estimators.infograph import InfoGraph
    from infograph.estimators.labelled import SemiSupervised

THUMBNAIL_SIZE = (120, 120)
LARGE = (600, 600)
LEAST, MOST = 16, 4000  # pixels of a side
MOST_NODES, MOST_EDGES = 2_000, 4_000  # in a drawing; more would be a grey cloud
MOST_TITLES = 300  # nodes that have a title each
ROW = 16.0  # pixels of a row of the legend
Colours = tuple[list[str], list[str], str, float]  # per node, what they stand for, the legend, its height


def draw_graph(
    graphs: GraphSet,
    index: int,
    *,
    scores: Any = None,
    meaning: str = "",
    size: tuple[int, int] = LARGE,
    theme: str | Theme = "light",
    hydrogens: bool = False,
) -> Drawing:
    """One graph as SVG, to be written to a file or put into a page as it is; notebooks show the picture.

    Molecules (graphs with the columns `element` and `bond` of `from_molecules`, QM9, and all of MUTAG and
    PTC_MR; `name_atoms` names those of a part of these two) are drawn by RDKit where it is installed. Other
    graphs are laid out by springs; arcs without an opposite have a head. Of more than 2,000 nodes those with
    most edges are drawn, of more than 4,000 edges a part without directions; the picture says so.

    Colours: with `scores` a scale with a legend, from blue over grey to orange around zero if there are both
    signs, else from pale to blue; without, elements as usual, or a hue per category of the first categorical
    node column. The same input gives the same text, which holds no scripts, ids or outside addresses.

    Args:
        graphs: the graphs.
        index: which one; negative counts from the end.
        scores: one number per node of this graph, in its order, such as `InfoGraph.score_nodes` gives them.
            Of hydrogens that are nodes but not drawn, scores do not show.
        meaning: what the scores are, to be written below their scale.
        size: width and height in pixels; `THUMBNAIL_SIZE` is 120 x 120, `LARGE` 600 x 600.
        theme: "light", "dark", or a Theme; its page "none" is see-through.
        hydrogens: whether hydrogens that are nodes are drawn as atoms.
    """
    if isinstance(theme, str) and theme not in THEMES:
        raise InvalidParameter(f"theme={theme!r}: expected {', '.join(map(repr, THEMES))} or a Theme")
    paper = THEMES[theme] if isinstance(theme, str) else theme
    if len(size) != 2 or not all(LEAST <= side <= MOST for side in size):
        raise InvalidParameter(f"size={size!r}: expected (width, height), {LEAST} to {MOST} pixels each")
    graph = recognise_atoms(graphs)[int(index)]
    title = f"graph {graph.ids[0]}"
    if graph.n_nodes == 0:
        raise InvalidParameter(f"{title} has no nodes: there is nothing to draw")
    values = None if scores is None else np.asarray(scores, dtype=np.float64)
    if values is not None and (values.shape != (graph.n_nodes,) or not np.isfinite(values).all()):
        raise InvalidParameter(f"scores: expected a finite number for each of the {graph.n_nodes:,} nodes")
    if graph.n_nodes <= LARGEST and has_molecules(graph):
        smiles = f": {graph.graph['smiles'][0]}" if "smiles" in graph.graph else ""
        molecule = molecule_of(graph, 0, hydrogens=hydrogens)
        return draw_molecule(molecule, size, paper, title=title + smiles, scores=values, meaning=meaning)
    return _draw_network(graph, size, paper, title, values, meaning)


def contribution_drawing(
    model: InfoGraph | SemiSupervised,
    graph: Any,
    *,
    target: str | None = None,
    size: tuple[int, int] = LARGE,
    theme: str | Theme = "light",
    hydrogens: bool = False,
) -> Drawing:
    """One graph with its nodes coloured by what each contributes to the prediction, or to the information.

    InfoGraphRegressor and InfoGraphClassifier: what is predicted minus what would be without the node, in the
    target's unit or in log-odds of a class that the legend names. InfoGraph: T(h_u, H(G)), the
    discriminator's score of a node and its own graph (Eq. 4): nodes of a high score are typical of the graph
    as the model sees it, nodes below zero could as well be another graph's.

    Args:
        model: a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier.
        graph: one graph, as anything the model accepts.
        target: one of several targets by its name; the first by default.
        size, theme, hydrogens: as of `draw_graph`.
    """
    names = getattr(model, "target_names_", ())
    if not hasattr(model, "score_nodes") or not (names or model.scores_nodes):
        raise InvalidParameter(
            f"this {type(model).__name__} does not score nodes; give a fitted InfoGraph, InfoGraphRegressor "
            f"or InfoGraphClassifier"
        )
    how: dict[str, Any] = {}
    if not isinstance(graph, GraphSet):  # molecules may have elements that the model does not know
        how = dict(model.schema_.options) or {"schema": model.schema_}
    known = as_graphset(graph, **how)
    if len(known) != 1:
        raise InvalidParameter(f"{len(known):,} graphs: expected one, such as graphs[0]")
    if target is not None and target not in names:
        raise InvalidParameter(f"target={target!r}: the model predicts {', '.join(names) or 'nothing'}")
    place = 0 if target is None else names.index(target)
    scores = model.score_nodes(known).reshape(known.n_nodes, -1)[:, place]
    look: dict[str, Any] = {"size": size, "theme": theme, "hydrogens": hydrogens}
    return draw_graph(known, 0, scores=scores, meaning=_meaning(model, known, place), **look)


def _meaning(model: Any, graph: GraphSet, place: int) -> str:
    """What the contributions of a model are to."""
    if not hasattr(model, "target_names_"):
        return "contribution to the mutual information"
    name, unit = model.target_names_[place], model.target_units_[place]
    if not hasattr(model, "classes_"):
        return f"contribution to {with_unit(name, unit)}"
    told = model.classes_[1] if len(model.classes_) == 2 else model.predict(graph)[0]
    return f"contribution to the log-odds of {name} = {told}"


def _draw_network(
    graph: GraphSet,
    size: tuple[int, int],
    theme: Theme,
    title: str,
    scores: NDArray[np.float64] | None,
    meaning: str,
) -> Drawing:
    nodes, arcs, drawn, note = _part(graph)
    if scores is None:
        fill, names, legend, room = _by_category(graph, nodes, size, theme)
    else:
        fill, legend = score_colours(scores[nodes], size, theme, meaning)
        names, room = [""] * len(nodes), legend_height(size, meaning)
    width, height = size
    noted = 0.0 if not note or min(size) < THUMBNAIL else 16.0
    margin = max(3.0, min(size) * 0.045)
    left = height - 2 * margin - noted - room  # less than nothing where the legend needs it all
    box = (margin, margin + noted, width - 2 * margin, max(left, 1.0))
    points = layout(len(nodes), arcs, box)
    radius = _radius(points, drawn, size)
    paper = theme.faint if theme.page == "none" else theme.page
    edge = f'stroke="{paper}"' if scores is None else f'stroke="{theme.ink}" stroke-opacity="0.45"'
    rim = f' class="node" {edge} stroke-width="{np.clip(radius * 0.12, 0.3, 1.2):.1f}"'
    parts = _edges(drawn, points, size, theme, radius)
    for place, node in enumerate(nodes.tolist()):
        about = ""
        if len(nodes) <= MOST_TITLES:
            about = f"node {node}" + (f", {names[place]}" if names[place] else "")
            about += "" if scores is None else f": {tell(float(scores[node]))}"
        x, y = points[place].tolist()
        parts.append(circle(x, y, radius, fill[place], title=about, more=rim))
    parts.append(legend)
    if noted:
        parts.append(label(margin, margin + 8, note, 11, theme.ink, more=' opacity="0.75"'))
    return document(width, height, theme, f"{title}; {note}" if note else title, parts)


def _part(graph: GraphSet) -> tuple[IntArray, IntArray, IntArray, str]:
    """The nodes that are drawn, all arcs between them, those that are drawn, and what is left out."""
    nodes, arcs, notes = np.arange(graph.n_nodes), np.asarray(graph.edges, np.int64), []
    if graph.n_nodes > MOST_NODES:
        degree = np.bincount(arcs.ravel(), minlength=graph.n_nodes)
        nodes = np.sort(np.argsort(-degree, kind="stable")[:MOST_NODES])
        arcs = np.searchsorted(nodes, arcs[:, np.isin(arcs, nodes).all(axis=0)])
        notes.append(f"the {MOST_NODES:,} of {graph.n_nodes:,} nodes with most edges")
    drawn, lines = arcs, distinct(np.sort(arcs, axis=0))
    if lines.shape[1] > MOST_EDGES:
        notes.append(f"{MOST_EDGES:,} of {lines.shape[1]:,} edges")
        lines = lines[:, np.linspace(0, lines.shape[1] - 1, MOST_EDGES).astype(np.int64)]
        drawn = np.hstack([lines, lines[::-1]])  # too many to show directions
    return nodes, arcs, drawn, f"drawn: {', '.join(notes)}" if notes else ""


def _radius(points: Points, arcs: IntArray, size: tuple[int, int]) -> float:
    """Of a node: a share of the room that each has, and of the length of an edge, so that edges are seen."""
    radius = 0.13 * (size[0] * size[1] / len(points)) ** 0.5
    between = arcs[:, arcs[0] != arcs[1]]
    if between.shape[1]:
        lengths = np.linalg.norm(points[between[0]] - points[between[1]], axis=1)
        radius = min(radius, 0.3 * float(np.median(lengths)))
    return float(np.clip(radius, 0.6, min(size) * 0.028))


def _edges(arcs: IntArray, points: Points, size: tuple[int, int], theme: Theme, radius: float) -> list[str]:
    """One path of lines, one of circles for self-loops, and one of heads for arcs without an opposite."""
    between = distinct(arcs[:, arcs[0] != arcs[1]])  # repeated ones once
    lines = distinct(np.sort(between, axis=0))
    known = set(zip(*between.tolist(), strict=True))
    single = between[:, [(v, u) not in known for u, v in between.T.tolist()]]
    start, stop = points[lines[0]], points[lines[1]]
    ink = float(np.linalg.norm(stop - start, axis=1).sum()) / (size[0] * size[1])  # length of line per area
    thickness = min(float(np.clip(1.4 / (1 + 4 * ink) ** 0.5, 0.5, 1.4)), max(radius * 0.35, 0.4))
    opacity = max(0.48 / (1 + ink) ** 1.2, 0.16)
    stroke = f'fill="none" stroke="{theme.ink}" stroke-width="{thickness:.2f}" stroke-opacity="{opacity:.2f}"'
    ends = np.hstack([start, stop]).tolist()
    segments = [f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in ends]
    r = number(max(radius * 0.9, 1.5))
    rings = points[np.unique(arcs[0, arcs[0] == arcs[1]])].tolist()
    loops = [f"M{number(x)} {number(y)}a{r} {r} 0 1 1 .1 0" for x, y in rings]
    heads = _heads(points[single[0]], points[single[1]], radius)
    return [
        *([f'<path class="edges" d="{"".join(segments)}" {stroke}/>'] if segments else []),
        *([f'<path class="loops" d="{"".join(loops)}" {stroke}/>'] if loops else []),
        *([f'<path class="heads" d="{heads}" fill="{theme.ink}" fill-opacity="0.55"/>'] if heads else []),
    ]


def _heads(start: Points, stop: Points, radius: float) -> str:
    """Triangles that end at the rim of the target."""
    along = stop - start
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    across = along[:, ::-1] * [-1.0, 1.0]
    size = max(radius * 1.1, 2.5)
    tip = stop - along * (radius + 0.5)
    left, right = (tip - along * size + side * across * size * 0.45 for side in (1, -1))
    return "".join(
        f"M{number(a)} {number(b)}L{number(c)} {number(d)}L{number(e)} {number(f)}Z"
        for a, b, c, d, e, f in np.hstack([tip, left, right]).tolist()
    )


def _by_category(graph: GraphSet, nodes: IntArray, size: tuple[int, int], theme: Theme) -> Colours:
    """Hues of the first categorical node column; one hue where there is none.

    Seven categories have a hue, by their place in the schema, so that a category looks the same in all
    drawings of a set; where there are more, the most frequent of this graph have one and the rest is grey.
    """
    column = next((c for c in graph.schema.node if c.kind == "categorical"), None)
    if column is None:
        return [theme.hues[0]] * len(nodes), [""] * len(nodes), "", 0.0
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
    fill = [hue.get(code, theme.missing) for code in codes.tolist()]
    names = [f"{column.name} {name[code]}" if code in name else "" for code in codes.tolist()]
    return fill, names, *_legend(entries, f"{column.name}: ", size, theme)


def _legend(
    entries: list[tuple[str, str]], head: str, size: tuple[int, int], theme: Theme
) -> tuple[str, float]:
    """Dots and names in rows at the lower edge, and their height; none in a thumbnail."""
    if min(size) < THUMBNAIL:
        return "", 0.0
    placed, x, row = [], 0.0, 0
    for colour, name in [("", head), *((colour, shorten(name)) for colour, name in entries)]:
        length = 6.2 * len(name) + (18.0 if colour else 2.0)
        if x and x + length > size[0] - 24:
            x, row = 0.0, row + 1
        placed.append((x, row, colour, name))
        x += length + (10.0 if colour else 0.0)
    parts = []
    for x, line, colour, name in placed:
        y = size[1] - ROW * (row + 1 - line) + 4
        if colour:
            parts.append(circle(12 + x + 5, y - 1, 4, colour))
        parts.append(label(12 + x + (13 if colour else 0), y + 3, name, 11, theme.ink))
    return f'<g class="legend">{"".join(parts)}</g>', ROW * (row + 1) + 6

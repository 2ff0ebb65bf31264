from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from infograph import GIN, GraphSet, InfoGraph, as_graphset, contribution_drawing, draw_graph
from infograph.look.draw import THUMBNAIL_SIZE
from infograph.look.svg import LIGHT

SVG = "{http://www.w3.org/2000/svg}"


def marks(svg: str) -> list[ElementTree.Element]:
    """The marks of nodes, in the order of the nodes."""
    return [e for e in ElementTree.fromstring(svg).iter(f"{SVG}circle") if e.get("class") == "node"]


def places(svg: str) -> np.ndarray:
    return np.array([[float(mark.get(axis, "nan")) for axis in ("cx", "cy")] for mark in marks(svg)])


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("theme", "size"), [("light", THUMBNAIL_SIZE), ("dark", (600, 600)), ("light", (300, 150))]
)
def test_every_graph_draws(corner_cases: GraphSet, theme: str, size: tuple[int, int]) -> None:
    for index, graph in enumerate(corner_cases):
        for scores in (None, np.linspace(-1, 2, graph.n_nodes)):
            svg = draw_graph(corner_cases, index, theme=theme, size=size, scores=scores)
            points = places(svg)
            assert points.shape == (graph.n_nodes, 2)
            assert (points >= 0).all() and (points <= size).all()
            if graph.n_nodes < 10:
                assert len(np.unique(points, axis=0)) == graph.n_nodes
            assert svg == draw_graph(corner_cases, index, theme=theme, size=size, scores=scores)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no edges", {}),
        ("ring", {"edges": 6}),
        ("directed", {"edges": 4, "heads": 4}),
        ("self-loops", {"edges": 2, "loops": 2}),
        ("repeated edges", {"edges": 2, "loops": 1}),
        ("one node with a loop", {"loops": 1}),
    ],
)
def test_arcs_loops_and_edges(corner_cases: GraphSet, name: str, expected: dict[str, int]) -> None:
    svg = draw_graph(corner_cases, corner_cases.ids.tolist().index(name))
    paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
    assert {e.get("class", ""): e.get("d", "").count("M") for e in paths} == expected


def test_near_in_the_graph_is_near_in_the_drawing() -> None:
    points = places(draw_graph(as_graphset([nx.path_graph(9)]), 0))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() < 1.3 * steps.min() and np.linalg.norm(points[8] - points[0]) > 6 * steps.max()


def test_hostile_labels_are_text() -> None:
    graph = nx.path_graph(3)
    hostile = ['<script>alert("x")</script>', "a & b", "tab\tnull\x00 ]]>"]
    for node in graph:
        graph.nodes[node]["kind"] = hostile[node]
    graphs = as_graphset([graph], node={"kind": "categorical"}, ids=["</title><script>"])
    svg = draw_graph(graphs, 0)
    assert hostile[0] in texts(svg)
    assert ElementTree.fromstring(svg.encode()).findtext(f"{SVG}title") == "graph </title><script>"
    for forbidden in ("<script", "href", "onload", "javascript:", "<style", " id="):
        assert forbidden not in svg.lower()


def test_categories_have_a_legend(corner_cases: GraphSet) -> None:
    svg = draw_graph(corner_cases, 0)  # labels a b c a
    assert [mark.get("fill") for mark in marks(svg)] == [LIGHT.hues[place] for place in (0, 1, 2, 0)]
    assert texts(svg) == ["label: ", "a", "b", "c"]
    assert texts(draw_graph(corner_cases, 0, size=THUMBNAIL_SIZE)) == []
    assert f'fill="{LIGHT.page}"' in svg
    assert "<rect" not in draw_graph(corner_cases, 0, theme=replace(LIGHT, page="none"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scores_have_a_scale_that_colour_blind_people_can_read(corner_cases: GraphSet, theme: str) -> None:
    def channels(scores: list[float], shown: list[str]) -> np.ndarray:
        svg = draw_graph(corner_cases, 0, scores=scores, theme=theme)
        assert texts(svg) == shown
        colours = [mark.get("fill", "") for mark in marks(svg)]
        return np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in colours], float)

    diverging = channels([-1.0, 0.0, 1.0, 2.0], ["−2", "2", "0"])
    assert (np.diff(diverging[:, 2] - diverging[:, 0]) < 0).all()  # blue minus red
    lightness = channels([1.0, 2.0, 3.0, 5.0], ["1", "5"]) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) < 0).all() or (np.diff(lightness) > 0).all()
    channels([3.0] * 4, ["3"])


def test_large_graphs_are_sampled_and_said_to_be() -> None:
    graphs = as_graphset([nx.barabasi_albert_graph(3_000, 3, seed=0), nx.complete_graph(150)])
    svg = draw_graph(graphs, 0, scores=np.random.default_rng(0).normal(size=3_000))
    assert len(marks(svg)) == 2_000 and len(svg) < 600_000
    assert "drawn: the 2,000 of 3,000 nodes with most edges, 4,000 of " in svg
    dense = draw_graph(graphs, 1)
    assert len(marks(dense)) == 150 and "drawn: 4,000 of 11,175 edges" in dense


def test_the_smallest_drawing_has_room_for_a_scale() -> None:
    path = as_graphset([nx.path_graph(4)])
    assert len(marks(draw_graph(path, 0, scores=np.arange(4), size=(16, 16)))) == 4


def test_nodes_are_coloured_by_their_contribution(corner_cases: GraphSet) -> None:
    model = InfoGraph(dim=8, epochs=1, batch_size=4, encoder=GIN(layers=2)).fit(corner_cases)
    svg = contribution_drawing(model, corner_cases[9])
    whole = model.score_nodes(corner_cases)[corner_cases.node_ptr[9] : corner_cases.node_ptr[10]]
    titles = [(mark.findtext(f"{SVG}title") or "").split(": ")[1] for mark in marks(svg)]
    shown = [float(title.replace("−", "-")) for title in titles]
    assert shown == pytest.approx(whole.tolist(), rel=1e-2)

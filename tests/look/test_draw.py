from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from infograph import GIN, GraphSet, InfoGraph, as_graphset, contribution_drawing, draw_graph
from infograph.look.draw import THUMBNAIL_SIZE
from infograph.look.svg import LIGHT, check_theme, make_scale

SVG = "{http://www.w3.org/2000/svg}"


def marks(svg: str) -> list[ElementTree.Element]:
    """The marks of nodes, in the order of the nodes."""
    return [e for e in ElementTree.fromstring(svg).iter(f"{SVG}circle") if e.get("class") == "node"]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def place(mark: ElementTree.Element) -> tuple[float, float]:
    return float(mark.get("cx", "nan")), float(mark.get("cy", "nan"))


@pytest.mark.parametrize(
    ("theme", "size"), [("light", THUMBNAIL_SIZE), ("dark", (600, 600)), ("light", (300, 150))]
)
def test_every_graph_draws(corner_cases: GraphSet, theme: str, size: tuple[int, int]) -> None:
    for index, graph in enumerate(corner_cases):
        for scores in (None, np.linspace(-1, 2, graph.n_nodes)):
            svg = draw_graph(corner_cases, index, theme=theme, size=size, scores=scores)
            found = marks(svg)
            assert len(found) == graph.n_nodes
            points = np.array(list(map(place, found)))
            assert (points >= 0).all()
            assert (points <= size).all()
            if graph.n_nodes > 1 and graph.n_nodes < 10:
                assert len(np.unique(points, axis=0)) == graph.n_nodes
            assert svg == draw_graph(corner_cases, index, theme=theme, size=size, scores=scores)


def test_arcs_loops_and_edges(corner_cases: GraphSet) -> None:
    names = corner_cases.ids.tolist()

    def paths(name: str) -> dict[str, str]:
        root = ElementTree.fromstring(draw_graph(corner_cases, names.index(name)))
        return {e.get("class", ""): e.get("d", "") for e in root.iter(f"{SVG}path")}

    assert paths("no edges") == {}
    assert paths("ring")["edges"].count("M") == 6
    assert set(paths("ring")) == {"edges"}
    assert paths("directed")["heads"].count("Z") == 4
    assert paths("self-loops")["loops"].count("M") == 2
    assert paths("repeated edges")["edges"].count("M") == 2
    assert paths("one node with a loop")["loops"].count("M") == 1


def test_near_in_the_graph_is_near_in_the_drawing() -> None:
    points = np.array(list(map(place, marks(draw_graph(as_graphset([nx.path_graph(9)]), 0)))))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() < 1.3 * steps.min()
    assert np.linalg.norm(points[8] - points[0]) > 6 * steps.max()


def test_hostile_labels_are_text() -> None:
    graph = nx.path_graph(3)
    hostile = ['<script>alert("x")</script>', "a & b", "tab\tnull\x00 \ud800 ]]>"]
    for node in graph:
        graph.nodes[node]["kind"] = hostile[node]
    graphs = as_graphset([graph], node={"kind": "categorical"}, ids=["</title><script>"])
    svg = draw_graph(graphs, 0)
    root = ElementTree.fromstring(svg.encode())
    assert "<script" not in svg.lower()
    assert not [e for e in root.iter() if e.tag.lower().endswith("script")]
    assert hostile[0] in texts(svg)
    assert root.findtext(f"{SVG}title") == "graph </title><script>"
    for forbidden in ("href", "onload", "javascript:", "<style", " id="):
        assert forbidden not in svg


def test_categories_have_a_legend(corner_cases: GraphSet) -> None:
    svg = draw_graph(corner_cases, 0)  # labels a b c a
    colours = [mark.get("fill") for mark in marks(svg)]
    assert colours == [LIGHT.hues[0], LIGHT.hues[1], LIGHT.hues[2], LIGHT.hues[0]]
    assert texts(svg) == ["label: ", "a", "b", "c"]
    assert texts(draw_graph(corner_cases, 0, size=THUMBNAIL_SIZE)) == []


def test_scores_have_a_scale(corner_cases: GraphSet) -> None:
    both = draw_graph(corner_cases, 0, scores=[-1.0, 0.0, 2.0, 1.0])
    colours = [mark.get("fill") for mark in marks(both)]
    assert colours == make_scale(np.array([-2.0, 2.0]), LIGHT).colours(np.array([-1.0, 0.0, 2.0, 1.0]))
    assert texts(both) == ["−2", "2", "0"]
    one_sign = draw_graph(corner_cases, 0, scores=[1.0, 2.0, 3.0, 5.0])
    assert texts(one_sign) == ["1", "5"]
    assert len({mark.get("fill") for mark in marks(one_sign)}) == 4
    assert texts(draw_graph(corner_cases, 0, scores=[3.0] * 4)) == ["3"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scales_are_ordered_for_colour_blind_people(theme: str) -> None:
    """Blue minus red (which all but monochromats see) runs one way through a diverging scale."""
    paper = check_theme(theme)

    def channels(scores: list[float]) -> np.ndarray:
        colours = make_scale(np.array(scores), paper).colours(np.array(scores))
        return np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in colours], float)

    diverging = channels([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert (np.diff(diverging[:, 2] - diverging[:, 0]) < 0).all()
    lightness = channels([0.0, 1.0, 2.0, 3.0, 4.0]) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) < 0).all() or (np.diff(lightness) > 0).all()


def test_large_graphs_are_sampled_and_said_to_be() -> None:
    graphs = as_graphset([nx.barabasi_albert_graph(3_000, 3, seed=0), nx.complete_graph(150)])
    svg = draw_graph(graphs, 0, scores=np.random.default_rng(0).normal(size=3_000))
    assert len(marks(svg)) == 2_000
    assert "drawn: the 2,000 of 3,000 nodes with most edges, 4,000 of " in svg
    dense = draw_graph(graphs, 1)
    assert len(marks(dense)) == 150 and 'class="heads"' not in dense
    assert "drawn: 4,000 of 11,175 edges" in dense
    assert len(svg) < 600_000 and len(dense) < 600_000
    assert "drawn: " not in draw_graph(as_graphset([nx.path_graph(2_000)]), 0)


def test_a_page_that_can_be_seen_through(corner_cases: GraphSet) -> None:
    assert "<rect" not in draw_graph(corner_cases, 0, theme=replace(LIGHT, page="none"))
    assert f'fill="{LIGHT.page}"' in draw_graph(corner_cases, 0)


def test_nodes_are_coloured_by_their_contribution(corner_cases: GraphSet) -> None:
    model = InfoGraph(dim=8, epochs=1, batch_size=4, encoder=GIN(layers=2)).fit(corner_cases)
    graph = corner_cases[9]
    svg = contribution_drawing(model, graph)
    assert svg == draw_graph(graph, 0, scores=model.score_nodes(graph))
    whole = model.score_nodes(corner_cases)[corner_cases.node_ptr[9] : corner_cases.node_ptr[10]]
    titles = [(mark.findtext(f"{SVG}title") or "").split(": ")[1] for mark in marks(svg)]
    shown = [float(title.replace("−", "-")) for title in titles]
    assert shown == pytest.approx(whole.tolist(), rel=1e-2)

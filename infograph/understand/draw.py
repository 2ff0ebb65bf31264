"""One graph as a picture: a molecule as chemists draw it, anything else as nodes and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter
from infograph.report.palette import Theme
from infograph.understand.draw_molecule import draw_molecule
from infograph.understand.draw_network import draw_network
from infograph.understand.molecules import LARGEST, has_molecules, molecule_of
from infograph.understand.named_atoms import recognise_atoms
from infograph.understand.scale import check_scores
from infograph.understand.svg import check_size, check_theme

if TYPE_CHECKING:
    from infograph.estimators.infograph import InfoGraph

THUMBNAIL = (120, 120)
LARGE = (600, 600)


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

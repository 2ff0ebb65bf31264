"""Graphs that came in a request -> a GraphSet that fits the model, within the limits."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.errors import InfoGraphError
from infograph.explore.explorer import Explorer
from infograph.explore.limits import Limits
from infograph.explore.refusals import Refusal, sentence, status_of

Graph = str | dict[str, Any]


def read_request(explorer: Explorer, graphs: Sequence[Graph]) -> GraphSet:
    """SMILES, or JSON graphs {"nodes": ..., "edges": ...} as `infograph.data.formats.json_lines` reads them.

    Raises:
        Refusal: 400, these are no graphs; 413, they are too many or too large; 422, not for this model.
    """
    if explorer.model is None:
        raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
    if not graphs:
        raise Refusal(400, "No graphs came: expected a list of SMILES or of JSON graphs.")
    check_count(len(graphs), explorer.limits)
    if all(isinstance(graph, str) for graph in graphs):
        return _smiles(explorer, [str(graph) for graph in graphs])
    if not all(isinstance(graph, dict) for graph in graphs):
        raise Refusal(400, "Expected all graphs as SMILES, or all as JSON objects.")
    check_json([graph for graph in graphs if isinstance(graph, dict)], explorer.limits)
    lines = "\n".join(json.dumps(graph) for graph in graphs)
    return read_text(explorer, lines.encode(), ".jsonl", "the request", errors="raise")


def _smiles(explorer: Explorer, smiles: list[str]) -> GraphSet:
    if not explorer.takes_smiles:
        raise Refusal(422, "The model of this index reads no SMILES: give graphs as JSON objects.")
    longest = max(map(len, smiles))
    if longest > explorer.limits.smiles:
        raise Refusal(
            413, f"A SMILES of {longest:,} characters; at most {explorer.limits.smiles:,} are taken."
        )
    try:
        return check_set(as_graphset(smiles, schema=explorer.schema), explorer.limits)
    except InfoGraphError as error:
        raise Refusal(422, sentence(error)) from error


def read_text(explorer: Explorer, text: bytes, ending: str, name: str, errors: Any) -> GraphSet:
    """A text by the package's own readers, from a temporary file that nobody else names.

    Raises:
        Refusal: it cannot be read; `name` stands for the file in the sentence.
    """
    with tempfile.TemporaryDirectory(prefix="infograph-") as folder:
        path = Path(folder) / f"graphs{ending}"
        path.write_bytes(text)
        try:
            graphs = as_graphset(path, schema=explorer.schema, errors=errors)
            return check_set(graphs, explorer.limits)
        except InfoGraphError as error:
            raise Refusal(status_of(error), sentence(str(error).replace(str(path), name))) from error
        except Refusal:
            raise
        except Exception as error:  # a reader that stumbles over a user's file is no defect of the server
            logging.getLogger(__name__).warning("%s file not read", ending, exc_info=error)
            problem = f"{name} could not be read as {ending} ({type(error).__name__})."
            raise Refusal(400, problem[0].upper() + problem[1:]) from error


def check_json(graphs: Sequence[dict[str, Any]], limits: Limits) -> None:
    """Refuse JSON graphs that are too large, before any of them is built.

    Raises:
        Refusal: 400, nodes or edges are none; 413, there are too many.
    """
    nodes = edges = 0
    for place, graph in enumerate(graphs):
        own, arcs = graph.get("nodes"), graph.get("edges", [])
        if isinstance(own, bool) or not isinstance(own, int | list) or not isinstance(arcs, list):
            raise Refusal(
                400, f"Graph {place}: expected 'nodes', a number or a list, and 'edges', a list of pairs."
            )
        if isinstance(own, int) and own < 0:  # would make room for others in the sum
            raise Refusal(400, f"Graph {place}: {own:,} nodes; expected a number of at least 0.")
        nodes += own if isinstance(own, int) else len(own)
        edges += len(arcs)
        check_size(nodes, edges, limits)


def check_set(graphs: GraphSet, limits: Limits) -> GraphSet:
    """Graphs that were read, if they are not too many."""
    check_count(len(graphs) + len(graphs.rejected), limits)
    check_size(graphs.n_nodes, graphs.n_edges // 2, limits)
    return graphs


def check_count(n_graphs: int, limits: Limits) -> None:
    """Refuse too many graphs."""
    if n_graphs > limits.graphs:
        raise Refusal(413, f"{n_graphs:,} graphs; at most {limits.graphs:,} are taken at a time.")


def check_size(n_nodes: int, n_edges: int, limits: Limits) -> None:
    """Refuse too many nodes or edges."""
    if n_nodes > limits.nodes:
        raise Refusal(413, f"{n_nodes:,} nodes; at most {limits.nodes:,} are taken at a time.")
    if n_edges > limits.edges:
        raise Refusal(413, f"{n_edges:,} edges; at most {limits.edges:,} are taken at a time.")

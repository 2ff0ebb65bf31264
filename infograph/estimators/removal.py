"""What each node contributes to a prediction: the prediction, minus that of the graph without the node.

Riniker and Landrum (J. Cheminform. 2013) do so with the bits of fingerprints; here nodes and their edges are
taken out of the graphs themselves, all of them in a few passes of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.colours import refine
from infograph.data.graphset import GraphSet, IntArray, pointer, ranges
from infograph.data.joining import concatenate, recode
from infograph.data.molecules import BOND, ELEMENT, SMILES, from_molecules
from infograph.data.schema import Schema
from infograph.estimators.members import descriptors_of, network_outputs

if TYPE_CHECKING:
    from infograph.estimators.labelled import SemiSupervised

Floats = NDArray[np.float64]
MOST_NODES, MOST_GRAPHS = 500_000, 4_000  # of graphs without a node that are in memory at a time
ROUNDS = 12  # of colours that tell the atoms of a molecule apart
LEAST = 1e-15  # probability


def contributions(model: SemiSupervised, graphs: GraphSet) -> Floats:
    """f(G) - f(G without a node and its edges), for every node of graphs that fit the schema. (N, T).

    f are the numbers in the targets' units, or log-odds: of the second of two classes, of the second class in
    each of several columns, and of the predicted class where there are more than two. Hydrogens that are no
    nodes stay as they are counted at the other nodes, and composition (`offset`) is that of what is left.
    Where a head sees descriptors, these stay those of the whole molecule; of fingerprints, the environments
    that contain the atom are left out. Without its only node a graph is nothing, for which outputs are zero:
    the mean of the labels, or equal probabilities.
    """
    parts = model.inputs_.split("+") if model.inputs_ else []
    fixed = {}
    if "descriptors" in parts or (model._descriptors and not parts):
        fixed["descriptors"] = descriptors_of(model, graphs)
    atoms = _atoms(graphs) if "fingerprints" in parts else None
    whole = _predicted(model, graphs, fixed)
    told = np.zeros(0, np.int64)
    if hasattr(model, "classes_") and not model._several:
        told = whole.argmax(axis=1) if whole.shape[1] > 2 else np.ones(len(graphs), np.int64)
    found = []
    for nodes in _chunks(graphs):
        owner = graphs.node_graph[nodes]
        given = {part: rows[owner] for part, rows in fixed.items()}
        if atoms is not None:
            given["fingerprints"] = _fingerprints(graphs, nodes, atoms)
        rest = _predicted(model, without(graphs, nodes), given)
        of = told[owner] if len(told) else told
        found.append(_scale(model, whole[owner], of) - _scale(model, rest, of))
    return np.concatenate(found) if found else np.zeros((0, len(model.target_names_)))


def without(graphs: GraphSet, nodes: IntArray) -> GraphSet:
    """For each of some nodes, numbered through all graphs, its graph without it and its edges."""
    owner = graphs.node_graph[nodes]
    rows, ptr = ranges(graphs.node_ptr, owner)
    stay = rows != np.repeat(nodes, np.diff(ptr))
    arcs, arc_ptr = ranges(graphs.edge_ptr, owner)
    copy = np.repeat(np.arange(len(nodes)), np.diff(arc_ptr))
    gone = (nodes - graphs.node_ptr[owner])[copy]  # as numbered inside its graph
    kept = (graphs.edges[:, arcs] != gone).all(axis=0)
    arcs, copy, gone = arcs[kept], copy[kept], gone[kept]
    edges = graphs.edges[:, arcs]
    return replace(
        graphs,
        node_ptr=pointer(np.diff(ptr) - 1),
        edge_ptr=pointer(np.bincount(copy, minlength=len(nodes))),
        edges=edges - (edges > gone),
        node={name: values[rows[stay]] for name, values in graphs.node.items()},
        edge={name: values[arcs] for name, values in graphs.edge.items()},
        graph={name: values[owner] for name, values in graphs.graph.items()},
        ids=graphs.ids[owner],
        rejected=(),
    )


def _chunks(graphs: GraphSet) -> Iterator[IntArray]:
    """All nodes, some at a time, so that their graphs are not too many and not too large together."""
    load = np.maximum(graphs.sizes[graphs.node_graph] / MOST_NODES, 1 / MOST_GRAPHS)
    chunk = np.cumsum(load).astype(np.int64)
    yield from np.split(np.arange(graphs.n_nodes), np.flatnonzero(np.diff(chunk)) + 1)


def _predicted(model: SemiSupervised, graphs: GraphSet, given: dict[str, NDArray[Any]]) -> Floats:
    """The mean of all networks, with some inputs of their heads given. (G, T) or (G, C)."""
    there = np.flatnonzero(graphs.sizes)
    some = {part: rows[there] for part, rows in given.items()}
    members = []
    for network in model.models_:
        outputs = np.zeros((len(graphs), model._n_outputs), np.float32)
        if len(there):
            outputs[there] = network_outputs(model, network, graphs[there], some)
        members.append(model._finish(outputs, graphs))
    return np.asarray(np.mean(members, axis=0))


def _scale(model: SemiSupervised, predicted: Floats, told: IntArray) -> Floats:
    """Numbers as they are; log-odds of the class that is told of, or of the second one in each column."""
    if not hasattr(model, "classes_"):
        return predicted
    if model._several:
        share = np.clip(predicted, LEAST, 1 - LEAST)
        return np.asarray(np.log(share) - np.log1p(-share))
    own = np.arange(predicted.shape[1]) == told[:, None]  # (G, C)
    for_it, against = (np.where(mask, predicted, 0.0).sum(axis=1) for mask in (own, ~own))
    return np.asarray(np.log(np.maximum(for_it, LEAST) / np.maximum(against, LEAST))[:, None])


# ---- fingerprints


def _fingerprints(graphs: GraphSet, nodes: IntArray, atoms: IntArray) -> NDArray[np.float32]:
    """Those of the molecules of some nodes, without the environments that contain the node. (n, bits)."""
    owner, made = graphs.node_graph[nodes], []
    for graph in np.unique(owner):
        counts, containing = _environments(str(graphs.graph[SMILES.name][graph]))
        own = atoms[nodes[owner == graph]]
        made.append(np.minimum(counts - containing[np.where(own < len(containing), own, -1)], 255))
    return np.log1p(np.concatenate(made).astype(np.float32))


def _environments(smiles: str) -> tuple[IntArray, IntArray]:
    """How many environments of each bit a molecule has (bits,), and how many of them contain each atom.

    The last row, of no atom, is zero. (A + 1, bits).
    """
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import AdditionalOutput, GetMorganGenerator

    molecule = Chem.MolFromSmiles(smiles)
    generator, more = GetMorganGenerator(radius=2, fpSize=2048), AdditionalOutput()
    more.CollectBitInfoMap()
    counts = generator.GetCountFingerprintAsNumPy(molecule, additionalOutput=more).astype(np.int64)
    containing = np.zeros((molecule.GetNumAtoms() + 1, len(counts)), np.int64)
    bonds = Chem.GetDistanceMatrix(molecule)  # between atoms, on the shortest way
    for bit, environments in more.GetBitInfoMap().items():
        for centre, radius in environments:
            containing[:-1, bit] += bonds[centre] <= radius
    return counts, containing


def _atoms(graphs: GraphSet) -> IntArray:
    """The atom of its SMILES that every node is, -1 where it is none. (N,).

    Atoms are told by their colour: those of one colour have environments alike, so that any of them will do.
    """
    own = _bare(graphs)
    if own is None:
        return np.full(graphs.n_nodes, -1)
    hydrogens = bool(graphs.schema.option("hydrogens"))
    read = from_molecules(
        graphs.graph[SMILES.name].tolist(), hydrogens=hydrogens, stereo=False, keep_smiles=False
    )
    both = concatenate([own, _bare(read) or own])
    colours = refine(both, ROUNDS).node_colours[-1].astype(np.int64)
    keys = colours * len(graphs) + both.node_graph % len(graphs)
    known, first = np.unique(keys[graphs.n_nodes :], return_index=True)
    place = np.minimum(np.searchsorted(known, keys[: graphs.n_nodes]), len(known) - 1)
    atom = first[place] - read.node_ptr[graphs.node_graph]
    return np.where(known[place] == keys[: graphs.n_nodes], atom, -1)


def _bare(graphs: GraphSet) -> GraphSet | None:
    """Elements and bonds alone; None where there are none."""
    if ELEMENT.name not in graphs.node or BOND.name not in graphs.edge:
        return None
    return GraphSet(
        graphs.node_ptr,
        graphs.edge_ptr,
        graphs.edges,
        node={ELEMENT.name: recode(graphs, "node", ELEMENT)[0]},
        edge={BOND.name: recode(graphs, "edge", BOND)[0]},
        ids=np.arange(len(graphs)),
        schema=Schema(node=(ELEMENT,), edge=(BOND,)),
    )

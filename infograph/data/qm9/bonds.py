"""The bonds of QM9: its files have coordinates and a SMILES, but do not say which atom is which.

Four rules are tried in this order; what a molecule's bonds come from is its graph column `bonds`:

  * "smiles": the atoms of the SMILES, then their hydrogens in the same order, are those of the coordinates;
  * "permuted": they are after renumbering. As many pairs of atoms as the SMILES has bonds, the closest ones
    by length over the sum of covalent radii, form the same graph of elements;
  * "perceived": the SMILES is another isomer, often a zwitterion whose proton moved when the geometry was
    optimised. RDKit finds the bonds of a neutral molecule in the coordinates (`DetermineBonds`), in one piece
    and without radicals, and `smiles` is written from them;
  * "distances": atoms nearer than LINKED times the sum of their covalent radii are bonded. The type of these
    bonds, and charge, aromaticity and hybridisation of the atoms, are unknown.

All but the last must pass the check: the elements are equal, every bond is SHORTEST to LONGEST times the sum
of covalent radii long, and atoms without a bond are CLOSEST times that sum apart or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.align import concatenate
from infograph.data.chem.atoms import AROMATIC, CHARGE, HYBRIDISATION
from infograph.data.chem.molecules import from_molecules
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.qm9.rows import Rows
from infograph.data.schema import Column
from infograph.errors import NothingLeft

OUTCOMES = ("smiles", "permuted", "perceived", "distances")
BONDS = Column("bonds", "categorical", categories=OUTCOMES)
RADII = np.full(10, np.nan)  # angstrom, by atomic number; Cordero et al. 2008
RADII[[1, 6, 7, 8, 9]] = 0.31, 0.76, 0.71, 0.66, 0.57
SHORTEST, LONGEST, CLOSEST, LINKED = 0.7, 1.3, 1.1, 1.2  # in sums of covalent radii

Rule = Callable[[str, IntArray, NDArray[np.float64]], Any]


def match_bonds(rows: Rows) -> GraphSet:
    """The molecules of `rows` as graphs with atoms in the order of the coordinates; ids are 0 ... G-1.

    Columns are those of `from_molecules(hydrogens=True, descriptors=True)` and `bonds`.
    """
    from rdkit import rdBase

    rules: tuple[Rule, ...] = (lambda smiles, *_: smiles, permuted, perceived, linked)
    parts: list[GraphSet] = []
    left = np.arange(len(rows))
    with rdBase.BlockLogs():
        for outcome, rule in enumerate(rules):
            graphs = _apply(rule, rows, left)
            if graphs is not None and outcome + 1 < len(rules):
                graphs = graphs[np.flatnonzero(fits(graphs, rows))]
            if graphs is not None and len(graphs):
                parts.append(graphs.with_column("graph", BONDS, np.full(len(graphs), outcome, np.int32)))
                left = np.setdiff1d(left, graphs.ids)
    joined = concatenate(parts)
    return _without_guesses(joined[np.argsort(joined.ids)] if len(parts) > 1 else joined)


def _apply(rule: Rule, rows: Rows, left: IntArray) -> GraphSet | None:
    """What a rule makes of the molecules `left`; those it can make nothing of are not in it."""
    items = [rule(*_molecule(rows, index)) for index in left.tolist()]
    try:
        return from_molecules(items, ids=left.tolist(), errors="skip", hydrogens=True, descriptors=True)
    except NothingLeft:
        return None


def _molecule(rows: Rows, index: int) -> tuple[str, IntArray, NDArray[np.float64]]:
    atoms = slice(rows.node_ptr[index], rows.node_ptr[index + 1])
    return rows.smiles[index], rows.numbers[atoms], rows.positions[atoms]


def fits(graphs: GraphSet, rows: Rows) -> NDArray[np.bool_]:
    """Which graphs agree with the coordinates of the rows that their ids name. (G,)."""
    good = graphs.sizes == np.diff(rows.node_ptr)[graphs.ids]
    candidates = np.flatnonzero(good)
    graphs = graphs[candidates]
    atoms, ptr = ranges(rows.node_ptr, graphs.ids)
    numbers, places, owner = rows.numbers[atoms], rows.positions[atoms], graphs.node_graph

    def lengths(source: IntArray, target: IntArray) -> NDArray[np.float64]:
        apart = np.sqrt(((places[source] - places[target]) ** 2).sum(axis=1))
        return np.asarray(apart / (RADII[numbers[source]] + RADII[numbers[target]]))

    def count(flags: NDArray[np.bool_], graph: IntArray) -> IntArray:
        return np.bincount(graph[flags], minlength=len(graphs))

    bonds = lengths(*graphs.edge_index)
    target, _ = ranges(ptr, owner)  # all atoms of the same molecule, for every atom
    source = np.repeat(np.arange(len(atoms)), graphs.sizes[owner])
    near = lengths(source, target) < CLOSEST
    wrong = (
        count(graphs.node["element"] != numbers, owner)
        + count((bonds < SHORTEST) | (bonds > LONGEST), graphs.edge_graph)
        + np.abs(count(near & (source != target), owner[source]) - count(bonds < CLOSEST, graphs.edge_graph))
    )
    good[candidates] = wrong == 0
    return np.asarray(good)


def permuted(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """The molecule of the SMILES with its atoms in the order of the coordinates; None if there is no such."""
    from rdkit import Chem

    mol = Chem.MolFromSmiles(smiles)
    if mol is None:
        return None
    mol = Chem.AddHs(mol)
    first, second, length = _pairs(numbers, positions)
    nearest = np.argsort(length, kind="stable")[: mol.GetNumBonds()]
    found = _plain(numbers, first[nearest], second[nearest])
    own = [atom.GetAtomicNum() for atom in mol.GetAtoms()]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    place = found.GetSubstructMatch(_plain(own, *zip(*ends, strict=True))) if ends else ()
    if len(place) != len(numbers):
        return None
    return Chem.RenumberAtoms(mol, np.argsort(place).tolist())


def perceived(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """What RDKit makes of the coordinates as a neutral molecule in one piece; None if nothing."""
    from rdkit import Chem, Geometry
    from rdkit.Chem import rdDetermineBonds

    mol = Chem.RWMol(_plain(numbers, (), ()))
    shape = Chem.Conformer(len(numbers))
    for atom, place in enumerate(positions.tolist()):
        shape.SetAtomPosition(atom, Geometry.Point3D(*place))
    mol.AddConformer(shape)
    try:
        rdDetermineBonds.DetermineBonds(mol, charge=0, embedChiral=False)
    except (ValueError, RuntimeError):
        return None
    radical = any(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms())
    if radical or len(Chem.GetMolFrags(mol)) > 1:
        return None
    mol.RemoveAllConformers()  # positions are joined to the graph as they are in the file
    return mol.GetMol()


def linked(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """Atoms that are near each other, joined by bonds without a type."""
    first, second, length = _pairs(numbers, positions)
    near = length < LINKED
    return _plain(numbers, first[near], second[near])


def _pairs(numbers: IntArray, positions: NDArray[np.float64]) -> tuple[IntArray, IntArray, Any]:
    """All pairs of atoms, and their distances in sums of covalent radii."""
    first, second = np.triu_indices(len(numbers), k=1)
    apart = np.sqrt(((positions[first] - positions[second]) ** 2).sum(axis=1))
    return first, second, apart / (RADII[numbers[first]] + RADII[numbers[second]])


def _plain(numbers: Any, first: Any, second: Any) -> Any:
    """Atoms and bonds without types, charges and further hydrogens."""
    from rdkit import Chem

    mol = Chem.RWMol()
    for number in numbers:
        atom = Chem.Atom(int(number))
        atom.SetNoImplicit(True)
        mol.AddAtom(atom)
    for pair in zip(first, second, strict=True):
        mol.AddBond(int(pair[0]), int(pair[1]), Chem.BondType.UNSPECIFIED)
    return mol.GetMol()


def _without_guesses(graphs: GraphSet) -> GraphSet:
    """Unknown instead of what RDKit says of atoms whose bonds have no type."""
    untyped = graphs.graph["bonds"][graphs.node_graph] == OUTCOMES.index("distances")  # (N,)
    if not untyped.any():
        return graphs
    unknown = {
        column.name: np.where(untyped, column.unknown, graphs.node[column.name]).astype(np.int32)
        for column in (CHARGE, AROMATIC, HYBRIDISATION)
    }
    return replace(graphs, node={**graphs.node, **unknown})

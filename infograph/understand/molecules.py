"""A molecule's graph -> an RDKit molecule whose atoms know which node they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infograph.data.chem.atoms import BOND, ELEMENT
from infograph.data.graphset import GraphSet
from infograph.errors import MissingExtra

LARGEST = 500  # atoms; a larger molecule is drawn, and described, as any other graph


@dataclass(frozen=True)
class Molecule:
    """An RDKit molecule and its nodes: atom a is node `nodes[a]` of the graph."""

    mol: Any
    nodes: tuple[int, ...]


def has_molecules(graphs: GraphSet) -> bool:
    """Whether these graphs have atoms and bonds that RDKit, which is installed, can read."""
    element, bond = graphs.schema.column("node", ELEMENT.name), graphs.schema.column("edge", BOND.name)
    if element is None or bond is None or element.categories != ELEMENT.categories:
        return False
    if bond.categories != BOND.categories:
        return False
    try:
        import rdkit  # noqa: F401
    except ImportError:
        return False
    return True


def molecule_of(graphs: GraphSet, index: int, *, hydrogens: bool = False) -> Molecule:
    """The molecule of one graph, without its hydrogens unless they are asked for.

    Built from atoms and bonds, so that every atom knows its node. Where the graph has a SMILES of the same
    molecule, its stereochemistry is taken over. Hydrogens that RDKit always keeps, such as those of H2, stay.

    Charges that a set does not list are those of its valences: nitrogen with four bonds is positive, a single
    oxygen beside it negative, which is how nitro groups are written. Valences that no chemist would accept
    do not matter: such a molecule is drawn as it stands, without implicit hydrogens.

    Args:
        graphs: molecules, by `has_molecules`.
        index: which.
        hydrogens: whether hydrogens that are nodes stay atoms.

    Raises:
        MissingExtra: RDKit is not installed.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    graph = graphs[index]
    with rdBase.BlockLogs():
        mol = _build(graph)
        if not _sanitise(mol):
            for atom in mol.GetAtoms():
                atom.SetNoImplicit(True)
        if not hydrogens:
            mol = Chem.RemoveHs(mol, sanitize=False)
        mol.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(mol)  # rings, which removing hydrogens forgets
        nodes = tuple(atom.GetIntProp("node") for atom in mol.GetAtoms())
        if "smiles" in graph.graph:
            return _with_stereo(mol, nodes, str(graph.graph["smiles"][0]))
    return Molecule(mol, nodes)


def _build(graph: GraphSet) -> Any:
    """Atoms and bonds as the columns say, not yet sanitised."""
    from rdkit import Chem

    types = (
        Chem.BondType.SINGLE,
        Chem.BondType.DOUBLE,
        Chem.BondType.TRIPLE,
        Chem.BondType.AROMATIC,
        Chem.BondType.ZERO,
    )
    mol = Chem.RWMol()
    charges = graph.values("node", "charge").tolist() if "charge" in graph.node else None
    for node, number in enumerate(graph.node[ELEMENT.name].tolist()):
        atom = Chem.Atom(number if number < ELEMENT.unknown else 0)
        atom.SetIntProp("node", node)
        atom.SetFormalCharge(int((charges[node] if charges else 0) or 0))
        mol.AddAtom(atom)
    source, target = graph.edges
    once = np.flatnonzero(source < target)
    for u, v, code in zip(
        source[once].tolist(), target[once].tolist(), graph.edge[BOND.name][once].tolist(), strict=True
    ):
        if mol.GetBondBetweenAtoms(u, v) is None:
            mol.AddBond(u, v, types[code])
        if types[code] == Chem.BondType.AROMATIC:
            for place in (u, v):
                mol.GetAtomWithIdx(place).SetIsAromatic(True)
            mol.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
    if charges is None:
        _charge(mol)
    else:
        _fix_hydrogens(mol, graph)
    return mol


def _charge(mol: Any) -> None:
    """Charges of nitrogens with four bonds, and of the oxygens beside them."""
    from rdkit import Chem

    for atom in mol.GetAtoms():
        orders = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
        if atom.GetAtomicNum() != 7 or orders != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            lonely = other.GetAtomicNum() == 8 and other.GetDegree() == 1
            if lonely and bond.GetBondType() == Chem.BondType.SINGLE:
                other.SetFormalCharge(-1)
                break


def _fix_hydrogens(mol: Any, graph: GraphSet) -> None:
    """Exactly as many hydrogens as the graph lists; none beyond its nodes where hydrogens are nodes."""
    nodes = bool(graph.schema.option("hydrogens")) or "hydrogens" not in graph.node
    counts = None if nodes else graph.values("node", "hydrogens").tolist()
    if nodes and not graph.schema.option("hydrogens"):
        return  # not known: RDKit fills the valences
    for atom in mol.GetAtoms():
        atom.SetNoImplicit(True)
        if counts is not None:
            atom.SetNumExplicitHs(int(counts[atom.GetIdx()] or 0))


def _sanitise(mol: Any) -> bool:
    """Whether the molecule makes sense to RDKit; aromatic nitrogens without their hydrogen are given it."""
    from rdkit import Chem

    if Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
        return True
    trial = Chem.RWMol(mol)
    for atom in trial.GetAtoms():
        if atom.GetIsAromatic() and atom.GetAtomicNum() == 7 and atom.GetDegree() == 2:
            number = atom.GetIdx()
            before = mol.GetAtomWithIdx(number).GetNumExplicitHs()
            mol.GetAtomWithIdx(number).SetNumExplicitHs(1)
            if Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                return True
            mol.GetAtomWithIdx(number).SetNumExplicitHs(before)
    return False


def _with_stereo(mol: Any, nodes: tuple[int, ...], smiles: str) -> Molecule:
    """The molecule of the SMILES with the nodes of `mol`; `mol` itself where they are not the same."""
    from rdkit import Chem

    told = Chem.MolFromSmiles(smiles)
    if told is None or told.GetNumAtoms() != mol.GetNumAtoms() or told.GetNumBonds() != mol.GetNumBonds():
        return Molecule(mol, nodes)
    match = told.GetSubstructMatch(mol)  # match[a] is the atom of `told` that atom a of `mol` is
    if len(match) != len(nodes):
        return Molecule(mol, nodes)
    order = np.empty(len(match), np.int64)
    order[list(match)] = nodes
    return Molecule(told, tuple(order.tolist()))

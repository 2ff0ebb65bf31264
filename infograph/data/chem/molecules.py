"""SMILES strings and RDKit molecules -> GraphSet: atoms are nodes, bonds are pairs of arcs.

Made for millions of molecules: Python touches every atom once per column and no bond at all; the arcs of
thousands of molecules are found in one numpy pass over their bond-order matrices.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.assemble import Errors, check_errors, nothing_left
from infograph.data.chem.atoms import (
    AROMATIC,
    ATOMIC_NUMBER,
    BOND,
    CHARGE,
    CHIRALITY,
    ELEMENT,
    HYBRIDISATION,
    HYDROGENS,
    POSITION,
    SMILES,
    STEREO,
)
from infograph.data.chem.bonds import Bonds
from infograph.data.chem.salts import STRIPPED, Salts, SaltStripper, salts_option
from infograph.data.chem.sanitise import quick_parser, sanitise
from infograph.data.columns import id_array
from infograph.data.graphset import GraphSet, Rejected, pointer
from infograph.data.schema import Category, Column, Schema
from infograph.errors import InvalidGraph, MissingExtra, NothingLeft

Columns = list[tuple[Column, NDArray[Any]]]


def from_molecules(
    items: Iterable[Any],
    *,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    schema: Schema | None = None,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    descriptors: bool | None = None,
    keep_smiles: bool = True,
) -> GraphSet:
    """SMILES strings and RDKit molecules, mixed as you like, -> GraphSet.

    Every molecule is sanitised the same way, so that a SMILES and a molecule with other explicit hydrogens or
    Kekule bonds give the same graph. Salts and other molecules in several pieces are legal; only
    `salts="strip"` reduces them to one piece. Isotopes are ignored.

    Columns (`chem/atoms.py` lists their categories, which are fixed: all molecule sets share one schema):
      * node: `element`, `charge`, `hydrogens` (how many are attached; only where they are not nodes
        themselves) and `aromatic`. Of the atom features of OGB (Hu et al. 2020) these are the ones that a
        message-passing encoder cannot find out by itself: it sees degrees, rings and hybridisation through
        its neighbours and bonds;
      * edge: `bond` (single, double, triple, aromatic; dative bonds count as single);
      * with `stereo`: `chirality` (R, S) of atoms and `stereo` (E, Z) of bonds, by the CIP rules and so the
        same whatever the order of the atoms;
      * with `descriptors`: `atomic_number` (a float) and `hybridisation` of atoms ("s" for hydrogen), and
        `hydrogens` even where these are nodes: atom features of Gilmer et al. (2017), used on QM9;
      * `position` (not an encoder's input) where every molecule has three-dimensional coordinates;
      * graph: the canonical `smiles`; with `salts="strip"` also `stripped`, the SMILES of what was dropped.

    Args:
        items: the molecules.
        ids: the user's ids; the position otherwise.
        errors: "raise" at the first bad molecule, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model: molecules are read with its options.
        hydrogens: whether hydrogens become nodes; None as `schema` says, else no.
        stereo: whether mirror images and E / Z isomers differ; None as `schema` says, else no.
        descriptors: whether atoms get the further columns above; None as `schema` says, else no.
        salts: "keep" all pieces of a molecule, or "strip" counter-ions and solvents by the rule of
            `infograph.data.chem.salts.SaltStripper`; None as `schema` says, else "keep".
        keep_smiles: whether to keep the canonical SMILES; without, reading is about a third faster, and more
            where no option asks for further columns (`infograph.data.chem.sanitise.quick_parser`).

    Raises:
        InvalidGraph: a molecule cannot be read; the message names it and says why.
        InvalidParameter: there is no molecule at all.
        MissingExtra: RDKit is not installed.
    """
    check_errors(errors)
    try:
        from rdkit import rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    options = {
        "hydrogens": _option(hydrogens, schema, "hydrogens"),
        "stereo": _option(stereo, schema, "stereo"),
        "descriptors": _option(descriptors, schema, "descriptors"),
    }
    builder = _Builder(**options, salts=salts_option(salts, schema), keep_smiles=keep_smiles)
    good: list[str | int] = []
    rejected: list[Rejected] = []
    with rdBase.BlockLogs():  # RDKit writes its complaints to stderr; they are in the errors instead
        for index, item in enumerate(items):
            graph_id = index if ids is None else ids[index]
            try:
                builder.add(item)
                good.append(graph_id)
            except ValueError as error:
                if errors == "raise":
                    raise InvalidGraph(str(error), index=index, graph_id=graph_id) from None
                rejected.append(Rejected(index, graph_id, str(error)))
    if not good:
        raise NothingLeft(nothing_left(rejected), len(rejected), rejected)
    return builder.build(id_array(good), tuple(rejected))


def _option(given: bool | None, schema: Schema | None, name: str) -> bool:
    if given is None:
        return bool(schema is not None and schema.option(name))
    return given


class _Builder:
    """Collects molecules column by column, in arrays of single bytes."""

    def __init__(
        self, hydrogens: bool, stereo: bool, descriptors: bool, salts: Salts, keep_smiles: bool
    ) -> None:
        from rdkit import Chem
        from rdkit.Chem import rdCIPLabeler

        self.chem, self.assign_labels = Chem, rdCIPLabeler.AssignCIPLabels  # no import per molecule
        bare = not (hydrogens or stereo or descriptors or keep_smiles or salts == "strip")
        self.parse = quick_parser() if bare else Chem.MolFromSmiles
        self.hydrogens, self.stereo, self.keep_smiles = hydrogens, stereo, keep_smiles
        self.salts, self.strip = salts, SaltStripper().strip if salts == "strip" else None
        self.stripped: list[str] = []
        self.descriptors = descriptors
        self.atoms: list[tuple[Column, Callable[[Any], int], array[int]]] = [
            (ELEMENT, Chem.Atom.GetAtomicNum, array("B")),
            (CHARGE, Chem.Atom.GetFormalCharge, array("b")),
        ]
        if not hydrogens:
            self.atoms.append((HYDROGENS, Chem.Atom.GetTotalNumHs, array("B")))
        elif descriptors:
            attached = partial(Chem.Atom.GetTotalNumHs, includeNeighbors=True)
            self.atoms.append((HYDROGENS, attached, array("B")))
        self.aromatic_place = len(self.atoms)  # among the columns; bonds tell it, which is quicker
        if stereo:
            self.atoms.append((CHIRALITY, _chirality, array("B")))
        if descriptors:
            self.atoms.append((ATOMIC_NUMBER, Chem.Atom.GetAtomicNum, array("B")))
            self.atoms.append((HYBRIDISATION, _hybridisation, array("b")))
        self.sizes = array("q")
        self.bonds = Bonds(stereo=stereo)
        self.positions: list[NDArray[np.float64]] | None = []
        self.smiles: list[str] = []

    def add(self, item: Any) -> None:
        """Add one molecule, or raise a ValueError that says why not and leave everything as it was."""
        chem = self.chem
        mol = heavy = self.parse(item) if isinstance(item, str) and item else None
        if mol is None:
            mol = sanitise(item)
            heavy = chem.RemoveHs(mol)
        if not mol.GetNumAtoms():
            raise ValueError("a molecule without atoms")
        if self.strip is not None:
            mol, dropped = self.strip(mol)
            heavy = chem.RemoveHs(mol) if dropped else heavy
            self.stripped.append(dropped)
        if self.keep_smiles:
            self.smiles.append(chem.MolToSmiles(heavy))
        self._add_graph(chem.AddHs(mol, addCoords=True) if self.hydrogens else heavy)

    def _add_graph(self, mol: Any) -> None:
        if self.stereo:
            self.assign_labels(mol)
        n_atoms = mol.GetNumAtoms()
        self.sizes.append(n_atoms)
        self.bonds.add(mol)
        atoms = list(map(mol.GetAtomWithIdx, range(n_atoms)))  # half the time of mol.GetAtoms()
        for _, getter, values in self.atoms:
            values.extend(map(getter, atoms))
        if self.positions is not None:
            if mol.GetNumConformers() and mol.GetConformer().Is3D():
                self.positions.append(mol.GetConformer().GetPositions())
            else:
                self.positions = None  # not every molecule has coordinates

    def build(self, ids: NDArray[Any], rejected: tuple[Rejected, ...]) -> GraphSet:
        """All molecules added so far."""
        edge_counts, edges, bond, stereo = self.bonds.arcs()
        node_ptr, edge_ptr = pointer(np.array(self.sizes, np.int64)), pointer(edge_counts)
        node: Columns = [(column, _codes(column, values)) for column, _, values in self.atoms]
        aromatic = np.zeros(node_ptr[-1], np.int32)
        sources = edges[0] + np.repeat(node_ptr[:-1], edge_counts)
        aromatic[sources[bond == BOND.categories.index("aromatic")]] = 1  # such atoms have such bonds
        node.insert(self.aromatic_place, (AROMATIC, aromatic))
        edge: Columns = [(BOND, bond), (STEREO, stereo)] if self.stereo else [(BOND, bond)]
        graph: Columns = [(SMILES, np.array(self.smiles, np.str_))] if self.keep_smiles else []
        if self.strip is not None:
            graph.append((STRIPPED, np.array(self.stripped, np.str_)))
        if self.positions:
            node.append((POSITION, np.concatenate(self.positions).astype(np.float32)))
        return GraphSet(
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            edges=edges,
            node={column.name: values for column, values in node},
            edge={column.name: values for column, values in edge},
            graph={column.name: values for column, values in graph},
            ids=ids,
            schema=Schema(
                node=tuple(column for column, _ in node),
                edge=tuple(column for column, _ in edge),
                graph=tuple(column for column, _ in graph),
                options=self._options(),
            ),
            rejected=rejected,
        )

    def _options(self) -> tuple[tuple[str, Category], ...]:
        """How the molecules were read; schemas made before there were descriptors do not mention them."""
        options = (("hydrogens", self.hydrogens), ("stereo", self.stereo), ("salts", self.salts))
        return (*options, ("descriptors", True)) if self.descriptors else options


def _chirality(atom: Any) -> int:
    """The code of an atom's CIP label; pseudo-asymmetric centres (r, s) count as none."""
    label = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else "none"
    return CHIRALITY.categories.index(label) if label in CHIRALITY.categories else 0


def _hybridisation(atom: Any) -> int:
    """The code of an atom's hybridisation, -1 for none; RDKit does not say that of the hydrogens it adds."""
    return 0 if atom.GetAtomicNum() == 1 else int(atom.GetHybridization()) - 1


def _codes(column: Column, values: array[int]) -> NDArray[np.generic]:
    """Atomic numbers, charges, counts and flags -> codes; what is outside the categories is unknown."""
    if column.kind == "float":
        return np.array(values, np.float32)
    first = column.categories[0]
    codes = np.array(values, np.int32) - (first if isinstance(first, int) else 0)
    return np.where((codes < 0) | (codes > column.unknown), column.unknown, codes)

"""The bonds of many molecules -> arcs, in one numpy pass over their bond-order matrices.

A matrix of RDKit costs 3 us for a molecule of nine heavy atoms; visiting its bonds one by one costs 30 us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.chem.atoms import BOND, STEREO
from infograph.data.graphset import IntArray, pointer

LARGE = 500  # atoms; beyond it a matrix is mostly zeros, and its bonds are visited instead
CELLS = 1_000_000  # matrix entries (8 MB) that wait until they are searched together
OTHER = 4.5  # stands in a matrix for a bond without an order, such as a hydrogen bond
SHIFT = 10  # the code of a bond's stereochemistry is its matrix entry // SHIFT
ORDERS = np.full(2 * SHIFT, BOND.unknown, np.int32)  # twice the bond order -> code
ORDERS[[2, 4, 6, 3]] = range(4)  # single, double, triple, aromatic


class Bonds:
    """Collects the bonds of molecules; arcs come out sorted by source, then target.

    With `stereo`, molecules must have their CIP labels assigned.
    """

    def __init__(self, *, stereo: bool = False) -> None:
        from rdkit.Chem import GetAdjacencyMatrix

        self.stereo = stereo
        self.matrix = GetAdjacencyMatrix
        self.waiting: list[NDArray[np.float64]] = []
        self.n_cells = 0
        self.parts: list[tuple[IntArray, IntArray, NDArray[np.float64]]] = []

    def add(self, mol: Any) -> None:
        """Add the bonds of one molecule."""
        n_atoms = mol.GetNumAtoms()
        if n_atoms > LARGE:
            self._flush()
            self.parts.append(_visit(mol, self.stereo))
            return
        matrix = self.matrix(mol, useBO=True, force=True)  # (n, n)
        if self.stereo or np.count_nonzero(matrix) != 2 * mol.GetNumBonds():
            edges, values = _bonds(mol, self.stereo)
            matrix[edges[0], edges[1]] = matrix[edges[1], edges[0]] = values
        self.waiting.append(matrix)
        self.n_cells += n_atoms * n_atoms
        if self.n_cells > CELLS:
            self._flush()

    def arcs(self) -> tuple[IntArray, IntArray, NDArray[np.int32], NDArray[np.int32]]:
        """Arcs per molecule (G,), their ends (2, E), and the codes of `bond` and `stereo` (E,)."""
        self._flush()
        counts, edges, values = (np.concatenate(part, axis=-1) for part in zip(*self.parts, strict=True))
        bond = ORDERS[(values % SHIFT * 2).astype(np.int32)]
        return counts, edges.astype(np.int32), bond, (values // SHIFT).astype(np.int32)

    def _flush(self) -> None:
        if not self.waiting:
            return
        sizes = np.array([len(matrix) for matrix in self.waiting])
        cells = np.concatenate([matrix.ravel() for matrix in self.waiting])
        found = np.flatnonzero(cells)
        starts = pointer(sizes**2)
        molecule = np.searchsorted(starts, found, side="right") - 1
        edges = np.stack(np.divmod(found - starts[molecule], sizes[molecule]))  # (2, arcs)
        self.parts.append((np.bincount(molecule, minlength=len(sizes)), edges.astype(np.int32), cells[found]))
        self.waiting, self.n_cells = [], 0


def _bonds(mol: Any, stereo: bool) -> tuple[IntArray, NDArray[np.float64]]:
    """The bonds of a molecule, each once, and what stands for them in the matrix."""
    bonds = mol.GetBonds()
    edges = (
        np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds], np.int64)
        .reshape(-1, 2)
        .T
    )
    values = [bond.GetBondTypeAsDouble() or OTHER for bond in bonds]
    labels = [bond.GetProp("_CIPCode") if stereo and bond.HasProp("_CIPCode") else "none" for bond in bonds]
    codes = [
        STEREO.categories.index(label) if label in STEREO.categories else STEREO.unknown for label in labels
    ]
    return edges, np.array(values, np.float64) + SHIFT * np.array(codes, np.float64)


def _visit(mol: Any, stereo: bool) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    edges, values = _bonds(mol, stereo)
    arcs, values = np.hstack([edges, edges[::-1]]), np.tile(values, 2)
    order = np.lexsort(arcs[::-1])
    return np.array([len(order)]), arcs[:, order], values[order]

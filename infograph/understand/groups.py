"""Functional groups of molecules, named as chemists name them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.understand.molecules import has_molecules, molecule_of

# An ester is no ether, and an amide no amine; otherwise a molecule may count for several.
GROUPS = {
    "nitro groups": "[$([NX3](=O)=O),$([NX3+](=O)[O-])]",
    "nitroso groups": "[#6,#7][NX2]=[OX1]",
    "azo groups": "[#6][NX2]=[NX2][#6]",
    "diazo compounds or azides": "[$([#6]=[N+]=[N-]),$(N=[N+]=[N-])]",
    "nitriles": "[NX1]#[CX2]",
    "isocyanates": "N=C=[O,S]",
    "aldehydes": "[CX3H1](=O)[#6,#1]",
    "ketones": "[#6][CX3](=O)[#6]",
    "carboxylic acids": "[CX3](=O)[OX2H1,OX1-]",
    "esters": "[#6][CX3](=O)[OX2][#6]",
    "acyl halides": "[CX3](=O)[F,Cl,Br,I]",
    "amides": "[NX3;!$(N=*)][CX3](=[OX1])[#6,#1]",
    "ureas or carbamates": "[NX3][CX3](=[OX1])[NX3,OX2]",
    "imines": "[CX3;!$(C-[N,O,S])]=[NX2;!$(N-[N,O])]",
    "amidines": "[NX3][CX3]=[NX2]",
    "hydrazines": "[NX3;!$(N=*);!$(N-C=O)]-[NX3;!$(N=*)]",
    "oximes": "[CX3]=[NX2][OX2]",
    "alcohols": "[OX2H][CX4]",
    "phenols": "[OX2H]c",
    "ethers": "[OX2;!r3]([#6;!$(C=[O,N,S])])[#6;!$(C=[O,N,S])]",
    "epoxides": "C1OC1",
    "aziridines": "C1NC1",
    "peroxides": "[OX2][OX2]",
    "primary amines": "[NX3;H2;!$(N-C=[O,N,S]);!$(N-[N,O,S])][#6]",
    "secondary amines": "[NX3;H1;!$(N-C=[O,N,S]);!$(N-[N,O,S])]([#6])[#6]",
    "tertiary amines": "[NX3;H0;!$(N-C=[O,N,S]);!$(N-[N,O,S])]([#6])([#6])[#6]",
    "ammonium": "[NX4+]",
    "alkenes": "[CX3;!$(C=C-[O,N])]=[CX3]",
    "alkynes": "[CX2]#[CX2]",
    "thiols": "[SX2H]",
    "thioethers": "[SX2]([#6])[#6]",
    "sulfoxides": "[SX3](=O)([#6])[#6]",
    "sulfones": "[SX4](=O)(=O)([#6])[#6]",
    "sulfonamides": "[SX4](=O)(=O)[NX3]",
    "sulfonic acids or esters": "[SX4](=O)(=O)[OX2,OX1-]",
    "phosphates": "[PX4](=O)([O,N])[O,N]",
    "fluorides": "[#6]F",
    "chlorides": "[#6]Cl",
    "bromides": "[#6]Br",
    "iodides": "[#6]I",
    "trifluoromethyl groups": "[CX4](F)(F)F",
    "benzene rings": "c1ccccc1",
    "heteroaromatic rings": "[a;!#6;r5,r6]",
    "three-membered rings": "[r3]",
    "four-membered rings": "[r4]",
}


def group_table(graphs: GraphSet) -> tuple[tuple[str, ...], NDArray[np.bool_]] | None:
    """Which molecule has which group: names, and a table (G, groups). None where these are no molecules.

    It takes 0.3 ms for a molecule of nine heavy atoms, so 40 seconds for all of QM9.
    """
    if not has_molecules(graphs):
        return None
    from rdkit import Chem, rdBase

    patterns = [Chem.MolFromSmarts(smarts) for smarts in GROUPS.values()]
    smiles = graphs.graph.get("smiles")
    table = np.zeros((len(graphs), len(patterns)), bool)
    with rdBase.BlockLogs():
        for index in range(len(graphs)):
            mol = Chem.MolFromSmiles(str(smiles[index])) if smiles is not None else None
            mol = molecule_of(graphs, index).mol if mol is None else mol
            table[index] = _matches(mol, patterns)
    return tuple(GROUPS), table


def _matches(mol: Any, patterns: list[Any]) -> list[bool]:
    return [mol.HasSubstructMatch(pattern) for pattern in patterns]

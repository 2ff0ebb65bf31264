"""Salts to the molecule that matters: which piece is kept, and what is said of the others."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter

Salts = Literal["keep", "strip"]
SALTS: tuple[Salts, ...] = ("keep", "strip")
STRIPPED = Column("stripped", "text")
SHOWN = 5  # kinds of pieces that a sentence names

# Acids, bases and solvents that crystallise with drugs, uncharged and without stereochemistry. Only such as
# are hardly ever the molecule in question where another organic piece stands beside them.
PARTNERS = """
OC=O CC(=O)O CCC(=O)O FC(F)(F)C(=O)O OC(=O)C(=O)O OC(=O)CC(=O)O OC(=O)CCC(=O)O OC(=O)C=CC(=O)O
OC(=O)CC(O)C(=O)O OC(=O)C(O)C(O)C(=O)O OC(=O)CC(O)(CC(=O)O)C(=O)O CC(O)C(=O)O OCC(=O)O
OCC(O)C(O)C(O)C(O)C(=O)O CS(=O)(=O)O CCS(=O)(=O)O OCCS(=O)(=O)O FC(F)(F)S(=O)(=O)O COS(=O)(=O)O
OS(=O)(=O)c1ccccc1 Cc1ccc(cc1)S(=O)(=O)O OS(=O)(=O)CCS(=O)(=O)O OS(=O)(=O)c1cccc2c1cccc2S(=O)(=O)O
OS(=O)(=O)c1ccc2ccccc2c1 OC(=O)c1cc2ccccc2c(Cc2c(O)c(cc3ccccc23)C(=O)O)c1O
CC1(C)C2CCC1(CS(=O)(=O)O)C(=O)C2
NC(CO)(CO)CO CNCC(O)C(O)C(O)C(O)CO C[N+](C)(C)CCO OCCNCCO NCCO NCCN CCNCC CCN(CC)CC CN C[N+](C)(C)C
CC(C)(C)N C1CCCCC1NC1CCCCC1
CO CCO CC(C)O CCCCO CC(C)=O CC#N CS(C)=O CN(C)C=O CC(=O)N(C)C CCOC(C)=O CCOCC C1CCOC1 C1COCCO1
ClCCl ClC(Cl)Cl Cc1ccccc1 c1ccccc1 CCCCCC
"""
INORGANIC = "OC(=O)O SC#N C#N OC#N O=C=O S=C=S [C-]#[O+]"  # these count as pieces without carbon
LARGEST_INORGANIC = 4  # heavy atoms of the largest of them


class SaltStripper:
    """Reduces molecules of several pieces to one, by a fixed rule.

    The piece that is kept is the first of this order:
      1. pieces with carbon before pieces without, so that metal ions, halides, sulphate and water go (and
         carbonate, cyanide and the like with them);
      2. pieces that are no common partner of salts and solvates (`PARTNERS`: citric acid, tosylic acid,
         tromethamine, ethanol ...) before those that are, so that a small drug is kept and its large
         counter-ion is not;
      3. more heavy atoms before fewer; then the larger mass; then the canonical SMILES that sorts first.

    A molecule of inorganic pieces only, such as sodium chloride, is nothing but salt and stays as it is; so
    does every molecule of one piece, whatever its charge. Metals that are drawn with a bond are not cut off.
    Of a mixture of two drugs the larger one is kept.

    Charges: a kept piece with a net charge is neutralised where adding or taking away hydrogens can do that
    (RDKit's `Uncharger`), because the ion that balanced it is gone: the sodium salt of an acid becomes the
    acid, a hydrochloride the amine; quaternary ammonium keeps its charge. A piece without a net charge, such
    as the zwitterion in a hydrate, stays as it was drawn.
    """

    def __init__(self) -> None:
        from rdkit import Chem
        from rdkit.Chem.MolStandardize import rdMolStandardize
        from rdkit.Chem.rdMolDescriptors import CalcExactMolWt

        self.chem, self.mass = Chem, CalcExactMolWt
        self.uncharge = rdMolStandardize.Uncharger().uncharge
        self.partners = {Chem.MolToSmiles(Chem.MolFromSmiles(smiles)) for smiles in PARTNERS.split()}
        self.inorganic = {Chem.MolToSmiles(Chem.MolFromSmiles(smiles)) for smiles in INORGANIC.split()}

    def strip(self, mol: Any) -> tuple[Any, str]:
        """A sanitised molecule -> the piece that is kept, and the SMILES of those that are not.

        The very same molecule, and an empty text, come back where nothing is to be done.
        """
        if len(self.chem.GetMolFrags(mol)) == 1:
            return mol, ""
        pieces = self.chem.GetMolFrags(mol, asMols=True)
        organic = [place for place, piece in enumerate(pieces) if self._is_organic(piece)]
        if not organic:
            return mol, ""
        kept = organic[0] if len(organic) == 1 else min(organic, key=lambda place: self._rank(pieces[place]))
        dropped = (self._smiles(piece) for place, piece in enumerate(pieces) if place != kept)
        return self._neutral(pieces[kept]), ".".join(sorted(dropped))

    def _is_organic(self, piece: Any) -> bool:
        if all(atom.GetAtomicNum() != 6 for atom in piece.GetAtoms()):
            return False
        return piece.GetNumHeavyAtoms() > LARGEST_INORGANIC or self._flat(piece) not in self.inorganic

    def _rank(self, piece: Any) -> tuple[bool, int, float, str]:
        partner = self._flat(piece) in self.partners
        return partner, -piece.GetNumHeavyAtoms(), -round(self.mass(piece), 6), self._smiles(piece)

    def _smiles(self, piece: Any) -> str:
        return str(self.chem.MolToSmiles(self.chem.RemoveHs(piece)))

    def _flat(self, piece: Any) -> str:
        """The SMILES as in `PARTNERS`: uncharged, without stereochemistry and isotopes."""
        neutral = self.uncharge(self.chem.RemoveHs(piece))
        return str(self.chem.MolToSmiles(neutral, isomericSmiles=False))

    def _neutral(self, piece: Any) -> Any:
        if not self.chem.GetFormalCharge(piece):
            return piece
        neutral = self.uncharge(
            self.chem.RemoveHs(piece)
        )  # hydrogens that are atoms would stay where they are
        self.chem.SanitizeMol(neutral)
        return neutral


def salts_option(given: Salts | None, schema: Schema | None) -> Salts:
    """What was asked for, else what a fitted model was fitted on, else "keep".

    Raises:
        InvalidParameter: it is neither "keep" nor "strip".
    """
    if given is None:
        known = schema.option("salts") if schema is not None else None  # None: fitted before there was one
        return "strip" if known == "strip" else "keep"
    if given not in SALTS:
        raise InvalidParameter(f"salts={given!r}: expected 'keep' or 'strip'")
    return given


def n_stripped(graphs: GraphSet) -> int:
    """How many molecules lost a piece when they were read with `salts="strip"`."""
    values = graphs.graph.get(STRIPPED.name)
    return 0 if values is None else int(np.count_nonzero(values != ""))


def describe_stripped(graphs: GraphSet) -> str:
    """A sentence on what was stripped, such as "2 of 9 molecules lost a piece: Cl (2x), O (1x)".

    Empty where nothing was.
    """
    count = n_stripped(graphs)
    if not count:
        return ""
    pieces = Counter(piece for text in graphs.graph[STRIPPED.name] for piece in set(text.split(".")) if piece)
    ordered = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{smiles} ({times:,}x)" for smiles, times in ordered[:SHOWN])
    more = f" and {len(ordered) - SHOWN} more kinds" if len(ordered) > SHOWN else ""
    return f"{count:,} of {len(graphs):,} molecules lost a piece: {named}{more}"

"""Salts: which piece of a molecule is kept, its charge, and what a fitted model makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import AllChem

from infograph.data.cleaning import describe_stripped
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.molecules import INORGANIC, LARGEST_INORGANIC, PARTNERS, from_molecules
from infograph.data.read import read_graphs
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter, SchemaMismatch

METFORMIN = "CN(C)C(=N)NC(=N)N"
PAMOIC_ACID = "O=C(O)c1cc2ccccc2c(Cc2c(O)c(C(=O)O)cc3ccccc23)c1O"


def atoms(graphs: GraphSet) -> list[tuple[object, ...]]:
    return sorted(zip(*(graphs.values("node", name) for name in graphs.node), strict=True))


@pytest.mark.parametrize(
    ("smiles", "kept", "dropped"),
    [
        ("CCO", "CCO", ""),
        ("CC(=O)[O-].[Na+]", "CC(=O)O", "[Na+]"),  # the acid, whose ion was balanced by sodium
        ("CC(=O)[O-]", "CC(=O)[O-]", ""),  # one piece: as drawn
        ("CN.Cl", "CN", "Cl"),
        ("C[NH3+].[Cl-]", "CN", "[Cl-]"),
        ("C[N+](C)(C)CC.[Br-]", "CC[N+](C)(C)C", "[Br-]"),  # no hydrogen that could take the charge away
        ("O.[NH3+]CC(=O)[O-]", "[NH3+]CC(=O)[O-]", "O"),  # a zwitterion balances itself
        ("[Na+].[Cl-]", "[Cl-].[Na+]", ""),  # nothing but salt
        ("[Na+].[Na+].[O-]C([O-])=O", "O=C([O-])[O-].[Na+].[Na+]", ""),  # carbonate is inorganic
        ("[K+].[C-]#N.CCO", "CCO", "[C-]#N.[K+]"),
        (f"{METFORMIN}.{PAMOIC_ACID}", METFORMIN, PAMOIC_ACID),  # the counter-ion is larger than the drug
        ("OC(=O)CC(O)(CC(=O)O)C(=O)O.C1CNCCN1", "C1CNCCN1", "O=C(O)CC(O)(CC(=O)O)C(=O)O"),
        ("CC(=O)O.CO", "CC(=O)O", "CO"),  # partners only: the larger one
        ("CCCCN.CCCN", "CCCCN", "CCCN"),
        ("CCCF.CCCCl", "CCCCl", "CCCF"),  # equally many heavy atoms: the heavier
        ("CCCO.CC(C)O", "CCCO", "CC(C)O"),  # isopropanol is a partner, propanol is none
        ("CCC(C)N.CCCCN", "CCC(C)N", "CCCCN"),  # isomers: the SMILES that sorts first
        ("CCN.CCN", "CCN", "CCN"),
        ("C[Mg]Br", "[CH3][Mg][Br]", ""),
    ],
)
def test_hand_checked_salts(smiles: str, kept: str, dropped: str) -> None:
    graphs = from_molecules([smiles], salts="strip")
    assert graphs.graph["smiles"].tolist() == [kept] and graphs.graph["stripped"].tolist() == [dropped]
    assert atoms(graphs) == atoms(from_molecules([kept]))
    assert from_molecules([smiles], salts="keep").graph["smiles"][0] == Chem.CanonSmiles(smiles)


@settings(max_examples=30, deadline=None)
@given(st.permutations(["CCCCN", "CCC(C)N", "[Na+]", "O", "OC(=O)C(O)C(O)C(=O)O", "[Cl-]"]))
def test_the_order_of_the_pieces_does_not_matter(pieces: list[str]) -> None:
    once = from_molecules([".".join(pieces)], salts="strip")
    assert once.graph["smiles"].tolist() == ["CCC(C)N"]
    again = from_molecules(once.graph["smiles"], salts="strip")
    assert again.graph["smiles"].tolist() == ["CCC(C)N"] and not describe_stripped(again)


def test_the_lists_are_of_whole_uncharged_molecules() -> None:
    for smiles in f"{PARTNERS} {INORGANIC}".split():
        assert len(Chem.GetMolFrags(Chem.MolFromSmiles(smiles))) == 1, smiles
    sizes = [Chem.MolFromSmiles(smiles).GetNumHeavyAtoms() for smiles in INORGANIC.split()]
    assert max(sizes) == LARGEST_INORGANIC


def test_coordinates_and_hydrogens_stay_with_the_piece() -> None:
    mol = Chem.AddHs(Chem.MolFromSmiles("C[NH3+].[Cl-]"))
    AllChem.EmbedMolecule(mol, randomSeed=1)
    full = from_molecules([mol], salts="strip", hydrogens=True)
    assert sorted(full.values("node", "element")) == ["C", "H", "H", "H", "H", "H", "N"]
    assert full.values("node", "charge").tolist() == [0] * 7
    np.testing.assert_allclose(full.node["position"][:2], mol.GetConformer().GetPositions()[:2], rtol=1e-6)
    assert mol.GetNumAtoms() == 9  # what came in is as it was


def test_a_sentence_on_what_was_stripped() -> None:
    graphs = from_molecules(["CN.Cl", "CCN.Cl.O", "CC", "CCO.Cl.Cl"], salts="strip")
    assert describe_stripped(graphs) == "3 of 4 molecules lost a piece: Cl (3x), O (1x)"
    plain = from_molecules(["CN.Cl"])
    assert describe_stripped(plain) == ""
    many = from_molecules([f"CCCCCC{x}.{x}" for x in ("Cl", "Br", "I", "F", "O", "S", "N")], salts="strip")
    assert describe_stripped(many).endswith("and 2 more kinds")


def test_a_fitted_model_reads_new_molecules_likewise(tmp_path: Path) -> None:
    model = from_molecules(["CN.Cl"], salts="strip").schema
    assert model.option("salts") == "strip" and Schema.from_dict(model.to_dict()) == model
    assert as_graphset(["CCN.Cl"], schema=model).graph["smiles"].tolist() == ["CCN"]
    (tmp_path / "a.smi").write_text("CCN.Cl\n")
    assert read_graphs(tmp_path / "a.smi", schema=model).n_nodes == 3
    assert as_graphset(tmp_path / "a.smi", salts="strip").n_nodes == 3
    with pytest.raises(
        SchemaMismatch, match="read with salts=keep, expected salts=strip: read them that way"
    ):
        as_graphset(["CCN.Cl"], schema=model, salts="keep")


def test_models_from_before_there_were_salts_still_read() -> None:
    now = from_molecules(["CN"]).schema
    old = replace(now, options=tuple(pair for pair in now.options if pair[0] != "salts"))
    assert as_graphset(["CCN.Cl"], schema=old).n_nodes == 4


def test_another_word() -> None:
    with pytest.raises(InvalidParameter, match="salts='remove': expected 'keep' or 'strip'"):
        from_molecules(["CN"], salts="remove")  # type: ignore[arg-type]

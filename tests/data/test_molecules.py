"""SMILES and RDKit molecules -> GraphSet, against a plain loop over RDKit's atoms and bonds; salts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import AllChem

from infograph import GraphSet, Schema, as_graphset, read_graphs
from infograph.data import molecules
from infograph.data.cleaning import describe_stripped
from infograph.data.graphset import fingerprint
from infograph.data.molecules import from_molecules
from infograph.errors import SchemaMismatch

SMILES_TEXT = """
CCO c1ccccc1O C [Na+].[Cl-] C#N c1c[nH]cc1 [NH3+]CC(=O)[O-] *CC* [H][H] [2H]C [Og] C[Mg]Br C->[Fe]
[Fe+4].[Ti+5] CC(=O)Oc1ccccc1C(=O)O CN1C=NC2=C1C(=O)N(C(=O)N2C)C
"""
SMILES = SMILES_TEXT.split()
ORDERS = {1.0: "single", 2.0: "double", 3.0: "triple", 1.5: "aromatic"}


def plain_loop(smiles: str, hydrogens: bool) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    mol = Chem.MolFromSmiles(smiles)
    mol = Chem.AddHs(mol) if hydrogens else mol
    atoms = [
        (
            a.GetSymbol(),
            a.GetFormalCharge() if abs(a.GetFormalCharge()) < 5 else None,
            *(() if hydrogens else (a.GetTotalNumHs(),)),
            a.GetIsAromatic(),
        )
        for a in mol.GetAtoms()
    ]
    arcs = []
    for bond in mol.GetBonds():
        u, v, order = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), ORDERS.get(bond.GetBondTypeAsDouble())
        arcs += [(u, v, order), (v, u, order)]
    return atoms, sorted(arcs)


def content(graphs: GraphSet, index: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    graph = graphs[index]
    columns = [graph.values("node", name) for name in graph.node]
    arcs = zip(*graph.edges.tolist(), graph.values("edge", "bond"), strict=True)
    return list(zip(*columns, strict=True)), list(arcs)


@pytest.mark.parametrize("hydrogens", [False, True])
def test_equals_a_plain_loop(hydrogens: bool) -> None:
    graphs = from_molecules(SMILES, hydrogens=hydrogens)
    for index, smiles in enumerate(SMILES):
        assert content(graphs, index) == plain_loop(smiles, hydrogens), smiles


def test_batches_and_large_molecules_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = from_molecules(SMILES, stereo=True)
    monkeypatch.setattr(molecules, "CELLS", 20)
    monkeypatch.setattr(molecules, "LARGE", 6)
    graphs = from_molecules(SMILES, stereo=True)
    np.testing.assert_array_equal(graphs.edges, expected.edges)
    np.testing.assert_array_equal(graphs.edge_ptr, expected.edge_ptr)
    np.testing.assert_array_equal(graphs.edge["bond"], expected.edge["bond"])


def test_bonds_without_an_order_are_edges_of_unknown_kind() -> None:
    mol = Chem.RWMol(Chem.MolFromSmiles("O.O"))
    mol.AddBond(0, 1, Chem.BondType.HYDROGEN)
    graphs = from_molecules([mol.GetMol()])
    assert graphs.edges.tolist() == [[0, 1], [1, 0]]
    assert graphs.values("edge", "bond").tolist() == [None, None]


def test_all_sets_share_one_schema() -> None:
    one, two = from_molecules(["C"]), from_molecules(["[U]", "c1ccccc1"], ids=["a", "b"])
    assert one.schema == two.schema
    used = [column.name for column in one.schema.features("node") + one.schema.features("edge")]
    assert used == ["element", "charge", "hydrogens", "aromatic", "bond"]
    table = Chem.GetPeriodicTable()
    assert one.schema.node[0].categories[1:] == tuple(table.GetElementSymbol(z) for z in range(1, 119))
    series = as_graphset(pd.Series([None, "CC", np.nan]), errors="skip")
    assert series.ids.tolist() == [1] and [r.index for r in series.rejected] == [0, 2]


def test_smiles_and_molecules_are_the_same_graph() -> None:
    plain = Chem.MolFromSmiles("c1ccccc1O")
    kekule = Chem.Mol(plain)
    Chem.Kekulize(kekule, clearAromaticFlags=True)
    raw = Chem.MolFromSmiles("c1ccccc1O", sanitize=False)
    graphs = from_molecules(["c1ccccc1O", plain, Chem.AddHs(plain), kekule, raw, np.str_("c1ccccc1O")])
    for index in range(1, 6):
        assert content(graphs, index) == content(graphs, 0)
    assert set(graphs.graph["smiles"].tolist()) == {"Oc1ccccc1"}
    assert not kekule.GetAtomWithIdx(0).GetIsAromatic()  # what came in is as it was
    assert raw.NeedsUpdatePropertyCache()


def test_a_fitted_schema_brings_its_options(tmp_path: Path) -> None:
    model = from_molecules(["CN.Cl"], hydrogens=True, stereo=True, salts="strip").schema
    assert Schema.from_dict(model.to_dict()) == model
    again = as_graphset(["CO.Cl"], schema=model)
    assert again.sizes.tolist() == [6] and again.schema.node == model.node and again.schema.edge == model.edge
    (tmp_path / "a.smi").write_text("CO.Cl\n")
    assert read_graphs(tmp_path / "a.smi", schema=model).n_nodes == 6
    assert as_graphset(tmp_path / "a.smi", salts="strip").n_nodes == 2
    for wrong, message in (({"hydrogens": False}, "hydrogens=False"), ({"salts": "keep"}, "salts=keep")):
        with pytest.raises(SchemaMismatch, match=f"these graphs were read with {message}, expected"):
            as_graphset(["CO"], schema=model, **wrong)


def test_stereochemistry() -> None:
    pairs = ["C[C@H](F)Cl", "C[C@@H](F)Cl", "F/C=C/F", "F/C=C\\F", "FC=CF"]
    flat, solid = from_molecules(pairs, stereo=False), from_molecules(pairs, stereo=True)
    assert content(flat, 0) == content(flat, 1) and content(flat, 2) == content(flat, 3)
    # From the hydrogen of C[C@H](F)Cl, C, F, Cl turn clockwise; so Cl, F, C do from behind it: R.
    assert [solid[i].values("node", "chirality")[1] for i in (0, 1)] == ["R", "S"]
    kinds = [sorted(set(solid[i].values("edge", "stereo"))) for i in (2, 3, 4)]
    assert kinds == [["E", "none"], ["Z", "none"], ["none"]]
    reordered = from_molecules(["Cl[C@H](C)F"], stereo=True)  # an even permutation: the same molecule
    assert reordered.graph["smiles"][0] == solid.graph["smiles"][0]
    assert reordered.values("node", "chirality").tolist() == ["none", "R", "none", "none"]


def test_positions_where_all_have_them() -> None:
    mol = Chem.AddHs(Chem.MolFromSmiles("CO"))
    AllChem.EmbedMolecule(mol, randomSeed=1)
    full = from_molecules([mol], hydrogens=True)
    np.testing.assert_allclose(full.node["position"], mol.GetConformer().GetPositions(), rtol=1e-6)
    column = full.schema.column("node", "position")
    assert column is not None and not column.used and column.unit == "angstrom"
    heavy = from_molecules([mol])
    np.testing.assert_allclose(heavy.node["position"], mol.GetConformer().GetPositions()[:2], rtol=1e-6)
    assert "position" not in from_molecules([mol, "CO"]).node
    assert as_graphset(["CO"], schema=heavy.schema).n_nodes == 2  # coordinates are no input: none are needed


ODD_TEXT = """
CN(=O)=O C1=CC=CC=C1 [nH]1cccc1 n1cccc1 c1ccc2cccc-2cc1 c1cc2cccc3c2c1ccc3 [CH3] C[CH]C C[C@H]C C~C
C[C@H](F)Cl F/C=C/F [H]C([H])([H])[H] [2H]O[2H] [H][H] [H+] [13CH4] C->[Fe] N->[Pt](<-N)(Cl)Cl [C-]#[O+]
O=[Cl](=O)(=O)O C[S](=O)C [O-][n+]1ccccc1 C[Hg]C [BH4-] F[P-](F)(F)(F)(F)F c1cc1 C(C)(C)(C)(C)C xx C(( [Xx]
C1=C[N]C=C1 C12=C3C4=C5C1=C1C2=C2C3=C3C4=C4C5=C1C1=C2C3=C41 *c1ccccc1 C:C O=n1ccccc1 [Na]Cl [238U]
"""
ODD = ODD_TEXT.split()


def test_the_quick_parser_sees_the_same_molecules() -> None:
    """Without the canonical SMILES stereochemistry is not looked for, and nothing else may differ."""
    text = "C c1ccccc1 N(=O)=O [C@H](F) [NH3+] [CH] [nH] S(=O)(=O) /C=C/ [H] =O c"
    pieces = text.split()
    drawn = np.random.default_rng(0).integers(len(pieces), size=(1000, 4))
    items = [*SMILES, *ODD, *("".join(pieces[piece] for piece in row) for row in drawn), None, 7]
    quick, whole = (
        from_molecules(items, errors="skip", stereo=False, keep_smiles=keep) for keep in (False, True)
    )
    assert len(quick) > 100 and len(quick.rejected) > 250
    assert fingerprint(quick) == fingerprint(whole)
    assert quick.rejected == whole.rejected
    assert np.array_equal(quick.ids, whole.ids)


ODD_RINGS_TEXT = """
c1ccc2cccc2cc1 [nH]1cccc1 C1=CC=CC=C1 c1cc[n+]([O-])cc1 O=c1cccc[nH]1 [cH-]1cccc1 c1cc2ccc3cccc4ccc(c1)c2c34
*1ccccc1 c1ccccc1.[Fe] C1=CC=C[CH+]C=C1 [se]1cccc1 b1ccccc1 c1ccc(cc1)-c1ccccc1 CN(=O)=O [Na+].[O-]c1ccccc1
O=C1C=CC(=O)C=C1 c1ccc2c(c1)[nH]c1ccccc12 [H]c1ccccc1 C1=NC=NC=N1 p1ccccc1 S1C=CC=C1 CC C
"""
ODD_RINGS = ODD_RINGS_TEXT.split()


@pytest.mark.parametrize("options", [{}, {"keep_smiles": False}, {"hydrogens": True}, {"stereo": True}])
def test_aromatic_atoms_are_those_of_rdkit(options):
    """They are found by their bonds."""
    graphs = from_molecules(ODD_RINGS, **options)
    expected = []
    for text in ODD_RINGS:
        mol = Chem.MolFromSmiles(text)
        mol = Chem.AddHs(mol) if options.get("hydrogens") else mol
        expected += [int(atom.GetIsAromatic()) for atom in mol.GetAtoms()]
    assert graphs.node["aromatic"].tolist() == expected


# ---- salts: which piece of a molecule is kept, its charge, and what a fitted model makes of it

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
        ("C[NH3+].[Cl-]", "CN", "[Cl-]"),
        ("C[N+](C)(C)CC.[Br-]", "CC[N+](C)(C)C", "[Br-]"),  # no hydrogen that could take the charge away
        ("O.[NH3+]CC(=O)[O-]", "[NH3+]CC(=O)[O-]", "O"),  # a zwitterion balances itself
        ("[Na+].[Cl-]", "[Cl-].[Na+]", ""),  # nothing but salt
        ("[Na+].[Na+].[O-]C([O-])=O", "O=C([O-])[O-].[Na+].[Na+]", ""),  # carbonate is inorganic
        ("[K+].[C-]#N.CCO", "CCO", "[C-]#N.[K+]"),
        (f"{METFORMIN}.{PAMOIC_ACID}", METFORMIN, PAMOIC_ACID),  # the counter-ion is larger than the drug
        ("OC(=O)CC(O)(CC(=O)O)C(=O)O.C1CNCCN1", "C1CNCCN1", "O=C(O)CC(O)(CC(=O)O)C(=O)O"),
        ("CC(=O)O.CO", "CC(=O)O", "CO"),  # partners only: the larger one
        ("CCCF.CCCCl", "CCCCl", "CCCF"),  # equally many heavy atoms: the heavier
        ("CCCO.CC(C)O", "CCCO", "CC(C)O"),  # isopropanol is a partner, propanol is none
        ("CCC(C)N.CCCCN", "CCC(C)N", "CCCCN"),  # isomers: the SMILES that sorts first
        ("C[Mg]Br", Chem.CanonSmiles("C[Mg]Br"), ""),  # versions of RDKit spell it differently
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
    graphs = from_molecules(["CN.Cl", "CCN.Cl.O", "CC", "CCO.Cl.Cl"], salts="strip")
    assert describe_stripped(graphs) == "3 of 4 molecules lost a piece: Cl (3x), O (1x)"


def test_coordinates_and_hydrogens_stay_with_the_piece() -> None:
    mol = Chem.AddHs(Chem.MolFromSmiles("C[NH3+].[Cl-]"))
    AllChem.EmbedMolecule(mol, randomSeed=1)
    full = from_molecules([mol], salts="strip", hydrogens=True)
    assert sorted(full.values("node", "element")) == ["C", "H", "H", "H", "H", "H", "N"]
    assert full.values("node", "charge").tolist() == [0] * 7
    np.testing.assert_allclose(full.node["position"][:2], mol.GetConformer().GetPositions()[:2], rtol=1e-6)
    assert mol.GetNumAtoms() == 9  # what came in is as it was

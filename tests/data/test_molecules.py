"""SMILES and RDKit molecules -> GraphSet, against a plain loop over RDKit's atoms and bonds."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

from infograph.data import molecules
from infograph.data.convert import as_graphset, to_networkx
from infograph.data.graphset import GraphSet, fingerprint
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


def test_a_chain_of_many_atoms() -> None:
    graphs = from_molecules(["C" * 600, "CC"])
    assert graphs.sizes.tolist() == [600, 2] and np.diff(graphs.edge_ptr).tolist() == [1198, 2]
    assert nx.is_isomorphic(to_networkx(graphs[:1])[0], nx.path_graph(600))


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
    assert len(one.schema.node[0].categories) == 119 and one.schema.node[0].categories[92] == "U"
    table = Chem.GetPeriodicTable()
    assert one.schema.node[0].categories[1:] == tuple(table.GetElementSymbol(z) for z in range(1, 119))


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


def test_explicit_hydrogens() -> None:
    graphs = from_molecules(["CCO", Chem.AddHs(Chem.MolFromSmiles("CCO"))], hydrogens=True)
    assert graphs.sizes.tolist() == [9, 9] and list(graphs.node) == ["element", "charge", "aromatic"]
    assert graphs.graph["smiles"].tolist() == ["CCO", "CCO"]
    assert graphs.schema.option("hydrogens") is True


def test_a_fitted_schema_brings_its_options() -> None:
    model = from_molecules(["CCO"], hydrogens=True, stereo=True).schema
    again = as_graphset(["CO"], schema=model)
    assert again.sizes.tolist() == [6] and again.schema.node == model.node and again.schema.edge == model.edge
    with pytest.raises(SchemaMismatch, match="read with hydrogens=False, expected hydrogens=True"):
        as_graphset(["CO"], schema=model, hydrogens=False)
    with pytest.raises(SchemaMismatch, match="these graphs were read with hydrogens=False"):
        as_graphset(from_molecules(["CO"]), schema=model)


def test_stereochemistry() -> None:
    pairs = ["C[C@H](F)Cl", "C[C@@H](F)Cl", "F/C=C/F", "F/C=C\\F", "FC=CF"]
    flat, solid = from_molecules(pairs), from_molecules(pairs, stereo=True)
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
    assert (
        as_graphset(["CO"], schema=heavy.schema).n_nodes == 2
    )  # coordinates are no input, so they may be missing


def test_series_and_arrays() -> None:
    for source in (
        pd.Series(["CC", "CO"]),
        np.array(["CC", "CO"]),
        np.array(["CC", "CO"], dtype=object),
        ("CC", "CO"),
    ):
        assert as_graphset(source).graph["smiles"].tolist() == ["CC", "CO"]
    kept = as_graphset(pd.Series([None, "CC", np.nan]), errors="skip")
    assert kept.ids.tolist() == [1] and [r.index for r in kept.rejected] == [0, 2]


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
    quick, whole = (from_molecules(items, errors="skip", keep_smiles=keep) for keep in (False, True))
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

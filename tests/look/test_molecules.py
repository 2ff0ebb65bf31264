from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from infograph import GraphSet, as_graphset, draw_graph
from infograph.data.molecules import from_molecules
from infograph.data.schema import Column
from infograph.look import name_atoms
from infograph.look.draw import THUMBNAIL_SIZE
from infograph.look.molecules import ATOMS, has_molecules, molecule_of

Chem = pytest.importorskip("rdkit.Chem")
SVG = "{http://www.w3.org/2000/svg}"
SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "c1ccc2[nH]ccc2c1",
    "[Na+].[O-]C(=O)c1ccccc1",
    "F/C=C/Br",
    "[NH4+]",
    "[H][H]",
    "C[N+](=O)[O-]",
    "C1CC2(C1)CN(C#N)C2",
]


def discs(svg: str) -> dict[int, tuple[str, float, ElementTree.Element]]:
    """Node -> symbol, score and mark of the coloured atoms."""
    found = {}
    for mark in ElementTree.fromstring(svg).iter(f"{SVG}circle"):
        title = re.fullmatch(r"(\w+), node (\d+): (\S+)", mark.findtext(f"{SVG}title") or "")
        assert title is not None
        found[int(title[2])] = (title[1], float(title[3].replace("−", "-")), mark)
    return found


@pytest.mark.parametrize("hydrogens", [False, True])
@pytest.mark.parametrize("smiles", SMILES)
def test_atoms_know_their_nodes(smiles: str, hydrogens: bool) -> None:
    graphs = as_graphset([smiles], hydrogens=hydrogens, stereo=False)
    elements, arcs = graphs.values("node", "element"), set(zip(*graphs.edges.tolist(), strict=True))
    for drawn in (False, True):
        mol, nodes = molecule_of(graphs, 0, hydrogens=drawn)
        assert [atom.GetSymbol() for atom in mol.GetAtoms()] == elements[list(nodes)].tolist()
        bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
        assert all((nodes[u], nodes[v]) in arcs for u, v in bonds)
    assert Chem.CanonSmiles(Chem.MolToSmiles(molecule_of(graphs, 0).mol)) == Chem.CanonSmiles(smiles)
    plain = from_molecules([smiles], hydrogens=hydrogens, keep_smiles=False)  # built from atoms and bonds
    rebuilt = Chem.MolToSmiles(molecule_of(plain, 0).mol, isomericSmiles=False)
    assert Chem.CanonSmiles(rebuilt) == Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)


@pytest.mark.parametrize("hydrogens", [False, True])
def test_the_right_atom_is_coloured(hydrogens: bool) -> None:
    """Nodes come in an order of the molecule's own: oxygen in the middle, hydrogens among heavy atoms."""
    mol = Chem.AddHs(Chem.MolFromSmiles("OCCN"))
    shuffled = Chem.RenumberAtoms(mol, np.random.default_rng(3).permutation(mol.GetNumAtoms()).tolist())
    graphs = as_graphset([shuffled], hydrogens=hydrogens)
    elements = graphs.values("node", "element").tolist()
    for drawn in (False, True):
        found = discs(draw_graph(graphs, 0, scores=np.arange(len(elements)), hydrogens=drawn))
        wanted = {node: (s, node) for node, s in enumerate(elements) if drawn or s != "H"}
        assert {node: (symbol, score) for node, (symbol, score, _) in found.items()} == wanted


def test_a_colour_lies_where_the_letter_is() -> None:
    graphs = as_graphset(["CCCCCN"])
    svg = draw_graph(graphs, 0, scores=np.arange(6))
    mark = discs(svg)[graphs.values("node", "element").tolist().index("N")][2]
    centre = np.array([float(mark.get("cx", 0)), float(mark.get("cy", 0))])
    paths = [e.get("d", "") for e in ElementTree.fromstring(svg).iter(f"{SVG}path")]
    letter = next(path for path in paths if "Q" in path or "Z" in path)
    numbers = np.array([float(x) for x in re.findall(r"-?[\d.]+", letter)]).reshape(-1, 2)
    assert np.linalg.norm(numbers.mean(axis=0) - centre) < float(mark.get("r", 0))


@pytest.mark.parametrize(("theme", "size"), [("light", THUMBNAIL_SIZE), ("dark", (600, 600))])
def test_drawings_are_clean_and_repeatable(theme: str, size: tuple[int, int]) -> None:
    graphs = as_graphset(SMILES, stereo=False)
    for index in range(len(graphs)):
        svg = draw_graph(graphs, index, theme=theme, size=size)
        ElementTree.fromstring(svg)
        assert svg == draw_graph(graphs, index, theme=theme, size=size)
        for forbidden in ("<?xml", "<!--", "script", "class=", "href", "<style"):
            assert forbidden not in svg


def test_impossible_molecules_are_drawn_as_they_stand() -> None:
    graphs = as_graphset(["CC(C)(C)C", "c1ccccc1"])
    bond = graphs.edge["bond"].copy()
    bond[graphs.edge_ptr[0] : graphs.edge_ptr[1]] = 1  # carbon with four double bonds
    bond[graphs.edge_ptr[1] : graphs.edge_ptr[1] + 1] = 0
    broken = graphs.with_column("edge", graphs.schema.edge[0], bond)
    for index in range(2):
        svg = draw_graph(broken, index, scores=np.arange(broken.sizes[index]))
        assert len(discs(svg)) == broken.sizes[index]


@pytest.mark.parametrize("dataset", ["MUTAG", "PTC_MR"])
def test_numbers_of_benchmark_sets_become_atoms(dataset: str) -> None:
    graphs = as_graphset(["c1ccccc1[N+](=O)[O-]"])
    plain = GraphSet(graphs.node_ptr, graphs.edge_ptr, graphs.edges, ids=graphs.ids)
    elements, bonds = (tuple(names.split()) for names in ATOMS[dataset])
    for level, known, names in (("node", "element", elements), ("edge", "bond", bonds)):
        column = Column("label", "categorical", categories=tuple(range(len(names))))
        codes = np.array([names.index(value) for value in graphs.values(level, known)])
        plain = plain.with_column(level, column, codes)
    assert not has_molecules(plain)
    named = name_atoms(plain, dataset)
    assert Chem.MolToSmiles(molecule_of(named, 0).mol) == "O=[N+]([O-])c1ccccc1"
    assert [column.name for column in named.schema.features("node")] == ["label"]
    assert "label: " in draw_graph(plain, 0) and "label: " not in draw_graph(named, 0)


def test_without_rdkit_molecules_are_drawn_as_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = as_graphset(["CCO", "c1ccccc1N"])
    monkeypatch.setitem(sys.modules, "rdkit", None)
    texts = ElementTree.fromstring(draw_graph(graphs, 0)).iter(f"{SVG}text")
    assert [e.text for e in texts] == ["element: ", "C", "O"]

"""QM9: real rows against independent readings of the same rows, planted defects, units, the registry.

No test reads more than 2,000 molecules.
"""

from __future__ import annotations

import ast
import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infograph import GraphSet, load_dataset
from infograph.data import datasets
from infograph.data.datasets import Counts, describe_datasets, entry_for
from infograph.data.molecules import from_molecules
from infograph.data.qm9 import (
    ATOM_ENERGIES,
    HEADERS,
    NUMBERS,
    RADII,
    atomisation_energies,
    bond_outcomes,
    in_units,
    read_qm9,
)
from infograph.errors import FileMissing, InvalidFile, SchemaMismatch
from tests.data.equal import assert_equal

Chem = pytest.importorskip("rdkit.Chem")
RDConfig, ChemicalFeatures = (
    pytest.importorskip("rdkit.RDConfig"),
    pytest.importorskip("rdkit.Chem.ChemicalFeatures"),
)
WHEEL = datasets.wheel_folder(entry_for("QM9"))
pytestmark = pytest.mark.skipif(WHEEL is None, reason="qm9pack, whose wheel carries QM9, is not installed")
N_ROWS = 2_000
Row = dict[str, str]


@pytest.fixture(scope="module")
def table() -> list[Row]:
    """The first rows, read by Python's own means."""
    with (WHEEL / "qm9_part1.csv").open() as file:
        return [row for row, _ in zip(csv.DictReader(file), range(N_ROWS), strict=False)]


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return read_qm9(WHEEL, limit=N_ROWS)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[list[Row]], Path]:
    """Makes a folder with rows as a file of QM9."""

    def make(rows: list[Row]) -> Path:
        with (tmp_path / "qm9_part1.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return tmp_path

    return make


def elements(row: Row) -> list[str]:
    return list(ast.literal_eval(row["Elements"]))


def places_of(row: Row) -> list[list[float]]:
    return [list(map(float, place)) for place in ast.literal_eval(row["XYZ_Ang"])]


def bonds(graph: GraphSet) -> Counter:
    """The bonds of a molecule, whatever the order of its atoms; with lengths if there are some."""
    symbols, kinds = graph.values("node", "element"), graph.values("edge", "bond")
    lengths = np.round(graph.edge.get("distance", np.zeros(graph.n_edges)), 5).tolist()
    ends = graph.edges.T.tolist()
    return Counter(
        (symbols[a], symbols[b], *rest) for (a, b), *rest in zip(ends, kinds, lengths, strict=True)
    )


def without_lengths(graph: GraphSet) -> GraphSet:
    return replace(graph, edge={"bond": graph.edge["bond"]})


def outcome(graphs: GraphSet) -> list[str]:
    return list(graphs.values("graph", "bonds"))


def test_columns_are_those_of_any_molecule(graphs, table):
    assert bond_outcomes(graphs) == {"smiles": 1_991, "permuted": 9, "perceived": 0, "distances": 0}
    smiles = [row["SMILES"] for row in table]
    plain = from_molecules(smiles, hydrogens=True, descriptors=True)
    assert graphs.schema.node[:-2] == plain.schema.node and graphs.schema.edge[:1] == plain.schema.edge
    assert graphs.schema.options == plain.schema.options
    assert graphs.graph["smiles"].tolist() == plain.graph["smiles"].tolist()
    easy = np.flatnonzero(graphs.graph["bonds"] == 0)
    own, other = graphs[easy], plain[easy]
    np.testing.assert_array_equal(own.edges, other.edges)
    for level in ("node", "edge"):
        for name, values in getattr(other, level).items():
            np.testing.assert_array_equal(getattr(own, level)[name], values)
    for index in np.flatnonzero(graphs.graph["bonds"] == 1):  # renumbered: the same up to the order of atoms
        assert bonds(without_lengths(graphs[index])) == bonds(plain[index])


def test_pyg_inputs_are_what_rdkit_says_of_each_atom(graphs, table):
    factory = ChemicalFeatures.BuildFeatureFactory(str(Path(RDConfig.RDDataDir) / "BaseFeatures.fdef"))
    kinds = [getattr(Chem.HybridizationType, kind) for kind in ("SP", "SP2", "SP3")]
    for index in np.flatnonzero(graphs.graph["bonds"] == 0)[::20]:
        mol = Chem.AddHs(Chem.MolFromSmiles(table[index]["SMILES"]))
        roles = {family: set() for family in ("Acceptor", "Donor")}
        for family, atoms in roles.items():
            for feature in factory.GetFeaturesForMol(mol, includeOnly=family):
                atoms |= set(feature.GetAtomIds())
        wanted = [
            [atom.GetSymbol() == symbol for symbol in "HCNOF"]
            + [atom.GetAtomicNum(), atom.GetIdx() in roles["Acceptor"], atom.GetIdx() in roles["Donor"]]
            + [atom.GetIsAromatic(), *(atom.GetHybridization() == kind for kind in kinds)]
            + [atom.GetTotalNumHs(includeNeighbors=True)]
            for atom in mol.GetAtoms()
        ]
        np.testing.assert_array_equal(graphs[index].node["pyg"], np.array(wanted, np.float32))
    assert not graphs.schema.column("node", "pyg").used


def test_atoms_positions_and_targets_are_those_of_the_file(graphs, table):
    assert graphs.ids.tolist() == [int(row["Index"]) for row in table]
    assert graphs.values("node", "element").tolist() == [symbol for row in table for symbol in elements(row)]
    spots = np.array([place for row in table for place in places_of(row)])
    np.testing.assert_array_equal(graphs.node["position"], spots.astype(np.float32))
    units = {"mu": "D", "alpha": "bohr^3", "r2": "bohr^2", "Cv": "cal/(mol K)"}
    for name, header in HEADERS.items():
        assert graphs.graph[name].tolist() == [float(row[header]) for row in table]
        assert graphs.schema.column("graph", name).unit == units.get(name, "hartree")
    distance = graphs.schema.column("edge", "distance")
    assert graphs.schema.position.unit == distance.unit == "angstrom" and not distance.used


def test_bonds_agree_with_the_coordinates(graphs, table):
    """By a loop over all pairs of atoms, for each tenth molecule and all that were renumbered."""
    for index in sorted({*range(0, N_ROWS, 10), *np.flatnonzero(graphs.graph["bonds"]).tolist()}):
        graph, spots, symbols = graphs[index], places_of(table[index]), elements(table[index])
        joined = dict(zip(map(tuple, graph.edges.T.tolist()), graph.edge["distance"].tolist(), strict=True))
        for a in range(len(spots)):
            for b in range(a):
                apart = float(np.linalg.norm(np.subtract(spots[a], spots[b])))
                reach = RADII[NUMBERS[symbols[a]]] + RADII[NUMBERS[symbols[b]]]
                if (a, b) in joined:
                    assert 0.7 * reach < apart < 1.3 * reach
                    assert joined[a, b] == joined[b, a] == pytest.approx(apart, rel=1e-6)
                else:
                    assert apart > 1.1 * reach


@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_the_atoms_gives_the_same_molecule(data, table, graphs, write):
    index = data.draw(st.integers(5, N_ROWS - 1))
    row, symbols, spots = table[index], elements(table[index]), places_of(table[index])
    order = data.draw(st.permutations(range(len(symbols))))
    mixed = {"Elements": repr([symbols[i] for i in order]), "XYZ_Ang": repr([spots[i] for i in order])}
    read = read_qm9(write([{**row, **mixed}]))
    assert outcome(read)[0] in ("smiles", "permuted")
    assert bonds(read) == bonds(graphs[index])
    assert read.graph["smiles"].tolist() == graphs.graph["smiles"][[index]].tolist()
    for name in ("charge", "hydrogens", "aromatic", "hybridisation"):
        assert sorted(read.node[name].tolist()) == sorted(graphs[index].node[name].tolist())


def test_a_smiles_of_an_isomer_is_replaced(table, graphs, write):
    index = graphs.graph["smiles"].tolist().index("CCO")
    for wrong in ("COC", "CC", "C(", ""):  # an isomer, too few atoms, no SMILES, nothing
        read = read_qm9(write([{**table[index], "SMILES": wrong}]))
        assert (outcome(read), read.graph["smiles"].tolist()) == (["perceived"], ["CCO"])
        np.testing.assert_array_equal(read.edges, graphs[index].edges)
        for name, values in graphs[index].node.items():
            np.testing.assert_array_equal(read.node[name], values)


def test_a_wrong_coordinate_leaves_what_distances_say(table, graphs, write):
    far = places_of(table[0])
    far[1] = [9.0, 9.0, 9.0]  # a hydrogen of methane
    read = read_qm9(write([{**table[0], "XYZ_Ang": repr(far)}, table[1]]))
    assert outcome(read) == ["distances", "smiles"]
    methane = read[0]
    assert sorted(map(tuple, methane.edges.T.tolist())) == [(0, 2), (0, 3), (0, 4), (2, 0), (3, 0), (4, 0)]
    assert methane.values("edge", "bond").tolist() == [None] * 6
    for name in ("charge", "aromatic", "hybridisation"):
        assert methane.values("node", name).tolist() == [None] * 5
    assert methane.values("node", "hydrogens").tolist() == [3, 0, 0, 0, 0]
    for name, values in graphs[1].node.items():  # its neighbour is as it was
        np.testing.assert_array_equal(read[1].node[name], values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"HOMO_au": "-0.3x"}, r"Row #4: .*'-0\.3x'"),
        ({"Dipole_debye": "nan"}, "line 4: a target is not a finite number"),
        ({"XYZ_Ang": "[[0.,1.,inf],[0,0,0],[0,0,1]]"}, r"line 4: '\[\[0\.,1\.,inf.* finite numbers"),
        ({"XYZ_Ang": "[[0.,1.],[0,0,0],[0,0,1]]"}, "line 4: N_atoms does not fit Elements and XYZ_Ang"),
        ({"Elements": "['O','H','Xx']"}, "line 4: .*Xx.* is no list of H, C, N, O, F"),
    ],
)
def test_broken_values_are_named_with_their_line(table, write, changes, message):
    folder = write([*table[:2], {**table[2], **changes}, *table[3:6]])
    with pytest.raises(InvalidFile, match=rf"qm9_part1\.csv.*{message}.*get a fresh copy"):
        read_qm9(folder)


def test_damaged_files(table, write):
    path = write(table[:20]) / "qm9_part1.csv"
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip() + b"\r\n\r\n")  # a blank line at the end does no harm
    assert len(read_qm9(path.parent)) == 20
    for content, message in (
        (whole[:-300], r"Row #21: Expected 25 columns"),
        (whole.replace(b"ZPVE_au", b"ZPVE", 1), "'ZPVE_au'"),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=rf"qm9_part1\.csv: .*{message}.*get a fresh copy"):
            read_qm9(path.parent)


def test_processes_give_the_same_set_and_tell_how_far_they_are(graphs):
    seen = []
    both = read_qm9(WHEEL, limit=1_003, n_jobs=2, progress=lambda *step: seen.append(step))
    assert_equal(both, graphs[:1_003])
    assert seen == [(1_000, 1_003), (1_003, 1_003)]


def test_energies_in_other_units(graphs):
    converted = in_units(graphs, "eV")
    for before, after in zip(graphs.schema.graph, converted.schema.graph, strict=True):
        assert before == after if before.unit != "hartree" else after.unit == "eV"
    back = in_units(converted, "hartree")
    assert back.schema == graphs.schema
    np.testing.assert_allclose(back.graph["gap"], graphs.graph["gap"], rtol=1e-15)
    assert converted.graph["gap"][0] == pytest.approx(13.736307777)  # methane: 0.5048 hartree
    assert in_units(graphs, "kcal/mol").graph["U0"][0] == pytest.approx(-25400.91, abs=0.01)


def test_atomisation_energies(graphs, table):
    relative = atomisation_energies(graphs)
    for name, atoms in ATOM_ENERGIES.items():
        free = [sum(atoms[symbol] for symbol in elements(row)) for row in table]
        expected = [float(row[HEADERS[name]]) - own for row, own in zip(table, free, strict=True)]
        np.testing.assert_allclose(relative.graph[name], expected, atol=1e-9)
    assert (relative.graph["U0"] < 0).all()  # every molecule is bound
    assert relative.graph["zpve"] is graphs.graph["zpve"]
    # Methane by hand: -40.47893 - (-37.846772 - 4 x 0.500273) hartree.
    assert relative.graph["U0"][0] == pytest.approx(-0.631066, abs=1e-9)
    there, again = in_units(relative, "eV"), atomisation_energies(in_units(graphs, "eV"))
    np.testing.assert_allclose(there.graph["U0"], again.graph["U0"], rtol=1e-10)


def test_atomisation_energies_of_something_else(graphs):
    sulphur = from_molecules(["CCS"], hydrogens=True)
    for name in ATOM_ENERGIES:
        sulphur = sulphur.with_column("graph", graphs.schema.column("graph", name), np.zeros(1))
    with pytest.raises(SchemaMismatch, match="no free-atom energy of S"):
        atomisation_energies(sulphur)


@pytest.fixture
def few(tmp_path, monkeypatch, table, write) -> Path:
    """A catalogue whose QM9 has 50 molecules and comes with no package; returns their folder."""
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    small = replace(entry_for("QM9"), counts=Counts(50, 415, 748, 0), package="no_such_package_of_data")
    entries = tuple(small if known.name == "QM9" else known for known in datasets.CATALOGUE)
    monkeypatch.setattr(datasets, "CATALOGUE", entries)
    return write(table[:50])


def test_load_dataset(few, monkeypatch, graphs):
    seen = []
    first = load_dataset("qm9", root=few, progress=lambda *step: seen.append(step))
    assert seen == [(50, 50)]
    monkeypatch.setattr(datasets, "read_qm9", None)  # parsing once more would fail
    again = load_dataset("QM9", root=few)
    assert isinstance(again.edges, np.memmap)
    assert_equal(first, graphs[:50])
    assert_equal(again, graphs[:50])
    in_ev = load_dataset("QM9", root=few, units="eV", atomisation=True, node=["element"])
    assert [column.name for column in in_ev.schema.features("node")] == ["element"]
    assert in_ev.graph["U0"][0] == pytest.approx(-0.631066 * 27.211386245988)
    assert load_dataset("QM9", root=few).graph["U0"][0] == -40.47893  # the cache is as it was


def test_where_the_files_may_be(few, tmp_path, monkeypatch, table, write):
    own = tmp_path / "data" / "QM9"
    own.mkdir(parents=True)
    (few / "qm9_part1.csv").rename(own / "qm9_part1.csv")
    with pytest.raises(FileMissing, match=r"QM9 is not on this .*'infograph\[qm9\]'.*qm9_part\*\.csv into"):
        load_dataset("QM9")
    monkeypatch.setenv("INFOGRAPH_DATA", str(own.parent))
    info = next(info for info in describe_datasets() if info.name == "QM9")
    assert (info.found, info.where, info.graphs, info.classes) == (str(own), "INFOGRAPH_DATA", 50, 0)
    assert len(load_dataset("QM9")) == len(load_dataset("QM9", root=own)) == 50
    with pytest.raises(InvalidFile, match="is not the QM9 it should be: 49 graphs instead of 50"):
        load_dataset("QM9", root=write(table[:49]))

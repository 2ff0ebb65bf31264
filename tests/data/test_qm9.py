"""QM9: real rows against independent readings of the same rows, planted defects, units, the registry.

No test reads more than 2,000 molecules.
"""

from __future__ import annotations

import ast
import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infograph.data import datasets
from infograph.data.datasets import Counts, describe_datasets, entry_for, load_dataset
from infograph.data.graphset import GraphSet, align
from infograph.data.molecules import from_molecules
from infograph.data.qm9 import (
    ATOM_ENERGIES,
    HEADERS,
    NUMBERS,
    RADII,
    atomisation_energies,
    bond_outcomes,
    find_qm9,
    in_units,
    read_qm9,
)
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, MissingExtra, SchemaMismatch

pytest.importorskip("rdkit")
WHEEL = datasets.wheel_folder(entry_for("QM9"))
pytestmark = pytest.mark.skipif(WHEEL is None, reason="qm9pack, whose wheel carries QM9, is not installed")
N_ROWS = 2_000
Row = dict[str, str]


@pytest.fixture(scope="module")
def table() -> list[Row]:
    """The first rows, read by Python's own means."""
    assert WHEEL is not None
    with (WHEEL / "qm9_part1.csv").open() as file:
        reader = csv.DictReader(file)
        return [row for row, _ in zip(reader, range(N_ROWS), strict=False)]


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    assert WHEEL is not None
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


def with_atoms(row: Row, symbols: list[str], spots: list[list[float]], **others: str) -> Row:
    return {**row, "Elements": repr(symbols), "XYZ_Ang": repr(spots), **others}


def bonds(graph: GraphSet, *, distance: bool = True) -> Counter[tuple[Any, ...]]:
    """The bonds of a molecule, whatever the order of its atoms."""
    symbols, kinds = graph.values("node", "element"), graph.values("edge", "bond")
    lengths = graph.edge["distance"].tolist() if distance else [0] * graph.n_edges
    ends = graph.edges.T.tolist()
    return Counter(
        (symbols[source], symbols[target], kind, round(length, 5))
        for (source, target), kind, length in zip(ends, kinds, lengths, strict=True)
    )


def outcome(graphs: GraphSet) -> list[str]:
    return list(graphs.values("graph", "bonds"))


def find(graphs: GraphSet, smiles: str) -> GraphSet:
    return graphs[int(np.flatnonzero(graphs.graph["smiles"] == smiles)[0])]


def test_bonds_of_the_first_rows(graphs: GraphSet) -> None:
    assert bond_outcomes(graphs) == {"smiles": 1_991, "permuted": 9, "perceived": 0, "distances": 0}
    assert bond_outcomes(graphs[:5]) == {"smiles": 4, "permuted": 1, "perceived": 0, "distances": 0}


def test_columns_are_those_of_any_molecule(graphs: GraphSet, table: list[Row]) -> None:
    easy = np.flatnonzero(graphs.graph["bonds"] == 0)
    plain = from_molecules([table[i]["SMILES"] for i in easy], hydrogens=True, descriptors=True)
    own = graphs[easy]
    np.testing.assert_array_equal(own.edges, plain.edges)
    assert own.schema.node[:-1] == plain.schema.node and own.schema.edge[:1] == plain.schema.edge
    assert own.schema.options == plain.schema.options
    for level in ("node", "edge", "graph"):
        for name, values in getattr(plain, level).items():
            np.testing.assert_array_equal(getattr(own, level)[name], values)
    hard = np.flatnonzero(graphs.graph["bonds"] == 1)  # renumbered: the same up to the order of the atoms
    plain = from_molecules([table[i]["SMILES"] for i in hard], hydrogens=True, descriptors=True)
    assert graphs.graph["smiles"][hard].tolist() == plain.graph["smiles"].tolist()
    for index, other in zip(hard, plain, strict=True):
        with_lengths = other.with_column("edge", graphs.schema.edge[1], np.zeros(other.n_edges))
        assert bonds(graphs[int(index)], distance=False) == bonds(with_lengths, distance=False)


def test_atoms_positions_and_targets_are_those_of_the_file(graphs: GraphSet, table: list[Row]) -> None:
    assert graphs.ids.tolist() == [int(row["Index"]) for row in table]
    assert graphs.values("node", "element").tolist() == [symbol for row in table for symbol in elements(row)]
    spots = np.array([place for row in table for place in places_of(row)])
    np.testing.assert_array_equal(graphs.node["position"], spots.astype(np.float32))
    for name, header in HEADERS.items():
        assert graphs.graph[name].tolist() == [float(row[header]) for row in table]
        assert graphs.graph[name].dtype == np.float64


def test_bonds_agree_with_the_coordinates(graphs: GraphSet, table: list[Row]) -> None:
    """By a loop over all pairs of atoms, for each tenth molecule and all that were renumbered."""
    chosen = {*range(0, N_ROWS, 10), *np.flatnonzero(graphs.graph["bonds"]).tolist()}
    for index in sorted(chosen):
        graph, spots, symbols = graphs[index], places_of(table[index]), elements(table[index])
        joined = {
            (a, b): float(d) for (a, b), d in zip(graph.edges.T.tolist(), graph.edge["distance"], strict=True)
        }
        for a in range(len(spots)):
            for b in range(a):
                apart = float(np.linalg.norm(np.subtract(spots[a], spots[b])))
                reach = RADII[NUMBERS[symbols[a]]] + RADII[NUMBERS[symbols[b]]]
                if (a, b) in joined:
                    assert 0.7 * reach < apart < 1.3 * reach
                    assert joined[a, b] == joined[b, a] == pytest.approx(apart, rel=1e-6)
                else:
                    assert apart > 1.1 * reach


@pytest.mark.parametrize(
    ("smiles", "heavy", "expected", "length"),
    [
        ("C", ("C", 4, "sp3", False), {("C", "H", "single"): 4}, ("C", "H", 1.09)),
        ("N", ("N", 3, "sp3", False), {("N", "H", "single"): 3}, ("N", "H", 1.02)),
        ("O", ("O", 2, "sp3", False), {("O", "H", "single"): 2}, ("O", "H", 0.96)),
        ("C#C", ("C", 1, "sp", False), {("C", "H", "single"): 2, ("C", "C", "triple"): 2}, ("C", "C", 1.20)),
        ("C#N", ("C", 1, "sp", False), {("C", "H", "single"): 1, ("C", "N", "triple"): 1}, ("C", "N", 1.15)),
        ("C=O", ("C", 2, "sp2", False), {("C", "H", "single"): 2, ("C", "O", "double"): 1}, ("C", "O", 1.20)),
        (
            "c1ccccc1",
            ("C", 1, "sp2", True),
            {("C", "H", "single"): 6, ("C", "C", "aromatic"): 12},
            ("C", "C", 1.39),
        ),
    ],
)
def test_molecules_from_the_textbook(
    graphs: GraphSet,
    smiles: str,
    heavy: tuple[Any, ...],
    expected: dict[tuple[str, str, str], int],
    length: tuple[str, str, float],
) -> None:
    graph = find(graphs, smiles)
    names = ("element", "hydrogens", "hybridisation", "aromatic")
    assert tuple(graph.values("node", name)[0] for name in names) == heavy
    assert graph.values("node", "charge").tolist() == [0] * graph.n_nodes
    hydrogen = graph.values("node", "element") == "H"
    assert set(graph.values("node", "hybridisation")[hydrogen]) == {"s"}
    found: Counter[tuple[Any, ...]] = Counter()
    for (source, target, kind, apart), count in bonds(graph).items():
        found[source, target, kind] += count
        if (source, target) == length[:2]:
            assert apart == pytest.approx(length[2], abs=0.012)
    assert {key: found[key] for key in expected} == expected
    assert graph.n_edges == sum(n * (1 if a == b else 2) for (a, b, _), n in expected.items())


def test_targets_of_methane_with_their_units(graphs: GraphSet) -> None:
    values = {
        column.name: (float(graphs.graph[column.name][0]), column.unit)
        for column in graphs.schema.graph
        if column.name in HEADERS
    }
    assert values == {
        "mu": (0.0, "D"),  # the file says "0."
        "alpha": (13.21, "bohr^3"),
        "homo": (-0.3877, "hartree"),
        "lumo": (0.1171, "hartree"),
        "gap": (0.5048, "hartree"),
        "r2": (35.3641, "bohr^2"),
        "zpve": (0.044749, "hartree"),
        "U0": (-40.47893, "hartree"),
        "U": (-40.476062, "hartree"),
        "H": (-40.475117, "hartree"),
        "G": (-40.498597, "hartree"),
        "Cv": (6.469, "cal/(mol K)"),
    }
    distance = graphs.schema.column("edge", "distance")
    assert graphs.schema.position is not None and graphs.schema.position.unit == "angstrom"
    assert distance is not None and (distance.unit, distance.used) == ("angstrom", False)


def test_other_molecules_are_read_with_the_same_columns(graphs: GraphSet) -> None:
    others = from_molecules(["CCO", "c1ccncc1", "C[N+](C)(C)CC([O-])=O"], schema=graphs.schema)
    aligned = align(others, graphs.schema)
    assert aligned.schema.features("node") == graphs.schema.features("node")
    assert aligned.schema.features("edge") == graphs.schema.features("edge")
    assert bonds(
        others[:1].with_column("edge", graphs.schema.edge[1], np.zeros(others[:1].n_edges)), distance=False
    ) == bonds(find(graphs, "CCO"), distance=False)
    with pytest.raises(SchemaMismatch, match="'hydrogens' is missing"):
        align(from_molecules(["CCO"], hydrogens=True), graphs.schema)


def test_descriptors_are_an_option() -> None:
    plain, full = (
        from_molecules(["CC=O", "FS(F)(F)(F)(F)F"]),
        from_molecules(["CC=O", "FS(F)(F)(F)(F)F"], descriptors=True),
    )
    assert plain.schema.option("descriptors") is None  # as in schemas saved before there was the option
    assert [column.name for column in full.schema.node] == [
        *(column.name for column in plain.schema.node),
        "atomic_number",
        "hybridisation",
    ]
    assert full.values("node", "hydrogens")[:3].tolist() == [3, 1, 0]
    assert full.values("node", "hybridisation")[:5].tolist() == ["sp3", "sp2", "sp2", "sp3", "sp3d2"]
    assert full.node["atomic_number"][:5].tolist() == [6, 6, 8, 9, 16]
    assert full.node["atomic_number"].dtype == np.float32
    assert align(full, plain.schema).schema.node == plain.schema.node
    assert from_molecules(["C"], schema=full.schema).schema.node == full.schema.node
    both = from_molecules(["C[C@H](N)O"], descriptors=True, stereo=True, hydrogens=True)
    assert both.values("node", "hydrogens").tolist() == [3, 1, 2, 1] + [0] * 7
    assert [both.schema.option(name) for name in ("hydrogens", "stereo", "descriptors")] == [True] * 3


# ------------------------------------------------------------------------------------------ rules for bonds


@given(data=st.data())
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_order_of_the_atoms_gives_the_same_molecule(
    data: st.DataObject, table: list[Row], graphs: GraphSet, write: Callable[[list[Row]], Path]
) -> None:
    index = data.draw(st.integers(5, N_ROWS - 1))
    row = table[index]
    order = data.draw(st.permutations(range(int(row["N_atoms"]))))
    symbols, spots = elements(row), places_of(row)
    mixed = with_atoms(row, [symbols[i] for i in order], [spots[i] for i in order])
    read = read_qm9(write([mixed]))
    assert outcome(read)[0] in ("smiles", "permuted")
    assert bonds(read) == bonds(graphs[index])
    assert read.graph["smiles"].tolist() == graphs.graph["smiles"][[index]].tolist()
    for name in ("charge", "hydrogens", "aromatic", "hybridisation"):
        kept = {order.index(i): value for i, value in enumerate(graphs[index].node[name].tolist())}
        assert Counter(read.node[name].tolist()) == Counter(kept.values())


def test_a_smiles_of_an_isomer_is_replaced(
    table: list[Row], graphs: GraphSet, write: Callable[[list[Row]], Path]
) -> None:
    index = graphs.graph["smiles"].tolist().index("CCO")
    for wrong in ("COC", "CC", "C(", ""):  # an isomer, too few atoms, no SMILES, nothing
        read = read_qm9(write([{**table[index], "SMILES": wrong}]))
        assert (outcome(read), read.graph["smiles"].tolist()) == (["perceived"], ["CCO"])
        np.testing.assert_array_equal(read.edges, graphs[index].edges)
        for name, values in graphs[index].node.items():
            np.testing.assert_array_equal(read.node[name], values)


def test_a_wrong_coordinate_leaves_what_distances_say(
    table: list[Row], graphs: GraphSet, write: Callable[[list[Row]], Path]
) -> None:
    row, far = table[0], places_of(table[0])
    far[1] = [9.0, 9.0, 9.0]  # a hydrogen of methane
    read = read_qm9(write([with_atoms(row, elements(row), far), table[1]]))
    assert outcome(read) == ["distances", "smiles"] and len(read) == 2
    methane = read[0]
    assert sorted(map(tuple, methane.edges.T.tolist())) == [(0, 2), (0, 3), (0, 4), (2, 0), (3, 0), (4, 0)]
    assert methane.values("edge", "bond").tolist() == [None] * 6
    for name in ("charge", "aromatic", "hybridisation"):
        assert methane.values("node", name).tolist() == [None] * 5
    assert methane.values("node", "hydrogens").tolist() == [3, 0, 0, 0, 0]
    for name, values in graphs[1].node.items():  # its neighbour is as it was
        np.testing.assert_array_equal(read[1].node[name], values)


# ------------------------------------------------------------------------------------------- damaged files


def damage(row: Row, **changes: str) -> Row:
    return {**row, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"HOMO_au": "-0.3x"}, r"line 4: targets: '-0\.3x' is not a number"),
        ({"Dipole_debye": "nan"}, r"line 4: targets: 'nan' is not a number"),
        ({"XYZ_Ang": "[[0.,1.,inf],[0,0,0],[0,0,1]]"}, r"line 4: XYZ_Ang: 'inf' is not a number"),
        ({"XYZ_Ang": "[[0.,1.],[0,0,0],[0,0,1]]"}, r"line 4: N_atoms is 3, .* 3 elements and 8 coordinates"),
        ({"XYZ_Ang": ""}, r"line 4: XYZ_Ang: '' is not a number"),
        ({"N_atoms": "4"}, r"line 4: N_atoms is 4, but there are 3 elements and 9 coordinates"),
        ({"Elements": "['O','H','Xx']"}, r"line 4: Elements has 'Xx', expected H, C, N, O, F"),
        ({"Index": "three"}, r"line 4: Index is 'three', expected a whole number"),
    ],
)
def test_broken_values_are_named_with_their_line(
    table: list[Row], write: Callable[[list[Row]], Path], changes: dict[str, str], message: str
) -> None:
    folder = write([*table[:2], damage(table[2], **changes), *table[3:6]])
    with pytest.raises(InvalidFile, match=rf"qm9_part1\.csv, {message}; .*get a fresh copy"):
        read_qm9(folder)


def test_a_truncated_file(table: list[Row], write: Callable[[list[Row]], Path]) -> None:
    path = write(table[:20]) / "qm9_part1.csv"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 300])
    with pytest.raises(InvalidFile, match=r"line 21: \d+ columns, expected 25"):
        read_qm9(path.parent)
    path.write_bytes(whole.rstrip() + b"\r\n\r\n")  # a blank line at the end does no harm
    assert len(read_qm9(path.parent)) == 20
    path.write_bytes(whole.splitlines()[0])
    with pytest.raises(InvalidFile, match="hold no molecules"):
        read_qm9(path.parent)
    path.write_bytes(b"")
    with pytest.raises(InvalidFile, match="has no column 'Index', which every file of QM9 has"):
        read_qm9(path.parent)


def test_a_missing_column_and_a_missing_file(
    tmp_path: Path, table: list[Row], write: Callable[[list[Row]], Path]
) -> None:
    with pytest.raises(FileMissing, match=r"has no files qm9_part\*\.csv"):
        read_qm9(tmp_path)
    folder = write([{key: row[key] for key in row if key != "ZPVE_au"} for row in table[:3]])
    with pytest.raises(InvalidFile, match="has no column 'ZPVE_au'"):
        read_qm9(folder)


# ---------------------------------------------------------------------------------------- several processes


def assert_same(a: GraphSet, b: GraphSet) -> None:
    assert a.schema == b.schema
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for level in ("node", "edge", "graph"):
        for name, values in getattr(a, level).items():
            np.testing.assert_array_equal(values, getattr(b, level)[name])


def test_processes_give_the_same_set_and_tell_how_far_they_are(graphs: GraphSet) -> None:
    assert WHEEL is not None
    seen: list[tuple[int, int]] = []
    both = read_qm9(WHEEL, limit=N_ROWS, n_jobs=2, progress=lambda *step: seen.append(step))
    assert_same(both, graphs)
    assert seen == [(1_000, 2_000), (2_000, 2_000)]
    assert_same(read_qm9(WHEEL, limit=1_003), graphs[:1_003])
    with pytest.raises(InvalidParameter, match="limit=0: expected 1 or more molecules"):
        read_qm9(WHEEL, limit=0)


def test_an_error_in_another_process(table: list[Row], write: Callable[[list[Row]], Path]) -> None:
    rows = [*table[:1_499], damage(table[1_499], U="", HOMO_au="?"), *table[1_500:]]
    folder = write([{key: row[key] for key in table[0]} for row in rows])
    with pytest.raises(InvalidFile, match=r"line 1501: targets: '\?' is not a number"):
        read_qm9(folder, n_jobs=2)


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"from infograph.data.qm9 import read_qm9\n"
        f"print(len(read_qm9({str(WHEEL)!r}, limit=1_100, n_jobs=2)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=120
    )
    assert (ran.stdout, ran.stderr) == ("1100\n", "")


def test_rdkit_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert WHEEL is not None
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"needs rdkit.*pip install 'infograph\[chem\]'"):
        read_qm9(WHEEL, limit=2)


# --------------------------------------------------------------------------------------------------- units


def test_energies_in_electronvolts(graphs: GraphSet) -> None:
    converted = in_units(graphs, "eV")
    energies = ("homo", "lumo", "gap", "zpve", "U0", "U", "H", "G")
    for before, after in zip(graphs.schema.graph, converted.schema.graph, strict=True):
        if before.name in energies:
            assert (before.unit, after.unit) == ("hartree", "eV")
            np.testing.assert_allclose(
                converted.graph[after.name], graphs.graph[after.name] * 27.211386245988, rtol=1e-15
            )
        else:
            assert before == after
            assert converted.graph[after.name] is graphs.graph[after.name]
    assert converted.graph["gap"][0] == pytest.approx(13.736307777)  # methane: 0.5048 hartree
    assert in_units(graphs, "kcal/mol").graph["U0"][0] == pytest.approx(-25400.91, abs=0.01)
    assert in_units(graphs, "kJ/mol").graph["zpve"][0] == pytest.approx(0.044749 * 2625.49964, rel=1e-8)


@pytest.mark.parametrize("unit", ["eV", "kcal/mol", "kJ/mol", "hartree"])
def test_units_there_and_back(graphs: GraphSet, unit: str) -> None:
    back = in_units(in_units(graphs, unit), "hartree")
    assert back.schema == graphs.schema
    for name in HEADERS:
        np.testing.assert_allclose(back.graph[name], graphs.graph[name], rtol=1e-15)


def test_atomisation_energies(graphs: GraphSet, table: list[Row]) -> None:
    relative = atomisation_energies(graphs)
    for name, atoms in ATOM_ENERGIES.items():
        expected = [
            float(row[HEADERS[name]]) - sum(atoms[symbol] for symbol in elements(row)) for row in table
        ]
        np.testing.assert_allclose(relative.graph[name], expected, atol=1e-9)
    assert (relative.graph["U0"] < 0).all()  # every molecule is bound
    assert relative.graph["zpve"] is graphs.graph["zpve"]
    # Methane by hand: -40.47893 - (-37.846772 - 4 x 0.500273) hartree.
    assert relative.graph["U0"][0] == pytest.approx(-0.631066, abs=1e-9)
    there = in_units(relative, "eV")
    again = atomisation_energies(in_units(graphs, "eV"))
    for name in HEADERS:
        np.testing.assert_allclose(there.graph[name], again.graph[name], rtol=1e-10)


def test_atomisation_energies_of_something_else(graphs: GraphSet) -> None:
    with pytest.raises(SchemaMismatch, match="U0, U, H, G is missing or in another unit"):
        atomisation_energies(from_molecules(["CCO"]))
    sulphur = from_molecules(["CCS"], hydrogens=True)
    for name in ATOM_ENERGIES:
        column = graphs.schema.column("graph", name)
        assert column is not None
        sulphur = sulphur.with_column("graph", column, np.zeros(1))
    with pytest.raises(SchemaMismatch, match="no free-atom energy of S: QM9 has H, C, N, O and F only"):
        atomisation_energies(sulphur)
    with pytest.raises(InvalidParameter, match="units='meV': energies come in hartree, eV"):
        in_units(graphs, "meV")


# ------------------------------------------------------------------------------------------------ registry


@pytest.fixture
def few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: list[Row], write: Callable[[list[Row]], Path]
) -> Path:
    """A catalogue whose QM9 has 50 molecules and comes with no package; returns their folder."""
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    entry = entry_for("QM9")
    assert entry.counts is not None and entry.wheel is not None
    small = replace(
        entry, counts=Counts(50, 415, 748, 0), wheel=replace(entry.wheel, package="no_such_package_of_data")
    )
    entries = tuple(small if known.name == "QM9" else known for known in datasets.CATALOGUE)
    monkeypatch.setattr(datasets, "CATALOGUE", entries)
    return write(table[:50])


def test_load_dataset(few: Path, monkeypatch: pytest.MonkeyPatch, graphs: GraphSet) -> None:
    seen: list[tuple[int, int]] = []
    first = load_dataset("qm9", root=few, progress=lambda *step: seen.append(step))
    assert seen == [(50, 50)]
    monkeypatch.setattr(datasets, "_read", None)  # parsing once more would fail
    again = load_dataset("QM9", root=few)
    assert isinstance(again.edges, np.memmap)
    assert_same(first, graphs[:50])
    assert_same(again, graphs[:50])
    in_ev = load_dataset("QM9", root=few, units="eV", atomisation=True, node=["element"])
    assert [column.name for column in in_ev.schema.features("node")] == ["element"]
    assert in_ev.graph["U0"][0] == pytest.approx(-0.631066 * 27.211386245988)
    assert load_dataset("QM9", root=few).graph["U0"][0] == -40.47893  # the cache is as it was


def test_where_the_files_may_be(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_qm9(few) == few and find_qm9(few.parent / "nothing") is None
    own = tmp_path / "data" / "QM9"
    own.mkdir(parents=True)
    (few / "qm9_part1.csv").rename(own / "qm9_part1.csv")
    assert find_qm9(own.parent) == own
    monkeypatch.setenv("INFOGRAPH_DATA", str(own.parent))
    info = next(info for info in describe_datasets() if info.name == "QM9")
    assert (info.found, info.where, info.graphs, info.classes) == (str(own), "INFOGRAPH_DATA", 50, 0)
    assert len(load_dataset("QM9")) == 50


def test_without_the_package(few: Path) -> None:
    info = next(info for info in describe_datasets() if info.name == "QM9")
    assert (info.found, info.where) == ("", "infograph[qm9]")
    with pytest.raises(
        FileMissing,
        match=r"QM9 is not on this machine.*pip install 'infograph\[qm9\]'.*its files qm9_part\*\.csv into",
    ):
        load_dataset("QM9")


def test_something_else_in_its_place(few: Path, table: list[Row], write: Callable[[list[Row]], Path]) -> None:
    write(table[:49])
    with pytest.raises(InvalidFile, match="is not the QM9 it should be: 49 graphs instead of 50"):
        load_dataset("QM9", root=few)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": "eV"}, "units='eV': MUTAG has no energies"),
        ({"atomisation": True}, "atomisation=True: MUTAG has no energies"),
    ],
)
def test_other_sets_have_no_energies(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        load_dataset("MUTAG", **options)


def test_an_unknown_unit_is_refused_before_anything_is_read(few: Path) -> None:
    with pytest.raises(InvalidParameter, match="units='ev': energies come in hartree, eV, kcal/mol, kJ/mol"):
        load_dataset("QM9", root=few / "nowhere", units="ev")

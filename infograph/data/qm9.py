"""QM9 (Ramakrishnan et al. 2014) -> GraphSet: its rows, bonds by four rules, targets and their units."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray, pointer, ranges
from infograph.data.joining import concatenate
from infograph.data.molecules import (
    ACCEPTOR,
    AROMATIC,
    CHARGE,
    DONOR,
    ELEMENT,
    HYBRIDISATION,
    POSITION,
    from_molecules,
    rdkit,
)
from infograph.data.schema import Column, Schema
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, NothingLeft, SchemaMismatch
from infograph.progress import OnProgress

DISTANCE = Column("distance", "float", unit="angstrom", used=False)
# One-hot H, C, N, O, F; atomic number, acceptor, donor, aromatic, sp, sp2, sp3, number of hydrogens: what an
# atom of QM9 is in PyG, and so in the code of the paper's authors.
PYG = Column("pyg", "float", width=13, used=False)
OUTCOMES = ("smiles", "permuted", "perceived", "distances")
BONDS = Column("bonds", "categorical", categories=OUTCOMES)
RADII = np.full(10, np.nan)  # angstrom, by atomic number; Cordero et al. 2008
RADII[[1, 6, 7, 8, 9]] = 0.31, 0.76, 0.71, 0.66, 0.57
SHORTEST, LONGEST, CLOSEST, LINKED = 0.7, 1.3, 1.1, 1.2  # in sums of covalent radii
Rule = Callable[[str, IntArray, NDArray[np.float64]], Any]
PATTERN = "qm9_part*.csv"
NUMBERS = {"H": 1, "C": 6, "N": 7, "O": 8, "F": 9}
# Target -> its column in the CSV files.
HEADERS: Mapping[str, str] = {
    "mu": "Dipole_debye",
    "alpha": "Polarizability_bohr3",
    "homo": "HOMO_au",
    "lumo": "LUMO_au",
    "gap": "HOMO_LUMO_gap_au",
    "r2": "R2_bohr2",
    "zpve": "ZPVE_au",
    "U0": "InternalEnergy_0K_au",
    "U": "InternalEnergy_298K_au",
    "H": "Enthalphy_298K_au",
    "G": "GibbsFreeEnergy_298K_au",
    "Cv": "Heatcapacity_Cv_cal_mol_K",
}
ROWS = 1_000  # molecules at a time: about half a second of work
FRESH_COPY = "the file is damaged or incomplete: get a fresh copy (pip install --force-reinstall qm9pack)"
UNITS: Mapping[str, str] = {"mu": "D", "alpha": "bohr^3", "r2": "bohr^2", "Cv": "cal/(mol K)"}
TARGETS = tuple(Column(name, "float", unit=UNITS.get(name, "hartree")) for name in HEADERS)
# One hartree in other units (CODATA 2018).
HARTREE: Mapping[str, float] = {
    "hartree": 1.0,
    "eV": 27.211386245988,
    "kcal/mol": 627.5094740631,
    "kJ/mol": 2625.4996394799,
}
# Energies of free atoms in hartree at the level of QM9 (B3LYP/6-31G(2df,p); Ramakrishnan et al. 2014, file
# `atomref.txt`): at 0 K, and at 298.15 K as internal energy, enthalpy and free energy.
ATOM_ENERGIES: Mapping[str, Mapping[str, float]] = {
    "U0": {"H": -0.500273, "C": -37.846772, "N": -54.583861, "O": -75.064579, "F": -99.718730},
    "U": {"H": -0.498857, "C": -37.845355, "N": -54.582445, "O": -75.063163, "F": -99.717314},
    "H": {"H": -0.497912, "C": -37.844411, "N": -54.581501, "O": -75.062219, "F": -99.716370},
    "G": {"H": -0.510927, "C": -37.861317, "N": -54.598897, "O": -75.079532, "F": -99.733544},
}


def read_qm9(
    path: str | Path,
    *,
    limit: int | None = None,
    n_jobs: int | None = None,
    progress: OnProgress | None = None,
) -> GraphSet:
    """Read QM9 from a folder with the CSV files of the package qm9pack; that package is not imported.

    Molecules come in the order of the files, with their numbers in the data set as ids. Hydrogens are nodes.
    Columns:

      * node: those of `from_molecules(hydrogens=True, descriptors=True)`, `position` in angstrom, and `pyg`,
        the 13 numbers per atom that PyG's QM9 has;
      * edge: `bond`, and `distance` in angstrom;
      * graph: the canonical `smiles`; `bonds`, which says by what rule the bonds were found (`bond_outcomes`
        counts); the targets mu, alpha, homo, lumo, gap, r2, zpve, U0, U, H, G, Cv.

    Encoders do not see `position`, `distance`, `acceptor`, `donor` and `pyg` unless asked to.

    Args:
        path: the folder with `qm9_part1.csv` and so on.
        limit: read only that many molecules, the first ones.
        n_jobs: processes that parse; by default one per core, and this one alone for a few thousand rows.
        progress: called with molecules done and molecules in all.
    """
    from joblib import Parallel, cpu_count, delayed

    rdkit("Chem")
    if limit is not None and limit < 1:
        raise InvalidParameter(f"limit={limit}: expected 1 or more molecules, or None for all")
    files = sorted(Path(path).glob(PATTERN))
    if not files:
        raise FileMissing(f"{path} has no files {PATTERN}: expected the data folder of the package qm9pack")
    read: list[GraphSet] = []
    for file in files:
        left = None if limit is None else limit - sum(map(len, read))
        if left != 0:
            read.append(_read_file(file, left))
    atoms = concatenate(read)
    parts = [atoms[start : start + ROWS] for start in range(0, len(atoms), ROWS)]
    if n_jobs is None:  # starting processes takes a second
        n_jobs = cpu_count() if len(parts) > 4 else 1
    made: list[GraphSet] = []  # joblib's processes need no `if __name__ == "__main__"`
    for graphs in Parallel(n_jobs=n_jobs, return_as="generator")(delayed(match_bonds)(p) for p in parts):
        made.append(graphs)
        if progress is not None:
            progress(sum(map(len, made)), len(atoms))
    return concatenate(made)


def find_qm9(folder: Path) -> Path | None:
    """The folder with QM9's files: `folder` itself, or one called QM9 or qm9pack in it; None if neither."""
    for candidate in (folder, folder / "QM9", folder / "qm9", folder / "qm9pack" / "data"):
        if any(candidate.glob(PATTERN)):
            return candidate
    return None


def bond_outcomes(graphs: GraphSet) -> dict[str, int]:
    """How many molecules have their bonds from each rule."""
    counts = np.bincount(graphs.graph["bonds"], minlength=len(OUTCOMES))
    return dict(zip(OUTCOMES, counts.tolist(), strict=True))


def _read_file(path: Path, limit: int | None) -> GraphSet:
    """The molecules as a file states them, without edges: (atomic) number, position, smiles and targets."""
    import pyarrow as pa
    import pyarrow.csv as csv

    types = dict.fromkeys(HEADERS.values(), pa.float64())
    types |= {"Index": pa.int64(), "SMILES": pa.string(), "N_atoms": pa.int64()}
    types |= {"Elements": pa.string(), "XYZ_Ang": pa.string()}
    in_order = csv.ReadOptions(use_threads=False)  # errors name their row then
    wanted = csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[])
    batches: list[Any] = []
    try:
        with csv.open_csv(path, read_options=in_order, convert_options=wanted) as reader:
            for batch in reader:
                batches.append(batch)
                if limit is not None and sum(map(len, batches)) >= limit:
                    break
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InvalidFile(f"{path}: {error}; {FRESH_COPY}") from None
    table = pa.Table.from_batches(batches).slice(0, limit)
    numbers, n_numbers = _lists(path, table["Elements"], NUMBERS.__getitem__)
    places, n_places = _lists(path, table["XYZ_Ang"], float)
    counts = table["N_atoms"].to_numpy()
    targets = {name: table[header].to_numpy() for name, header in HEADERS.items()}
    for good, problem in (
        ((n_numbers == counts) & (n_places == 3 * counts), "N_atoms does not fit Elements and XYZ_Ang"),
        (np.isfinite(list(targets.values())).all(axis=0), "a target is not a finite number"),
    ):
        if not good.all():
            raise InvalidFile(f"{path}, line {good.argmin() + 2}: {problem}; {FRESH_COPY}")
    return GraphSet(
        node_ptr=pointer(counts),
        edge_ptr=np.zeros(len(table) + 1, np.int64),
        edges=np.zeros((2, 0), np.int64),
        node={"number": numbers.astype(np.int64), "position": places.reshape(-1, 3)},
        graph={"smiles": np.array(table["SMILES"].to_pylist(), np.str_), **targets},
        ids=table["Index"].to_numpy(),
        schema=Schema((Column("number", "float"), POSITION), (), (Column("smiles", "text"), *TARGETS)),
    )


def _lists(path: Path, cells: Any, convert: Callable[[str], float]) -> tuple[NDArray[np.float64], IntArray]:
    """The items of lists, or of lists of lists, as Python or JSON writes them, and how many each cell has."""
    values, counts, rest = array("d"), [], str.maketrans("", "", "[]' ")
    for row, cell in enumerate(cells.to_pylist()):
        items = cell.translate(rest).split(",")  # 3 us for 18 atoms
        try:
            own = list(map(convert, items))
            if not math.isfinite(sum(own)):
                raise ValueError
        except (KeyError, ValueError):
            problem = f"{cell[:60]!r} is no list of {', '.join(NUMBERS)}, or of finite numbers"
            raise InvalidFile(f"{path}, line {row + 2}: {problem}; {FRESH_COPY}") from None
        values.extend(own)
        counts.append(len(own))
    return np.array(values), np.array(counts)


# The bonds of QM9: its files have coordinates and a SMILES, but do not say which atom is which.
#
# Four rules are tried in this order; what a molecule's bonds come from is its graph column `bonds`:
#
#   * "smiles": the atoms of the SMILES, then their hydrogens in the same order, are those of the
#     coordinates;
#   * "permuted": they are after renumbering. As many pairs of atoms as the SMILES has bonds, the closest
#     ones by length over the sum of covalent radii, form the same graph of elements;
#   * "perceived": the SMILES is another isomer, often a zwitterion whose proton moved when the geometry was
#     optimised. RDKit finds the bonds of a neutral molecule in the coordinates (`DetermineBonds`), in one
#     piece and without radicals, and `smiles` is written from them;
#   * "distances": atoms nearer than LINKED times the sum of their covalent radii are bonded. The type of
#     these bonds, and charge, aromaticity and hybridisation of the atoms, are unknown.
#
# All but the last must pass the check: the elements are equal, every bond is SHORTEST to LONGEST times the
# sum of covalent radii long, and atoms without a bond are CLOSEST times that sum apart or more.


def match_bonds(atoms: GraphSet) -> GraphSet:
    """The graphs of `read_qm9` for molecules as a file states them."""
    from rdkit import rdBase

    rules: tuple[Rule, ...] = (lambda smiles, *_: smiles, permuted, perceived, linked)
    smiles, numbers, positions = atoms.graph["smiles"], atoms.node["number"], atoms.node["position"]
    parts: list[GraphSet] = []
    left = np.arange(len(atoms))
    with rdBase.BlockLogs():
        for outcome, rule in enumerate(rules):
            rows = [slice(*atoms.node_ptr[index : index + 2]) for index in left]
            own = zip(left, rows, strict=True)
            items = [rule(str(smiles[index]), numbers[at], positions[at]) for index, at in own]
            try:
                graphs = from_molecules(
                    items, ids=left.tolist(), errors="skip", hydrogens=True, descriptors=True
                )
            except NothingLeft:
                continue
            if outcome + 1 < len(rules):
                graphs = graphs[np.flatnonzero(fits(graphs, atoms))]
            if len(graphs):
                parts.append(graphs.with_column("graph", BONDS, np.full(len(graphs), outcome, np.int32)))
                left = np.setdiff1d(left, graphs.ids)
    joined = concatenate(parts)
    joined = joined[np.argsort(joined.ids)] if len(parts) > 1 else joined
    untyped = joined.graph["bonds"][joined.node_graph] == OUTCOMES.index("distances")  # (N,)
    if untyped.any():  # what RDKit says of atoms whose bonds have no type is a guess
        for column in (CHARGE, AROMATIC, HYBRIDISATION):
            joined.node[column.name][untyped] = column.unknown
        for column in (ACCEPTOR, DONOR):
            joined.node[column.name][untyped] = np.nan
    joined = joined.with_column("node", PYG, _pyg_inputs(joined))
    source, target = joined.edge_index
    lengths = np.sqrt(((positions[source] - positions[target]) ** 2).sum(axis=1))
    joined = joined.with_column("node", POSITION, positions.astype(np.float32))
    joined = joined.with_column("edge", DISTANCE, lengths.astype(np.float32))
    for column in TARGETS:
        joined = joined.with_column("graph", column, atoms.graph[column.name])
    return replace(joined, ids=atoms.ids)


def _pyg_inputs(graphs: GraphSet) -> NDArray[np.float32]:
    node = graphs.node
    hybrid = [node["hybridisation"] == HYBRIDISATION.categories.index(kind) for kind in ("sp", "sp2", "sp3")]
    elements = [node["element"] == ELEMENT.categories.index(symbol) for symbol in NUMBERS]
    bonding = [node[column.name] for column in (ACCEPTOR, DONOR)]
    parts = [*elements, node["atomic_number"], *bonding, node["aromatic"] == 1, *hybrid, node["hydrogens"]]
    return np.column_stack(parts).astype(np.float32)


def fits(graphs: GraphSet, atoms: GraphSet) -> NDArray[np.bool_]:
    """Which graphs agree with the coordinates of the molecules that their ids name. (G,)."""
    good = graphs.sizes == atoms.sizes[graphs.ids]
    candidates = np.flatnonzero(good)
    graphs = graphs[candidates]
    rows, ptr = ranges(atoms.node_ptr, graphs.ids)
    numbers, places, owner = atoms.node["number"][rows], atoms.node["position"][rows], graphs.node_graph

    def lengths(source: IntArray, target: IntArray) -> NDArray[np.float64]:
        apart = np.sqrt(((places[source] - places[target]) ** 2).sum(axis=1))
        return np.asarray(apart / (RADII[numbers[source]] + RADII[numbers[target]]))

    def count(flags: NDArray[np.bool_], graph: IntArray) -> IntArray:
        return np.bincount(graph[flags], minlength=len(graphs))

    bonds = lengths(*graphs.edge_index)
    target, _ = ranges(ptr, owner)  # all atoms of the same molecule, for every atom
    source = np.repeat(np.arange(len(rows)), graphs.sizes[owner])
    near = lengths(source, target) < CLOSEST
    wrong = (
        count(graphs.node["element"] != numbers, owner)
        + count((bonds < SHORTEST) | (bonds > LONGEST), graphs.edge_graph)
        + np.abs(count(near & (source != target), owner[source]) - count(bonds < CLOSEST, graphs.edge_graph))
    )
    good[candidates] = wrong == 0
    return np.asarray(good)


def permuted(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """The molecule of the SMILES with its atoms in the order of the coordinates; None if there is no such."""
    from rdkit import Chem

    mol = Chem.MolFromSmiles(smiles)
    if mol is None:
        return None
    mol = Chem.AddHs(mol)
    first, second, length = _pairs(numbers, positions)
    nearest = np.argsort(length, kind="stable")[: mol.GetNumBonds()]
    found = _plain(numbers, first[nearest], second[nearest])
    own = [atom.GetAtomicNum() for atom in mol.GetAtoms()]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    place = found.GetSubstructMatch(_plain(own, *zip(*ends, strict=True))) if ends else ()
    if len(place) != len(numbers):
        return None
    return Chem.RenumberAtoms(mol, np.argsort(place).tolist())


def perceived(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """What RDKit makes of the coordinates as a neutral molecule in one piece; None if nothing."""
    from rdkit import Chem, Geometry
    from rdkit.Chem import rdDetermineBonds

    mol = Chem.RWMol(_plain(numbers, (), ()))
    shape = Chem.Conformer(len(numbers))
    for atom, place in enumerate(positions.tolist()):
        shape.SetAtomPosition(atom, Geometry.Point3D(*place))
    mol.AddConformer(shape)
    try:
        rdDetermineBonds.DetermineBonds(mol, charge=0, embedChiral=False)
    except (ValueError, RuntimeError):
        return None
    radical = any(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms())
    if radical or len(Chem.GetMolFrags(mol)) > 1:
        return None
    mol.RemoveAllConformers()  # positions are joined to the graph as they are in the file
    return mol.GetMol()


def linked(smiles: str, numbers: IntArray, positions: NDArray[np.float64]) -> Any:
    """Atoms that are near each other, joined by bonds without a type."""
    first, second, length = _pairs(numbers, positions)
    near = length < LINKED
    return _plain(numbers, first[near], second[near])


def _pairs(numbers: IntArray, positions: NDArray[np.float64]) -> tuple[IntArray, IntArray, Any]:
    """All pairs of atoms, and their distances in sums of covalent radii."""
    first, second = np.triu_indices(len(numbers), k=1)
    apart = np.sqrt(((positions[first] - positions[second]) ** 2).sum(axis=1))
    return first, second, apart / (RADII[numbers[first]] + RADII[numbers[second]])


def _plain(numbers: Any, first: Any, second: Any) -> Any:
    """Atoms and bonds without types, charges and further hydrogens."""
    from rdkit import Chem

    mol = Chem.RWMol()
    for number in numbers:
        atom = Chem.Atom(int(number))
        atom.SetNoImplicit(True)
        mol.AddAtom(atom)
    for pair in zip(first, second, strict=True):
        mol.AddBond(int(pair[0]), int(pair[1]), Chem.BondType.UNSPECIFIED)
    return mol.GetMol()


def check_energy_unit(unit: str | None) -> None:
    """Refuse a unit that energies do not come in."""
    if unit is not None and unit not in HARTREE:
        raise InvalidParameter(f"units={unit!r}: energies come in {', '.join(HARTREE)}")


def in_units(graphs: GraphSet, unit: str) -> GraphSet:
    """The same graphs with all graph columns whose unit is an energy in `unit`."""
    check_energy_unit(unit)
    columns: dict[str, NDArray[Any]] = dict(graphs.graph)
    described: list[Column] = []
    for column in graphs.schema.graph:
        if column.unit in HARTREE and column.unit != unit:
            columns[column.name] = columns[column.name] * (HARTREE[unit] / HARTREE[column.unit])
            column = replace(column, unit=unit)
        described.append(column)
    return replace(graphs, graph=columns, schema=graphs.schema.replace("graph", described))


def atomisation_energies(graphs: GraphSet) -> GraphSet:
    """The same graphs with U0, U, H and G minus the energies of their atoms when these are free.

    What is left is what the bonds are worth, three orders of magnitude smaller than the total, and negative.
    """
    element = graphs.schema.column("node", "element")
    units = {column.name: column.unit for column in graphs.schema.graph if column.unit in HARTREE}
    missing = [name for name in ATOM_ENERGIES if name not in units]
    if element is None or missing:
        raise SchemaMismatch(
            f"atomisation energies need the node column 'element' and the graph columns U0, U, H and G in "
            f"{' or '.join(HARTREE)}; {', '.join(missing) or 'element'} is missing or in another unit"
        )
    codes, symbols = graphs.node["element"], [*map(str, element.categories), "an unknown element"]
    columns: dict[str, NDArray[Any]] = dict(graphs.graph)
    for name, energies in ATOM_ENERGIES.items():
        per_code = np.array([energies.get(symbol, np.nan) for symbol in symbols]) * HARTREE[units[name]]
        for code in codes[np.isnan(per_code)[codes]].tolist():
            raise SchemaMismatch(f"no free-atom energy of {symbols[code]}: QM9 has H, C, N, O and F only")
        columns[name] = columns[name] - np.bincount(
            graphs.node_graph, weights=per_code[codes], minlength=len(graphs)
        )
    return replace(graphs, graph=columns)

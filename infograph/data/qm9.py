"""QM9 (Ramakrishnan et al. 2014) -> GraphSet: its rows, bonds by four rules, targets and their units."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray, concatenate, pointer, ranges
from infograph.data.molecules import AROMATIC, CHARGE, HYBRIDISATION, POSITION, from_molecules
from infograph.data.schema import Column
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidParameter,
    MissingExtra,
    NothingLeft,
    SchemaMismatch,
)
from infograph.progress import OnProgress

DISTANCE = Column("distance", "float", unit="angstrom", used=False)
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
WANTED = ("Index", "SMILES", "N_atoms", "Elements", "XYZ_Ang", *HEADERS.values())
ROWS = 1_000  # rows per piece: about half a second of work
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

      * node: those of `from_molecules(hydrogens=True, descriptors=True)`, and `position` in angstrom;
      * edge: `bond`, and `distance` in angstrom;
      * graph: the canonical `smiles`; `bonds`, which says where the bonds come from (`qm9/bonds.py` states
        the rules, `bond_outcomes` counts); the targets mu, alpha, homo, lumo, gap, r2, zpve, U0, U, H, G, Cv.

    Encoders do not see `position` and `distance` unless asked to.

    Args:
        path: the folder with `qm9_part1.csv` and so on.
        limit: read only that many molecules, the first ones.
        n_jobs: processes that parse; by default one per core, and this one alone for a few thousand rows.
        progress: called with molecules done and molecules in all.

    Raises:
        FileMissing: the files are not there.
        InvalidFile: a file is damaged; the message names the line.
        MissingExtra: RDKit is not installed.
    """
    try:
        import rdkit  # noqa: F401
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    if limit is not None and limit < 1:
        raise InvalidParameter(f"limit={limit}: expected 1 or more molecules, or None for all")
    work = list(_pieces(Path(path), limit))
    if not work:
        raise InvalidFile(f"the files {PATTERN} in {path} hold no molecules; {FRESH_COPY}")
    total, done = sum(piece.n_rows for piece in work), 0
    parts: list[GraphSet] = []
    for graphs in _read_all(work, n_jobs):
        parts.append(graphs)
        done += len(graphs)
        if progress is not None:
            progress(done, total)
    return concatenate(parts)


def find_qm9(folder: Path, name: str = "QM9") -> Path | None:
    """The folder with QM9's files: `folder` itself, or one called QM9 or qm9pack in it; None if neither."""
    for candidate in (folder, folder / name, folder / name.lower(), folder / "qm9pack" / "data"):
        if any(candidate.glob(PATTERN)):
            return candidate
    return None


def bond_outcomes(graphs: GraphSet) -> dict[str, int]:
    """How many molecules have their bonds from each rule of `qm9/bonds.py`.

    `graphs[graphs.values("graph", "bonds") == "distances"]` are the ones of a rule.
    """
    counts = np.bincount(graphs.graph["bonds"], minlength=len(OUTCOMES))
    return dict(zip(OUTCOMES, counts.tolist(), strict=True))


def read_piece(piece: Piece) -> GraphSet:
    """Some rows of a file as graphs, with all columns."""
    rows = read_rows(piece)
    graphs = match_bonds(rows)
    source, target = graphs.edge_index
    lengths = np.sqrt(((rows.positions[source] - rows.positions[target]) ** 2).sum(axis=1))
    graphs = graphs.with_column("node", POSITION, rows.positions.astype(np.float32))
    graphs = graphs.with_column("edge", DISTANCE, lengths.astype(np.float32))
    for column, values in zip(TARGETS, rows.targets.T, strict=True):
        graphs = graphs.with_column("graph", column, values)
    return replace(graphs, ids=rows.ids)


def _pieces(folder: Path, limit: int | None) -> Iterator[Piece]:
    files = sorted(folder.glob(PATTERN))
    if not files:
        raise FileMissing(f"{folder} has no files {PATTERN}: expected the data folder of the package qm9pack")
    for path in files:
        found = list(pieces(path, limit))
        yield from found
        if limit is not None:
            limit -= sum(piece.n_rows for piece in found)
            if limit <= 0:
                return


def _read_all(work: list[Piece], n_jobs: int | None) -> Iterable[GraphSet]:
    """The graphs of all pieces, in order, by as many processes as there are cores.

    The processes are joblib's, which start afresh and import only what they need: a script that calls this
    needs no `if __name__ == "__main__"`, and threads of the calling process do no harm.
    """
    from joblib import Parallel, cpu_count, delayed

    if n_jobs is None:  # starting processes takes a second
        n_jobs = cpu_count() if len(work) > 4 else 1
    if n_jobs == 1:
        return map(read_piece, work)
    jobs: Iterable[GraphSet] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(read_piece)(piece) for piece in work
    )
    return jobs


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


def match_bonds(rows: Rows) -> GraphSet:
    """The molecules of `rows` as graphs with atoms in the order of the coordinates; ids are 0 ... G-1.

    Columns are those of `from_molecules(hydrogens=True, descriptors=True)` and `bonds`.
    """
    from rdkit import rdBase

    rules: tuple[Rule, ...] = (lambda smiles, *_: smiles, permuted, perceived, linked)
    parts: list[GraphSet] = []
    left = np.arange(len(rows))
    with rdBase.BlockLogs():
        for outcome, rule in enumerate(rules):
            graphs = _apply(rule, rows, left)
            if graphs is not None and outcome + 1 < len(rules):
                graphs = graphs[np.flatnonzero(fits(graphs, rows))]
            if graphs is not None and len(graphs):
                parts.append(graphs.with_column("graph", BONDS, np.full(len(graphs), outcome, np.int32)))
                left = np.setdiff1d(left, graphs.ids)
    joined = concatenate(parts)
    return _without_guesses(joined[np.argsort(joined.ids)] if len(parts) > 1 else joined)


def _apply(rule: Rule, rows: Rows, left: IntArray) -> GraphSet | None:
    """What a rule makes of the molecules `left`; those it can make nothing of are not in it."""
    items = [rule(*_molecule(rows, index)) for index in left.tolist()]
    try:
        return from_molecules(items, ids=left.tolist(), errors="skip", hydrogens=True, descriptors=True)
    except NothingLeft:
        return None


def _molecule(rows: Rows, index: int) -> tuple[str, IntArray, NDArray[np.float64]]:
    atoms = slice(rows.node_ptr[index], rows.node_ptr[index + 1])
    return rows.smiles[index], rows.numbers[atoms], rows.positions[atoms]


def fits(graphs: GraphSet, rows: Rows) -> NDArray[np.bool_]:
    """Which graphs agree with the coordinates of the rows that their ids name. (G,)."""
    good = graphs.sizes == np.diff(rows.node_ptr)[graphs.ids]
    candidates = np.flatnonzero(good)
    graphs = graphs[candidates]
    atoms, ptr = ranges(rows.node_ptr, graphs.ids)
    numbers, places, owner = rows.numbers[atoms], rows.positions[atoms], graphs.node_graph

    def lengths(source: IntArray, target: IntArray) -> NDArray[np.float64]:
        apart = np.sqrt(((places[source] - places[target]) ** 2).sum(axis=1))
        return np.asarray(apart / (RADII[numbers[source]] + RADII[numbers[target]]))

    def count(flags: NDArray[np.bool_], graph: IntArray) -> IntArray:
        return np.bincount(graph[flags], minlength=len(graphs))

    bonds = lengths(*graphs.edge_index)
    target, _ = ranges(ptr, owner)  # all atoms of the same molecule, for every atom
    source = np.repeat(np.arange(len(atoms)), graphs.sizes[owner])
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


def _without_guesses(graphs: GraphSet) -> GraphSet:
    """Unknown instead of what RDKit says of atoms whose bonds have no type."""
    untyped = graphs.graph["bonds"][graphs.node_graph] == OUTCOMES.index("distances")  # (N,)
    if not untyped.any():
        return graphs
    unknown = {
        column.name: np.where(untyped, column.unknown, graphs.node[column.name]).astype(np.int32)
        for column in (CHARGE, AROMATIC, HYBRIDISATION)
    }
    return replace(graphs, node={**graphs.node, **unknown})


@dataclass(frozen=True)
class Piece:
    """Some rows of a file: n_rows lines from byte `start` to byte `stop`, of which the first is `line`.

    `columns` says where in a row the columns WANTED are, `width` how many there are in all.
    """

    path: Path
    start: int
    stop: int
    line: int
    n_rows: int
    columns: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Molecules as the files state them. G molecules, N atoms.

    Attributes:
        ids: (G,) numbers of the molecules in the data set, from 1 with gaps.
        smiles: G of them, as written.
        node_ptr: (G+1,) molecule g has the atoms node_ptr[g] ... node_ptr[g+1] - 1.
        numbers: (N,) atomic numbers.
        positions: (N, 3) in angstrom.
        targets: (G, 12) in the order and units of TARGETS.
    """

    ids: IntArray
    smiles: list[str]
    node_ptr: IntArray
    numbers: IntArray
    positions: NDArray[np.float64]
    targets: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)


def pieces(path: Path, limit: int | None = None) -> Iterator[Piece]:
    """A file cut into pieces of whole lines, at most `limit` rows of it.

    Raises:
        InvalidFile: the file has no such columns.
    """
    content = path.read_bytes().rstrip()
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n")) + 1
    ends = np.append(ends, len(content))  # (lines,) where each line stops
    header = content[: ends[0]].decode("utf-8", "replace").strip()
    names = next(csv.reader([header]), [])
    missing = [name for name in WANTED if name not in names]
    if missing:
        raise InvalidFile(f"{path} has no column {missing[0]!r}, which every file of QM9 has; {FRESH_COPY}")
    stop = len(ends) if limit is None else min(len(ends), limit + 1)
    columns = tuple(names.index(name) for name in WANTED)
    for first in range(1, stop, ROWS):
        last = min(first + ROWS, stop) - 1
        span = int(ends[first - 1]), int(ends[last])
        yield Piece(path, *span, first + 1, last - first + 1, columns, len(names))


def read_rows(piece: Piece) -> Rows:
    """Parse one piece.

    Raises:
        InvalidFile: the message names the line and what is wrong with it.
    """
    with piece.path.open("rb") as file:
        file.seek(piece.start)
        lines = file.read(piece.stop - piece.start).decode("utf-8", "replace").rstrip("\n").split("\n")
    parsed: list[_Row] = []
    for line, text in enumerate(lines, start=piece.line):
        try:
            parsed.append(_parse(next(csv.reader([text]), []), piece))
        except (ValueError, csv.Error) as error:
            raise InvalidFile(f"{piece.path}, line {line}: {error}; {FRESH_COPY}") from None
    positions = np.array([value for row in parsed for value in row.positions], np.float64).reshape(-1, 3)
    return Rows(
        ids=np.array([row.index for row in parsed], np.int64),
        smiles=[row.smiles for row in parsed],
        node_ptr=pointer(np.array([len(row.numbers) for row in parsed])),
        numbers=np.array([number for row in parsed for number in row.numbers], np.int64),
        positions=positions,
        targets=np.array([row.targets for row in parsed], np.float64),
    )


@dataclass(frozen=True)
class _Row:
    index: int
    smiles: str
    numbers: list[int]
    positions: list[float]
    targets: list[float]


def _parse(fields: list[str], piece: Piece) -> _Row:
    if len(fields) != piece.width:
        raise ValueError(f"{len(fields)} columns, expected {piece.width}")
    index, smiles, n_atoms, elements, places, *targets = (fields[column] for column in piece.columns)
    row = _Row(
        index=_whole("Index", index),
        smiles=smiles,
        numbers=[_number(symbol) for symbol in _items(elements.replace("'", ""))],
        positions=_floats("XYZ_Ang", _items(places)),
        targets=_floats("targets", targets),
    )
    if not len(row.numbers) == len(row.positions) / 3 == _whole("N_atoms", n_atoms):
        raise ValueError(
            f"N_atoms is {n_atoms}, but there are {len(row.numbers)} elements and {len(row.positions)} "
            f"coordinates"
        )
    return row


def _items(text: str) -> list[str]:
    """The items of a list, or of a list of lists, as Python or JSON writes it; 3 us for 18 atoms."""
    return text.replace("[", "").replace("]", "").split(",")


def _number(symbol: str) -> int:
    number = NUMBERS.get(symbol.strip())
    if number is None:
        raise ValueError(f"Elements has {symbol.strip()!r}, expected {', '.join(NUMBERS)}")
    return number


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}, expected a whole number") from None


def _floats(name: str, texts: list[str]) -> list[float]:
    try:
        values = list(map(float, texts))
        if math.isfinite(sum(values)):  # one NaN or infinity among them is enough
            return values
    except ValueError:
        pass
    bad = next(text for text in texts if not _is_number(text))
    raise ValueError(f"{name}: {bad.strip()[:40]!r} is not a number")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def in_units(graphs: GraphSet, unit: str) -> GraphSet:
    """The same graphs with all their energies in `unit`; the schema says so.

    Energies are the graph columns whose unit is an energy: of QM9 homo, lumo, gap, zpve, U0, U, H and G.

    Args:
        graphs: graphs with energies as graph columns.
        unit: "hartree", "eV", "kcal/mol" or "kJ/mol".

    Raises:
        InvalidParameter: another unit was asked for.
    """
    if unit not in HARTREE:
        raise InvalidParameter(f"units={unit!r}: energies come in {', '.join(HARTREE)}")
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

    Raises:
        SchemaMismatch: the graphs are not QM9's: a column is missing, or there are other elements.
    """
    element = graphs.schema.column("node", "element")
    targets = {name: graphs.schema.column("graph", name) for name in ATOM_ENERGIES}
    missing = [name for name, column in targets.items() if column is None or column.unit not in HARTREE]
    if element is None or missing:
        raise SchemaMismatch(
            f"atomisation energies need the node column 'element' and the graph columns U0, U, H and G in "
            f"{' or '.join(HARTREE)}; {', '.join(missing) or 'element'} is missing or in another unit"
        )
    codes = graphs.node["element"]
    present = [element.categories[code] if code < element.unknown else None for code in np.unique(codes)]
    strange = [symbol for symbol in present if symbol not in ATOM_ENERGIES["U0"]]
    if strange:
        raise SchemaMismatch(
            f"no free-atom energy of {strange[0] or 'an unknown element'}: QM9 has H, C, N, O and F only"
        )
    columns: dict[str, NDArray[Any]] = dict(graphs.graph)
    for name, column in targets.items():
        per_code = np.zeros(element.unknown)
        for symbol, energy in ATOM_ENERGIES[name].items():
            per_code[element.categories.index(symbol)] = energy * HARTREE[column.unit if column else ""]
        free = np.bincount(graphs.node_graph, weights=per_code[codes], minlength=len(graphs))  # (G,)
        columns[name] = columns[name] - free
    return replace(graphs, graph=columns)

"""SMILES strings and RDKit molecules -> GraphSet: atoms are nodes, bonds are pairs of arcs.

Made for millions of molecules: Python touches every atom once per column and no bond at all; the arcs of
thousands of molecules are found in one numpy pass over their bond-order matrices.
"""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import HALF, GraphSet, IntArray, Rejected, half_characters, pointer
from infograph.data.records import Errors, Salts, check_errors, id_array, is_missing, nothing_left
from infograph.data.schema import Category, Column, Schema
from infograph.errors import ColumnWarning, InvalidGraph, InvalidParameter, MissingExtra

Columns = list[tuple[Column, NDArray[Any]]]
DOUBT = re.compile(r"[@/\\\s]|\[\d*H")  # stereochemistry, names and extensions, hydrogens that are atoms
SMILES_LIKE = re.compile(r"(?=.*[A-Za-z])(Br?|Cl?|[NOPSFIbcnops]|\[[^\]]*\]|[\d()=#@+/\\%.:*-])+")
STRIPPED = Column("stripped", "text")
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
LONGEST = 5_000  # characters of a SMILES, some 600 residues; RDKit crashes at 20,000
LARGE = 500  # atoms; beyond it a matrix is mostly zeros, and its bonds are visited instead
CELLS = 1_000_000  # matrix entries (8 MB) that wait until they are searched together
OTHER = 4.5  # stands in a matrix for a bond without an order, such as a hydrogen bond
SHIFT = 10  # the code of a bond's stereochemistry is its matrix entry // SHIFT


# The categories are fixed, so that all sets of molecules have equal schemas. Encoders see few columns: with
# every descriptor of an atom as a feature, almost every atom would be a colour of its own.
BOND = Column("bond", "categorical", categories=("single", "double", "triple", "aromatic"))
ORDERS = np.full(2 * SHIFT, BOND.unknown, np.int32)  # twice the bond order -> code
ORDERS[[2, 4, 6, 3]] = range(4)  # single, double, triple, aromatic
# Atomic number -> symbol; "*" is the placeholder atom of SMILES.
PERIODIC_TABLE = """
*  H  He
Li Be B  C  N  O  F  Ne
Na Mg Al Si P  S  Cl Ar
K  Ca Sc Ti V  Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr
Rb Sr Y  Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I  Xe
Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W  Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn
Fr Ra Ac Th Pa U  Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
"""
ELEMENT = Column("element", "categorical", categories=tuple(PERIODIC_TABLE.split()))
CHARGE = Column("charge", "categorical", categories=tuple(range(-4, 5)))
HYDROGENS = Column("hydrogens", "categorical", categories=tuple(range(5)))
AROMATIC = Column("aromatic", "categorical", categories=(False, True))
ATOMIC_NUMBER = Column("atomic_number", "float")
HYBRIDISATION = Column(
    "hybridisation", "categorical", categories=("s", "sp", "sp2", "sp3", "sp2d", "sp3d", "sp3d2")
)
ACCEPTOR = Column("acceptor", "float", used=False)
DONOR = Column("donor", "float", used=False)
CHIRALITY = Column("chirality", "categorical", categories=("none", "R", "S"))
POSITION = Column("position", "float", width=3, unit="angstrom", used=False, role="position")
STEREO = Column("stereo", "categorical", categories=("none", "E", "Z"))
SMILES = Column("smiles", "text")


def from_molecules(
    items: Iterable[Any],
    *,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    schema: Schema | None = None,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    descriptors: bool | None = None,
    keep_smiles: bool = True,
) -> GraphSet:
    """SMILES strings and RDKit molecules, mixed as you like, -> GraphSet.

    Every molecule is sanitised the same way, so that a SMILES and a molecule with other explicit hydrogens or
    Kekule bonds give the same graph. Salts and other molecules in several pieces are legal; only
    `salts="strip"` reduces them to one piece. Isotopes are ignored.

    Columns (their categories are fixed, so that all molecule sets share one schema):
      * node: `element`, `charge`, `hydrogens` (how many are attached; only where they are not nodes
        themselves) and `aromatic`. Of the atom features of OGB (Hu et al. 2020) these are the ones that a
        message-passing encoder cannot find out by itself: it sees degrees, rings and hybridisation through
        its neighbours and bonds;
      * edge: `bond` (single, double, triple, aromatic; dative bonds count as single);
      * with `stereo`: `chirality` (R, S) of atoms and `stereo` (E, Z) of bonds, by the CIP rules and so the
        same whatever the order of the atoms;
      * with `descriptors`: `atomic_number` (a float) and `hybridisation` of atoms ("s" for hydrogen),
        `hydrogens` even where these are nodes, and, which encoders see on request only, whether an atom is an
        `acceptor` or a `donor` of hydrogen bonds (1 or 0, by RDKit's definitions): atom features of Gilmer et
        al. (2017), used on QM9;
      * `position` (not an encoder's input) where every molecule has three-dimensional coordinates;
      * graph: the canonical `smiles`; with `salts="strip"` also `stripped`, the SMILES of what was dropped.

    Args:
        items: the molecules.
        ids, errors, schema, hydrogens, stereo, salts: as in `infograph.read_graphs`.
        descriptors: whether atoms get the further columns above; None as `schema` says, else no.
        keep_smiles: whether to keep the canonical SMILES; without, reading is about a third faster, and more
            where no option asks for further columns.
    """
    check_errors(errors)
    if salts not in (None, "keep", "strip"):
        raise InvalidParameter(f"salts={salts!r}: expected 'keep' or 'strip'")
    given = {"hydrogens": hydrogens, "stereo": stereo, "salts": salts, "descriptors": descriptors}
    fitted = dict(schema.options) if schema is not None else {}
    chosen = {name: fitted.get(name) if value is None else value for name, value in given.items()}
    flags = (bool(chosen[key]) for key in ("hydrogens", "stereo", "descriptors"))
    builder = _Builder(*flags, strip=chosen["salts"] == "strip", keep_smiles=keep_smiles)
    good: list[str | int] = []
    rejected: list[Rejected] = []
    with rdkit("rdBase").BlockLogs():  # RDKit writes its complaints to stderr; they are in the errors instead
        for index, item in enumerate(items):
            graph_id = index if ids is None else ids[index]
            try:
                if half_characters((graph_id, item)):
                    raise ValueError(HALF)
                builder.add(item)
                good.append(graph_id)
            except ValueError as error:
                if errors == "raise":
                    raise InvalidGraph(str(error), index=index, graph_id=graph_id) from None
                rejected.append(Rejected(index, graph_id, str(error)))
    if not good:
        raise nothing_left(rejected)
    marked = sum(any(mark in text for mark in "@/\\") for text in builder.smiles)
    if marked and chosen["stereo"] is None:
        warnings.warn(
            f"{marked:,} of {len(good):,} molecules have stereochemistry, which is not seen: stereo=True "
            f"uses it, stereo=False says that this is meant",
            ColumnWarning,
            stacklevel=4,
        )
    return builder.build(id_array(good), tuple(rejected))


def rdkit(part: str) -> Any:
    """A module of RDKit, which may not be installed."""
    try:
        import_module("rdkit")
        return import_module(f"rdkit.{part}")
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error


def is_smiles(text: str, least: int) -> bool:
    """Whether a text is the SMILES of at least so many atoms; no without RDKit."""
    if not least <= len(text) <= LONGEST or not SMILES_LIKE.fullmatch(text):
        return False
    try:
        with rdkit("rdBase").BlockLogs():
            mol = rdkit("Chem").MolFromSmiles(text)
    except MissingExtra:
        return False
    return mol is not None and mol.GetNumAtoms() >= least


class _Builder:
    """Collects molecules column by column, in arrays of single bytes.

    Arcs come out sorted by source, then target, from one numpy pass over the bond-order matrices of many
    molecules: a matrix of RDKit costs 3 us for nine heavy atoms, visiting its bonds one by one 30 us.
    """

    def __init__(
        self, hydrogens: bool, stereo: bool, descriptors: bool, *, strip: bool, keep_smiles: bool
    ) -> None:
        self.chem = Chem = rdkit("Chem")  # no import per molecule
        self.assign_labels = rdkit("Chem.rdCIPLabeler").AssignCIPLabels
        bare = not (hydrogens or stereo or descriptors or keep_smiles or strip)
        self.parse = _quick_parser() if bare else Chem.MolFromSmiles
        self.hydrogens, self.stereo, self.descriptors = hydrogens, stereo, descriptors
        self.strip, self.keep_smiles = SaltStripper().strip if strip else None, keep_smiles
        self.stripped: list[str] = []
        self.smiles: list[str] = []
        self.sizes = array("q")
        getters: list[tuple[Column, Callable[[Any], int], str]] = [
            (ELEMENT, Chem.Atom.GetAtomicNum, "B"),
            (CHARGE, Chem.Atom.GetFormalCharge, "b"),
        ]
        if not hydrogens:
            getters.append((HYDROGENS, Chem.Atom.GetTotalNumHs, "B"))
        elif descriptors:
            getters.append((HYDROGENS, partial(Chem.Atom.GetTotalNumHs, includeNeighbors=True), "B"))
        self.aromatic_place = len(getters)  # among the columns; bonds tell it, which is quicker
        if stereo:
            getters.append((CHIRALITY, _chirality, "B"))
        if descriptors:
            getters += [(ATOMIC_NUMBER, Chem.Atom.GetAtomicNum, "B"), (HYBRIDISATION, _hybridisation, "b")]
        self.atoms = [(column, getter, array(code)) for column, getter, code in getters]
        self.bonding = [(c, _patterns(c), array("B")) for c in (ACCEPTOR, DONOR)] if descriptors else []
        self.positions: list[NDArray[np.float64]] | None = []
        self.waiting: list[NDArray[np.float64]] = []  # matrices
        self.n_cells = 0
        self.arcs: list[tuple[IntArray, IntArray, NDArray[np.float64]]] = []

    def add(self, item: Any) -> None:
        """Add one molecule, or raise a ValueError that says why not and leave everything as it was."""
        chem = self.chem
        if isinstance(item, str) and len(item) > LONGEST:
            raise ValueError(f"a SMILES of {len(item):,} characters; at most {LONGEST:,} are read")
        mol: Any = self.parse(item) if isinstance(item, str) and item else None
        heavy = mol
        if mol is None:
            mol = _sanitise(item)
            heavy = chem.RemoveHs(mol)
        if not mol.GetNumAtoms():
            raise ValueError("a molecule without atoms")
        if self.strip is not None:
            mol, dropped = self.strip(mol)
            heavy = chem.RemoveHs(mol) if dropped else heavy
            self.stripped.append(dropped)
        if self.keep_smiles:
            self.smiles.append(chem.MolToSmiles(heavy))
        mol = chem.AddHs(mol, addCoords=True) if self.hydrogens else heavy
        if self.stereo:
            self.assign_labels(mol)
        n_atoms = mol.GetNumAtoms()
        self.sizes.append(n_atoms)
        self._add_bonds(mol, n_atoms)
        atoms = list(map(mol.GetAtomWithIdx, range(n_atoms)))  # half the time of mol.GetAtoms()
        for _, getter, values in self.atoms:
            values.extend(map(getter, atoms))
        for _, patterns, values in self.bonding:
            flags = bytearray(n_atoms)
            for atom in chain.from_iterable(chain.from_iterable(map(mol.GetSubstructMatches, patterns))):
                flags[atom] = 1
            values.extend(flags)
        if self.positions is not None:
            if mol.GetNumConformers() and mol.GetConformer().Is3D():
                self.positions.append(mol.GetConformer().GetPositions())
            else:
                self.positions = None  # not every molecule has coordinates

    def _add_bonds(self, mol: Any, n_atoms: int) -> None:
        if n_atoms > LARGE:
            self._flush()
            edges, values = _bonds(mol, self.stereo)
            arcs, values = np.hstack([edges, edges[::-1]]), np.tile(values, 2)
            order = np.lexsort(arcs[::-1])
            self.arcs.append((np.array([len(order)]), arcs[:, order], values[order]))
            return
        matrix = self.chem.GetAdjacencyMatrix(mol, useBO=True, force=True)  # (n, n)
        if self.stereo or np.count_nonzero(matrix) != 2 * mol.GetNumBonds():
            edges, values = _bonds(mol, self.stereo)
            matrix[edges[0], edges[1]] = matrix[edges[1], edges[0]] = values
        self.waiting.append(matrix)
        self.n_cells += n_atoms * n_atoms
        if self.n_cells > CELLS:
            self._flush()

    def _flush(self) -> None:
        if not self.waiting:
            return
        sizes = np.array([len(matrix) for matrix in self.waiting])
        cells = np.concatenate([matrix.ravel() for matrix in self.waiting])
        found = np.flatnonzero(cells)
        starts = pointer(sizes**2)
        molecule = np.searchsorted(starts, found, side="right") - 1
        edges = np.stack(np.divmod(found - starts[molecule], sizes[molecule]))  # (2, arcs)
        self.arcs.append((np.bincount(molecule, minlength=len(sizes)), edges.astype(np.int32), cells[found]))
        self.waiting, self.n_cells = [], 0

    def build(self, ids: NDArray[Any], rejected: tuple[Rejected, ...]) -> GraphSet:
        self._flush()
        counts, edges, values = (np.concatenate(part, axis=-1) for part in zip(*self.arcs, strict=True))
        bond = ORDERS[(values % SHIFT * 2).astype(np.int32)]  # (E,)
        node_ptr = pointer(np.array(self.sizes, np.int64))
        node: Columns = [(column, _codes(column, values)) for column, _, values in self.atoms]
        aromatic = np.zeros(node_ptr[-1], np.int32)
        sources = edges[0] + np.repeat(node_ptr[:-1], counts)
        aromatic[sources[bond == BOND.categories.index("aromatic")]] = 1  # such atoms have such bonds
        node.insert(self.aromatic_place, (AROMATIC, aromatic))
        node += [(column, _codes(column, values)) for column, _, values in self.bonding]
        if self.positions:
            node.append((POSITION, np.concatenate(self.positions).astype(np.float32)))
        edge: Columns = [(BOND, bond)]
        if self.stereo:
            edge.append((STEREO, (values // SHIFT).astype(np.int32)))
        graph: Columns = [(SMILES, np.array(self.smiles, np.str_))] if self.keep_smiles else []
        if self.strip is not None:
            graph.append((STRIPPED, np.array(self.stripped, np.str_)))
        options: list[tuple[str, Category]] = [("hydrogens", self.hydrogens), ("stereo", self.stereo)]
        options.append(("salts", "keep" if self.strip is None else "strip"))
        options += [("descriptors", True)] if self.descriptors else []
        levels = {"node": node, "edge": edge, "graph": graph}
        columns: Any = {level: tuple(column for column, _ in pairs) for level, pairs in levels.items()}
        arrays: Any = {level: {column.name: v for column, v in pairs} for level, pairs in levels.items()}
        return GraphSet(
            node_ptr,
            pointer(counts),
            edges.astype(np.int32),
            **arrays,
            ids=ids,
            schema=Schema(**columns, options=tuple(options)),
            rejected=rejected,
        )


def _bonds(mol: Any, stereo: bool) -> tuple[IntArray, NDArray[np.float64]]:
    """Each bond once, and what stands for it in the matrix."""
    bonds = mol.GetBonds()
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    values = np.array([bond.GetBondTypeAsDouble() or OTHER for bond in bonds], np.float64)
    if stereo:
        labels = [bond.GetProp("_CIPCode") if bond.HasProp("_CIPCode") else "none" for bond in bonds]
        known = STEREO.categories
        codes = [known.index(label) if label in known else STEREO.unknown for label in labels]
        values += SHIFT * np.array(codes, np.float64)
    return np.array(ends, np.int64).reshape(-1, 2).T, values


def _chirality(atom: Any) -> int:
    label = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else "none"
    return {"R": 1, "S": 2}.get(label, 0)  # pseudo-asymmetric centres (r, s) count as none


def _hybridisation(atom: Any) -> int:
    """The code of an atom's hybridisation, -1 for none; RDKit does not say that of the hydrogens it adds."""
    return 0 if atom.GetAtomicNum() == 1 else int(atom.GetHybridization()) - 1


def _patterns(column: Column) -> list[Any]:
    """What RDKit calls an acceptor or a donor, as patterns of atoms."""
    from rdkit import Chem, RDConfig
    from rdkit.Chem import rdMolChemicalFeatures

    definitions = Path(RDConfig.RDDataDir) / "BaseFeatures.fdef"
    known = rdMolChemicalFeatures.BuildFeatureFactory(str(definitions)).GetFeatureDefs()
    family = column.name.capitalize()
    return [Chem.MolFromSmarts(text) for name, text in known.items() if name.partition(".")[0] == family]


def _codes(column: Column, values: array[int]) -> NDArray[np.generic]:
    """Atomic numbers, charges, counts and flags -> codes; what is outside the categories is unknown."""
    if column.kind == "float":
        return np.array(values, np.float32)
    first = column.categories[0]
    codes = np.array(values, np.int32) - (first if isinstance(first, int) else 0)
    return np.where((codes < 0) | (codes > column.unknown), column.unknown, codes)


def _sanitise(item: Any) -> Any:
    """A sanitised copy of an RDKit molecule, or the molecule of a SMILES; a ValueError says what is wrong."""
    from rdkit import Chem, rdBase

    if isinstance(item, Chem.Mol):
        mol = Chem.Mol(item)
        try:
            Chem.SanitizeMol(mol)
        except (Chem.MolSanitizeException, RuntimeError) as error:
            raise ValueError(f"the molecule cannot be sanitised{_reason(str(error))}") from None
        Chem.AssignStereochemistry(mol, cleanIt=True)
        return mol
    if isinstance(item, Rejected):
        raise ValueError(item.problem)
    if is_missing(item) and not isinstance(item, str):
        raise ValueError("no SMILES: the value is missing")
    if not isinstance(item, str):
        raise ValueError(f"expected a SMILES or an RDKit molecule, got {type(item).__name__}")
    if not item.strip():
        raise ValueError("no SMILES: the text is empty")
    with getattr(rdBase, "CaptureErrorLog", nullcontext)() as log:  # older versions do not tell
        mol = Chem.MolFromSmiles(str(item).strip())
    if mol is None:
        shown = item if len(item) <= 60 else f"{item[:57]}..."
        if item.split()[0].replace("->", "").count(">") == 2:  # an arrow of one bond is dative
            raise ValueError(f"{shown!r} is a reaction, expected a molecule: pass its reactants or products")
        raise ValueError(f"the SMILES {shown!r} does not parse{_reason(getattr(log, 'messages', ''))}")
    return mol


def _reason(said: str) -> str:
    """RDKit's complaint without time stamps and without the SMILES repeated, in brackets."""
    lines = [re.sub(r"^\[[\d:]+\]\s*(SMILES Parse Error: )?", "", line) for line in said.splitlines()]
    what = next((line for line in lines if line.strip()), "")
    what = re.sub(r" (for input|while parsing): .*$", "", what).strip()
    place = re.search(r"around position \d+", said)
    return f" ({what} {place[0]})" if place else f" ({what})" if what else ""


def _quick_parser() -> Callable[[str], Any]:
    """`Chem.MolFromSmiles` without stereochemistry, conjugation and hybridisation, in less time.

    Where stereochemistry is written down, tidying it up may change the number of hydrogens, and hydrogens
    that are atoms are removed: such SMILES take the long way.
    """
    from rdkit import Chem

    flags = Chem.SanitizeFlags
    operations = int(flags.SANITIZE_ALL)
    for name in ("SETCONJUGATION", "SETHYBRIDIZATION", "CLEANUPCHIRALITY", "CLEANUPATROPISOMERS"):
        operations &= ~int(getattr(flags, f"SANITIZE_{name}", 0))
    options: Any = Chem.SmilesParserParams()
    options.sanitize, options.removeHs = False, False
    parse, clean, doubt = Chem.MolFromSmiles, Chem.SanitizeMol, DOUBT.search

    def quick(text: str) -> Any:
        if doubt(text):
            return parse(text)
        mol = parse(text, options)
        try:
            return mol if mol is None or not clean(mol, operations) else None
        except ValueError:  # what RDKit has to say about it is for `_sanitise`
            return None

    return quick


class SaltStripper:
    """Reduces molecules of several pieces to one, by a fixed rule.

    The piece that is kept is the first of this order:
      1. pieces with carbon before pieces without (carbonate, cyanide and the like count as without);
      2. pieces that are no common partner of salts and solvates (`PARTNERS`: citric acid, tosylic acid,
         ethanol ...) before those that are, so that a small drug is kept and its large counter-ion is not;
      3. more heavy atoms before fewer; then the larger mass; then the canonical SMILES that sorts first.

    A molecule of one piece, or of inorganic pieces only, stays as it is. A kept piece with a net charge is
    neutralised where hydrogens can do that (RDKit's `Uncharger`), because the ion that balanced it is gone:
    the sodium salt of an acid becomes the acid; quaternary ammonium keeps its charge, zwitterions theirs.
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
        neutral = self.uncharge(self.chem.RemoveHs(piece))  # hydrogens that are atoms would stay
        self.chem.SanitizeMol(neutral)
        return neutral

"""A molecule's graph -> an RDKit molecule whose atoms know their nodes, and its drawing."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infograph.data.datasets import CATALOGUE, Counts
from infograph.data.graphset import GraphSet
from infograph.data.joining import recode
from infograph.data.molecules import BOND, ELEMENT, SMILES
from infograph.data.schema import Column, Level
from infograph.errors import InvalidParameter
from infograph.look.svg import THUMBNAIL, Theme, circle, document, legend_height, rgb, score_colours, tell
from infograph.notebook import Drawing

LARGEST = 500  # atoms; a larger molecule is drawn, and described, as any other graph
PROPERTIES = {"weight": "g/mol", "logP": "", "TPSA": "Å²"}  # of a molecule, and their units
HALO = 0.42  # radius of a coloured atom, in lengths of a bond
BOND_SHARE, SMALL_BOND = 0.12, 0.18  # a bond is at most this share of a (small) picture: ethane is not huge
HUES = {5: 3, 7: 0, 8: 1, 9: 2, 15: 4, 16: 4, 17: 2, 35: 2, 53: 2}  # element -> place among a theme's hues
JUNK = re.compile(r"<\?xml.*?\?>|<!--.*?-->|<svg.*?>|</svg>| class='[^']*'|\n", re.DOTALL)
PATH = re.compile(r"<path d='([^']*)' ((?:style|fill)='[^']*')\s*/>")
DEFAULTS = re.compile(
    r"(fill-rule:evenodd|fill-opacity:1|stroke-linecap:butt|stroke-linejoin:miter|stroke-miterlimit:10|"
    r"stroke-opacity:1)(;|(?='))"
)
SPACES = re.compile(r"\.0(?!\d)|(?<=[A-Z]) | (?=[A-Z])")
# Which element and which bond a label of a data set is, by the notes of the TU collection.
ATOMS = {
    "MUTAG": ("C N O F I Cl Br", "aromatic single double triple"),
    "PTC_MR": ("In P O N Na C Cl S Br F K Cu Zn I Ba Sn Pb Ca", "triple double single aromatic"),
}
BOND_TYPES = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC", "ZERO")  # of the codes of a bond column


class Molecule(NamedTuple):
    """An RDKit molecule and its nodes: atom a is node `nodes[a]` of the graph."""

    mol: Any
    nodes: tuple[int, ...]


def has_molecules(graphs: GraphSet) -> bool:
    """Whether these graphs have atoms and bonds that RDKit, which is installed, can read."""
    element, bond = graphs.schema.column("node", ELEMENT.name), graphs.schema.column("edge", BOND.name)
    if element is None or bond is None or importlib.util.find_spec("rdkit") is None:
        return False
    pairs = ((element, ELEMENT), (bond, BOND))  # a model's schema may have some of the categories alone
    return all(own.categories and {*own.categories} <= {*usual.categories} for own, usual in pairs)


def molecule_of(graphs: GraphSet, index: int, *, hydrogens: bool = False) -> Molecule:
    """The molecule of one graph, without its hydrogens unless they are asked for.

    Built from atoms and bonds, so that every atom knows its node. Where the graph has a SMILES of the same
    molecule, its stereochemistry is taken over. Hydrogens that RDKit always keeps, such as those of H2, stay.
    Valences that no chemist would accept do not matter: such a molecule has no implicit hydrogens.
    """
    from rdkit import Chem, rdBase

    graph = graphs[index]
    with rdBase.BlockLogs():
        mol = _build(graph)
        if not _sanitise(mol):
            for atom in mol.GetAtoms():
                atom.SetNoImplicit(True)
        if not hydrogens:
            mol = Chem.RemoveHs(mol, sanitize=False)
        mol.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(mol)  # rings, which removing hydrogens forgets
        nodes = tuple(atom.GetIntProp("node") for atom in mol.GetAtoms())
        if "smiles" not in graph.graph:
            return Molecule(mol, nodes)
        told = Chem.MolFromSmiles(str(graph.graph["smiles"][0]))
        same = (
            told is not None and told.GetNumAtoms() == len(nodes) and told.GetNumBonds() == mol.GetNumBonds()
        )
        match = told.GetSubstructMatch(mol) if same else ()  # atom a of `mol` is match[a] of `told`
        if len(match) != len(nodes):
            return Molecule(mol, nodes)
        return Molecule(told, tuple(node for _, node in sorted(zip(match, nodes, strict=True))))


def molecules_of(graphs: GraphSet) -> Iterator[Any]:
    """The RDKit molecules of graphs that `has_molecules`, by their SMILES where they have one."""
    from rdkit import Chem, rdBase

    smiles = graphs.graph.get(SMILES.name)
    with rdBase.BlockLogs():
        for index in range(len(graphs)):
            mol = None if smiles is None else Chem.MolFromSmiles(str(smiles[index]))
            yield molecule_of(graphs, index).mol if mol is None else mol


def formula_of(mol: Any) -> str:
    """Such as C9H8O4."""
    from rdkit.Chem.rdMolDescriptors import CalcMolFormula

    return str(CalcMolFormula(mol))


def properties_of(mol: Any) -> dict[str, float]:
    """What chemists ask of a molecule first, by RDKit, as in PROPERTIES; NaN where it is none to RDKit."""
    from rdkit.Chem import rdMolDescriptors as known

    try:
        found = (known._CalcMolWt(mol), known.CalcCrippenDescriptors(mol)[0], known.CalcTPSA(mol))
        return dict(zip(PROPERTIES, map(float, found), strict=True))
    except (ValueError, RuntimeError):
        return dict.fromkeys(PROPERTIES, float("nan"))


def _build(graph: GraphSet) -> Any:
    """Atoms and bonds as the columns say, not yet sanitised."""
    from rdkit import Chem

    mol = Chem.RWMol()
    for node, number in enumerate(recode(graph, "node", ELEMENT)[0].tolist()):
        atom = Chem.Atom(number if number < ELEMENT.unknown else 0)
        atom.SetIntProp("node", node)
        mol.AddAtom(atom)
    bonds = recode(graph, "edge", BOND)[0].tolist()
    for u, v, code in zip(*graph.edges.tolist(), bonds, strict=True):
        if u < v and mol.GetBondBetweenAtoms(u, v) is None:
            mol.AddBond(u, v, getattr(Chem.BondType, BOND_TYPES[code]))
    for bond in mol.GetBonds():
        if bond.GetBondType() == Chem.BondType.AROMATIC:
            for part in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
                part.SetIsAromatic(True)
    if "charge" not in graph.node:
        _charge(mol)
        return mol
    listed = bool(graph.schema.option("hydrogens"))  # hydrogens are nodes, and there are no others
    counts = graph.values("node", "hydrogens").tolist() if "hydrogens" in graph.node and not listed else None
    for atom, charge in zip(mol.GetAtoms(), graph.values("node", "charge").tolist(), strict=True):
        atom.SetFormalCharge(int(charge or 0))
        atom.SetNoImplicit(listed or counts is not None)
        if counts is not None:
            atom.SetNumExplicitHs(int(counts[atom.GetIdx()] or 0))
    return mol


def _charge(mol: Any) -> None:
    """Nitrogen with four bonds is positive, a single oxygen beside it negative, as in nitro groups."""
    from rdkit import Chem

    for atom in mol.GetAtoms():
        if atom.GetAtomicNum() != 7 or sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            lonely = other.GetAtomicNum() == 8 and other.GetDegree() == 1
            if lonely and bond.GetBondType() == Chem.BondType.SINGLE:
                other.SetFormalCharge(-1)
                break


def _sanitise(mol: Any) -> bool:
    """Whether the molecule makes sense to RDKit; aromatic nitrogens without their hydrogen are given it."""
    from rdkit import Chem

    def makes_sense() -> bool:
        return bool(Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE)

    if makes_sense():
        return True
    nitrogens = [a for a in mol.GetAtoms() if a.GetIsAromatic() and a.GetAtomicNum() == 7]
    for atom in (a for a in nitrogens if a.GetDegree() == 2):
        before = atom.GetNumExplicitHs()
        atom.SetNumExplicitHs(1)
        if makes_sense():
            return True
        atom.SetNumExplicitHs(before)
    return False


def draw_molecule(
    molecule: Molecule,
    size: tuple[int, int],
    theme: Theme,
    *,
    title: str,
    scores: NDArray[np.float64] | None = None,
    meaning: str = "",
) -> Drawing:
    """The molecule as SVG, with a disc behind every atom where there are `scores`, one per node of the graph.

    Nodes that are no atoms of the drawing (hydrogens that it hides) have no colour, and the scale is that of
    the atoms that are drawn.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    width, height = size
    room = legend_height(size, meaning) if scores is not None else 0.0
    drawer = _drawer(width, round(height - room), theme, plain=scores is not None)
    with rdBase.BlockLogs():
        try:  # with single and double bonds where RDKit finds them, as it stands where it does not
            ready = rdMolDraw2D.PrepareMolForDrawing(molecule.mol, kekulize=True, addChiralHs=False)
        except (Chem.MolSanitizeException, ValueError, RuntimeError):
            ready = rdMolDraw2D.PrepareMolForDrawing(molecule.mol, kekulize=False, addChiralHs=False)
        drawer.DrawMolecule(ready)
        drawer.FinishDrawing()
    lines = _compact(JUNK.sub("", drawer.GetDrawingText()))
    if scores is None:
        return document(width, height, theme, title, [lines])
    own = scores[list(molecule.nodes)]
    colours, legend = score_colours(own, size, theme, meaning)
    points = [drawer.GetDrawCoords(atom) for atom in range(len(own))]
    ends = [(points[b.GetBeginAtomIdx()], points[b.GetEndAtomIdx()]) for b in molecule.mol.GetBonds()]
    lengths = sorted(((u.x - v.x) ** 2 + (u.y - v.y) ** 2) ** 0.5 for u, v in ends)
    radius = HALO * (lengths[len(lengths) // 2] if lengths else 30.0)
    discs = []  # not RDKit's highlights: these tell the node and its score when the pointer rests on them
    for atom, node, point, colour in zip(
        molecule.mol.GetAtoms(), molecule.nodes, points, colours, strict=True
    ):
        about = f"{atom.GetSymbol()}, node {node}: {tell(float(scores[node]))}"
        discs.append(circle(point.x, point.y, radius, colour, title=about, more=' class="node"'))
    return document(width, height, theme, title, [*discs, lines, legend])


def _compact(text: str) -> str:
    """RDKit's drawing in a quarter of its characters: one path for all lines, or letters, that look alike."""
    paths: dict[str, list[str]] = {}
    for line, look in PATH.findall(text):
        paths.setdefault(DEFAULTS.sub("", look), []).append(SPACES.sub("", line))
    return "".join(f"<path d='{''.join(lines)}' {look}/>" for look, lines in paths.items()) + PATH.sub(
        "", text
    )


def _drawer(width: int, height: int, theme: Theme, *, plain: bool) -> Any:
    """RDKit's drawing board; `plain` has all letters in the theme's ink, to be read on coloured atoms."""
    from rdkit.Chem.Draw import rdMolDraw2D

    small = min(width, height) < THUMBNAIL
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    inks = {-1: theme.ink} | ({} if plain else {element: theme.hues[at] for element, at in HUES.items()})
    options.setAtomPalette({each: tuple(part / 255 for part in rgb(ink)) for each, ink in inks.items()})
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False
    options.padding = 0.08 if plain else 0.05
    options.fixedBondLength = (SMALL_BOND if small else BOND_SHARE) * min(width, height)
    options.bondLineWidth = 1.0 if small else 1.8
    options.scaleBondWidth = False
    options.minFontSize = 5 if small else 10
    options.maxFontSize = 24
    options.addStereoAnnotation = False
    return drawer


def name_atoms(graphs: GraphSet, dataset: str) -> GraphSet:
    """MUTAG or PTC_MR, or some of its graphs, with columns `element` and `bond` for drawings.

    Encoders do not see the new columns: models that were fitted on the set as it is take these graphs, too.
    """
    if dataset not in ATOMS:
        raise InvalidParameter(f"dataset={dataset!r}: the atoms of {' and '.join(ATOMS)} are known")
    columns: tuple[tuple[Level, Column], ...] = (("node", ELEMENT), ("edge", BOND))
    for (level, column), names in zip(columns, map(str.split, ATOMS[dataset]), strict=True):
        own = graphs.schema.column(level, "label")
        if own is None or own.categories != tuple(range(len(names))):
            raise InvalidParameter(
                f"these graphs are not of {dataset}: expected {len(names)} numbers as {level} column 'label'"
            )
        codes = np.array([column.categories.index(name) for name in names], np.int32)
        labels = getattr(graphs, level)["label"]
        graphs = graphs.with_column(level, replace(column, used=False), codes[labels])
    return graphs


def recognise_atoms(graphs: GraphSet) -> GraphSet:
    """The graphs with atoms named if this is all of MUTAG or PTC_MR; as they came otherwise."""
    if "element" in graphs.node or "label" not in graphs.node or "label" not in graphs.edge:
        return graphs
    counts = Counts.of(graphs)
    known = (entry.name for entry in CATALOGUE if entry.name in ATOMS and entry.counts == counts)
    return next((name_atoms(graphs, name) for name in known), graphs)

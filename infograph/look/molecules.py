"""A molecule's graph -> an RDKit molecule whose atoms know their nodes, and its drawing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.molecules import BOND, ELEMENT
from infograph.errors import MissingExtra
from infograph.look.svg import (
    THUMBNAIL,
    Theme,
    circle,
    document,
    legend_height,
    make_scale,
    scale_legend,
    tell,
)

LARGEST = 500  # atoms; a larger molecule is drawn, and described, as any other graph
HALO = 0.42  # radius of a coloured atom, in lengths of a bond
BOND_SHARE, SMALL_BOND = 0.12, 0.18  # a bond is at most this share of a (small) picture: ethane is not huge
HUES = {5: 3, 7: 0, 8: 1, 9: 2, 15: 4, 16: 4, 17: 2, 35: 2, 53: 2}  # element -> place among a theme's hues
JUNK = re.compile(r"<\?xml.*?\?>|<!--.*?-->|<svg.*?>|</svg>| class='[^']*'|\n", re.DOTALL)


@dataclass(frozen=True)
class Molecule:
    """An RDKit molecule and its nodes: atom a is node `nodes[a]` of the graph."""

    mol: Any
    nodes: tuple[int, ...]


def has_molecules(graphs: GraphSet) -> bool:
    """Whether these graphs have atoms and bonds that RDKit, which is installed, can read."""
    element, bond = graphs.schema.column("node", ELEMENT.name), graphs.schema.column("edge", BOND.name)
    if element is None or bond is None or element.categories != ELEMENT.categories:
        return False
    if bond.categories != BOND.categories:
        return False
    try:
        import rdkit  # noqa: F401
    except ImportError:
        return False
    return True


def molecule_of(graphs: GraphSet, index: int, *, hydrogens: bool = False) -> Molecule:
    """The molecule of one graph, without its hydrogens unless they are asked for.

    Built from atoms and bonds, so that every atom knows its node. Where the graph has a SMILES of the same
    molecule, its stereochemistry is taken over. Hydrogens that RDKit always keeps, such as those of H2, stay.

    Charges that a set does not list are those of its valences: nitrogen with four bonds is positive, a single
    oxygen beside it negative, which is how nitro groups are written. Valences that no chemist would accept
    do not matter: such a molecule is drawn as it stands, without implicit hydrogens.

    Args:
        graphs: molecules, by `has_molecules`.
        index: which.
        hydrogens: whether hydrogens that are nodes stay atoms.

    Raises:
        MissingExtra: RDKit is not installed.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
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
        if "smiles" in graph.graph:
            return _with_stereo(mol, nodes, str(graph.graph["smiles"][0]))
    return Molecule(mol, nodes)


def _build(graph: GraphSet) -> Any:
    """Atoms and bonds as the columns say, not yet sanitised."""
    from rdkit import Chem

    types = (
        Chem.BondType.SINGLE,
        Chem.BondType.DOUBLE,
        Chem.BondType.TRIPLE,
        Chem.BondType.AROMATIC,
        Chem.BondType.ZERO,
    )
    mol = Chem.RWMol()
    charges = graph.values("node", "charge").tolist() if "charge" in graph.node else None
    for node, number in enumerate(graph.node[ELEMENT.name].tolist()):
        atom = Chem.Atom(number if number < ELEMENT.unknown else 0)
        atom.SetIntProp("node", node)
        atom.SetFormalCharge(int((charges[node] if charges else 0) or 0))
        mol.AddAtom(atom)
    source, target = graph.edges
    once = np.flatnonzero(source < target)
    for u, v, code in zip(
        source[once].tolist(), target[once].tolist(), graph.edge[BOND.name][once].tolist(), strict=True
    ):
        if mol.GetBondBetweenAtoms(u, v) is None:
            mol.AddBond(u, v, types[code])
        if types[code] == Chem.BondType.AROMATIC:
            for place in (u, v):
                mol.GetAtomWithIdx(place).SetIsAromatic(True)
            mol.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
    if charges is None:
        _charge(mol)
    else:
        _fix_hydrogens(mol, graph)
    return mol


def _charge(mol: Any) -> None:
    """Charges of nitrogens with four bonds, and of the oxygens beside them."""
    from rdkit import Chem

    for atom in mol.GetAtoms():
        orders = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
        if atom.GetAtomicNum() != 7 or orders != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            lonely = other.GetAtomicNum() == 8 and other.GetDegree() == 1
            if lonely and bond.GetBondType() == Chem.BondType.SINGLE:
                other.SetFormalCharge(-1)
                break


def _fix_hydrogens(mol: Any, graph: GraphSet) -> None:
    """Exactly as many hydrogens as the graph lists; none beyond its nodes where hydrogens are nodes."""
    nodes = bool(graph.schema.option("hydrogens")) or "hydrogens" not in graph.node
    counts = None if nodes else graph.values("node", "hydrogens").tolist()
    if nodes and not graph.schema.option("hydrogens"):
        return  # not known: RDKit fills the valences
    for atom in mol.GetAtoms():
        atom.SetNoImplicit(True)
        if counts is not None:
            atom.SetNumExplicitHs(int(counts[atom.GetIdx()] or 0))


def _sanitise(mol: Any) -> bool:
    """Whether the molecule makes sense to RDKit; aromatic nitrogens without their hydrogen are given it."""
    from rdkit import Chem

    if Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
        return True
    trial = Chem.RWMol(mol)
    for atom in trial.GetAtoms():
        if atom.GetIsAromatic() and atom.GetAtomicNum() == 7 and atom.GetDegree() == 2:
            number = atom.GetIdx()
            before = mol.GetAtomWithIdx(number).GetNumExplicitHs()
            mol.GetAtomWithIdx(number).SetNumExplicitHs(1)
            if Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                return True
            mol.GetAtomWithIdx(number).SetNumExplicitHs(before)
    return False


def _with_stereo(mol: Any, nodes: tuple[int, ...], smiles: str) -> Molecule:
    """The molecule of the SMILES with the nodes of `mol`; `mol` itself where they are not the same."""
    from rdkit import Chem

    told = Chem.MolFromSmiles(smiles)
    if told is None or told.GetNumAtoms() != mol.GetNumAtoms() or told.GetNumBonds() != mol.GetNumBonds():
        return Molecule(mol, nodes)
    match = told.GetSubstructMatch(mol)  # match[a] is the atom of `told` that atom a of `mol` is
    if len(match) != len(nodes):
        return Molecule(mol, nodes)
    order = np.empty(len(match), np.int64)
    order[list(match)] = nodes
    return Molecule(told, tuple(order.tolist()))


def draw_molecule(
    molecule: Molecule,
    size: tuple[int, int],
    theme: Theme,
    *,
    title: str,
    scores: NDArray[np.float64] | None = None,
) -> str:
    """The molecule as SVG.

    Args:
        molecule: its atoms and the nodes they are.
        size: width and height in pixels.
        theme: the page.
        title: what the drawing is called.
        scores: one number per node of the graph. Nodes that are no atoms of the drawing (hydrogens that it
            hides) have no colour, and the scale is that of the atoms that are drawn.
    """
    width, height = size
    room = legend_height(size) if scores is not None else 0.0
    drawer = _drawer(width, round(height - room), theme, plain=scores is not None)
    _draw(drawer, molecule.mol)
    lines = JUNK.sub("", drawer.GetDrawingText())
    if scores is None:
        return document(width, height, theme, title, [lines])
    own = scores[list(molecule.nodes)]
    scale = make_scale(own, theme)
    halos = _halos(drawer, molecule, own, scale.colours(own))
    return document(width, height, theme, title, [*halos, lines, scale_legend(scale, size, theme)])


def _drawer(width: int, height: int, theme: Theme, *, plain: bool) -> Any:
    """RDKit's drawing board; `plain` has all letters in the theme's ink, to be read on coloured atoms."""
    from rdkit.Chem.Draw import rdMolDraw2D

    small = min(width, height) < THUMBNAIL
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    hues = {} if plain else {element: _rgb(theme.hues[place]) for element, place in HUES.items()}
    options.setAtomPalette({-1: _rgb(theme.ink), **hues})
    options.clearBackground = False
    options.padding = 0.08 if plain else 0.05
    options.fixedBondLength = (SMALL_BOND if small else BOND_SHARE) * min(width, height)
    options.bondLineWidth = 1.0 if small else 1.8
    options.scaleBondWidth = False
    options.minFontSize = 5 if small else 10
    options.maxFontSize = 24
    options.addStereoAnnotation = False
    return drawer


def _draw(drawer: Any, mol: Any) -> None:
    """Draw, with single and double bonds where RDKit finds them, as it stands where it does not."""
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    with rdBase.BlockLogs():
        try:
            ready = rdMolDraw2D.PrepareMolForDrawing(mol, kekulize=True, addChiralHs=False)
        except (Chem.MolSanitizeException, ValueError, RuntimeError):
            ready = rdMolDraw2D.PrepareMolForDrawing(mol, kekulize=False, addChiralHs=False)
        drawer.drawOptions().prepareMolsBeforeDrawing = False
        drawer.DrawMolecule(ready)
        drawer.FinishDrawing()


def _halos(drawer: Any, molecule: Molecule, scores: NDArray[np.float64], colours: list[str]) -> list[str]:
    """A coloured disc behind every atom."""
    points = [drawer.GetDrawCoords(atom) for atom in range(len(molecule.nodes))]
    lengths = [
        ((points[u].x - points[v].x) ** 2 + (points[u].y - points[v].y) ** 2) ** 0.5
        for u, v in ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.mol.GetBonds())
    ]
    radius = HALO * (sorted(lengths)[len(lengths) // 2] if lengths else 30.0)
    symbols = [atom.GetSymbol() for atom in molecule.mol.GetAtoms()]
    return [
        circle(
            p.x,
            p.y,
            radius,
            colour,
            title=f"{symbol}, node {node}: {tell(float(score))}",
            more=' class="node"',
        )
        for p, colour, symbol, node, score in zip(
            points, colours, symbols, molecule.nodes, scores, strict=True
        )
    ]


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue

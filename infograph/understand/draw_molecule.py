"""A molecule as chemists draw it, with atoms coloured by scores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.report.palette import Theme
from infograph.understand.molecules import Molecule
from infograph.understand.scale import THUMBNAIL, legend_height, make_scale, scale_legend, tell
from infograph.understand.svg import circle, document

HALO = 0.42  # radius of a coloured atom, in lengths of a bond
BOND, SMALL_BOND = 0.12, 0.18  # a bond is at most this share of a (small) picture: ethane is not huge
HUES = {5: 3, 7: 0, 8: 1, 9: 2, 15: 4, 16: 4, 17: 2, 35: 2, 53: 2}  # element -> place among a theme's hues
JUNK = re.compile(r"<\?xml.*?\?>|<!--.*?-->|<svg.*?>|</svg>| class='[^']*'|\n", re.DOTALL)


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
    options.fixedBondLength = (SMALL_BOND if small else BOND) * min(width, height)
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

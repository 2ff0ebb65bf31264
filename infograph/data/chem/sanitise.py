"""One SMILES or RDKit molecule -> a sanitised molecule, or a sentence on what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from infograph.data.columns import is_missing
from infograph.data.graphset import Rejected


def sanitise(item: Any) -> Any:
    """A sanitised copy of an RDKit molecule, or the molecule of a SMILES.

    Raises:
        ValueError: says what is wrong.
    """
    from rdkit import Chem

    if isinstance(item, Chem.Mol):
        return _clean_copy(item)
    if isinstance(item, Rejected):
        return _refuse(item.problem)
    if is_missing(item):
        return _refuse("no SMILES: the value is missing")
    if not isinstance(item, str):
        return _refuse(f"expected a SMILES or an RDKit molecule, got {type(item).__name__}")
    if not item.strip():
        return _refuse("no SMILES: the text is empty")
    with _complaints() as said:
        mol = Chem.MolFromSmiles(str(item).strip())
    if mol is None:
        shown = item if len(item) <= 60 else f"{item[:57]}..."
        return _refuse(f"the SMILES {shown!r} does not parse{_reason(said)}")
    return mol


DOUBT = re.compile(r"[@/\\\s]|\[\d*H")  # stereochemistry, names and extensions, hydrogens that are atoms


def quick_parser() -> Callable[[str], Any]:
    """`Chem.MolFromSmiles` for the columns that all molecules have, in less time.

    Stereochemistry, conjugation and hybridisation are not looked for: elements, charges, hydrogens,
    aromaticity and bond orders do not depend on them. Where stereochemistry is written down, tidying it up
    may change the number of hydrogens, and hydrogens that are atoms are removed: such SMILES take the long
    way.
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
        except ValueError:  # what RDKit has to say about it is for `sanitise`
            return None

    return quick


def _clean_copy(item: Any) -> Any:
    from rdkit import Chem

    mol = Chem.Mol(item)
    try:
        Chem.SanitizeMol(mol)
    except (Chem.MolSanitizeException, RuntimeError) as error:
        return _refuse(f"the molecule cannot be sanitised{_reason([str(error)])}")
    Chem.AssignStereochemistry(mol, cleanIt=True)
    return mol


def _refuse(problem: str) -> Any:
    raise ValueError(problem)


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What RDKit logs as errors inside the block; nothing where RDKit is too old to tell."""
    from rdkit import rdBase

    said: list[str] = []
    capture = getattr(rdBase, "CaptureErrorLog", None)
    if capture is None:
        yield said
        return
    with capture() as log:
        yield said
    said.append(log.messages)


def _reason(said: list[str]) -> str:
    """RDKit's complaint without time stamps and without the SMILES repeated, in brackets."""
    lines = [re.sub(r"^\[[\d:]+\]\s*", "", line) for line in "\n".join(said).splitlines()]
    lines = [re.sub(r"^SMILES Parse Error: ", "", line) for line in lines if line.strip()]
    if not lines:
        return ""
    what = re.sub(r" (for input|while parsing): .*$", "", lines[0]).strip()
    place = next((m.group() for m in map(re.compile(r"around position \d+").search, lines) if m), "")
    return f" ({what}{' ' + place if place else ''})"

"""Morgan fingerprints of molecules, by RDKit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.errors import InvalidGraph, InvalidParameter, MissingExtra, SchemaMismatch


def morgan_fingerprints(
    graphs: GraphSet, *, radius: int = 2, n_bits: int = 2048, smiles: str = "smiles"
) -> NDArray[np.uint8]:
    """Which circular environments a molecule has, hashed to bits (Rogers and Hahn 2010). (G, n_bits).

    Args:
        graphs: molecules with their SMILES in a graph column.
        radius: bonds from the central atom; 2 is known as ECFP4.
        n_bits: length; 2048 is RDKit's default.
        smiles: the graph column with the SMILES.

    Raises:
        MissingExtra: RDKit is not installed.
        SchemaMismatch: the graphs have no such column.
        InvalidGraph: a SMILES cannot be read.
    """
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdFingerprintGenerator
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    found = graphs.schema.column("graph", smiles)
    if found is None or found.kind == "float":
        have = ", ".join(repr(c.name) for c in graphs.schema.graph) or "none"
        raise SchemaMismatch(
            f"fingerprints need molecules with their SMILES in the graph column {smiles!r}; these graphs "
            f"have: {have}. Read them from SMILES, or name the column with smiles="
        )
    if radius < 0 or n_bits < 1:
        raise InvalidParameter(f"radius={radius}, n_bits={n_bits}: expected at least 0 and at least 1")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=n_bits)
    bits = np.zeros((len(graphs), n_bits), dtype=np.uint8)
    with rdBase.BlockLogs():
        for row, text in enumerate(graphs.values("graph", smiles).tolist()):
            molecule = Chem.MolFromSmiles(text) if text else None
            if molecule is None:
                raise InvalidGraph(
                    f"its SMILES {text!r} cannot be read", index=row, graph_id=graphs.ids[row].item()
                )
            bits[row] = generator.GetFingerprintAsNumPy(molecule)
    return bits

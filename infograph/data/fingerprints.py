"""What RDKit says of molecules by their SMILES: Morgan fingerprints and descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.molecules import rdkit
from infograph.errors import InvalidGraph, InvalidParameter, SchemaMismatch

Features = Literal["bits", "counts", "counts+descriptors"]


def molecule_features(
    graphs: GraphSet, *, features: Features, descriptors: Sequence[str] = (), smiles: str, **morgan: int
) -> NDArray[Any]:
    """Morgan bits or counts, and the descriptors beside them. (G, F)."""
    table = morgan_fingerprints(graphs, smiles=smiles, counts=features != "bits", **morgan)
    return np.hstack([table, rdkit_descriptors(graphs, descriptors, smiles=smiles)]) if descriptors else table


def morgan_fingerprints(
    graphs: GraphSet, *, radius: int = 2, n_bits: int = 2048, smiles: str = "smiles", counts: bool = False
) -> NDArray[np.uint8]:
    """Which circular environments a molecule has, hashed to bits (Rogers and Hahn 2010). (G, n_bits).

    With `counts` how often it has each, at most 255 times.
    """
    generator = rdkit("Chem.rdFingerprintGenerator").GetMorganGenerator(radius=radius, fpSize=n_bits)
    made = np.zeros((len(graphs), n_bits), dtype=np.uint8)
    for row, (_, molecule) in enumerate(_molecules(graphs, smiles)):
        if counts:
            made[row] = np.minimum(generator.GetCountFingerprintAsNumPy(molecule), 255)
        else:
            made[row] = generator.GetFingerprintAsNumPy(molecule)
    return made


def tanimoto(queries: Sequence[str], found: NDArray[Any]) -> NDArray[np.float64]:
    """Tanimoto similarities of the Morgan bits of SMILES. (Q,), (Q, K) -> (Q, K).

    NaN where one of the two cannot be read.
    """
    similarity = rdkit("DataStructs").TanimotoSimilarity
    made = np.full(found.shape, np.nan)
    for row, text in enumerate(queries):
        own = _bits_of(str(text))
        for place, other in enumerate(map(_bits_of, map(str, found[row].tolist()))):
            if own is not None and other is not None:
                made[row, place] = similarity(own, other)
    return made


@lru_cache(maxsize=20_000)
def _bits_of(text: str) -> Any:
    with rdkit("rdBase").BlockLogs():
        molecule = rdkit("Chem").MolFromSmiles(text)
    generator = rdkit("Chem.rdFingerprintGenerator").GetMorganGenerator(radius=2, fpSize=2048)
    return None if molecule is None else generator.GetFingerprint(molecule)


def descriptor_names() -> tuple[str, ...]:
    """RDKit's descriptors, about 210; all but two that take minutes of large molecules, and overflow."""
    every = (name for name, _ in rdkit("Chem.Descriptors").descList)
    return tuple(name for name in every if name not in ("Ipc", "AvgIpc"))


def rdkit_descriptors(
    graphs: GraphSet, names: Sequence[str], *, smiles: str = "smiles"
) -> NDArray[np.float32]:
    """RDKit's descriptors of every molecule, 0 where there is none, at most 1e6. (G, names)."""
    known = dict(rdkit("Chem.Descriptors").descList)
    gone = [name for name in names if name not in known]
    if gone:
        raise InvalidParameter(f"this RDKit has no descriptor {', '.join(gone)}: grow the forest again")
    there = [_descriptors_of(text, tuple(names)) for text, _ in _molecules(graphs, smiles)]
    return np.array(there, np.float32).reshape(len(there), len(names))


@lru_cache(maxsize=20_000)  # 10 ms each: a model and what it is compared with see the same molecules
def _descriptors_of(text: str, names: tuple[str, ...]) -> NDArray[np.float32]:
    molecule, known = rdkit("Chem").MolFromSmiles(text), dict(rdkit("Chem.Descriptors").descList)

    def value(name: str) -> float:
        try:
            return float(known[name](molecule))
        except ZeroDivisionError:  # of molecules without heavy atoms
            return 0.0

    found = np.array([value(name) for name in names], np.float64)
    return np.nan_to_num(found, nan=0.0, posinf=1e6, neginf=-1e6).clip(-1e6, 1e6).astype(np.float32)


def _molecules(graphs: GraphSet, smiles: str) -> Iterator[tuple[str, Any]]:
    Chem = rdkit("Chem")
    found = graphs.schema.column("graph", smiles)
    if found is None or found.kind == "float":
        have = ", ".join(repr(c.name) for c in graphs.schema.graph) or "none"
        raise SchemaMismatch(
            f"fingerprints and descriptors need SMILES in the graph column {smiles!r} (smiles=); these "
            f"graphs have: {have}"
        )
    with rdkit("rdBase").BlockLogs():
        for row, text in enumerate(graphs.values("graph", smiles).tolist()):
            molecule = Chem.MolFromSmiles(text) if text else None
            if molecule is None:
                raise InvalidGraph(
                    f"its SMILES {text!r} cannot be read", index=row, graph_id=graphs.ids[row].item()
                )
            yield text, molecule

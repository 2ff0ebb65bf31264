"""Trains the model `molecules` that the package carries.

    INFOGRAPH_DATA=... python -m pretraining.molecules --work DIR --moses molsets-0.3.1-py3-none-any.whl

Reads `pretraining/chembl.smi.gz` of INFOGRAPH_DATA (ChEMBL 30 and 31), MOSES (data files inside the wheel
`molsets`, which is not installed) and QM9 (`qm9pack`). Molecules of the six MoleculeNet sets, compared
without stereochemistry, are left out. Every step keeps its result in DIR.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from rdkit import Chem, rdBase

from infograph import GraphSet, as_graphset, load_dataset, open_graphs, save_graphs
from infograph.data.moleculenet import MOLECULENET
from infograph.progress import say


def chembl() -> Iterator[str]:
    """ChEMBL's molecules as SMILES."""
    path = Path(os.environ["INFOGRAPH_DATA"]) / "pretraining" / "chembl.smi.gz"
    with gzip.open(path, "rt") as file:
        yield from (line.split()[0] for line in file if line.strip())


def moses(wheel: Path) -> Iterator[str]:
    """Those of MOSES, training and test parts."""
    with zipfile.ZipFile(wheel) as archive:
        for part in ("train", "test", "test_scaffolds"):
            content = gzip.decompress(archive.read(f"moses/dataset/data/{part}.csv.gz")).decode()
            yield from (row["SMILES"] for row in csv.DictReader(io.StringIO(content)))


def flat(smiles: str) -> str:
    """Canonical, without stereochemistry; empty where it cannot be read."""
    molecule = Chem.MolFromSmiles(smiles)
    return "" if molecule is None else str(Chem.MolToSmiles(molecule, isomericSmiles=False))


def evaluated() -> set[str]:
    """Molecules of the six sets, and their largest pieces."""
    known: set[str] = set()
    for name in MOLECULENET:
        for smiles in load_dataset(name).graph["smiles"].tolist():
            whole = flat(smiles)
            known |= {whole, max(whole.split("."), key=len)}
    return known


def collect(wheel: Path, n_moses: int, seed: int = 0) -> list[str]:
    """All molecules, each once, in an order that is drawn."""
    rng = np.random.default_rng(seed)
    drug_like = list(moses(wheel))
    chosen = rng.choice(len(drug_like), min(n_moses, len(drug_like)), replace=False)
    sources: dict[str, Iterable[str]] = {
        "ChEMBL": chembl(),
        "MOSES": (drug_like[place] for place in chosen),
        "QM9": load_dataset("QM9").graph["smiles"].tolist(),
    }
    left_out, found = evaluated(), dict[str, None]()
    for name, each in sources.items():
        before, removed = len(found), 0
        for smiles in each:
            plain = flat(smiles)
            if plain in left_out:
                removed += 1
            elif plain:
                found[plain] = None
        say(f"{name}: {len(found) - before:,} molecules; {removed:,} of the six sets left out")
    every = list(found)
    return [every[place] for place in rng.permutation(len(every))]


def prepared(work: Path, wheel: Path, n_moses: int) -> GraphSet:
    """The molecules as graphs, kept in `work`."""
    folder = work / "graphs"
    if not folder.is_dir():
        work.mkdir(parents=True, exist_ok=True)
        with rdBase.BlockLogs():
            smiles = collect(wheel, n_moses)
            (work / "molecules.smi").write_text("\n".join(smiles) + "\n")
            graphs = as_graphset(smiles, errors="skip", stereo=False)
        say(f"{graphs!r}; {len(graphs.rejected):,} rejected")
        save_graphs(graphs, folder)
    return open_graphs(folder)


def main() -> None:
    """Collect the molecules."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--moses", type=Path, required=True, help="the wheel molsets")
    parser.add_argument("--n-moses", type=int, default=300_000)
    options = parser.parse_args()
    graphs = prepared(options.work, options.moses, options.n_moses)
    say(f"{graphs!r}")


if __name__ == "__main__":
    main()

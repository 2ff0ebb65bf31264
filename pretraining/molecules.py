"""Trains the model `molecules` that the package carries.

    INFOGRAPH_DATA=... python -m pretraining.molecules --work DIR --moses molsets-0.3.1-py3-none-any.whl

Reads `pretraining/chembl.smi.gz` of INFOGRAPH_DATA (ChEMBL 30 and 31), MOSES (data files inside the wheel
`molsets`, which is not installed) and QM9 (`qm9pack`). Molecules of the six MoleculeNet sets, compared
without stereochemistry, are left out. Every step keeps its result in DIR: started again, it goes on from
there. One core of a laptop needs about 20 minutes to describe the molecules and as long for an epoch.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors
from torch import nn

from infograph import (
    GIN,
    GraphSet,
    InfoGraph,
    MutualInformation,
    as_graphset,
    load_dataset,
    open_graphs,
    save_graphs,
)
from infograph.data.datasets import MOLECULENET
from infograph.nn.norm import WeightedBatchNorm
from infograph.objectives.objective import LossTerms
from infograph.progress import say
from infograph.train.loop import Cosine

PART = 20_000  # molecules whose descriptors are kept in one file
PROPERTIES = rdMolDescriptors.Properties()


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


def known_categories(graphs: GraphSet) -> GraphSet:
    """The graphs with the categories that occur in them, so that all others are known to be unknown."""
    for level in ("node", "edge"):
        for column in graphs.schema.features(level):
            there = np.unique(getattr(graphs, level)[column.name])
            kept = replace(column, categories=tuple(column.categories[code] for code in there))
            codes = np.searchsorted(there, getattr(graphs, level)[column.name]).astype(np.int32)
            graphs = graphs.with_column(level, kept, codes)
    return graphs


def describe(smiles: str) -> list[float]:
    """What RDKit computes of a molecule's structure in compiled code: 121 numbers."""
    molecule = Chem.MolFromSmiles(smiles)
    by_atoms = (rdMolDescriptors.SlogP_VSA_, rdMolDescriptors.SMR_VSA_, rdMolDescriptors.PEOE_VSA_)
    parts = (PROPERTIES.ComputeProperties, *by_atoms, rdMolDescriptors.MQNs_)
    return [value for part in parts for value in part(molecule)]


def descriptors(work: Path, smiles: list[str]) -> NDArray[np.float32]:
    """Logarithms of all descriptors, standardised and cut off at five deviations. (G, about 120)."""
    parts = []
    for start in range(0, len(smiles), PART):
        path = work / f"descriptors-{start}.npy"
        if not path.is_file():
            np.save(path, np.array([describe(each) for each in smiles[start : start + PART]], np.float32))
        parts.append(np.load(path))
    found = np.concatenate(parts).astype(np.float64)
    found = np.sign(found) * np.log1p(np.abs(found))
    found = found[:, found.std(0) > 1e-6]
    return np.clip((found - found.mean(0)) / found.std(0), -5, 5).astype(np.float32)


@dataclass
class Described(MutualInformation):
    """Mutual information, and a linear head on the graph's vector that gives back its descriptors."""

    table: Any = None  # (G, F), one row per graph that is trained on
    information: float = 0.1

    def build(self, encoder: Any) -> nn.ModuleDict:
        made = super().build(encoder)
        made["norm"] = WeightedBatchNorm(encoder.dim)
        made["head"] = nn.Linear(encoder.dim, self.table.shape[1])
        return made

    def loss(self, net: Any, batch: Any) -> LossTerms:
        states = net.encoder(batch)
        vectors = net.encoder.vectors(states, batch)
        found = net.local_global(states, vectors, batch)
        colours = net.colours(vectors, batch)
        wanted = torch.from_numpy(self.table[batch.distinct])
        missed = (net.head(net.norm(vectors, batch.copies)) - wanted).square().mean()
        shown = {"mi": found.information, "accuracy": found.accuracy, "colours": colours, "missed": missed}
        return LossTerms(self.information * found.loss + self.colours * colours + missed, shown)


def main() -> None:
    """Collect the molecules, train, and save the encoder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--moses", type=Path, required=True, help="the wheel molsets")
    parser.add_argument("--n-moses", type=int, default=300_000)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    graphs = known_categories(prepared(options.work, options.moses, options.n_moses))
    say(f"{graphs!r}")
    table = descriptors(options.work, graphs.graph["smiles"].tolist())
    encoder = GIN(readout="log")
    goal = Described("infonce", "conditioned", colours=1.0, max_patches=8, table=table)
    model = InfoGraph(512, encoder, goal, epochs=options.epochs, schedule=Cosine(), verbose=True)
    checkpoint = options.work / "checkpoint"
    model.fit(graphs, checkpoint=checkpoint, resume=checkpoint.is_dir())
    plain = InfoGraph(512, encoder, "auto")
    plain.prepare(graphs[:2])
    plain.network_["encoder"] = model.network_["encoder"].eval()
    plain.history_ = model.history_
    saved = plain.save_encoder(options.work / "molecules", graphs[:50_000])
    (saved / "README.md").write_text(Path(__file__).with_name("card.md").read_text())


if __name__ == "__main__":
    main()

"""A CSV of your own: SMILES, measured values with gaps, a unit, a salt, a repeated molecule, a bad row.

python examples/my_molecules.py [epochs]

The values here are molar refractivities as RDKit computes them, so that the example needs no download.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
from rdkit.Chem import Crippen, MolFromSmiles

import infograph
from infograph import AtomCounts, FingerprintForest, InfoGraphRegressor, MeanPredictor, read_graphs
from infograph.data.read import place_of

RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "C1CCNCC1", "c1ccc2ccccc2c1", "C1CCOC1", "c1ccoc1"]
RINGS += ["C1CCC1", "C1CCCC1", "c1cnccn1", "c1ccc2occc2c1", "C1COCCN1", "c1cscn1", "C1CC1", "C1CCOCC1"]
GROUPS = ["C", "CC", "N", "CCCC", "Br", "CCO", "N#C", "CC(=O)", "FC(F)(F)", "OC(=O)"]


def refractivity(smiles: str) -> float:
    """What stands in for a measurement, in cm3/mol."""
    return float(Crippen.MolMR(MolFromSmiles(smiles)))


def write_table(path: Path) -> None:
    """What a chemist might bring."""
    rows = [[f"{group}{ring}", f"{refractivity(group + ring):.2f}"] for ring in RINGS for group in GROUPS]
    for row in rows[1::2]:
        row[1] = ""  # half of them were never measured
    rows.append(["CCNc1ccccc1.Cl", f"{refractivity('CCNc1ccccc1'):.2f}"])  # a hydrochloride
    rows.append(["C1CCCCC1C", f"{refractivity('C1CCCCC1C') + 0.5:.2f}"])  # once more, another value
    rows.insert(7, ["c1ccccc", "12.00"])  # a ring that is never closed
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["smiles", "refractivity [cm3/mol]"], *rows])


def main(epochs: int = 10) -> None:
    """Read, clean, split by scaffold, train, predict, save and load."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder) / "mine.csv")
        graphs = read_graphs(Path(folder) / "mine.csv", label="refractivity", errors="skip", salts="strip")
        for rejected in graphs.rejected:
            print("left out, {}: {}".format(*place_of(rejected)))
        graphs, report = infograph.resolve_duplicates(graphs, "y", rule="median")
        print(report)
        for group in report.groups:
            print(group.smiles, *group.values["y"], "->", group.resolved["y"])

        split = infograph.scaffold_split(graphs, (0.7, 0.15, 0.15), target="y")
        print(split)
        train, validation, test = (graphs[part] for part in (split.train, split.validation, split.test))
        model = InfoGraphRegressor(epochs=epochs, dim=64, lr=2e-3).fit(train, validation=(validation, None))
        unit, measured = model.target_units_[0], test.graph["y"]

        references = {"mean of the labelled": MeanPredictor(), "counts of atoms": AtomCounts()}
        references["fingerprint forest"] = FingerprintForest()
        for name, other in {**references, "InfoGraph*": model}.items():
            predicted = (other if other is model else other.fit(train)).predict(test)
            print(f"{name:21} error on new scaffolds {np.abs(predicted - measured).mean():.2f} {unit}")

        loaded = infograph.load(model.save(Path(folder) / "model"))
        new = loaded.predict(["CCCCc1ccccc1", "Oc1ccccc1"])
        print(f"after loading: butylbenzene {new[0]:.1f} {unit}, phenol {new[1]:.1f} {unit}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

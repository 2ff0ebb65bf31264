"""Six sets of MoleculeNet (Wu et al. 2018) by name: molecules with measured values.

| set      | molecules | tasks                            | usual figure | MoleculeNet's split |
|----------|----------:|----------------------------------|--------------|---------------------|
| ESOL     |     1,128 | log10 of solubility in mol/L     | RMSE         | random              |
| FreeSolv |       642 | hydration free energy, kcal/mol  | RMSE         | random              |
| BACE     |     1,513 | inhibitor or not                 | ROC-AUC      | scaffold            |
| ClinTox  |     1,478 | approved, failed by toxicity     | ROC-AUC      | random              |
| SIDER    |     1,427 | 27 groups of side effects        | ROC-AUC      | random              |
| Tox21    |     7,831 | 12 assays, with gaps             | ROC-AUC      | random              |

Three splits are in use, and figures of one say nothing of another: `random_split`, `scaffold_split`
(balanced) and `deterministic_scaffold_split` (the order of DeepChem and OGB).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column
from infograph.data.units import LABEL
from infograph.errors import InvalidFile

FOLDER = "moleculenet"  # below a folder of data sets, where the files may be


@dataclass(frozen=True)
class MoleculeSet:
    """A file of molecules, and what it must hold."""

    files: tuple[str, ...]  # names of the file, as chemprop and DeepChem publish it
    molecules: int
    tasks: int
    url: str
    target: tuple[str, ...] = ()  # the column of a single task by its names in these files
    unit: str = ""

    def find(self, folder: Path) -> Path | None:
        """The file in a folder of data sets, or in its folder `moleculenet`."""
        places = (
            where / f"{name}{packed}"
            for where in (folder, folder / FOLDER)
            for name in self.files
            for packed in ("", ".gz")
        )
        return next((path for path in places if path.is_file()), None)

    def read(self, path: Path) -> GraphSet:
        """The molecules; a single task is the graph column `y`, several have their own names."""
        from infograph.data.read import read_graphs

        graphs = read_graphs(path, errors="skip", stereo=False)  # some SMILES of Tox21 do not parse
        names = [column.name for column in graphs.schema.graph if column.name not in IGNORED]
        if self.tasks == 1:
            own = next((name for name in names if name in self.target), "")
            names = [own] if own else []
        rows = len(graphs) + len(graphs.rejected)
        if rows != self.molecules or len(names) != self.tasks:
            raise InvalidFile(
                f"{path} has {rows:,} molecules and {len(names)} tasks instead of {self.molecules:,} and "
                f"{self.tasks}. Replace or remove it"
            )
        smiles = graphs.schema.column("graph", "smiles")
        kept = {"smiles": graphs.graph["smiles"]}
        columns = [] if smiles is None else [smiles]
        for name in names:
            title = LABEL if self.tasks == 1 else name
            kept[title] = graphs.values("graph", name).astype(np.float64)
            columns.append(Column(title, "float", unit=self.unit))
        return replace(graphs, graph=kept, schema=graphs.schema.replace("graph", columns))


IGNORED = {"smiles", "mol_id", "stripped", "id"}
_DEEPCHEM = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
MOLECULENET = {
    "ESOL": MoleculeSet(
        ("delaney.csv", "delaney-processed.csv"),
        1_128,
        1,
        f"{_DEEPCHEM}/delaney-processed.csv",
        ("logp", "measured log solubility in mols per litre"),
        "log(mol/L)",
    ),
    "FreeSolv": MoleculeSet(
        ("freesolv.csv", "SAMPL.csv"), 642, 1, f"{_DEEPCHEM}/SAMPL.csv", ("freesolv", "expt"), "kcal/mol"
    ),
    "BACE": MoleculeSet(("bace.csv",), 1_513, 1, f"{_DEEPCHEM}/bace.csv", ("Class",)),
    "ClinTox": MoleculeSet(("clintox.csv",), 1_478, 2, f"{_DEEPCHEM}/clintox.csv.gz"),
    "SIDER": MoleculeSet(("sider.csv",), 1_427, 27, f"{_DEEPCHEM}/sider.csv.gz"),
    "Tox21": MoleculeSet(("tox21.csv",), 7_831, 12, f"{_DEEPCHEM}/tox21.csv.gz"),
}

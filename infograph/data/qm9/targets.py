"""The twelve targets of QM9 with their units; energies in other units and relative to free atoms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, SchemaMismatch

# Target -> its column in the CSV files.
HEADERS: Mapping[str, str] = {
    "mu": "Dipole_debye",
    "alpha": "Polarizability_bohr3",
    "homo": "HOMO_au",
    "lumo": "LUMO_au",
    "gap": "HOMO_LUMO_gap_au",
    "r2": "R2_bohr2",
    "zpve": "ZPVE_au",
    "U0": "InternalEnergy_0K_au",
    "U": "InternalEnergy_298K_au",
    "H": "Enthalphy_298K_au",
    "G": "GibbsFreeEnergy_298K_au",
    "Cv": "Heatcapacity_Cv_cal_mol_K",
}
UNITS: Mapping[str, str] = {"mu": "D", "alpha": "bohr^3", "r2": "bohr^2", "Cv": "cal/(mol K)"}
TARGETS = tuple(Column(name, "float", unit=UNITS.get(name, "hartree")) for name in HEADERS)

# One hartree in other units (CODATA 2018).
HARTREE: Mapping[str, float] = {
    "hartree": 1.0,
    "eV": 27.211386245988,
    "kcal/mol": 627.5094740631,
    "kJ/mol": 2625.4996394799,
}
# Energies of free atoms in hartree at the level of QM9 (B3LYP/6-31G(2df,p); Ramakrishnan et al. 2014, file
# `atomref.txt`): at 0 K, and at 298.15 K as internal energy, enthalpy and free energy.
ATOM_ENERGIES: Mapping[str, Mapping[str, float]] = {
    "U0": {"H": -0.500273, "C": -37.846772, "N": -54.583861, "O": -75.064579, "F": -99.718730},
    "U": {"H": -0.498857, "C": -37.845355, "N": -54.582445, "O": -75.063163, "F": -99.717314},
    "H": {"H": -0.497912, "C": -37.844411, "N": -54.581501, "O": -75.062219, "F": -99.716370},
    "G": {"H": -0.510927, "C": -37.861317, "N": -54.598897, "O": -75.079532, "F": -99.733544},
}


def in_units(graphs: GraphSet, unit: str) -> GraphSet:
    """The same graphs with all their energies in `unit`; the schema says so.

    Energies are the graph columns whose unit is an energy: of QM9 homo, lumo, gap, zpve, U0, U, H and G.

    Args:
        graphs: graphs with energies as graph columns.
        unit: "hartree", "eV", "kcal/mol" or "kJ/mol".

    Raises:
        InvalidParameter: another unit was asked for.
    """
    if unit not in HARTREE:
        raise InvalidParameter(f"units={unit!r}: energies come in {', '.join(HARTREE)}")
    columns: dict[str, NDArray[Any]] = dict(graphs.graph)
    described: list[Column] = []
    for column in graphs.schema.graph:
        if column.unit in HARTREE and column.unit != unit:
            columns[column.name] = columns[column.name] * (HARTREE[unit] / HARTREE[column.unit])
            column = replace(column, unit=unit)
        described.append(column)
    return replace(graphs, graph=columns, schema=graphs.schema.replace("graph", described))


def atomisation_energies(graphs: GraphSet) -> GraphSet:
    """The same graphs with U0, U, H and G minus the energies of their atoms when these are free.

    What is left is what the bonds are worth, three orders of magnitude smaller than the total, and negative.

    Raises:
        SchemaMismatch: the graphs are not QM9's: a column is missing, or there are other elements.
    """
    element = graphs.schema.column("node", "element")
    targets = {name: graphs.schema.column("graph", name) for name in ATOM_ENERGIES}
    missing = [name for name, column in targets.items() if column is None or column.unit not in HARTREE]
    if element is None or missing:
        raise SchemaMismatch(
            f"atomisation energies need the node column 'element' and the graph columns U0, U, H and G in "
            f"{' or '.join(HARTREE)}; {', '.join(missing) or 'element'} is missing or in another unit"
        )
    codes = graphs.node["element"]
    present = [element.categories[code] if code < element.unknown else None for code in np.unique(codes)]
    strange = [symbol for symbol in present if symbol not in ATOM_ENERGIES["U0"]]
    if strange:
        raise SchemaMismatch(
            f"no free-atom energy of {strange[0] or 'an unknown element'}: QM9 has H, C, N, O and F only"
        )
    columns: dict[str, NDArray[Any]] = dict(graphs.graph)
    for name, column in targets.items():
        per_code = np.zeros(element.unknown)
        for symbol, energy in ATOM_ENERGIES[name].items():
            per_code[element.categories.index(symbol)] = energy * HARTREE[column.unit if column else ""]
        free = np.bincount(graphs.node_graph, weights=per_code[codes], minlength=len(graphs))  # (G,)
        columns[name] = columns[name] - free
    return replace(graphs, graph=columns)

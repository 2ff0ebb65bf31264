"""Units of columns, from their headers or from the user; and columns named with or without their unit.

A header may end in its unit, in round or square brackets: "logS [mol/L]", "Tm (°C)". All words in the
brackets must be symbols of units, so that "logP (octanol/water)" and "activity (mean)" have none. The whole
header stays the column's name, because "Tm (K)" and "Tm (°C)" are two columns; whoever names a column may
leave the unit out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema, no_column
from infograph.errors import InvalidParameter

LABEL = "y"  # the graph column of labels, as in the benchmark sets
# A, C, N, P, U, W, d and e are left out: in brackets they are more often anything else.
PREFIXES = ("", "f", "p", "n", "u", "µ", "μ", "m", "c", "d", "k")
WITH_PREFIX = "g m s K M L l mol molar J cal eV V bar Ha Pa Hz Da"
OTHERS = """
MJ MeV MPa GPa MHz GHz THz MDa % wt% vol% mol% ppm ppb °C °F °K degC degF deg ° rad min h hr hrs day days year
years sec atm mmHg Torr torr psi cP cSt D Debye debye IU units au Å \u212b Angstrom angstrom Ångström Hartree
hartree Eh Bohr bohr
"""
SYMBOLS = {prefix + symbol for prefix in PREFIXES for symbol in WITH_PREFIX.split()} | set(OTHERS.split())
WORD = re.compile(r"(?:[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]|[°%])+")  # letters; digits, powers and signs stand between
PHASES = ("g", "l", "s")  # in round brackets: gas, liquid, solid; "(s)" is a plural, too
BRACKETS = {"]": "[", ")": "("}


def split_header(header: str) -> tuple[str, str]:
    """A header as name and unit; the unit is empty, and the name the whole header, where there is none.

    "logS [mol/L]" -> ("logS", "mol/L"), "value(s)" -> ("value(s)", "").
    """
    text = header.strip()
    closing, opening = text[-1:], BRACKETS.get(text[-1:], "")
    starts = [n for n, sign in enumerate(text) if sign == opening]
    start = max((n for n in starts if text.count(opening, n) == text.count(closing, n)), default=0)
    stem, unit = text[:start].rstrip(" _"), text[start + 1 : -1].strip()
    words = {word for word in WORD.findall(unit) if word not in ("log", "ln", "lg")}
    phase = closing == ")" and unit in PHASES
    return (stem, unit) if stem and words and not phase and words <= SYMBOLS else (header, "")


def with_unit(name: str, unit: str) -> str:
    """A column's name with its unit behind it, unless the name ends in one."""
    return name if not unit or split_header(name)[1] else f"{name} [{unit}]"


def match_name(names: Iterable[str], wanted: str) -> str | None:
    """The name that is meant: `wanted` itself, or the only one that is `wanted` with a unit behind it."""
    names = list(names)
    if wanted in names:
        return wanted
    found = [name for name in names if split_header(name)[1] and split_header(name)[0] == wanted.strip()]
    if len(found) > 1:
        raise InvalidParameter(f"{wanted!r} is one of {found}: name the column with its unit")
    return found[0] if found else None


def graph_column(schema: Schema, name: str) -> Column:
    """The graph column of a name, which may leave the unit out: "logS" finds "logS [mol/L]"."""
    found = match_name((column.name for column in schema.graph), name)
    column = None if found is None else schema.column("graph", found)
    if column is None:
        raise no_column(schema, "graph", name)
    return column


def with_units(graphs: GraphSet, units: Mapping[str, str], label: str | None = None) -> GraphSet:
    """`graphs` whose graph columns of numbers know their units: the user's, else those of their headers.

    `label` is what the column `y` was called in its file.
    """
    for name, unit in units.items():
        if not isinstance(unit, str) or not unit.strip():
            raise InvalidParameter(f"units: {unit!r} for {name!r}; expected a text such as 'mol/L'")
    names = [column.name for column in graphs.schema.graph]

    def column_of(name: str) -> str:
        own = label if LABEL in names else None
        if own is not None and (match_name([own], name) or split_header(name)[0] == own):
            return LABEL
        found = match_name(names, name)
        if found is None:
            raise InvalidParameter(f"units: there is no graph column {name!r}, only {names}")
        return found

    chosen = {column_of(name): unit.strip() for name, unit in units.items()}
    columns = []
    for column in graphs.schema.graph:
        header = label if column.name == LABEL and label is not None else column.name
        if column.kind == "float":
            unit = chosen.get(column.name) or column.unit or split_header(header)[1]
            column = replace(column, unit=unit)
        elif column.name in chosen and any(graphs.values("graph", column.name)):
            raise InvalidParameter(f"units: the column {header!r} holds no numbers, and so has no unit")
        columns.append(column)
    return replace(graphs, schema=graphs.schema.replace("graph", columns))

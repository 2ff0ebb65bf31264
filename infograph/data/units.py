"""Units of columns, from their headers or from the user; and columns named with or without their unit.

A header may end in its unit: "logS [mol/L]", "Tm (°C)", "gap [kcal/mol]". The brackets must hold something
that is spelled like a unit, so that "logP (octanol/water)" and "activity (mean)" have none. The whole header
stays the column's name, because "Tm (K)" and "Tm (°C)" are two columns; whoever names a column may leave the
unit out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter, SchemaMismatch

LABEL = "y"  # the graph column of labels, as in the benchmark sets
# A, C, N, P, U, W, d and e are left out: in brackets they are more often anything else.
PREFIXES = ("", "f", "p", "n", "u", "µ", "μ", "m", "c", "d", "k")
WITH_PREFIX = "g m s K M L l mol molar J cal eV V bar Ha Pa Hz Da"
OTHERS = """
MJ MeV MPa GPa MHz GHz THz MDa % wt% vol% mol% ppm ppb °C °F °K degC degF deg ° rad min h hr hrs day days year
years sec atm mmHg Torr torr psi cP cSt D Debye debye IU U/L U/mL mU/L mU/mL units au a.u. Å \u212b A^3
Angstrom angstrom Ångström Hartree hartree Eh Bohr bohr a0
"""
SYMBOLS = {prefix + symbol for prefix in PREFIXES for symbol in WITH_PREFIX.split()} | set(OTHERS.split())
PHASES = ("g", "l", "s")  # in round brackets: gas, liquid, solid; "(s)" is a plural, too
FACTOR = re.compile(r"(?P<symbol>.+?)(?:\^?\(?[-−+]?\d\)?|[⁻⁺]?[¹²³⁴⁵⁶⁷⁸⁹])?")
NUMBER = re.compile(r"1|1?0?[eE^]?[-−]?\d{1,2}|10[⁻⁺]?[¹²³⁴⁵⁶⁷⁸⁹]+")
LOGARITHM = re.compile(r"-?(?:log|log10|log2|lg|ln)(?:\s*\((?P<inner>.+)\)| (?P<bare>.+))")
BRACKETS = {"]": "[", ")": "("}


def split_header(header: str) -> tuple[str, str]:
    """A header as name and unit; the unit is empty, and the name the whole header, where there is none.

    "logS [mol/L]" -> ("logS", "mol/L"), "value(s)" -> ("value(s)", "").
    """
    text = header.strip()
    start = _opening(text)
    stem, unit = text[:start].rstrip(" _"), text[start + 1 : -1].strip()
    phase = text.endswith(")") and unit in PHASES
    return (header, "") if not stem or phase or not is_unit(unit) else (stem, unit)


def is_unit(text: str) -> bool:
    """Whether a text is spelled like a unit: known symbols, their powers, products, quotients, logarithms."""
    logarithm = LOGARITHM.fullmatch(text)
    if logarithm:
        return is_unit(logarithm["inner"] or logarithm["bare"])
    if text in SYMBOLS:
        return True
    factors = [part.strip("()") for part in re.split(r"\s*[/·⋅*]\s*|\s+", text.replace("**", "^"))]
    if len(factors) > 1 and NUMBER.fullmatch(factors[0]):
        factors = factors[1:]
    return all(map(_is_factor, factors))


def _is_factor(text: str) -> bool:
    found = FACTOR.fullmatch(text)
    return text in SYMBOLS or (found is not None and found["symbol"] in SYMBOLS)


def _opening(text: str) -> int:
    """Where the bracket opens that closes at the end of a text; 0 where there is none."""
    if not text or text[-1] not in BRACKETS:
        return 0
    closing, opening, depth = text[-1], BRACKETS[text[-1]], 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == closing) - (text[place] == opening)
        if not depth:
            return place
    return 0


def match_name(names: Iterable[str], wanted: str) -> str | None:
    """The name that is meant: `wanted` itself, or the only one that is `wanted` with a unit behind it.

    Raises:
        InvalidParameter: several names are `wanted` with a unit.
    """
    names = list(names)
    if wanted in names:
        return wanted
    found = [name for name in names if split_header(name)[1] and split_header(name)[0] == wanted.strip()]
    if len(found) > 1:
        raise InvalidParameter(f"{wanted!r} is one of {found}: name the column with its unit")
    return found[0] if found else None


def graph_column(schema: Schema, name: str) -> Column:
    """The graph column of a name, which may leave the unit out: "logS" finds "logS [mol/L]".

    Raises:
        SchemaMismatch: there is none.
        InvalidParameter: there are several.
    """
    found = match_name((column.name for column in schema.graph), name)
    column = None if found is None else schema.column("graph", found)
    if column is None:
        have = ", ".join(repr(column.name) for column in schema.graph) or "none"
        raise SchemaMismatch(f"no graph column {name!r}; the graphs have: {have}")
    return column


def with_units(graphs: GraphSet, units: Mapping[str, str], label: str | None = None) -> GraphSet:
    """`graphs` whose graph columns of numbers know their units: the user's, else those of their headers.

    Args:
        graphs: the graphs.
        units: column -> unit; a column may be named without the unit in its header.
        label: what the column `y` was called in its file.

    Raises:
        InvalidParameter: a column does not exist, or does not hold numbers; or a unit is no text.
    """
    chosen = {_target(graphs, name, label): _checked(name, unit) for name, unit in units.items()}
    columns = []
    for column in graphs.schema.graph:
        header = label if column.name == LABEL and label is not None else column.name
        unit = chosen.get(column.name) or column.unit or split_header(header)[1]
        if column.kind == "float":
            column = replace(column, unit=unit)
        elif column.name in chosen and _holds_something(graphs, column):
            raise InvalidParameter(
                f"units: the column {header!r} holds {_content(column)}, no numbers, and so has no unit"
            )
        columns.append(column)
    return replace(graphs, schema=graphs.schema.replace("graph", columns))


def _target(graphs: GraphSet, name: str, label: str | None) -> str:
    """The graph column that `units` means by a name."""
    names = [column.name for column in graphs.schema.graph]
    if label is not None and LABEL in names and name in (label, split_header(label)[0]):
        return LABEL
    if label is not None and LABEL in names and split_header(name)[0] == label:
        return LABEL
    found = match_name(names, name)
    if found is None:
        raise InvalidParameter(f"units: there is no graph column {name!r}, only {names}")
    return found


def _checked(name: str, unit: str) -> str:
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidParameter(f"units: {unit!r} for {name!r}; expected a text such as 'mol/L'")
    return unit.strip()


def _holds_something(graphs: GraphSet, column: Column) -> bool:
    values = graphs.graph[column.name]
    return bool(np.any(values != ("" if column.kind == "text" else column.unknown)))


def _content(column: Column) -> str:
    return "classes" if column.name == LABEL else "texts" if column.kind == "text" else "categories"

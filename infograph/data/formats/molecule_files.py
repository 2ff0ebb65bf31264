"""Files of nothing but molecules: `.smi` and SDF -> GraphSet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from infograph.data.formats.molecule_tables import SMILES_NAMES, chosen_column, parse_ids, rows_to_graphs
from infograph.data.formats.reading import ReadOptions, read_text
from infograph.data.graphset import GraphSet, Rejected
from infograph.errors import InvalidFile, MissingExtra


def read_smi(path: Path, options: ReadOptions) -> GraphSet:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""
    rows = list(smi_rows(read_text(path).split("\n")))
    ids = [row.id for row in rows]
    return rows_to_graphs(
        path,
        [row.smiles for row in rows],
        ids=parse_ids(ids) if any(ids) else None,
        columns={},
        place=lambda index: f"line {rows[index].line}",
        options=options,
    )


class SmiRow(NamedTuple):
    """A line of a `.smi` file: its number, counted from 1, and what stands in it; texts may be empty."""

    line: int
    smiles: str
    id: str


def smi_rows(lines: Iterable[str]) -> Iterator[SmiRow]:
    """The rows of a `.smi` file: a header and blank lines at the end are none."""
    waiting: list[SmiRow] = []
    for number, line in enumerate(lines, start=1):
        parts = line.split(maxsplit=1)
        if number == 1 and parts and parts[0].casefold() in SMILES_NAMES:
            continue
        if not parts:
            waiting.append(SmiRow(number, "", ""))
            continue
        yield from waiting
        yield SmiRow(number, parts[0], parts[1].strip() if len(parts) > 1 else "")
        waiting = []


def read_sdf(path: Path, options: ReadOptions) -> GraphSet:
    """An SDF file: properties become graph columns, titles the ids unless `id` names a property."""
    records = list(_records(path, options))
    mols = [mol for _, _, mol, _ in records]
    names = list(dict.fromkeys(name for *_, properties in records for name in properties))
    columns = {name: [properties.get(name, "") for *_, properties in records] for name in names}
    titles = [title for _, title, _, _ in records]
    label = chosen_column(names, options.label, "label", path)
    id_column = chosen_column(names, options.id, "id", path)
    ids = columns[id_column] if id_column else titles
    if id_column and id_column != label:
        del columns[id_column]
    return rows_to_graphs(
        path,
        mols,
        ids=parse_ids(ids) if any(ids) else None,
        columns=columns,
        place=lambda index: f"record {index + 1} (line {records[index][0]})",
        options=options,
        label=label,
    )


def _records(path: Path, options: ReadOptions) -> Iterator[tuple[int, str, Any, dict[str, str]]]:
    """Of every record its first line's number, title, molecule (or what is wrong with it) and properties."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    text = read_text(path)
    if "M  END" not in text:
        raise InvalidFile(f"{path} is truncated or no SDF file: it has no line 'M  END'")
    line = 1
    for record in re.split(r"^\$\$\$\$.*\n?", text, flags=re.MULTILINE):
        if record.strip():
            problem = _broken(record)
            if problem and options.errors == "raise":
                raise InvalidFile(f"{path}, line {line}: {problem}")
            block = record.partition("M  END")[0] + "M  END\n"
            with rdBase.BlockLogs():
                mol = Chem.MolFromMolBlock(block, removeHs=False)
                mol = mol or Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
            bad = problem or (None if mol else "no readable molecule block")
            title = record.partition("\n")[0].strip()
            yield line, title, Rejected(0, 0, bad) if bad else mol, _properties(record)
        line += record.count("\n") + 1


def _broken(record: str) -> str | None:
    """What is wrong with the ends of a record, so that it does not hold just one molecule."""
    ends = len(re.findall(r"^M  END", record, flags=re.MULTILINE))
    if not ends:
        return "the record is cut off, it has no line 'M  END'"
    return None if ends == 1 else f"{ends} molecules in one record: the lines '$$$$' between them are missing"


def _properties(record: str) -> dict[str, str]:
    found = re.findall(r"^>.*?<([^>\n]+)>.*\n((?:.+\n?)*)", record, flags=re.MULTILINE)
    return {name: value.strip() for name, value in found}

"""Files of nothing but molecules: `.smi` and SDF -> GraphSet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infograph.data.formats.molecule_tables import SMILES_NAMES, chosen_column, parse_ids, rows_to_graphs
from infograph.data.formats.reading import ReadOptions, read_text
from infograph.data.graphset import GraphSet, Rejected
from infograph.errors import InvalidFile, MissingExtra


def read_smi(path: Path, options: ReadOptions) -> GraphSet:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""
    lines = read_text(path).rstrip().split("\n")
    header = lines[0].strip() != "" and lines[0].split()[0].casefold() in SMILES_NAMES
    rows = [(*line.split(maxsplit=1), "", "")[:2] for line in lines[header:]]
    smiles = [row[0] for row in rows]
    ids = [row[1].strip() for row in rows]
    return rows_to_graphs(
        path,
        smiles,
        ids=parse_ids(ids) if any(ids) else None,
        columns={},
        place=lambda index: f"line {index + 1 + header}",
        options=options,
    )


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

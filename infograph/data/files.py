"""A path or a name -> GraphSet: finds out what a file is, and hands it to the reader of that kind."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from infograph.data.assemble import Errors, check_errors
from infograph.data.chem.salts import Salts
from infograph.data.formats.reading import LABEL, ReadOptions
from infograph.data.graphset import GraphSet
from infograph.data.networks import Choice
from infograph.data.progress import Progress
from infograph.data.qm9.targets import HARTREE, atomisation_energies, in_units
from infograph.data.schema import Schema
from infograph.data.storage import MARKER, open_graphs
from infograph.data.units import graph_column, with_units
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    SchemaMismatch,
    UnknownDataset,
)

SMILES_FILES = (".smi", ".smiles")
SDF_FILES = (".sdf", ".sd", ".mol")
TABLES = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
KNOWN = (
    "a saved GraphSet, a TU folder or zip, .smi, .csv / .tsv / .parquet with a SMILES column, .sdf, .jsonl, "
    ".graphml, .gexf, .edgelist / .edges / .txt / .csv edge lists, or a folder of such networks"
)


def read_graphs(
    source: str | Path,
    *,
    errors: Errors = "raise",
    schema: Schema | None = None,
    smiles: str | None = None,
    id: str | None = None,
    label: str | None = None,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    directed: bool = False,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    units: Mapping[str, str] | None = None,
    energies: str | None = None,
    atomisation: bool = False,
    download: bool = False,
    progress: Progress | None = None,
) -> GraphSet:
    """Read graphs from a file, a folder, a data set's name, or a SMILES.

    By extension, also with `.gz` behind it: `.smi` (a SMILES and an id per line), `.csv`, `.tsv` and
    `.parquet` (with a SMILES column; the other columns become graph columns), `.sdf` (properties become graph
    columns), `.jsonl` (`infograph.data.formats.json_lines` shows a line), `.graphml`, `.gexf`, edge lists
    (`.edgelist`, `.edges`, `.txt`, or a `.csv` without SMILES). By content: a folder written by
    `save_graphs`, a folder or zip of the TU collection, a folder of networks, one per file, with labels in
    `labels.csv`. A text that is no path is a data set of the catalogue, or else one SMILES.

    Args:
        source: the path, name or SMILES.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model; the graphs are read its way.
        smiles: the column with the SMILES; found by its name otherwise.
        id: the column, SDF property or JSON key with the user's ids; found by its name otherwise, if all its
            values are given and different. The position otherwise.
        label: the column that becomes the graph column `y`; whole numbers and texts become categories. It may
            be named without the unit in its header, like every column.
        node, edge: attributes of networks to keep, or columns of stored sets that encoders see.
        weight: the edge attribute that multiplies messages.
        directed: whether edge lists, and JSON lines that do not say, are directed.
        hydrogens: whether the hydrogens of molecules become nodes; None as `schema` says, else no.
        stereo: whether the encoder sees stereochemistry; None as `schema` says, else no.
        salts: "keep" all pieces of molecules, or "strip" counter-ions and solvents and list them in the graph
            column `stripped` (`infograph.data.chem.salts.SaltStripper` has the rule); None as `schema` says,
            else "keep".
        units: {column: unit} of graph columns of numbers; otherwise the unit at the end of a header such as
            "logS [mol/L]" or "Tm (K)".
        energies: the unit that graph columns of energies shall have: "hartree", "eV", "kcal/mol", "kJ/mol".
        atomisation: whether U0, U, H and G of QM9's molecules are relative to the free atoms.
        download: whether a data set of the catalogue may be fetched where it is not on this machine.
        progress: called while a data set is downloaded or parsed for the first time, see `load_dataset`.

    Raises:
        FileMissing: there is no such file.
        InvalidFile: a file is truncated, empty, or not what its extension says.
        InvalidGraph: a graph cannot be used; the message names it, the file and the line.
        UnknownDataset: the text is no file, no data set and no SMILES.
    """
    check_errors(errors)
    options = ReadOptions(
        errors=errors,
        schema=schema,
        smiles=smiles,
        id=id,
        label=label,
        node=node,
        edge=edge,
        weight=weight,
        directed=directed,
        hydrogens=hydrogens,
        stereo=stereo,
        salts=salts,
        units=units or {},
    )
    graphs = with_units(
        _checked(_read(source, options, download, progress), source, options), options.units, label
    )
    graphs = atomisation_energies(graphs) if atomisation else graphs
    return graphs if energies is None else _in_units(graphs, energies)


def _in_units(graphs: GraphSet, unit: str) -> GraphSet:
    if not any(column.unit in HARTREE for column in graphs.schema.graph):
        raise InvalidParameter(
            f"energies={unit!r}: no graph column is an energy in {', '.join(HARTREE)}; units= says what a "
            f"column is in"
        )
    return in_units(graphs, unit)


def _read(source: str | Path, options: ReadOptions, download: bool, progress: Progress | None) -> GraphSet:
    if not str(source).strip():
        raise FileMissing("an empty path; expected " + KNOWN)
    path = _home(Path(source))
    try:
        if path.is_dir():
            return _read_folder(path, options)
        if path.is_file():
            return _read_file(path, options)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    if isinstance(source, Path):
        raise FileMissing(f"{path} does not exist; expected {KNOWN}")
    return _read_text(source, options, download, progress)


def _read_text(text: str, options: ReadOptions, download: bool, progress: Progress | None) -> GraphSet:
    """A text that is no path: a data set of the catalogue, or one SMILES. Nothing is sent of any other."""
    from infograph.data.sets.catalogue import unknown as unknown_name
    from infograph.data.sets.registry import load_dataset

    try:
        return _select(load_dataset(text, download=None if download else False, progress=progress), options)
    except UnknownDataset as unknown:
        shown = repr(text if len(text) <= 60 else f"{text[:60]}...")
        try:
            from infograph.data.chem.molecules import from_molecules

            given = {name: getattr(options, name) for name in ("schema", "hydrogens", "stereo", "salts")}
            return from_molecules([text], **given)
        except InvalidGraph as error:
            smiles = f"no SMILES either ({error.problem})"
        except MissingExtra as error:
            smiles = f"not read as a SMILES ({error})"
        if Path(text).suffix or len(Path(text).parts) > 1:
            raise FileMissing(
                f"{text} does not exist, and is {smiles}; expected {KNOWN}, a data set's name, or a SMILES"
            ) from unknown
        raise UnknownDataset(f"{shown} is no file or folder, {smiles}, and {unknown_name(text)}") from unknown


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # of a user who does not exist
        return path


def _checked(graphs: GraphSet, source: str | Path, options: ReadOptions) -> GraphSet:
    """`graphs`, once it is clear that they have the label and the weight that were asked for."""
    if options.label is not None and graphs.schema.column("graph", LABEL) is None:
        have = ", ".join(repr(column.name) for column in graphs.schema.graph) or "none"
        raise SchemaMismatch(f"no graph column {options.label!r} in {source}; the graphs have: {have}")
    if options.weight is not None and options.schema is None and graphs.schema.weight is None:
        have = ", ".join(repr(column.name) for column in graphs.schema.edge) or "none"
        raise SchemaMismatch(
            f"no edge column {options.weight!r} in {source} that could be a weight; the edges have: {have}"
        )
    return graphs


def _read_folder(path: Path, options: ReadOptions) -> GraphSet:
    from infograph.data.formats.network_files import LABELS, network_files, read_networks

    if (path / MARKER).is_file():
        return _select(open_graphs(path), options)
    if any(path.rglob("*_graph_indicator.txt")) or (path / f"{path.name}_A.txt").is_file():
        from infograph.data.tu.read import read_tu

        return _select(read_tu(path), options)
    files = network_files(path)
    if not files:
        raise InvalidFile(f"the folder {path} holds no graphs; expected {KNOWN}")
    labels = path / LABELS
    return read_networks(files, options, labels if labels.is_file() else None)


def _read_file(path: Path, options: ReadOptions) -> GraphSet:
    from infograph.data.formats import molecule_files, molecule_tables
    from infograph.data.formats.json_lines import read_json_lines
    from infograph.data.formats.network_files import EDGE_LISTS, XML, kind, read_networks

    extension = kind(path)
    if extension == ".zip":
        from infograph.data.tu.read import read_tu

        return _select(read_tu(path), options)
    if extension in SMILES_FILES:
        return molecule_files.read_smi(path, options)
    if extension in SDF_FILES:
        return molecule_files.read_sdf(path, options)
    if extension == ".parquet" or (extension in TABLES and molecule_tables.is_molecule_table(path, options)):
        return molecule_tables.read_molecule_table(path, options)
    if extension in JSON_LINES:
        return read_json_lines(path, options)
    if extension in (*XML, *EDGE_LISTS):
        return read_networks([path], options)
    raise InvalidFile(
        f"{path}: files of the kind {extension or 'without extension'!r} are not read; expected {KNOWN}"
    )


def _select(graphs: GraphSet, options: ReadOptions) -> GraphSet:
    """A stored set in which encoders see the chosen columns."""
    schema = graphs.schema.select("node", _names(options.node)).select("edge", _names(options.edge))
    if options.weight is not None:
        schema = schema.select("edge", [*(c.name for c in schema.features("edge")), options.weight])
        column = schema.column("edge", options.weight)
        if column is not None and (column.kind, column.width) != ("float", 1):
            raise SchemaMismatch(
                f"the edge column {options.weight!r} cannot be a weight: it holds no numbers"
            )
        roles = (replace(c, role="weight") if c.name == options.weight else c for c in schema.edge)
        schema = schema.replace("edge", roles)
    graphs = replace(graphs, schema=schema)
    if options.label is None:
        return graphs
    column = graph_column(schema, options.label)
    return graphs.with_column("graph", replace(column, name=LABEL), graphs.graph[column.name])


def _names(choice: Choice) -> Iterable[str] | None:
    return [choice] if isinstance(choice, str) else choice

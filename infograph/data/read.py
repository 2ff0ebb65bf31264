"""A path or a name -> GraphSet: what a file is, what its cells mean, and which rows could not be read."""

from __future__ import annotations

import csv
import errno
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from infograph.data.columns import column_names, edge_columns
from infograph.data.convert import from_objects, is_table
from infograph.data.graphset import MARKER, GraphSet, Rejected, open_graphs
from infograph.data.qm9 import HARTREE, atomisation_energies, in_units
from infograph.data.records import Choice, Errors, Salts
from infograph.data.records import ReadOptions as ReadOptions
from infograph.data.schema import Schema, no_column
from infograph.data.text_tables import kind as kind
from infograph.data.units import LABEL, graph_column, with_units
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    SchemaMismatch,
    UnknownDataset,
)
from infograph.io import replaced_file
from infograph.progress import OnProgress

SMILES_FILES = (".smi", ".smiles")
SDF_FILES = (".sdf", ".sd", ".mol")
TABLES = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
KNOWN = (
    "a saved GraphSet, a TU folder or zip, .smi, .csv / .tsv / .parquet with a SMILES column or with graph, "
    "source and target of edges, .sdf, .jsonl, .graphml, .gexf, .gml, .net, .g6, .edgelist / .edges / .txt / "
    ".csv edge lists, or a folder of networks"
)
SKIP = "; errors='skip' leaves such graphs out"
NODES = "nodes= is for tables of edges, with columns graph, source and target"
HEADER = ("place", "position", "id", "problem")
PLACE = re.compile(
    r"(line \d+|row \d+(?: of [^:]+)?|record \d+ \(line \d+\)|file [^:]+): (.*)", flags=re.DOTALL
)


def read_graphs(
    source: Any,
    *,
    errors: Errors = "raise",
    schema: Schema | None = None,
    smiles: str | None = None,
    id: str | None = None,
    label: str | None = None,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    nodes: Any = None,
    directed: bool = False,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    units: Mapping[str, str] | None = None,
    energies: str | None = None,
    atomisation: bool = False,
    download: bool = False,
    progress: OnProgress | None = None,
) -> GraphSet:
    """Read graphs from a file, a folder, a data set's name, a SMILES, or whatever `as_graphset` takes.

    By extension, also with `.gz` behind it: `.smi` (a SMILES and an id per line), `.csv`, `.tsv` and
    `.parquet` (with a SMILES column; the other columns become graph columns), `.sdf` (properties become graph
    columns), `.jsonl` (`infograph.data.network_files` shows a line), `.graphml`, `.gexf`, edge lists
    (`.edgelist`, `.edges`, `.txt`, or a `.csv` without SMILES), the edges of many graphs (`.csv`, `.tsv` or
    `.parquet` with columns graph, source and target). By content: a folder written by
    `save_graphs`, a folder or zip of the TU collection, a folder of networks, one per file, with labels in
    `labels.csv`. A text that is no path is a data set of the catalogue, or else one SMILES.

    Cells of text files are numbers where all of a column are; columns of Parquet are what their type says.
    DataFrames and Arrow tables are read as Parquet is; the index of pandas is the ids, unless it counts rows.

    Args:
        source: the path, name, SMILES, table or graphs.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model; the graphs are read its way.
        smiles: the column with the SMILES; found by its name otherwise.
        id: the column, SDF property or JSON key with the user's ids; found by its name otherwise, if all its
            values are given and different. The position otherwise. Of a table of edges, the column of graphs.
        label: the column that becomes the graph column `y`; whole numbers and texts become categories. It may
            be named without the unit in its header, like every column.
        node, edge: attributes of networks to keep, or columns of stored sets that encoders see.
        weight: the edge attribute that multiplies messages.
        nodes: the nodes of a table of edges: a table, or the path of one, with columns graph and node, and
            attributes. It says which nodes there are, those without edges too, and in which order.
        directed: whether edge lists and tables, and JSON lines that do not say, are directed.
        hydrogens: whether the hydrogens of molecules become nodes; None as `schema` says, else no.
        stereo: whether the encoder sees stereochemistry; None as `schema` says, else no.
        salts: "keep" all pieces of molecules, or "strip" counter-ions and solvents and list them in the graph
            column `stripped` (`infograph.data.molecules.SaltStripper` has the rule); None as `schema` says,
            else "keep".
        units: {column: unit} of graph columns of numbers; otherwise the unit at the end of a header such as
            "logS [mol/L]" or "Tm (K)".
        energies: the unit that graph columns of energies shall have: "hartree", "eV", "kcal/mol", "kJ/mol".
        atomisation: whether U0, U, H and G of QM9's molecules are relative to the free atoms.
        download: whether a data set of the catalogue may be fetched where it is not on this machine.
        progress: called while QM9 is parsed for the first time, see `load_dataset`.
    """
    options = ReadOptions(
        errors=errors,
        schema=schema,
        smiles=smiles,
        id=id,
        label=label,
        node=node,
        edge=edge,
        weight=weight,
        nodes=nodes,
        directed=directed,
        hydrogens=hydrogens,
        stereo=stereo,
        salts=salts,
        units=units or {},
    )
    try:
        graphs = read(source, options, download=download, progress=progress)
    except InvalidGraph as bad:
        if bad.index is None or "errors='skip'" in bad.problem:
            raise
        raise InvalidGraph(bad.problem + SKIP, index=bad.index, graph_id=bad.graph_id) from bad
    graphs = atomisation_energies(graphs) if atomisation else graphs
    if energies is None:
        return graphs
    if not any(column.unit in HARTREE for column in graphs.schema.graph):
        raise InvalidParameter(f"energies={energies!r}: no graph column is an energy in {', '.join(HARTREE)}")
    return in_units(graphs, energies)


def read(
    source: Any, options: ReadOptions, *, download: bool = False, progress: OnProgress | None = None
) -> GraphSet:
    """`read_graphs` with its options as one object."""
    of_path = isinstance(source, str | Path)
    table = kind(Path(source)) in (*TABLES, ".parquet") if of_path else is_table(source)
    if options.nodes is not None and not table:
        raise InvalidParameter(NODES)
    if of_path:
        graphs = _read_path(source, options, download, progress)
    elif table:
        from infograph.data.tables import read_table

        graphs = read_table(source, options)
    else:
        graphs = _with_label(from_objects(source, options), options)
    if options.label is not None and graphs.schema.column("graph", LABEL) is None:
        raise no_column(graphs.schema, "graph", options.label)
    if options.weight is not None and options.schema is None and graphs.schema.weight is None:
        raise no_column(graphs.schema, "edge", options.weight)
    return with_units(graphs, options.units, options.label)


def _read_path(
    source: str | Path, options: ReadOptions, download: bool, progress: OnProgress | None
) -> GraphSet:
    if not str(source).strip():
        raise FileMissing("an empty path; expected " + KNOWN)
    path, graphs = Path(source), None
    with suppress(RuntimeError):  # of a user who does not exist
        path = path.expanduser()
    try:
        graphs = _read_folder(path, options) if path.is_dir() else _read_file(path, options)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    if graphs is None and isinstance(source, Path):
        raise FileMissing(f"{source} does not exist; expected {KNOWN}")
    return _read_name(str(source), options, download, progress) if graphs is None else graphs


def _read_name(text: str, options: ReadOptions, download: bool, progress: OnProgress | None) -> GraphSet:
    """A text that is no path: a data set of the catalogue, or one SMILES. Nothing is sent of any other."""
    from infograph.data.datasets import load_dataset
    from infograph.data.molecules import from_molecules

    try:
        return _select(load_dataset(text, download=None if download else False, progress=progress), options)
    except UnknownDataset as error:
        unknown = error
    try:
        return from_molecules([text], **{**options.of_molecules, "errors": "raise"})
    except InvalidGraph as error:
        smiles = f"no SMILES either ({error.problem})"
    except MissingExtra as error:
        smiles = f"not read as a SMILES ({error})"
    if Path(text).suffix or len(Path(text).parts) > 1:
        raise FileMissing(f"{text} does not exist, and is {smiles}; expected {KNOWN}") from unknown
    shown = repr(text if len(text) <= 60 else f"{text[:60]}...")
    raise UnknownDataset(f"{shown} is no file or folder, {smiles}, and {unknown}") from unknown


def _read_folder(path: Path, options: ReadOptions) -> GraphSet:
    from infograph.data.network_files import LABELS, NETWORKS, network_files, read_networks
    from infograph.data.tu import read_tu

    if (path / MARKER).is_file():
        return _select(open_graphs(path), options)
    if any(path.rglob("*_graph_indicator.txt")) or (path / f"{path.name}_A.txt").is_file():
        return _select(read_tu(path), options)
    files = network_files(path)
    if not any(kind(file) in NETWORKS for file in files):
        raise InvalidFile(f"the folder {path} holds no graphs; expected {KNOWN}")
    for file in (file for file in files if kind(file) in TABLES):
        if _has_molecules(file, options):
            raise InvalidFile(
                f"{file} holds molecules, and the files of a folder are a network each: read such files one "
                f"by one, or together by infograph.scale.store_graphs (infograph store)"
            )
    return read_networks(files, options, path / LABELS)


def _has_molecules(file: Path, options: ReadOptions) -> bool:
    from infograph.data.tables import has_smiles

    with suppress(InvalidFile):  # which is said where the file is read
        return has_smiles(column_names(file), options)
    return False


def _read_file(path: Path, options: ReadOptions) -> GraphSet | None:
    """The one place that says which reader an ending has."""
    from infograph.data.edge_tables import read_edge_file
    from infograph.data.network_files import NETWORKS, read_json_lines, read_networks
    from infograph.data.tables import is_molecule_table, read_molecules
    from infograph.data.tu import read_tu

    if not path.is_file():
        return None
    ending = kind(path)
    table = ending in (*TABLES, ".parquet")
    if ending in (*SMILES_FILES, *SDF_FILES) or (table and is_molecule_table(path, options)):
        return read_molecules(path, options)
    if table:
        graph = (edge_columns(column_names(path)) or (None,))[0]
        many = graph is not None or options.nodes is not None or options.id is not None
        if ending == ".parquet" or many:
            return read_edge_file(path, options)
    if ending in JSON_LINES:
        return read_json_lines(path, options)
    if ending in NETWORKS:
        return read_networks([path], options)
    if ending == ".zip":
        return _select(read_tu(path), options)
    if ending in SPREADSHEETS:
        raise InvalidFile(
            f"{path}: spreadsheets are not read: export the sheet as CSV, or pass what pandas.read_excel "
            f"gives"
        )
    shown = repr(ending or "without extension")
    raise InvalidFile(f"{path}: files of the kind {shown} are not read; expected {KNOWN}")


def _select(graphs: GraphSet, options: ReadOptions) -> GraphSet:
    """A stored set in which encoders see the chosen columns."""
    schema = graphs.schema.select("node", options.node).select("edge", options.edge)
    if options.weight is not None:
        schema = schema.select("edge", [*(c.name for c in schema.features("edge")), options.weight])
        column = schema.column("edge", options.weight)
        if column is not None and (column.kind, column.width) != ("float", 1):
            raise SchemaMismatch(f"the edge column {options.weight!r} cannot be a weight: no numbers")
        roles = (replace(c, role="weight") if c.name == options.weight else c for c in schema.edge)
        schema = schema.replace("edge", roles)
    return _with_label(replace(graphs, schema=schema), options)


def _with_label(graphs: GraphSet, options: ReadOptions) -> GraphSet:
    """The same graphs, of which the column that was named is the label."""
    if options.label is None:
        return graphs
    column = graph_column(graphs.schema, options.label)
    return graphs.with_column("graph", replace(column, name=LABEL), graphs.graph[column.name])


def place_of(rejected: Rejected) -> tuple[str, str]:
    """Where a rejected input stands in its file, such as "line 7" ("" without one), and what is wrong."""
    found = PLACE.fullmatch(rejected.problem)
    return ("", rejected.problem) if found is None else (found[1], found[2])


def write_rejected(graphs: GraphSet, path: str | Path) -> Path:
    """Write what `errors="skip"` left out to a CSV file; only a header says that all was well.

    Columns: `place` (the line of a CSV, TSV, SMILES or JSON file, the row of a Parquet file, the record and
    its line in an SDF file), `position` among the inputs, counted from 0, the user's `id`, the `problem`.

    Do it before the set is sliced: parts of a set do not know what was left out.
    """
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for rejected in graphs.rejected:
            place, problem = place_of(rejected)
            writer.writerow([place, rejected.index, rejected.graph_id, problem])
    return Path(path)

"""What a user may get wrong when graphs are read: the call, the exception, and a word of what is said."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import torch
from rdkit import Chem
from torch_geometric.data import Data

from infograph import (
    GraphSet,
    as_graphset,
    concatenate,
    load_dataset,
    open_graphs,
    random_split,
    read_graphs,
    resolve_duplicates,
    save_graphs,
    scaffold_split,
    semi_supervised_split,
    to_pyg,
    write_rejected,
)
from infograph.data.molecules import from_molecules
from infograph.data.qm9 import atomisation_energies, in_units, read_qm9
from infograph.data.read import ReadOptions
from infograph.data.schema import Column
from infograph.data.units import match_name
from infograph.data.vectors import Embeddings, read_embeddings, write_embeddings
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    SchemaMismatch,
    UnknownDataset,
)
from infograph.scale.shards import find_shards, read_blocks
from tests.data.equal import told

ENDINGS = ("smi", "csv", "tsv", "parquet", "sdf", "jsonl", "graphml", "gexf", "edgelist", "txt")
GARBAGE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe"
TWO_BLOCKS = "".join(Chem.MolToMolBlock(Chem.MolFromSmiles(each)) for each in ("CC", "CCO")).encode()
FILES: list[tuple[str, bytes, dict[str, Any], type[Exception], str]] = [
    ("a.docx", b"x", {}, InvalidFile, "kind '.docx' are not read"),
    ("a.csv", b'smiles,note\nCC,x\nCO,"cut of', {}, InvalidFile, "line 3: not a table, or truncated"),
    ("a.csv", b"smiles,note\n", {}, InvalidFile, "has a header and no rows"),
    ("a.csv", b"smiles,smiles\nC,C\n", {}, InvalidFile, "two columns of one name"),
    ("a.csv", b"smiles,v\nC,1\n", {"smiles": "x"}, InvalidFile, "no SMILES column among ['smiles', 'v']"),
    ("a.csv", b"smiles,v\nC,1\n", {"label": "x"}, InvalidParameter, "label='x': "),
    ("a.csv", b"smiles,v\nC,1\n", {"id": "x"}, InvalidParameter, "id='x': "),
    ("a.csv", b"name,value,more\nx,1,2\n", {}, InvalidFile, "no SMILES column among ['name', 'value'"),
    ("a.csv", b"CCO,1\nCC,2\n", {}, InvalidFile, "or add a header such as smiles,value"),
    ("a.csv", b"smiles,v\nC,1\n", {"units": {"x": "K"}}, InvalidParameter, "there is no graph column 'x'"),
    ("a.csv", b"smiles,v\nC,1\n", {"units": {"v": " "}}, InvalidParameter, "expected a text such as"),
    ("a.csv", b"smiles,v\nC,1\n", {"units": {"smiles": "K"}}, InvalidParameter, "holds no numbers"),
    ("a.csv", b"smiles,v\nC,1\n", {"label": "v", "units": {"v": "K"}}, InvalidParameter, "'v' holds no"),
    ("a.csv", b"smiles,v\nC,1\n", {"energies": "eV"}, InvalidParameter, "no graph column is an energy"),
    ("a.csv", b"smiles,v\nC,1\n", {"errors": "ignore"}, InvalidParameter, "errors='ignore'"),
    ("a.csv", b"smiles,v\nC,1\n", {"salts": "remove"}, InvalidFile, "salts='remove'"),
    ("a.smi", b"hello\nworld\n", {"errors": "skip"}, InvalidFile, "all 2 were rejected"),
    ("a.smi", b"\nCCO a\n", {}, InvalidGraph, "line 1: no SMILES"),
    ("a.smi", b"CCO>>CC=O a\n", {}, InvalidGraph, "line 1: 'CCO>>CC=O' is a reaction, expected a molecule"),
    ("a.csv", b"smiles\nCC>O>CCl\n", {}, InvalidGraph, "line 2: 'CC>O>CCl' is a reaction, expected a"),
    ("a.smi", b"CCO\n", {"label": "class"}, InvalidParameter, "class"),
    ("a.smi", b"CCO\n", {"weight": "strength"}, SchemaMismatch, "strength"),
    ("a.smi", b"C\nC\0C\n", {}, InvalidFile, "line 2 holds zero bytes"),
    ("a.smi", b"C\n\xff\n", {}, InvalidFile, "not a text file in UTF-8"),
    ("a.smi.gz", gzip.compress(b"C\n" * 999, mtime=0)[:-9], {}, InvalidFile, "truncated or no gzip file"),
    ("a.parquet", b"PAR1 and nothing else", {}, InvalidFile, "damaged or no Parquet file"),
    ("a.sdf", b"smiles\nCC\n", {}, InvalidFile, "no SDF file"),
    ("a.sdf", TWO_BLOCKS, {}, InvalidFile, "2 lines 'M  END'"),
    ("a.jsonl", b'{"nodes": 2, "y": 1}', {"label": "class"}, SchemaMismatch, "class"),
    (
        "a.jsonl",
        b'{"nodes": 2, "edges": [[0, 1]]}',
        {"weight": "w"},
        SchemaMismatch,
        "attribute 'w' is missing",
    ),
    ("a.jsonl", b'{"nodes": 2}', {"id": "key"}, InvalidGraph, "there is no 'key'"),
    ("a.edges", b"0 1 {'w': 3\n", {}, InvalidFile, "line 1: \"{'w': 3\" is no dictionary"),
    ("a.edges", b"# nothing\n", {}, InvalidFile, "holds no edges and no nodes"),
    ("a.edges", b"source,target\n1,2\n,3\n", {}, InvalidFile, "line 3: ',3' is no edge"),
    *((f"a.{kind}", content, {}, InvalidFile, f"a.{kind}") for kind in ENDINGS for content in (b"", GARBAGE)),
]


@pytest.mark.parametrize(("name", "content", "options", "error", "words"), FILES)
def test_files(
    tmp_path: Path, name: str, content: bytes, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error) as raised:
        read_graphs(tmp_path / name, **options)
    assert words in str(raised.value)
    streamed = name.split(".")[1] in ("smi", "csv", "tsv", "parquet") and not options and "rows" not in words
    if streamed and error is InvalidFile:
        with pytest.raises(error) as again:
            list(read_blocks(find_shards(tmp_path / name)[0], 5, ReadOptions(), ()))
        assert str(again.value) == str(raised.value)


def archive(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("T_A.txt", text)
        file.writestr("T_graph_indicator.txt", "1\n1\n")
    return packed.getvalue()


def latin_parquet() -> bytes:
    offsets = np.array([0, 1, 2], np.int32).tobytes()
    cells = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"C\xff")])
    out = io.BytesIO()
    parquet.write_table(pa.table({"smiles": ["C", "C"], "note": cells}), out)
    return out.getvalue()


def blob_parquet() -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table({"smiles": ["C", "C"], "note": [b"\xff", b"a"]}), out)
    return out.getvalue()


OF_THE_FUTURE = archive("1, 2\n").replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\x63")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", b'{"nodes": 1000000000}', "line 1: 'nodes' is more than 10,000,000"),
        ("a.jsonl", b'{"nodes": 1' + b"0" * 30 + b"}", "line 1: 'nodes' is more than 10,000,000"),
        ("a.jsonl", b'{"nodes": 2, "id": "\\uD800"}', "line 1: half a character"),
        ("a.edges", b"0 1\n0 1 {'w': " + b"-" * 100_000 + b"1}", "line 2: \"{'w': ---"),
        ("a.edges", b"0 1 {'w': '\\ud800'}", "half a character"),
        ("a.net", b"*vertices 1000000000", "a.net is truncated or no net file: it ends before"),
        ("a.s6", b":~~?_?????\n", "no s6 file: it has more than 10,000,000 nodes"),
        ("a.parquet", blob_parquet(), "a.parquet: the column 'note' holds bytes that are no text in UTF-8"),
        ("a.graphml.gz", gzip.compress(b"<graphml/>", mtime=0)[:10] + b"\xff" * 20, "no graphml file"),
        ("a.parquet", latin_parquet(), "a.parquet is damaged or no Parquet file: Column 1"),
        ("a.zip", OF_THE_FUTURE, "a.zip is no zip file (zip file version 9.9)"),
    ],
)
def test_hostile_files(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((InvalidFile, InvalidGraph)) as raised:
        read_graphs(tmp_path / name)
    assert words in str(raised.value)


def network(text: str = "a", **graph: str) -> nx.Graph:
    made = nx.path_graph(3)
    made.graph.update(graph)
    nx.set_node_attributes(made, text, "kind")
    return made


@pytest.mark.parametrize(
    "call",
    [
        lambda **how: as_graphset([network(), network()], ids=["\ud800", "b"], **how),
        lambda **how: as_graphset([network(note="\ud800"), network(note="b")], **how),
        lambda **how: as_graphset([network("\ud800"), network()], **how),
        lambda **how: as_graphset(["C", "CC"], ids=["\udfff", "b"], **how),
        lambda **how: as_graphset(["\ud800C", "CC"], **how),
    ],
)
def test_half_characters_cost_their_own_row(tmp_path: Path, call: Any) -> None:
    with pytest.raises(InvalidGraph, match=r"graph 0.*: half a character .* replace it"):
        call()
    graphs = call(errors="skip")
    assert len(graphs) == 1 and "half a character" in graphs.rejected[0].problem
    write_rejected(graphs, tmp_path / "rejected.csv")  # the id as its code


def test_half_characters_of_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = as_graphset(["C", "CC"])
    with pytest.raises(InvalidParameter, match="'ids' holds half a character"):
        as_graphset(graphs, ids=["\ud800", "b"])
    note = np.array(["a", "\ud800"])
    for column, values in (
        (Column("note", "text"), note),
        (Column("note", "categorical", categories=tuple(note.tolist())), np.arange(2)),
    ):
        spoiled = graphs.with_column("graph", column, values)
        with pytest.raises(InvalidParameter, match="'note' holds half a character"):
            save_graphs(spoiled, tmp_path / "saved")
        with monkeypatch.context() as earlier:
            earlier.setattr("infograph.data.graphset._check_graph_texts", lambda graphs: None)
            save_graphs(spoiled, tmp_path / "saved")
        with pytest.raises(InvalidFile, match=r"saved: 'note' holds half .*, and save the GraphSet again"):
            open_graphs(tmp_path / "saved")


@pytest.mark.parametrize("of", [pa.binary(), pa.large_binary(), pa.binary(3)])
def test_parquet_columns_of_bytes_are_texts(tmp_path: Path, of: pa.DataType) -> None:
    cells = pa.array([b"CCO", b"CCN"], of)
    parquet.write_table(pa.table({"smiles": cells, "id": cells, "note": cells}), tmp_path / "a.parquet")
    graphs = read_graphs(tmp_path / "a.parquet")
    assert graphs.ids.tolist() == graphs.values("graph", "note").tolist() == ["CCO", "CCN"]
    (block,) = read_blocks(find_shards(tmp_path / "a.parquet")[0], 5, ReadOptions(), None)
    assert list(block.ids) == ["CCO", "CCN"] and not block.rejected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", archive("1, 2\n" * 30_000)),
        ("a.csv.gz", gzip.compress(b"smiles\n" + b"CC\n" * 50_000, mtime=0)),
        ("a.edges.gz", gzip.compress(b"1" * 150_000, mtime=0)),
        ("a.gexf.gz", gzip.compress(b"<gexf>" + b" " * 150_000, mtime=0)),
    ],
)
def test_what_is_much_larger_than_its_packed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.setattr("infograph.io.UNPACKED", 100_000, raising=False)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        InvalidFile, match=rf"{name} becomes 0\.[12] MB or more, unpacked from 0\.00. MB: if that"
    ):
        read_graphs(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("", FileMissing, "an empty path"),
        (Path("nothing.smi"), FileMissing, "nothing.smi does not exist"),
        ("nothing.csv", FileMissing, "nothing.csv does not exist"),
        ("no such data set", UnknownDataset, "no such data set"),
        ("~nobody-at-all/a.smi", FileMissing, "does not exist"),
        (Path(), InvalidFile, "holds no graphs; expected a saved GraphSet"),
    ],
)
def test_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, error: type[Exception], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        read_graphs(source)


@pytest.mark.parametrize(
    ("labels", "options", "error", "words"),
    [
        ("id,label\ng7,x\n", {}, InvalidFile, "line 2: the id 'g7' has no file in the folder"),
        ("id,label\ng1,x\ng1,y\n", {}, InvalidFile, "line 3: the id 'g1' stands there twice"),
        ("id,label\ng1,x\n", {"label": "size"}, InvalidParameter, "label='size'"),
    ],
)
def test_labels_beside_networks(
    tmp_path: Path, labels: str, options: dict[str, str], error: type[Exception], words: str
) -> None:
    (tmp_path / "g1.edges").write_text("0 1\n")
    (tmp_path / "labels.csv").write_text(labels)
    with pytest.raises(error, match=words):
        read_graphs(tmp_path, **options)  # type: ignore[arg-type]


def with_attribute(value: Any) -> nx.Graph:
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: value, 1: value}, "a")
    nx.set_edge_attributes(graph, {(0, 1): value}, "a")
    return graph


NETWORK = with_attribute(1.5)
PAIR = np.array([[0], [1]])


@pytest.mark.parametrize(
    ("source", "options", "error", "words"),
    [
        ([], {}, InvalidParameter, "no graphs: nothing is in there"),
        (3, {}, InvalidParameter, "cannot read graphs from a int"),
        (
            pd.DataFrame({"a": ["CC"], "b": [1]}),
            {},
            InvalidFile,
            "the DataFrame has no SMILES column among ['a",
        ),
        (pd.DataFrame({"smiles": []}), {}, InvalidParameter, "the DataFrame has columns and no rows"),
        (pd.DataFrame([["C", "C"]], columns=["a", "a"]), {}, InvalidParameter, "two columns of one name"),
        (pl.DataFrame({"smiles": [["C"]]}), {}, InvalidFile, "'smiles' is nested (large_list"),
        (pd.Series([1.5, 2.5]), {}, InvalidParameter, "a list of float"),
        ([np.zeros((2, 3))], {}, InvalidGraph, "an array of shape (2, 3), expected an adjacency matrix"),
        ([np.array([["a"]])], {}, InvalidGraph, "an adjacency matrix of <U1, expected numbers"),
        ([np.array([[0, np.nan], [1, 0]])], {}, InvalidGraph, "edge column 'weight': nan in row 0"),
        (["CC"], {"nodes": pd.DataFrame({"node": [1]})}, InvalidParameter, "nodes= is for tables of edges"),
        (np.zeros((3, 4)), {}, InvalidParameter, "an array of float64, shape (3, 4)"),
        ([3.5], {}, InvalidParameter, "a list of float"),
        ([None], {}, InvalidParameter, "a list of NoneType"),
        ([NETWORK], {"ids": ["a", "b"]}, InvalidParameter, "2 ids for 1 graphs"),
        ([NETWORK, "CCO"], {}, InvalidGraph, "graph 1: expected a networkx graph, got str"),
        ([NETWORK, nx.Graph()], {}, InvalidGraph, "graph 1: it has no nodes; leave it out, or pass errors="),
        ([NETWORK], {"node": {"a": "number"}}, InvalidParameter, "'number'"),
        ([NETWORK], {"edge": 5}, InvalidParameter, "expected names"),
        ([NETWORK], {"node": "b"}, SchemaMismatch, "attribute 'b' is missing; the nodes have: 'a'"),
        ([with_attribute(1e300)], {"node": "a"}, InvalidGraph, "too large"),
        ([with_attribute(float("inf"))], {"node": "a"}, InvalidGraph, "not finite"),
        ([with_attribute(10**400)], {"node": {"a": "float"}}, InvalidGraph, "does not hold numbers"),
        ([NETWORK, with_attribute([1.0, 2.0])], {"node": "a"}, InvalidGraph, "node column 'a': 2 numbers"),
        ([with_attribute([1.0, 2.0])], {"weight": "a"}, InvalidParameter, "2 numbers per edge"),
        ([Data(x=torch.zeros(0, 1), edge_index=torch.zeros(2, 0).long())], {}, InvalidGraph, "has no nodes"),
        ([Data(x=torch.zeros(2, 1), edge_index=torch.rand(2, 1))], {}, InvalidGraph, "expected integers"),
        (["CCO", "nonsense("], {"errors": "ignore"}, InvalidParameter, "errors='ignore'"),
    ],
)
def test_sources(source: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        as_graphset(source, **options)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ((np.array([[0], [3]]), np.zeros((2, 1))), "an edge leads to node 3, but the nodes are 0 ... 1"),
        ((PAIR, np.full((2, 1), np.inf)), "node column 'x': inf in row 0 is not finite"),
        ((PAIR, np.zeros((2, 4))), "4 numbers each, while the first graph has 1"),
        ((np.zeros((2, 0)), np.zeros((0, 1))), "it has no nodes"),
        ((np.array([[0.5], [1]]), np.zeros((2, 1))), "edge_index of float64, expected integers"),
        ((PAIR,), "a tuple of 1, expected a tuple (edge_index, node_features)"),
        ((PAIR, "two"), "expected an array or the number of nodes"),
        (None, "a NoneType, expected a tuple"),
    ],
)
def test_tuples(graph: Any, words: str) -> None:
    good = (PAIR, np.zeros((2, 1)))
    with pytest.raises(InvalidGraph) as raised:
        as_graphset([good, graph])
    assert words in str(raised.value) and raised.value.index == 1
    kept = as_graphset([good, graph, good], errors="skip", ids=["a", "b", "c"])
    assert kept.ids.tolist() == ["a", "c"] and [bad.graph_id for bad in kept.rejected] == ["b"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("C1CC", "the SMILES 'C1CC' does not parse (unclosed ring)"),
        ("C(C)(C)(C)(C)C", "does not parse (Explicit valence for atom # 0 C, 5, is greater than permitted)"),
        ("hello", "the SMILES 'hello' does not parse (syntax error around position 1)"),
        ("C" * 80 + "(", f"the SMILES '{'C' * 57}...' does not parse"),
        ("CCO>>CC=O", "'CCO>>CC=O' is a reaction, expected a molecule: pass its reactants or products"),
        ("[CH3:1]O>O->[Fe]>[CH3:1]Cl |f:0.1|", "is a reaction, expected a molecule"),
        ("O->>[Fe]", "the SMILES 'O->>[Fe]' does not parse"),
        ("C" * 5_001, "a SMILES of 5,001 characters; at most 5,000 are read"),
        ("C." * 200_000, "a SMILES of 400,000 characters; at most 5,000 are read"),
        ("  ", "no SMILES: the text is empty"),
        (None, "no SMILES: the value is missing"),
        (pd.NA, "no SMILES: the value is missing"),
        (7, "expected a SMILES or an RDKit molecule, got int"),
        (Chem.Mol(), "a molecule without atoms"),
        (Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False), "cannot be sanitised (Explicit valence"),
    ],
)
def test_molecules(bad: Any, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidGraph) as raised:
        from_molecules(["CC", bad], ids=["a", "x"])
    assert f"graph 1 (id 'x'): {raised.value.problem}" == str(raised.value)
    assert told(words) in str(raised.value)
    kept = from_molecules(["CC", bad, "CO"], ids=["a", "x", "b"], errors="skip")
    assert kept.ids.tolist() == ["a", "b"] and kept.graph["smiles"].tolist() == ["CC", "CO"]
    assert [(r.index, r.graph_id) for r in kept.rejected] == [(1, "x")]
    assert kept.sizes.tolist() == [2, 2] and kept.n_edges == 4
    assert capfd.readouterr().err == ""  # RDKit is silent
    with pytest.raises(InvalidParameter, match="all 1 were rejected; the first: "):
        from_molecules([bad], errors="skip")


VECTORS = Embeddings(np.arange(1), np.zeros((1, 2), np.float32), {"kind": np.zeros(1)})
CLASH = Embeddings(np.arange(1), np.zeros((1, 2), np.float32), {"v12": np.zeros(1)})
SHARES = [(0.8, 0.2), (0.8, 0.1, 0.2), (1.1, -0.1, 0), (0, 0.5, 0.5), (0.8, float("nan"), 0.2)]
PLAIN = as_graphset([(np.zeros((2, 0), int), 2)])
MOLECULES = as_graphset(["CC", "CC"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda at: write_embeddings(CLASH, at / "v.csv"), InvalidParameter, "'v12' cannot be written"),
        (lambda at: write_embeddings(VECTORS, at / "v.npz"), InvalidParameter, ".parquet or .csv"),
        (lambda at: read_embeddings(at / "v.csv"), FileMissing, "v.csv"),
        (lambda at: VECTORS.column("q"), SchemaMismatch, "no graph column 'q'; there are: 'kind'"),
        (lambda at: Embeddings.of(PLAIN, np.zeros((1, 2)), columns=["q"]), SchemaMismatch, "have: none"),
        (lambda at: write_rejected(PLAIN, at), InvalidParameter, "is a folder; expected the name of a file"),
        (lambda at: as_graphset(PLAIN[:0]), InvalidParameter, "no graphs: nothing is in there"),
        (lambda at: resolve_duplicates(PLAIN, []), InvalidParameter, "no graph column 'smiles'"),
        (lambda at: resolve_duplicates(MOLECULES, "q"), SchemaMismatch, "no graph column 'q'"),
        (lambda at: resolve_duplicates(MOLECULES, "smiles"), InvalidParameter, "no single number"),
        (lambda at: resolve_duplicates(MOLECULES, [], rule="average"), InvalidParameter, "rule='average'"),
        (lambda at: from_molecules([]), InvalidParameter, "the input is empty"),
        (lambda at: from_molecules(["C"], salts="remove"), InvalidParameter, "salts='remove'"),
        (lambda at: concatenate([]), InvalidParameter, "nothing to concatenate"),
        (lambda at: concatenate([PLAIN, None]), InvalidParameter, "a NoneType came"),
        (lambda at: concatenate([PLAIN, MOLECULES]), SchemaMismatch, "set 1 has the node columns ['arom"),
        (lambda at: semi_supervised_split(188), InvalidParameter, "labelled=5,000 are 25,000 graphs, but"),
        (lambda at: semi_supervised_split(9, labelled=0), InvalidParameter, "labelled=0: expected a whole"),
        (lambda at: semi_supervised_split(9, test=-1), InvalidParameter, "test=-1: expected"),
        (lambda at: semi_supervised_split(9, labelled=True), InvalidParameter, "labelled=True: expected"),
        (lambda at: semi_supervised_split(0), InvalidParameter, "graphs=0: expected a whole number, 1 or"),
        (lambda at: random_split(2), InvalidParameter, "2 graphs cannot be split into 3 parts"),
        *((lambda at, s=s: random_split(9, s), InvalidParameter, "expected three numbers") for s in SHARES),
        (lambda at: scaffold_split(PLAIN), InvalidParameter, "cannot be split"),
        (lambda at: scaffold_split(PLAIN, (1, 0, 0)), InvalidParameter, "no graph column 'smiles'"),
        (lambda at: scaffold_split(MOLECULES, target="q"), SchemaMismatch, "no graph column 'q'"),
        (lambda at: read_qm9(at), FileMissing, "has no files qm9_part*.csv"),
        (lambda at: read_qm9(at, limit=0), InvalidParameter, "limit=0: expected 1 or more molecules"),
        (lambda at: load_dataset("MUTAG", units="eV"), InvalidParameter, "units='eV': MUTAG has no energies"),
        (lambda at: load_dataset("QM9", units="ev"), InvalidParameter, "units='ev': energies come in"),
        (lambda at: load_dataset("MUTAG", edge=["bond"]), SchemaMismatch, "no edge column 'bond'"),
        (lambda at: in_units(MOLECULES, "meV"), InvalidParameter, "units='meV': energies come in hartree"),
        (lambda at: atomisation_energies(MOLECULES), SchemaMismatch, "U0, U, H, G is missing"),
        (lambda at: match_name(["Tm (K)", "Tm (°C)"], "Tm"), InvalidParameter, "'Tm' is one of"),
    ],
)
def test_calls(tmp_path: Path, call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call(tmp_path)
    assert words in str(raised.value) and not list(tmp_path.iterdir())


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [*sys.modules, "torch_geometric.data", "rdkit"]:
        if name.split(".")[0] in ("torch_geometric", "rdkit"):
            monkeypatch.setitem(sys.modules, name, None)
    yield


def test_packages_that_are_not_installed(without: None, corner_cases: GraphSet) -> None:
    for call in (lambda: from_molecules(["CC"]), lambda: read_qm9("anywhere")):
        with pytest.raises(MissingExtra, match=r"this needs rdkit.*pip install 'infograph\[chem\]'"):
            call()
    with pytest.raises(MissingExtra, match=r"this needs torch_geometric.*pip install 'infograph\[pyg\]'"):
        to_pyg(corner_cases)

"""Every kind of file -> GraphSet, and what is said of files that are something else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, save_graphs
from infograph.data.read import read_graphs, typed
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    SchemaMismatch,
    UnknownDataset,
)


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def smiles(graphs: GraphSet) -> list[str]:
    return list(graphs.graph["smiles"].tolist())


def arcs(graphs: GraphSet, index: int = 0) -> list[tuple[int, ...]]:
    return sorted(map(tuple, graphs[index].edges.T.tolist()))


# --- SMILES files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.smi", "a.smiles", "a.smi.gz"])
def test_smi(tmp_path: Path, name: str) -> None:
    graphs = read_graphs(write(tmp_path / name, "smiles name\nCCO\tethanol 96\r\nC methane\n\n"))
    assert smiles(graphs) == ["CCO", "C"] and graphs.ids.tolist() == ["ethanol 96", "methane"]


def test_smi_ids(tmp_path: Path) -> None:
    assert read_graphs(write(tmp_path / "a.smi", "CC\nCO")).ids.tolist() == [0, 1]
    assert read_graphs(write(tmp_path / "b.smi", "CC 7\nCO 12")).ids.tolist() == [7, 12]
    assert read_graphs(write(tmp_path / "c.smi", "CC 007\nCO")).ids.tolist() == ["007", "1"]


def test_smi_errors_name_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.smi", "smiles id\nCC a\nC1CC b\n\nCO c\n")
    with pytest.raises(
        InvalidGraph, match=r"graph 1 \(id 'b'\): .*a\.smi, line 3: the SMILES 'C1CC' does not parse"
    ):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == ["a", "c"]
    assert [(r.index, r.graph_id, r.problem.split(":")[0]) for r in kept.rejected] == [
        (1, "b", "line 3"),
        (2, "2", "line 4"),
    ]


# --- tables ----------------------------------------------------------------------------------------

TABLE = """name,SMILES,activity,assay,note,class
m1,CCO,1.5,A,"first, of
many",1
m2,CC,,A,,0

m3,C,-2,B,third,1
"""


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv(tmp_path: Path, name: str) -> None:
    graphs = read_graphs(write(tmp_path / name, TABLE), label="class")
    assert smiles(graphs) == ["CCO", "CC", "C"] and graphs.ids.tolist() == ["m1", "m2", "m3"]
    np.testing.assert_array_equal(graphs.graph["activity"], [1.5, np.nan, -2])
    assert graphs.values("graph", "assay").tolist() == ["A", "A", "B"]
    assert graphs.values("graph", "note").tolist() == ["first, of\nmany", "", "third"]
    assert graphs.values("graph", "y").tolist() == [1, 0, 1]
    kinds = {column.name: column.kind for column in graphs.schema.graph}
    assert kinds == {
        "smiles": "text",
        "activity": "float",
        "assay": "categorical",
        "note": "text",
        "y": "categorical",
    }


def test_other_separators_and_marks(tmp_path: Path) -> None:
    semicolon = write(tmp_path / "a.csv", "\ufeffsmiles;value\nCC;1\nCO;2\n")
    tab = write(tmp_path / "a.tsv", "value\tcanonical_smiles\n1\tCC\n2\tCO\n")
    for path in (semicolon, tab):
        graphs = read_graphs(path)
        assert smiles(graphs) == ["CC", "CO"] and graphs.graph["value"].tolist() == [1, 2]


def test_chosen_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,structure,smiles,v\n1,CC,x,0.5\n1,CO,x,nan\n2,CN,x,NA\n")
    graphs = read_graphs(path, smiles="structure", id="v")
    assert graphs.n_nodes == 6 and graphs.ids.tolist() == ["0.5", "nan", "NA"]
    assert graphs.graph["id"].tolist() == [1, 1, 2]  # ids that repeat are not taken for ids unasked
    with pytest.warns(
        UserWarning, match=r"a\.csv: the column 'id' repeats '1', so graphs are numbered by position; id='id'"
    ):
        labelled = read_graphs(path, smiles="structure", label="v")
    np.testing.assert_array_equal(labelled.graph["y"], [0.5, np.nan, np.nan])
    with pytest.raises(InvalidFile, match=r"no SMILES column among \['id', 'structure', 'smiles', 'v'\]"):
        read_graphs(path, smiles="nothing")
    with pytest.raises(InvalidParameter, match=r"label='nothing': .* has no such column"):
        read_graphs(path, smiles="structure", label="nothing")


def test_bad_rows_keep_their_place(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,smiles,v\na,"CC",1\nb,C1CC,2\nc,CO\nd,,4\n\ne,CN,5\n')
    with pytest.raises(InvalidFile, match=r"a\.csv, line 4: 2 cells, while the header has 3"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip", id="id")
    assert kept.ids.tolist() == ["a", "e"] and kept.graph["v"].tolist() == [1, 5]
    assert [(r.index, r.problem) for r in kept.rejected] == [
        (1, "line 3: the SMILES 'C1CC' does not parse (unclosed ring)"),
        (2, "line 4: 2 cells, while the header has 3"),
        (3, "line 5: no SMILES: the text is empty"),
    ]


def test_a_column_of_nothing_but_smiles(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "smiles\nCC\n\nCO\n\n")
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == [0, 2] and [(r.index, r.problem[:6]) for r in kept.rejected] == [
        (1, "line 3")
    ]


def test_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {"smiles": ["CC", None, "CO"], "id": [5, 6, 7], "v": [1.5, 2.5, None], "flag": [True, False, True]}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InvalidGraph, match=r"graph 1 \(id 6\): .*a\.parquet, row 2: no SMILES"):
        read_graphs(tmp_path / "a.parquet")
    kept = read_graphs(tmp_path / "a.parquet", errors="skip")
    assert kept.ids.tolist() == [5, 7] and kept.rejected[0].problem.startswith("row 2")
    np.testing.assert_array_equal(kept.graph["v"], [1.5, np.nan])
    with pytest.raises(InvalidFile, match=r"no SMILES column among \['v'\]: name it with smiles="):
        parquet.write_table(table.select(["v"]), tmp_path / "b.parquet")
        read_graphs(tmp_path / "b.parquet")


def test_hydrogens_and_the_schema_of_a_model(tmp_path: Path) -> None:
    path = write(tmp_path / "a.smi", "CO\n")
    full = read_graphs(path, hydrogens=True)
    assert full.n_nodes == 6
    assert as_graphset(path, schema=full.schema).n_nodes == 6
    assert as_graphset(str(path), hydrogens=True, ids=["x"]).ids.tolist() == ["x"]


# --- SDF -------------------------------------------------------------------------------------------


def sdf(path: Path, count: int = 3) -> Path:
    writer = Chem.SDWriter(str(path))
    for index in range(count):
        mol = Chem.AddHs(Chem.MolFromSmiles("C" * (index + 1) + "O"))
        AllChem.EmbedMolecule(mol, randomSeed=1)
        mol.SetProp("_Name", f"mol{index}")
        mol.SetProp("logP", str(index + 0.5))
        mol.SetProp("class", "ab"[index % 2])
        if index:
            mol.SetProp("only later", "x")
        writer.write(mol)
    writer.close()
    return path


def test_sdf(tmp_path: Path) -> None:
    path = sdf(tmp_path / "a.sdf")
    graphs = read_graphs(path, label="class")
    assert smiles(graphs) == ["CO", "CCO", "CCCO"] and graphs.ids.tolist() == ["mol0", "mol1", "mol2"]
    assert graphs.graph["logP"].tolist() == [0.5, 1.5, 2.5]
    assert graphs.values("graph", "y").tolist() == ["a", "b", "a"]
    assert graphs.values("graph", "only later").tolist() == [None, "x", "x"]
    assert graphs.node["position"].shape == (9, 3)
    assert read_graphs(path, hydrogens=True).n_nodes == 6 + 9 + 12
    packed = write(tmp_path / "a.sdf.gz", path.read_text())
    assert smiles(read_graphs(packed)) == smiles(graphs)
    assert read_graphs(path, id="logP").ids.tolist() == ["0.5", "1.5", "2.5"]


def test_truncated_and_damaged_sdf(tmp_path: Path) -> None:
    text = sdf(tmp_path / "a.sdf").read_text()
    cut = write(tmp_path / "cut.sdf", text[: text.rindex("M  END") - 40])
    with pytest.raises(
        InvalidFile, match=r"cut\.sdf, line \d+: the record is cut off, it has no line 'M  END'"
    ):
        read_graphs(cut)
    kept = read_graphs(cut, errors="skip")
    assert kept.ids.tolist() == ["mol0", "mol1"] and kept.rejected[0].problem.startswith("record 3 (line ")
    first = text.index(" C ")
    broken = write(
        tmp_path / "broken.sdf", text[:first] + " C  0  9" + text[first + 8 :].replace("M  CHG", "")
    )
    assert len(read_graphs(broken, errors="skip")) >= 2
    with pytest.raises(InvalidFile, match="no SDF file"):
        read_graphs(write(tmp_path / "b.sdf", "smiles\nCC\n"))


def test_an_impossible_molecule_in_an_sdf(tmp_path: Path) -> None:
    bad = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    text = (
        Chem.MolToMolBlock(Chem.MolFromSmiles("CC"))
        + "$$$$\n"
        + Chem.MolToMolBlock(bad, kekulize=False)
        + "$$$$\n"
    )
    path = write(tmp_path / "a.sdf", text)
    with pytest.raises(InvalidGraph, match=r"a\.sdf, record 2 \(line 10\): the molecule cannot be sanitised"):
        read_graphs(path)


# --- networks --------------------------------------------------------------------------------------


def network(n: int) -> nx.Graph:
    graph = nx.cycle_graph(n)
    nx.set_node_attributes(graph, {i: "ab"[i % 2] for i in graph}, "kind")
    nx.set_edge_attributes(graph, 0.5, "strength")
    return graph


def test_a_folder_of_networks_with_labels(tmp_path: Path) -> None:
    nx.write_graphml(network(3), tmp_path / "g10.graphml")
    nx.write_gexf(network(4), tmp_path / "g2.gexf")
    nx.write_graphml(network(5), tmp_path / "g1.graphml.gz")
    write(tmp_path / "labels.csv", "id,label,size\ng2,ring,4\ng1,ring,5.5\n")
    write(tmp_path / "README.txt", "about these graphs and where they are from")
    graphs = read_graphs(tmp_path, node="kind", weight="strength")
    assert graphs.ids.tolist() == ["g1", "g2", "g10"] and graphs.sizes.tolist() == [5, 4, 3]
    assert graphs.values("graph", "y").tolist() == ["ring", "ring", None]
    np.testing.assert_array_equal(graphs.graph["size"], [5.5, 4, np.nan])
    assert graphs[2].values("node", "kind").tolist() == ["a", "b", "a"]
    assert graphs.schema.weight is not None and set(graphs.edge["strength"]) == {0.5}
    assert [column.name for column in graphs.schema.graph] == ["y", "size"]
    assert as_graphset(tmp_path, schema=graphs.schema).node["kind"].tolist() == graphs.node["kind"].tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("id,label\ng7,x\n", r"labels\.csv, line 2: the id 'g7' has no file in the folder"),
        ("id,label\ng1,x\ng1,y\n", r"labels\.csv, line 3: the id 'g1' stands there twice"),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, labels: str, message: str) -> None:
    write(tmp_path / "g1.edges", "0 1\n")
    write(tmp_path / "labels.csv", labels)
    with pytest.raises(InvalidFile, match=message):
        read_graphs(tmp_path)


def test_bad_files_in_a_folder(tmp_path: Path) -> None:
    nx.write_graphml(network(3), tmp_path / "a.graphml")
    whole = (tmp_path / "a.graphml").read_text()
    write(tmp_path / "b.graphml", whole[: len(whole) // 2])
    write(tmp_path / "c.gexf", "no xml at all")
    write(tmp_path / "d.edges", "0 1\n1 2 3 4 5\n")
    write(tmp_path / "e.graphml", "")
    write(tmp_path / "labels.csv", "id,label\na,x\nb,y\n")
    with pytest.raises(
        InvalidFile, match=r"b\.graphml is truncated or no graphml file: .*line \d+, column \d+"
    ):
        read_graphs(tmp_path)
    kept = read_graphs(tmp_path, errors="skip")
    assert kept.ids.tolist() == ["a"] and kept.values("graph", "y").tolist() == ["x"]
    assert [(r.index, r.graph_id) for r in kept.rejected] == [(1, "b"), (2, "c"), (3, "d"), (4, "e")]
    assert "d.edges, line 2: '1 2 3 4 5' is no edge" in kept.rejected[2].problem


def test_an_attribute_that_a_file_lacks(tmp_path: Path) -> None:
    nx.write_graphml(network(3), tmp_path / "a.graphml")
    nx.write_graphml(nx.path_graph(2), tmp_path / "b.graphml")
    with pytest.raises(
        InvalidGraph, match=r"graph 1 \(id 'b'\): .*b\.graphml: no node has the attribute 'kind'"
    ):
        read_graphs(tmp_path, node="kind")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.edges", "# a comment\n% another\nx y\ny z\n\nlonely\n", [(1, 2), (2, 1), (2, 3), (3, 2)]),
        ("a.txt", "0\t1\n1\t2\n", [(0, 1), (1, 0), (1, 2), (2, 1)]),
        ("a.csv", "source,target,w\n5,6,2\n6,6,1\n", [(0, 1), (1, 0), (1, 1)]),
        ("a.csv", "0,1\n1,2\n", [(0, 1), (1, 0), (1, 2), (2, 1)]),
        ("a.edgelist", "0 1 {'w': 3}\n1 2 {}\n", [(0, 1), (1, 0), (1, 2), (2, 1)]),
        ("a.edges", "0 1\n1 0\n", [(0, 1), (1, 0)]),  # both directions listed
        ("a.edges", "0 1\n0 1\n", [(0, 1), (0, 1), (1, 0), (1, 0)]),
    ],
)
def test_edge_lists(tmp_path: Path, name: str, text: str, expected: list[tuple[int, int]]) -> None:
    graphs = read_graphs(write(tmp_path / name, text))
    assert arcs(graphs) == expected and graphs.ids.tolist() == ["a"]


def test_directed_and_weighted_edge_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "a.edges", "0 1 0.5\n1 2 2\n")
    graphs = read_graphs(path, directed=True, weight="weight")
    assert arcs(graphs) == [(0, 1), (1, 2)] and graphs.edge["weight"].tolist() == [0.5, 2]
    kinds = read_graphs(write(tmp_path / "a.csv", "from,to,kind\na,b,x\nb,c,y\n"), edge="kind")
    assert kinds.values("edge", "kind").tolist() == ["x", "x", "y", "y"]
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 1.5, (1, 2): 2.5}, "w")
    nx.write_edgelist(graph, tmp_path / "b.edgelist")
    assert sorted(read_graphs(tmp_path / "b.edgelist", weight="w").edge["w"]) == [1.5, 1.5, 2.5, 2.5]


def test_no_edge_list(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"a\.edges, line 1: \"\{'w': 3\" is no dictionary"):
        read_graphs(write(tmp_path / "a.edges", "0 1 {'w': 3\n"))
    with pytest.raises(InvalidFile, match="holds no edges and no nodes"):
        read_graphs(write(tmp_path / "a.edges", "# nothing\n"))
    with pytest.raises(InvalidFile, match=r"no SMILES column among \['name', 'value', 'more'\]"):
        read_graphs(write(tmp_path / "a.csv", "name,value,more\nx,1,2\n"))


# --- JSON lines ------------------------------------------------------------------------------------


def test_json_lines(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {
            "id": "g1",
            "nodes": [{"id": "a", "kind": "x"}, {"id": "b", "kind": "y"}],
            "edges": [["a", "b", {"w": 0.5}]],
        },
        {
            "id": "g2",
            "nodes": [{"kind": "x"}] * 3,
            "edges": [[0, 1, {"w": 1.5}]],
            "directed": True,
            "label": 1,
        },
        {"id": "g3", "nodes": [{"kind": "x"}], "edges": [], "label": 0, "energy": -1.5},
    ]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    graphs = read_graphs(path)
    assert graphs.ids.tolist() == ["g1", "g2", "g3"] and graphs.sizes.tolist() == [2, 3, 1]
    assert arcs(graphs, 0) == [(0, 1), (1, 0)] and arcs(graphs, 1) == [(0, 1)]
    assert graphs.values("node", "kind").tolist() == ["x", "y", "x", "x", "x", "x"]
    assert graphs.edge["w"].tolist() == [0.5, 0.5, 1.5]
    assert graphs.values("graph", "y").tolist() == [None, 1, 0]
    np.testing.assert_array_equal(graphs.graph["energy"], [np.nan, np.nan, -1.5])
    assert read_graphs(path, weight="w").schema.weight is not None
    assert read_graphs(path, node={}, edge={}).node == {}
    bare = read_graphs(write(tmp_path / "b.jsonl", '{"nodes": 3, "edges": [[0, 2]]}'))
    assert bare.sizes.tolist() == [3] and arcs(bare) == [(0, 2), (2, 0)] and bare.ids.tolist() == [0]


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ('{"nodes": 2, "edges": [[0', InvalidFile, "line 2: not JSON, or truncated"),
        (
            '{"nodes": 2, "edges": [[0, 5]]}',
            InvalidGraph,
            "line 2: an edge leads to node 5, which is not among",
        ),
        ('{"nodes": 2, "edges": [[0]]}', InvalidGraph, r"line 2: the edge \[0\], expected \[u, v\]"),
        ('{"nodes": 2, "edges": [0]}', InvalidGraph, "line 2: the edge 0, expected"),
        ('{"edges": []}', InvalidGraph, "line 2: expected an object with 'nodes' and 'edges'"),
        ("[]", InvalidGraph, "line 2: expected an object"),
        ('{"nodes": "many"}', InvalidGraph, "line 2: 'nodes' is neither a number nor a list"),
        ('{"nodes": 0}', InvalidGraph, "line 2: it has no nodes"),
        ('{"nodes": [{"id": 1}, {"id": 1}]}', InvalidGraph, "line 2: two nodes have the same id"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, error: type[Exception], message: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"nodes": 2, "edges": [[0, 1]]}\n' + line + '\n{"nodes": 1}\n')
    with pytest.raises(error, match=message):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == [0, 2] and [r.index for r in kept.rejected] == [1]


# --- folders, names, and files that are something else ---------------------------------------------


def test_saved_sets(corner_cases: GraphSet, tmp_path: Path) -> None:
    graphs = read_graphs(save_graphs(corner_cases, tmp_path / "set"), edge="bond")
    assert graphs.n_edges == corner_cases.n_edges and isinstance(graphs.edges, np.memmap)
    assert [column.name for column in graphs.schema.features("edge")] == ["bond"]
    with pytest.raises(SchemaMismatch, match="no node column 'colour'; the graphs have: 'label'"):
        read_graphs(tmp_path / "set", node=["colour"])
    with pytest.raises(SchemaMismatch, match="no graph column 'y'"):
        read_graphs(tmp_path / "set", label="y")


def test_tu_folders(tmp_path: Path) -> None:
    folder = tmp_path / "TINY"
    folder.mkdir()
    write(folder / "TINY_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n")
    write(folder / "TINY_graph_indicator.txt", "1\n1\n2\n2\n")
    write(folder / "TINY_graph_labels.txt", "1\n-1\n")
    graphs = read_graphs(folder)
    assert graphs.sizes.tolist() == [2, 2] and graphs.values("graph", "y").tolist() == [1, -1]


EXTENSIONS = ["smi", "csv", "tsv", "parquet", "sdf", "jsonl", "graphml", "gexf", "edgelist", "txt"]
GARBAGE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe"


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_files_that_are_something_else(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a.{extension}"
    for content in (GARBAGE, b""):
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=rf"a\.{extension}"):
            read_graphs(path)


@pytest.mark.parametrize("extension", ["smi", "csv", "sdf", "jsonl"])
def test_truncated_gzip(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a.{extension}.gz"
    path.write_bytes(gzip.compress(b"smiles\nCCO\n" * 50)[:-9])
    with pytest.raises(InvalidFile, match=r"is truncated or no gzip file"):
        read_graphs(path)


def test_truncated_tables(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"a\.csv, line 3: not a table, or truncated"):
        read_graphs(write(tmp_path / "a.csv", 'smiles,note\nCC,x\nCO,"cut of'))
    with pytest.raises(InvalidFile, match="has a header and no rows"):
        read_graphs(write(tmp_path / "a.csv", "smiles,note\n"))
    with pytest.raises(InvalidFile, match="two columns of one name"):
        read_graphs(write(tmp_path / "a.csv", "smiles,smiles\nC,C\n"))
    with pytest.raises(InvalidFile, match="all 2 were rejected"):
        read_graphs(write(tmp_path / "a.smi", "hello\nworld\n"), errors="skip")


def test_missing_unknown_and_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileMissing, match=r"nothing\.smi does not exist"):
        read_graphs(tmp_path / "nothing.smi")
    with pytest.raises(FileMissing, match=r"nothing\.csv does not exist"):
        read_graphs("nothing.csv")
    with pytest.raises(InvalidFile, match="holds no graphs; expected a saved GraphSet"):
        read_graphs(tmp_path)
    with pytest.raises(InvalidFile, match=r"files of the kind '\.docx' are not read"):
        read_graphs(write(tmp_path / "a.docx", "x"))
    with pytest.raises(UnknownDataset):
        read_graphs("no such data set")
    with pytest.raises(InvalidParameter, match="errors='ignore'"):
        read_graphs(tmp_path, errors="ignore")  # type: ignore[arg-type]


def test_names_of_data_sets(corner_cases: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load(name: str, **_: object) -> GraphSet:
        asked.append(name)
        return corner_cases

    monkeypatch.setattr("infograph.data.datasets.load_dataset", load)
    assert len(as_graphset("MUTAG")) == 10 and asked == ["MUTAG"]


def test_the_chosen_label_wins_over_an_own_y(tmp_path: Path) -> None:
    for head in ("smiles,class,y", "smiles,y,class"):
        row = {"smiles": "CCO", "class": "a", "y": "7"}
        other = {"smiles": "CC", "class": "b", "y": "8"}
        lines = [head, *(",".join(each[name] for name in head.split(",")) for each in (row, other))]
        graphs = read_graphs(write(tmp_path / "m.csv", "\n".join(lines)), label="class")
        assert graphs.values("graph", "y").tolist() == ["a", "b"]


def test_the_column_of_ids_can_be_the_label(tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", "smiles,id,y\nCCO,5,1\nCC,6,1\n")
    assert read_graphs(path, label="id").values("graph", "y").tolist() == [5, 6]


@pytest.mark.parametrize("options", [{"label": "class"}, {"weight": "strength"}])
def test_labels_and_weights_that_are_not_there(tmp_path: Path, options: dict[str, str]) -> None:
    path = write(tmp_path / "g.jsonl", '{"nodes": 2, "edges": [[0, 1]], "y": 1}\n')
    with pytest.raises((SchemaMismatch, InvalidGraph), match=next(iter(options.values()))):
        read_graphs(path, **options)  # type: ignore[arg-type]
    with pytest.raises((SchemaMismatch, InvalidGraph, InvalidParameter), match=next(iter(options.values()))):
        read_graphs(write(tmp_path / "m.smi", "CCO\nCC\n"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("comment", ["# made by hand\n", "% one, two\n\n", ""])
def test_comments_before_an_edge_list_do_not_hide_its_commas(tmp_path: Path, comment: str) -> None:
    graphs = read_graphs(write(tmp_path / "g.edges", comment + "0,1\n1,2\n"))
    assert (graphs.n_nodes, graphs.n_edges) == (3, 4)


def test_an_sdf_without_lines_between_its_molecules(tmp_path: Path) -> None:
    text = "".join(Chem.MolToMolBlock(Chem.MolFromSmiles(each)) for each in ("CC", "CCO"))
    with pytest.raises(InvalidFile, match="2 molecules in one record"):
        read_graphs(write(tmp_path / "m.sdf", text))


def test_smi_that_begins_with_an_empty_line(tmp_path: Path) -> None:
    path = write(tmp_path / "m.smi", "\nCCO a\n")
    with pytest.raises(InvalidGraph, match="line 1: no SMILES"):
        read_graphs(path)
    assert read_graphs(path, errors="skip").ids.tolist() == ["a"]


def test_parquet_in_capitals(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"smiles": ["CCO", "CC"]}), tmp_path / "M.PARQUET")
    assert len(read_graphs(tmp_path / "M.PARQUET")) == 2


@pytest.mark.parametrize("name", ["g.graphml", "g.graphml.gz", "g.gexf"])
def test_edges_to_nodes_that_a_file_does_not_have(tmp_path: Path, name: str) -> None:
    writer = nx.write_gexf if name == "g.gexf" else nx.write_graphml
    writer(nx.path_graph(3), tmp_path / name)
    assert read_graphs(tmp_path / name).n_nodes == 3
    raw = (tmp_path / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    write(tmp_path / name, text.replace('target="2"', 'target="99"'))
    with pytest.raises(InvalidFile, match="99"):
        read_graphs(tmp_path / name)


def test_json_lines_with_odd_keys(tmp_path: Path) -> None:
    line = {"nodes": 2, "edges": [[0, 1]], "incoming_graph_data": 3, "huge": 10**400}
    graphs = read_graphs(
        write(tmp_path / "g.jsonl", json.dumps(line) + "\n" + json.dumps({**line, "huge": 0.5}))
    )
    assert graphs.graph["huge"].tolist() == [np.inf, 0.5]
    assert graphs.values("graph", "incoming_graph_data").tolist() == [3, 3]
    with pytest.raises(InvalidGraph, match="'edges' is null, expected a list"):
        read_graphs(write(tmp_path / "g.jsonl", '{"nodes": 2, "edges": null}'))
    with pytest.raises(InvalidFile, match="not JSON"):
        read_graphs(write(tmp_path / "g.jsonl", "[" * 100_000))


@pytest.mark.parametrize("read", [read_graphs, as_graphset])
def test_a_text_is_a_path_then_a_data_set_then_a_smiles(read, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read("CCO").n_nodes == 3
    assert read("F/C=C/F").n_nodes == 4  # a slash does not make it a path
    assert read("C" * 5000).n_nodes == 5000  # too long for a path
    write(tmp_path / "CCO", "never read: no ending")
    with pytest.raises(InvalidFile, match="files of the kind 'without extension' are not read"):
        read("CCO")
    with pytest.raises(
        UnknownDataset, match=r"'CCX' is no file or folder, no SMILES either.*, and no data set"
    ):
        read("CCX")
    with pytest.raises(UnknownDataset, match=r"'MUTGA' is no file.*Did you mean MUTAG"):
        read("MUTGA")
    with pytest.raises(FileMissing, match="F/C=C/X does not exist, and is no SMILES either"):
        read("F/C=C/X")


def test_reading_asks_nobody_for_a_data_set(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    with pytest.raises(FileMissing, match=r"IMDB-BINARY is not on this machine.*download=True"):
        read_graphs("IMDB-BINARY")


def test_categories_are_no_weights(tmp_path: Path) -> None:
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, "single", "bond")
    save_graphs(as_graphset([graph], edge=["bond"]), tmp_path / "set")
    with pytest.raises(SchemaMismatch, match="'bond' cannot be a weight"):
        read_graphs(tmp_path / "set", weight="bond")


@pytest.mark.parametrize("source", ["", "  "])
def test_an_empty_path_is_not_the_current_folder(source):
    with pytest.raises(FileMissing, match="an empty path"):
        read_graphs(source)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["4,5", "", "6"], [4.5, None, 6.0]),
        (["1,234", "2,5"], [1.234, 2.5]),
        (["1,234", "2,345"], ["1,234", "2,345"]),  # thousands, or three decimals: nobody knows
        (["4,5", "4.5"], ["4,5", "4.5"]),
        (["1,2,3"], ["1,2,3"]),
    ],
)
def test_decimal_commas(cells, expected):
    assert typed(cells)[0] == expected


def test_labels_may_name_files_with_their_extension(tmp_path):
    for number in range(2):
        nx.write_graphml(nx.path_graph(3 + number), tmp_path / f"g{number}.graphml")
    (tmp_path / "labels.csv").write_text("file,size\ng1.graphml,4.5\ng0,3.5\n")
    graphs = read_graphs(tmp_path)
    assert graphs.graph["size"].tolist() == [3.5, 4.5] and graphs.ids.tolist() == ["g0", "g1"]


def test_empty_lines_before_the_header_of_a_table_do_not_count(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\n\nsmiles,logS\nCCO,1\nnot a molecule,2\n")
    graphs = read_graphs(path, errors="skip")
    assert graphs.graph["logS"].tolist() == [1.0] and "line 5" in graphs.rejected[0].problem

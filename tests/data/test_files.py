"""Every kind of file -> GraphSet: graphs, ids, columns, and the places of rows that could not be read."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

from infograph import GraphSet, as_graphset, read_graphs, save_graphs, write_rejected
from infograph.data.columns import typed
from infograph.data.read import place_of
from infograph.data.text_tables import cell_blocks
from infograph.errors import FileMissing, InvalidFile, InvalidGraph, SchemaMismatch, UnknownDataset
from infograph.scale import store_graphs
from tests.data.equal import assert_equal, told


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def smiles(graphs: GraphSet) -> list[str]:
    return list(graphs.graph["smiles"].tolist())


def arcs(graphs: GraphSet, index: int = 0) -> list[tuple[int, ...]]:
    return sorted(map(tuple, graphs[index].edges.T.tolist()))


def places(graphs: GraphSet) -> list[tuple[Any, ...]]:
    return [(place_of(each)[0], each.index, each.graph_id) for each in graphs.rejected]


def test_smi(tmp_path: Path) -> None:
    for name in ("a.smi", "a.smiles", "a.smi.gz"):
        graphs = read_graphs(write(tmp_path / name, "smiles name\nCCO\tethanol 96\r\nC methane\n\n"))
        assert smiles(graphs) == ["CCO", "C"] and graphs.ids.tolist() == ["ethanol 96", "methane"]
    assert read_graphs(write(tmp_path / "a.smi", "CC\nCO")).ids.tolist() == [0, 1]
    assert read_graphs(write(tmp_path / "b.smi", "CC 7\nCO 12")).ids.tolist() == [7, 12]
    assert read_graphs(write(tmp_path / "c.smi", "CC 007\nCO")).ids.tolist() == ["007", "1"]
    path = write(tmp_path / "a.smi", "smiles id\nCC a\nC1CC b\n\nCO c\n")
    with pytest.raises(InvalidGraph, match=r"graph 1 \(id 'b'\): .*a\.smi, line 3: the SMILES 'C1CC'"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == ["a", "c"] and places(kept) == [("line 3", 1, "b"), ("line 4", 2, "2")]


TABLE = """name,SMILES,activity,assay,note,class
m1,CCO,1.5,A,"first, of
many",1
m2,CC,,A,,0

m3,C,-2,B,third,1
"""


def test_csv(tmp_path: Path) -> None:
    graphs = read_graphs(write(tmp_path / "a.csv", TABLE), label="class")
    assert smiles(graphs) == ["CCO", "CC", "C"] and graphs.ids.tolist() == ["m1", "m2", "m3"]
    np.testing.assert_array_equal(graphs.graph["activity"], [1.5, np.nan, -2])
    assert graphs.values("graph", "assay").tolist() == ["A", "A", "B"]
    assert graphs.values("graph", "note").tolist() == ["first, of\nmany", "", "third"]
    assert graphs.values("graph", "y").tolist() == [1, 0, 1]
    kinds = [column.kind for column in graphs.schema.graph]
    assert kinds == ["text", "float", "categorical", "text", "categorical"]


def test_separators_marks_and_empty_lines(tmp_path: Path) -> None:
    for name, text in (
        ("a.csv", "\ufeffsmiles;value\nCC;1\nCO;2\n"),
        ("b.tsv", "value\tcanonical_smiles\n1\tCC\n2\tCO\n"),
        ("c.csv", "\n\nsmiles,value\nCC,1\nCO,2\nnothing,3\n"),
    ):
        graphs = read_graphs(write(tmp_path / name, text), errors="skip")
        assert smiles(graphs) == ["CC", "CO"] and graphs.graph["value"].tolist() == [1, 2]
    assert places(graphs) == [("line 6", 2, 2)]


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ('smiles,"a;b;c;d",y', "{},1,2"),
        ('"a,""b"",c,d";smiles;y', "1;{};2"),
        ('smiles;"a,b,\nc";y', "{};1;2"),
        ('smiles;a, 5" x;y', "{};1;2"),  # a quote within a cell is a letter
    ],
)
def test_separators_inside_of_quotes_do_not_count(tmp_path: Path, head: str, cells: str) -> None:
    rows = [cells.format(each) for each in ("CC", "CO")]
    graphs = read_graphs(write(tmp_path / "a.csv", "\n".join([head, *rows])))
    assert smiles(graphs) == ["CC", "CO"] and graphs.graph["y"].tolist() == [2, 2]
    assert len(graphs.graph) == 3


def test_chosen_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,structure,smiles,v\n1,CC,x,0.5\n1,CO,x,nan\n2,CN,x,NA\n")
    graphs = read_graphs(path, smiles="structure", id="v")
    assert smiles(graphs) == ["CC", "CO", "CN"] and graphs.ids.tolist() == ["0.5", "nan", "NA"]
    assert graphs.values("graph", "smiles_in_file").tolist() == ["x", "x", "x"]
    with pytest.warns(UserWarning, match=r"a\.csv: the column 'id' repeats '1', so graphs are numbered"):
        labelled = read_graphs(path, smiles="structure", label="v")
    np.testing.assert_array_equal(labelled.graph["y"], [0.5, np.nan, np.nan])
    path = write(tmp_path / "m.csv", "smiles,id,y\nCCO,5,1\nCC,6,1\n")
    assert read_graphs(path, label="id").values("graph", "y").tolist() == [5, 6]  # wins over an own y
    path = write(tmp_path / "a.csv", "name,smiles\nx,CC\n,CO\n")
    with pytest.warns(UserWarning, match=r"the column 'name' has empty cells, so graphs are numbered"):
        assert read_graphs(path).ids.tolist() == [0, 1]
    assert read_graphs(path, id="name").ids.tolist() == ["x", "1"]
    write(path, "name, id, smiles\nx, 1, CC\nx, 2, CO\n")
    assert read_graphs(path).ids.tolist() == [1, 2]  # another column will do


def test_bad_rows_keep_their_place(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,smiles,v\na,"CC",1\nb,C1CC,2\nc,CO\nd,,4\n\ne,CN,5\n')
    with pytest.raises(InvalidFile, match=r"a\.csv, line 4: 2 cells, while the header has 3"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip", id="id")
    assert kept.ids.tolist() == ["a", "e"] and kept.graph["v"].tolist() == [1, 5]
    with write_rejected(kept, tmp_path / "out" / "bad.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["place", "position", "id", "problem"],
            ["line 3", "1", "b", told("the SMILES 'C1CC' does not parse (unclosed ring)")],
            ["line 4", "2", "2", "2 cells, while the header has 3"],
            ["line 5", "3", "d", "no SMILES: the text is empty"],
        ]
    one = read_graphs(write(path, "smiles\nCC\n\nCO\n\n"), errors="skip")
    assert one.ids.tolist() == [0, 2] and places(one) == [("line 3", 1, 1)]
    lists = as_graphset(["CC", None], errors="skip")
    assert places(lists) == [("", 1, 1)]
    assert write_rejected(lists[:1], path).read_text().splitlines() == ["place,position,id,problem"]


def test_a_bad_row_says_how_to_do_without_it(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "smiles,v\nCC,1\n,2\n")
    for source in (table, ["CC", ""]):
        with pytest.raises(InvalidGraph) as raised:
            read_graphs(source)
        assert str(raised.value).endswith("; errors='skip' leaves such graphs out")
        assert raised.value.index == 1
    lines = write(tmp_path / "a.jsonl", '{"nodes": 0}')
    with pytest.raises(InvalidGraph, match=r"it has no nodes; leave it out, or pass errors='skip'$"):
        read_graphs(lines)  # which says it already


def test_a_cell_that_is_too_long_is_one_bad_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "smiles,note\nCC,x\nCO," + "y" * 140_000 + "\nCN,z\n")
    with pytest.raises(InvalidFile, match=r"a\.csv, line 3: a cell of more than 131,072 characters"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.graph["smiles"].tolist() == ["CC", "CN"] and places(kept) == [("line 3", 1, 1)]


@pytest.mark.parametrize(
    "cell",
    [
        '"' + "y\n" * 70_000 + 'ghost,CCCC,9\nq""q\nend"',
        '"' + "y\n" * 100_000 + '"',
        '"' + "y" * 140_000 + '\nghost,"",CCCC\n"",""\n"',
        '5" pipe' + "y" * 140_000 + '"',
        '"a\n",b,"' + "y" * 140_000 + ',""\nghost,CCCC\n",""',
    ],
    ids=["rows", "lines", "quotes", "inches", "cells"],
)
@pytest.mark.parametrize("size", [None, 1])
def test_a_long_cell_of_many_lines_is_one_bad_row(tmp_path: Path, cell: str, size: int | None) -> None:
    path = write(tmp_path / "a.csv", f'id,smiles,note\na,CC,x\nb,CO,{cell}\nc,CN,"z\n"\nd,CS,\n')
    blocks = list(cell_blocks(path, size))
    assert [name for block in blocks for name in block.columns["id"]] == ["a", "", "c", "d"]
    begins = 4 + cell.count("\n")
    assert [line for block in blocks for line in block.lines] == [2, 3, begins, begins + 2]
    kept = read_graphs(path, errors="skip", id="id")
    assert kept.ids.tolist() == ["a", "c", "d"]
    assert [each.problem for each in kept.rejected] == ["line 3: a cell of more than 131,072 characters"]


@pytest.mark.parametrize("end", ["\n", '"x\nc,CN,z\n'], ids=["open", "behind a quote"])
def test_a_long_cell_without_an_end_is_no_row(tmp_path: Path, end: str) -> None:
    path = write(tmp_path / "a.csv", 'id,smiles,note\na,CC,x\nb,CO,"' + "y\n" * 70_000 + end)
    with pytest.raises(InvalidFile, match=r"a\.csv, line 3: not a table, or truncated"):
        read_graphs(path, errors="skip")


@pytest.mark.parametrize(
    "read", [read_graphs, lambda path: store_graphs(path, path.parent / "g", columns=None)]
)
def test_many_columns_take_no_more_steps_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any]
) -> None:
    made, init, counts = 0, GraphSet.__post_init__, []

    def counted(graphs: GraphSet) -> None:
        nonlocal made
        made += 1
        init(graphs)

    monkeypatch.setattr(GraphSet, "__post_init__", counted)
    for number in (1, 60):
        names = [f"c{column}" for column in range(number)]
        text = "\n".join([",".join(["smiles", *names]), ",".join(["CC", *("x" * number)])])
        read(write(tmp_path / f"{number}.csv", text))
        counts, made = [*counts, made], 0
    assert counts[0] == counts[1]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "smiles": ["CC", None, "CO", "C"],
        "id": [5, 6, 7, 8],
        "v": [1.5, 2.5, None, float("nan")],
        "code": ["007", "1", "7", "007"],
        "flag": [True, False, True, None],
        "count": [1, 2, 3, 2**53],
        "large": [2**60 + 1, 1, 2, 3],
    }
    path = tmp_path / "A.PARQUET"
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(InvalidGraph, match=r"graph 1 \(id 6\): .*A\.PARQUET, row 2: no SMILES"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == [5, 7, 8] and places(kept) == [("row 2", 1, 6)]
    np.testing.assert_array_equal(kept.graph["v"], [1.5, np.nan, np.nan])
    assert kept.values("graph", "code").tolist() == ["007", "7", "007"]
    assert kept.values("graph", "flag").tolist() == [True, True, None]
    assert kept.graph["count"].tolist() == [1.0, 3.0, 2.0**53]
    assert kept.values("graph", "large").tolist() == [str(2**60 + 1), "2", "3"]
    assert read_graphs(path, errors="skip", label="count").values("graph", "y").tolist() == [1, 3, 2**53]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["4,5", "", "6"], [4.5, None, 6.0]),
        (["1,234", "2,5"], [1.234, 2.5]),
        (["1,234", "2,345"], ["1,234", "2,345"]),  # thousands, or three decimals: nobody knows
        (["4,5", "4.5"], ["4,5", "4.5"]),
        (["1,2,3"], ["1,2,3"]),
        (["1", " NA ", "n/a"], [1.0, None, None]),
        (["", "none"], [None, "none"]),
        (["1_1", "2_1", ""], ["1_1", "2_1", None]),  # floats to Python alone
        (["1", "\u0662"], ["1", "\u0662"]),
        (["inf", "-Infinity", "nan"], [np.inf, -np.inf, None]),
    ],
)
def test_what_cells_mean(cells: list[str], expected: list[Any]) -> None:
    assert typed(cells) == expected


def test_underscores_make_no_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,smiles,batch\n12,CC,1_1\n1\u0662,CO,2_1\n3,CN,1_1\n")
    graphs, stored = read_graphs(path), store_graphs(path, tmp_path / "g", columns=None).graphs
    for each in (graphs, stored):
        assert each.ids.tolist() == ["12", "1\u0662", "3"]
        assert each.values("graph", "batch").tolist() == ["1_1", "2_1", "1_1"]
    path = write(tmp_path / "b.csv", "source,target,kind\n1_1,11,2_1\n11,12,3\n")
    edges = read_graphs(path, edge={"kind": "categorical"})
    assert edges.sizes.tolist() == [3] and edges.values("edge", "kind").tolist() == ["2_1", "2_1", 3, 3]


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
    assert smiles(read_graphs(write(tmp_path / "a.sdf.gz", path.read_text()))) == smiles(graphs)
    assert read_graphs(path, id="logP").ids.tolist() == ["0.5", "1.5", "2.5"]


def test_damaged_sdf(tmp_path: Path) -> None:
    bad = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    bad.SetProp("_Name", "five bonds")
    good = Chem.MolToMolBlock(Chem.MolFromSmiles("CC"))
    records = [f"one{good}", Chem.MolToMolBlock(bad, kekulize=False), f"cut{good[:20]}\n", f"last{good}"]
    path = write(tmp_path / "a.sdf", "$$$$\n".join(records))
    with pytest.raises(InvalidFile, match=r"a\.sdf, record 3 \(line 27\): the record has 0 lines"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == ["one", "last"]
    assert places(kept) == [("record 2 (line 10)", 1, "five bonds"), ("record 3 (line 27)", 2, "cut")]
    with pytest.raises(InvalidGraph, match=r"a\.sdf, record 2 \(line 10\): the molecule cannot be sanitised"):
        read_graphs(write(path, "$$$$\n".join(records[:2])))


def network(n: int) -> nx.Graph:
    graph = nx.cycle_graph(n)
    nx.set_node_attributes(graph, {i: "ab"[i % 2] for i in graph}, "kind")
    nx.set_edge_attributes(graph, 0.5, "strength")
    return graph


def test_a_folder_of_networks_with_labels(tmp_path: Path) -> None:
    nx.write_graphml(network(3), tmp_path / "g10.graphml")
    nx.write_gexf(network(4), tmp_path / "g2.gexf")
    nx.write_graphml(network(5), tmp_path / "g1.graphml.gz")
    write(tmp_path / "labels.csv", "id,label,size\ng2.gexf,ring,4\ng1,ring,5.5\n")
    write(tmp_path / "README.txt", "about these graphs and where they are from")
    graphs = read_graphs(tmp_path, node="kind", weight="strength")
    assert graphs.ids.tolist() == ["g1", "g2", "g10"] and graphs.sizes.tolist() == [5, 4, 3]
    assert graphs.values("graph", "y").tolist() == ["ring", "ring", None]
    np.testing.assert_array_equal(graphs.graph["size"], [5.5, 4, np.nan])
    assert graphs[2].values("node", "kind").tolist() == ["a", "b", "a"]
    assert graphs.schema.weight is not None and set(graphs.edge["strength"]) == {0.5}
    assert [column.name for column in graphs.schema.graph] == ["y", "size"]
    assert as_graphset(tmp_path, schema=graphs.schema).node["kind"].tolist() == graphs.node["kind"].tolist()


def test_bad_files_in_a_folder(tmp_path: Path) -> None:
    nx.write_graphml(network(3), tmp_path / "a.graphml")
    whole = (tmp_path / "a.graphml").read_text()
    write(tmp_path / "b.graphml", whole[: len(whole) // 2])
    write(tmp_path / "c.gexf", "no xml at all")
    write(tmp_path / "d.edges", "0 1\n1 2 3 4 5\n")
    write(tmp_path / "e.graphml", "")
    write(tmp_path / "labels.csv", "id,label\na,x\nb,y\n")
    with pytest.raises(InvalidFile, match=r"b\.graphml is empty, truncated or .*line \d+, column"):
        read_graphs(tmp_path)
    kept = read_graphs(tmp_path, errors="skip")
    assert kept.ids.tolist() == ["a"] and kept.values("graph", "y").tolist() == ["x"]
    assert [each.graph_id for each in kept.rejected] == ["b", "c", "d", "e"]
    assert "d.edges, line 2: '1 2 3 4 5' is no edge" in kept.rejected[2].problem


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf"])
def test_edges_to_nodes_that_a_file_does_not_have(tmp_path: Path, name: str) -> None:
    writer = nx.write_gexf if name == "g.gexf" else nx.write_graphml
    writer(nx.path_graph(3), tmp_path / name)
    write(tmp_path / name, (tmp_path / name).read_text().replace('target="2"', 'target="99"'))
    with pytest.raises(InvalidFile, match="99"):
        read_graphs(tmp_path / name)


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
        ("a.csv", ",source,target\n0,5,6\n1,6,6\n", [(0, 1), (1, 0), (1, 1)]),  # of pandas, with its index
        ("a.csv", "w,dst_id,src_id\n2,b,a\n,c,b\n,,\n", [(0, 1), (1, 0), (1, 2), (2, 1)]),
        (
            "a.csv",
            'source,target,kind\n"u, v",w\nw, "x"\n"u, v",w,a\n',
            [(0, 1), (0, 1), (1, 0), (1, 0), (1, 2), (2, 1)],
        ),
        ("a.EDGES.gz", "0 1\n1 0\n", [(0, 1), (1, 0)]),
        ("a.edges", "v u\nu w\n", [(0, 1), (1, 0), (1, 2), (2, 1)]),
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


def test_json_lines(tmp_path: Path) -> None:
    named = [{"id": "a", "kind": "x"}, {"id": "b", "kind": "y"}]
    arc: dict[str, Any] = {"id": "g2", "nodes": [{"kind": "x"}] * 3, "edges": [[0, 1, {"w": 1.5}]]}
    lines: list[dict[str, Any]] = [
        {"id": "g1", "nodes": named, "edges": [["a", "b", {"w": 0.5}]]},
        {**arc, "directed": True, "label": 1, "huge": 10**400},
        {"id": "g3", "nodes": [{"kind": "x"}], "edges": [], "label": 0, "energy": -1.5, "huge": 0.5},
    ]
    path = write(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, lines)) + "\n")
    graphs = read_graphs(path)
    assert graphs.ids.tolist() == ["g1", "g2", "g3"] and graphs.sizes.tolist() == [2, 3, 1]
    assert arcs(graphs, 0) == [(0, 1), (1, 0)] and arcs(graphs, 1) == [(0, 1)]
    assert graphs.values("node", "kind").tolist() == ["x", "y", "x", "x", "x", "x"]
    assert graphs.edge["w"].tolist() == [0.5, 0.5, 1.5]
    assert graphs.values("graph", "y").tolist() == [None, 1, 0]
    np.testing.assert_array_equal(graphs.graph["energy"], [np.nan, np.nan, -1.5])
    np.testing.assert_array_equal(graphs.graph["huge"], [np.nan, np.inf, 0.5])
    assert read_graphs(path, weight="w").schema.weight is not None
    bare = read_graphs(write(tmp_path / "b.jsonl", '{"nodes": 3, "edges": [[0, 2]]}'))
    assert bare.sizes.tolist() == [3] and arcs(bare) == [(0, 2), (2, 0)] and bare.ids.tolist() == [0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"nodes": 2, "edges": [[0', "not JSON, or truncated"),
        ("[" * 100_000, "not JSON, or truncated"),
        ('{"nodes": 2, "edges": [[0, 5]]}', "an edge leads to node 5, which is not among"),
        ('{"nodes": 2, "edges": [[0]]}', r"the edge \[0\], expected \[u, v\]"),
        ('{"nodes": 2, "edges": null}', "'edges' is null, expected a list"),
        ('{"edges": []}', "expected an object with 'nodes' and 'edges'"),
        ('{"nodes": "many"}', "'nodes' is neither a number nor a list"),
        ('{"nodes": 0}', "it has no nodes"),
        ('{"nodes": [{"id": 1}, {"id": 1}]}', "two nodes have the same id"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"nodes": 2, "edges": [[0, 1]]}\n' + line + '\n{"nodes": 1}\n')
    with pytest.raises((InvalidFile, InvalidGraph), match=rf"a\.jsonl, line 2: {message}"):
        read_graphs(path)
    kept = read_graphs(path, errors="skip")
    assert kept.ids.tolist() == [0, 2] and places(kept) == [("line 2", 1, 1)]


def test_saved_sets_and_tu_folders(corner_cases: GraphSet, tmp_path: Path) -> None:
    graphs = read_graphs(save_graphs(corner_cases, tmp_path / "set"), edge="bond")
    assert graphs.n_edges == corner_cases.n_edges and isinstance(graphs.edges, np.memmap)
    assert [column.name for column in graphs.schema.features("edge")] == ["bond"]
    for wrong, message in (
        ({"node": ["colour"]}, "no node column 'colour'; the graphs have: 'label'"),
        ({"label": "y"}, "no graph column 'y'"),
        ({"weight": "bond"}, "'bond' cannot be a weight"),
    ):
        with pytest.raises(SchemaMismatch, match=message):
            read_graphs(tmp_path / "set", **wrong)  # type: ignore[arg-type]
    write(tmp_path / "TINY_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n")
    write(tmp_path / "TINY_graph_indicator.txt", "1\n1\n2\n2\n")
    assert read_graphs(tmp_path).sizes.tolist() == [2, 2]


def test_a_text_is_a_path_then_a_data_set_then_a_smiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(read_graphs("MUTAG")) == 188
    assert read_graphs("CCO").n_nodes == 3
    assert as_graphset("F/C=C/F", stereo=False).n_nodes == 4  # a slash does not make it a path
    assert read_graphs("C" * 1000).n_nodes == 1000  # too long for a path
    write(tmp_path / "CCO", "never read: no ending")
    for text, error, message in (
        ("CCO", InvalidFile, "files of the kind 'without extension' are not read"),
        ("CCX", UnknownDataset, r"'CCX' is no file or folder, no SMILES either"),
        ("MUTGA", UnknownDataset, r"'MUTGA' is no file.*Did you mean MUTAG"),
        ("F/C=C/X", FileMissing, "F/C=C/X does not exist, and is no SMILES either"),
    ):
        with pytest.raises(error, match=message):
            as_graphset(text)


@pytest.mark.parametrize("listed", ["links", "edges"])
def test_node_link_data_of_networkx_keeps_its_edges(tmp_path: Path, listed: str) -> None:
    networks = [nx.MultiDiGraph(year=2020), nx.Graph(year=2021)]
    for network in networks:
        network.add_nodes_from([("a", {"kind": 1}), ("b", {"kind": 2}), ("c", {"kind": 2})])
        network.add_edge("a", "b", weight=0.5)
        network.add_edge("b", "c", weight=2.0)
    networks[0].add_edge("a", "b", weight=1.5)
    lines = []
    for network in networks:
        told = nx.node_link_data(network)
        told[listed] = told.pop("links" if "links" in told else "edges")
        lines.append(json.dumps(told))
    found = read_graphs(write(tmp_path / "a.jsonl", "\n".join(lines)))
    assert_equal(found, as_graphset(networks))
    assert arcs(found, 0) == [(0, 1), (0, 1), (1, 2)] and found.edge["weight"].sum() == 9
    with pytest.raises(InvalidGraph, match="line 1: 'adjacency' is not read: give 'edges'"):
        read_graphs(write(tmp_path / "b.jsonl", json.dumps(nx.adjacency_data(networks[1]))))


@pytest.mark.parametrize("text", ["CCO\nCC\n", "CCO mol1\nc1ccccc1 mol2\nC[NH3+] mol3\n"])
def test_smiles_are_no_edges(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidFile, match=r"a\.txt looks like SMILES, .*: call it \.smi"):
        read_graphs(write(tmp_path / "a.txt", text))
    assert len(read_graphs(write(tmp_path / "a.smi", text))) == text.count("\n")
    for edges in ("C1 C2\nC2 N1\n", "C O\n", "1\n2\n", "ann\nbob\n", "0 1\n2 3\n"):
        assert len(read_graphs(write(tmp_path / "b.txt", edges))) == 1


def test_tables_of_molecules_in_a_folder_are_no_networks(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "source,target\nx,y\n")
    assert len(read_graphs(tmp_path)) == 1
    write(tmp_path / "b.csv", "smiles,v\nCC,1\n")
    with pytest.raises(
        InvalidFile, match=r"b\.csv holds molecules, and the files of a folder are a network each"
    ):
        read_graphs(tmp_path)

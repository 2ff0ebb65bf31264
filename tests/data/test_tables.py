"""Tables in memory: pandas, polars, Arrow. The same rows as a file, or networkx graphs, are the oracle."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from dataclasses import replace

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import scipy.sparse as sp
from rdkit import Chem

import infograph
from infograph import GraphIndex, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, as_graphset, read_graphs
from infograph.errors import ColumnWarning, InvalidFile, InvalidGraph, InvalidParameter
from tests.data.equal import assert_equal

TABLE = pd.DataFrame(
    {
        "id": [f"m{n}" for n in range(6)],
        "smiles": ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "OCCO"],
        "logS [mol/L]": [1.1, -1.64, np.nan, 0.5, -2.0, 1.5],
        "kind": ["a", "b", "a", None, "b", "a"],
    }
)


@pytest.fixture
def by_csv(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    return read_graphs(tmp_path / "table.csv")


FORMS = {
    "pandas": lambda table: table,
    "pandas index": lambda table: table.set_index("id"),
    "pandas types": lambda table: table.convert_dtypes().astype({"kind": "category"}),
    "polars": lambda table: pl.from_pandas(table),
    "polars categories": lambda table: pl.from_pandas(table).with_columns(
        pl.col("kind").cast(pl.Categorical)
    ),
    "polars lazy": lambda table: pl.from_pandas(table).lazy(),
    "arrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "arrow batch": lambda table: pa.RecordBatch.from_pandas(table, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_molecules_is_read_as_its_csv_file(form, by_csv):
    assert_equal(read_graphs(FORMS[form](TABLE)), by_csv)
    assert_equal(as_graphset(FORMS[form](TABLE)), by_csv)


def test_options_of_files_are_options_of_tables(tmp_path):
    table = TABLE.rename(columns={"smiles": "structure"})
    table.to_csv(tmp_path / "table.csv", index=False)
    options = {"smiles": "structure", "id": "id", "label": "kind", "units": {"logS": "g/L"}}
    expected = read_graphs(tmp_path / "table.csv", **options)
    assert_equal(read_graphs(table, **options), expected)
    assert_equal(as_graphset(table, smiles="structure"), read_graphs(table, smiles="structure"))


def test_the_index_is_the_ids():
    assert as_graphset(TABLE.iloc[[4, 1]].drop(columns="id")).ids.tolist() == [4, 1]
    named = TABLE.set_index(pd.Index(list("uvwxyz"))).drop(columns="id")
    assert as_graphset(named).ids.tolist() == list("uvwxyz")
    assert as_graphset(named["smiles"]).ids.tolist() == list("uvwxyz")
    assert as_graphset(TABLE.set_index("smiles").drop(columns="id")).ids.tolist() == TABLE["smiles"].tolist()
    both = as_graphset(TABLE.drop(columns="id").set_index([pd.Index(list("aabbcc")), pd.Index(range(6))]))
    assert both.ids[0] == "('a', 0)"
    with pytest.warns(UserWarning, match="index of the DataFrame repeats 0, so that it is not taken"):
        repeated = as_graphset(pd.concat([TABLE[:2], TABLE[:1].drop(columns="id")]).drop(columns="id"))
    assert repeated.ids.tolist() == [0, 1, 2]


def test_graphs_and_nodes_may_be_named_in_the_index():
    edges = pd.DataFrame({"graph": [7, 7, 3], "source": [0, 1, 1], "target": [1, 2, 2], "kind": list("aba")})
    nodes = pd.DataFrame({"graph": [7, 7, 7, 3, 3], "node": [0, 1, 2, 1, 2], "c": list("uvuvu")})
    expected, whole = as_graphset(edges), as_graphset(edges, nodes=nodes)
    for names in (["graph"], ["graph", "source"]):
        assert_equal(as_graphset(edges.set_index(names)), expected)
    assert_equal(as_graphset(edges.rename_axis("row")), expected)
    for names in (["graph"], ["graph", "node"]):
        assert_equal(as_graphset(edges, nodes=nodes.set_index(names)), whole)
    other = edges.rename(columns={"graph": "net"})
    assert_equal(read_graphs(other.set_index("net"), id="net"), expected)
    both = TABLE.drop(columns="id").set_index([pd.Index(range(6)), TABLE["smiles"]]).drop(columns="smiles")
    assert as_graphset(both).values("graph", "smiles").tolist() == TABLE["smiles"].tolist()


def test_graphs_named_by_numbers_without_end():
    edges = pd.DataFrame({"graph": [1e300, 1e300, np.inf], "source": [0, 1, 0], "target": [1, 2, 1]})
    assert as_graphset(edges).ids.tolist() == ["1e+300", "inf"]


def test_headers_of_edges_with_quotes_and_spaces(tmp_path):
    """All cells of text files are texts first, whatever their column is called."""
    (tmp_path / "edges.csv").write_text('graph, source,target,"w,1"\n007,01,1,2\n007,1,2,3\n')
    graphs = read_graphs(tmp_path / "edges.csv")
    assert graphs.ids.tolist() == ["007"] and graphs.sizes.tolist() == [3]  # 01 is not 1
    assert [column.name for column in graphs.schema.edge] == ["w,1"]


def test_spaces_around_cells_of_edges_do_not_count(tmp_path):
    for name, text in (
        ("a.csv", "source, target, graph, w, kind\n1, 2, g, 0.5, x\n2, 3, g, , x \n"),
        ("b.csv", "source,target,graph,w,kind,\n1,2,g,0.5,x,0\n2,3,g,,x,1\n"),  # the last one has no name
    ):
        (tmp_path / name).write_text(text)
    assert_equal(read_graphs(tmp_path / "a.csv"), read_graphs(tmp_path / "b.csv"))


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v])])
def test_a_column_of_smiles(column):
    smiles = TABLE["smiles"].tolist()
    assert_equal(as_graphset(column(smiles)), as_graphset(smiles))
    gap = as_graphset(column(["CC", None, "CCO"]), errors="skip")
    assert len(gap) == 2 and [(each.index, each.problem) for each in gap.rejected] == [
        (1, "no SMILES: the value is missing")
    ]


def test_a_gap_keeps_its_place():
    model = InfoGraph(dim=8, epochs=0).fit(TABLE)
    for smiles in (pd.Series(["CC", np.nan, "CCO"]), pd.Series(["CC", pd.NA, "CCO"], dtype="string")):
        rows = model.transform(smiles, errors="nan")
        np.testing.assert_array_equal(np.isnan(rows[:, 0]), [False, True, False])
        np.testing.assert_array_equal(rows[[0, 2]], model.transform(["CC", "CCO"]))
        np.testing.assert_array_equal(model.transform(smiles, errors="skip"), rows[[0, 2]])
        frame = pd.DataFrame({"smiles": smiles})
        np.testing.assert_array_equal(model.transform(frame, errors="nan"), rows)
        with pytest.raises(InvalidGraph, match="the DataFrame, row 2: no SMILES: the text is empty"):
            model.transform(frame)


@pytest.mark.filterwarnings("ignore:no labelled training molecule")  # has Cl, or N
def test_learning_from_a_table_by_the_name_of_a_column(by_csv):
    settings = {"objective": "vectors", "random_state": 0}
    for target, cls in (("logS", InfoGraphRegressor), ("kind", InfoGraphClassifier)):
        model = cls(**settings).fit(TABLE, target)
        same = cls(**settings).fit(by_csv, target)
        np.testing.assert_array_equal(model.predict(TABLE), same.predict(by_csv))
        assert model.score(TABLE.set_index("id"), target) == same.score(by_csv, target)
    index = GraphIndex.build(model, TABLE)
    assert index.search(TABLE[1:2], k=1).ids.tolist() == [["m1"]]


def test_molecules_of_rdkit_in_a_table():
    frame = TABLE.assign(ROMol=[Chem.MolFromSmiles(text) for text in TABLE["smiles"]])
    assert_equal(as_graphset(frame), as_graphset(TABLE))
    assert_equal(as_graphset(frame.drop(columns="smiles")), as_graphset(TABLE))
    with pytest.warns(ColumnWarning, match="the column 'other' holds no values"):
        as_graphset(TABLE.assign(other=[object()] * 6))


def test_odd_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "smiles": pd.Categorical(["CC", "CO", "CC"]),
            "mixed": [1, "a", None],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            7: [1.5, 2.5, 3.5],
            "large": [10**30, 1, None],
            "range": pd.cut([1, 2, 2], [0, 1.5, 3]),
            "month": pd.period_range("2020-01", periods=3, freq="M"),
        }
    )
    graphs = as_graphset(frame)
    assert graphs.values("graph", "mixed").tolist() == ["1", "a", ""]
    np.testing.assert_array_equal(graphs.graph["whole"], [1, np.nan, 3])
    assert graphs.values("graph", "flag").tolist() == [True, None, False]
    assert graphs.graph["7"].tolist() == [1.5, 2.5, 3.5]
    np.testing.assert_array_equal(graphs.graph["large"], [1e30, 1, np.nan])
    assert graphs.values("graph", "range").tolist() == ["(0.0, 1.5]", "(1.5, 3.0]", "(1.5, 3.0]"]
    assert graphs.values("graph", "month").tolist() == ["2020-01", "2020-02", "2020-03"]
    half = pd.Series(["a\ud800", "b"], dtype=object)
    for table in ({"smiles": ["CC", "CO"]}, {"source": [0, 1], "target": [1, 2]}):
        with pytest.raises(InvalidParameter, match="'text' holds half a character"):
            read_graphs(pd.DataFrame(table).assign(text=half))
    nested = pd.DataFrame({"smiles": ["CC", "CO"], "list": [[1, 2], [3, 4]]})
    nested.to_parquet(tmp_path / "nested.parquet")
    for source in (nested, tmp_path / "nested.parquet"):
        with pytest.warns(ColumnWarning, match=r"the column 'list' is nested \(list<.*\) and is not used"):
            assert list(read_graphs(source).graph) == ["smiles"]
    two = pd.DataFrame({"isomeric_smiles": ["CC"], "SMILES": ["CO"]})
    with pytest.warns(ColumnWarning, match=r"any of \['SMILES', 'isomeric_smiles'\]; the first is taken"):
        assert as_graphset(two).values("graph", "smiles").tolist() == ["CO"]
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InvalidFile, match="spreadsheets are not read: export the sheet as CSV"):
        read_graphs(tmp_path / "a.xlsx")


# The headers of files that come with chemprop (data/, tests/data/) and DeepChem (datasets/, models/tests/).
HEADERS = {
    "smiles": None,
    "smiles,lipo,split": None,
    "smiles,solvent,peakwavs_max": None,
    "smiles,FDA_APPROVED,CT_TOX": None,
    "smiles,NR-AR,NR-AR-LBD,NR-AhR": None,
    "mol,Class": None,
    "smiles,y": None,
    "smiles,id": "id",
    "Compound ID,log-solubility,smiles": "Compound ID",
    "user-specified2,split,user-specified1,Compound ID,log-solubility,smiles": "Compound ID",
    "Compound ID,ESOL predicted log solubility in mols per litre,Minimum Degree,smiles": "Compound ID",
    "mol,CID,Class,Model,pIC50,MW": None,
    "num,name,p_np,smiles": "name",
    "mol_id,smiles,A,B,C,mu": "mol_id",
    "id,target,smile": "id",
    "Molecule": None,
}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_chemprop_and_deepchem(header, tmp_path):
    rows = {name: ["CCO", "CC", "CCC"] for name in ("mol", "smile", "Molecule")}
    rows["smiles"] = ["CCO ", "CC", "CCC"]
    text = ["Amigdalin", "citral", "2,2'-PCB"]
    split = {"split": ["train", "valid", "test"], "solvent": ["ClCCl", "O", "O"]}
    columns = {
        name: rows.get(name) or split.get(name) or (text if name == HEADERS[header] else [0.5, None, 1])
        for name in header.split(",")
    }
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    graphs = read_graphs(tmp_path / "a.csv")
    assert graphs.ids.tolist() == ([0, 1, 2] if HEADERS[header] is None else text)
    assert graphs.sizes.tolist() == [3, 2, 3]
    numbers = [name for name in columns if columns[name] == [0.5, None, 1]]
    for name in numbers:
        np.testing.assert_array_equal(graphs.graph[name], [0.5, np.nan, 1])
    assert_equal(as_graphset(pd.DataFrame(columns)), graphs)


ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (f"{ASPIRIN},-0.77", f"the SMILES '{ASPIRIN}' and numbers; add a header such as smiles,value"),
        (f"0,{ASPIRIN},1,,1", f"the SMILES '{ASPIRIN}' and numbers; add a header such as smiles,value"),
        (ASPIRIN, f"the SMILES '{ASPIRIN}'; add a header such as smiles"),
        (f"{ASPIRIN},ClC(Cl)(Cl)Cl", f"the SMILES '{ASPIRIN}'; add a header such as smiles"),
    ],
)
def test_a_file_without_a_header(first, words, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\n{first}\n")
    for options in ({}, {"smiles": ASPIRIN}, {"errors": "skip"}):
        with pytest.raises(InvalidFile) as raised:
            read_graphs(path, **options)
        assert str(raised.value) == f"{path} has no header: the first row looks like data, with {words}"
    path.write_text(f"{ASPIRIN},1,1\nCC,2,3\n")
    with pytest.raises(InvalidFile, match="the DataFrame has no header: the first row looks like data"):
        read_graphs(pd.read_csv(path), smiles=ASPIRIN)


@pytest.mark.parametrize("name", ["C", "N", "CO", "I", "NO", "pIC50", "CCO", "CNS", "OOS"])
def test_short_names_of_columns_are_no_data(name, tmp_path):
    (tmp_path / "a.csv").write_text(f"{name},1\nCCO,2\nCC,3\n")
    graphs = read_graphs(tmp_path / "a.csv", smiles=name)
    assert graphs.sizes.tolist() == [3, 2] and graphs.graph["1"].tolist() == [2, 3]


def test_a_column_of_molecules_may_hold_their_names(tmp_path):
    table = pd.DataFrame({"Molecule": ["ethanol", "ethane"], "smile": ["CCO", "CC"], "y": [1.5, 2]})
    table.to_csv(tmp_path / "a.csv", index=False)
    for source in (table, tmp_path / "a.csv"):
        graphs = read_graphs(source)  # without a warning
        assert graphs.graph["smiles"].tolist() == ["CCO", "CC"]
        assert graphs.graph["Molecule"].tolist() == ["ethanol", "ethane"]
    assert as_graphset(pd.DataFrame({"molecule": ["CCO"]})).sizes.tolist() == [3]  # no matrix of 1 x 1
    edges = pd.DataFrame({"molecule": ["a", "a", "b"], "source": [0, 1, 0], "target": [1, 2, 1]})
    edges.to_csv(tmp_path / "b.csv", index=False)
    for source in (edges, tmp_path / "b.csv"):
        assert read_graphs(source, id="molecule").sizes.tolist() == [3, 2]


# ---- edges


def networks(*, directed=False, n_graphs=12, seed=0):
    """Random multigraphs with loops and attributes, ids and names of nodes that are texts."""
    rng = np.random.default_rng(seed)
    made = []
    for g in range(n_graphs):
        graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
        graph.graph["id"] = f"g{g}"
        for _ in range(rng.integers(1, 15)):
            u, v = rng.choice(list("abcdef"), 2)
            weight, kind = float(rng.random()), str(rng.choice(["x", "y"]))
            graph.add_edge(str(u), str(v), weight=weight, kind=kind, order=int(rng.integers(3)))
        made.append(graph)
    return made


def edge_table(graphs):
    rows = [(g.graph["id"], u, v, *d.values()) for g in graphs for u, v, d in g.edges(data=True)]
    return pd.DataFrame(rows, columns=["graph", "source", "target", "weight", "kind", "order"])


def in_rows(graphs):
    """The same networks with edges in the order, and nodes as they come, of their table."""
    made = []
    for graph in graphs:
        copy = type(graph)(**graph.graph)
        copy.add_edges_from(list(graph.edges(data=True)))
        made.append(copy)
    return made


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "csv", "tsv", "gz", "parquet"])
def test_a_table_of_edges_gives_the_graphs_of_networkx(form, directed, tmp_path):
    graphs = networks(directed=directed)
    table = edge_table(graphs)
    source = table
    if form in FORMS:
        source = FORMS[form](table)
    elif form == "parquet":
        table.to_parquet(tmp_path / "edges.parquet")
        source = tmp_path / "edges.parquet"
    else:
        source = tmp_path / f"edges.{form if form != 'gz' else 'csv.gz'}"
        table.to_csv(source, index=False, sep="\t" if form == "tsv" else ",")
    assert_equal(in_order(read_graphs(source, directed=directed)), in_order(as_graphset(in_rows(graphs))))


def test_rows_may_come_in_any_order_and_columns_by_other_names():
    graphs = networks()
    table = edge_table(graphs)
    mixed = table.sample(frac=1, random_state=0)
    order = list(dict.fromkeys(mixed["graph"]))
    made = []
    for name in order:
        graph = nx.MultiGraph(id=name)
        rows = mixed[mixed["graph"] == name]
        graph.add_edges_from(
            (r.source, r.target, dict(r[["weight", "kind", "order"]])) for _, r in rows.iterrows()
        )
        made.append(graph)
    expected = in_order(as_graphset(made))
    assert_equal(in_order(read_graphs(mixed)), expected)
    for names in (("graph_id", "src", "dst"), ("Graph ID", "from", "to"), ("graph", "u", "v")):
        renamed = mixed.rename(columns=dict(zip(("graph", "source", "target"), names, strict=True)))
        assert_equal(in_order(read_graphs(renamed)), expected)
        assert_equal(
            read_graphs(renamed[list(renamed.columns[::-1])])[:], read_graphs(mixed[mixed.columns[::-1]])
        )


def test_edges_in_both_directions_are_arcs():
    once = edge_table(networks(directed=True))
    both = pd.concat([once, once.rename(columns={"source": "target", "target": "source"})])
    mixed = pd.concat([both[both["graph"] == "g1"], once[once["graph"] == "g0"]])
    graphs = read_graphs(mixed)
    listed, single = ((mixed["graph"] == name).sum() for name in ("g1", "g0"))
    loops = ((mixed["graph"] == "g0") & (mixed["source"] == mixed["target"])).sum()
    assert np.diff(graphs.edge_ptr).tolist() == [listed, 2 * single - loops]
    assert np.diff(read_graphs(mixed, directed=True).edge_ptr).tolist() == [listed, single]


@pytest.mark.parametrize("form", ["pandas", "csv", "parquet"])
def test_a_table_of_nodes(form, tmp_path):
    graphs = networks()
    rng, made, rows = np.random.default_rng(1), [], []
    for graph in graphs:
        copy = nx.MultiGraph(**graph.graph)
        for node in [*"fedcba", "alone"]:
            attributes = {"size": float(rng.random()), "kind": str(rng.choice(["u", "v"]))}
            copy.add_node(node, **attributes)
            rows.append((graph.graph["id"], node, *attributes.values()))
        copy.add_edges_from(list(graph.edges(data=True)))
        made.append(copy)
    made.append(nx.MultiGraph(id="without edges"))
    made[-1].add_node("only", size=0.5, kind="u")
    rows.append(("without edges", "only", 0.5, "u"))
    edges, nodes = edge_table(graphs), pd.DataFrame(rows, columns=["graph", "node", "size", "kind"])
    sources = [edges, nodes]
    if form != "pandas":
        sources = [tmp_path / f"{name}.{form}" for name in ("edges", "nodes")]
        for table, path in zip((edges, nodes), sources, strict=True):
            table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    ordered = []  # networkx gives edges by node, a table as they stand there
    for graph, before in zip(made, [*graphs, None], strict=True):
        copy = nx.MultiDiGraph(**graph.graph)
        copy.add_nodes_from(graph.nodes(data=True))
        for u, v, data in before.edges(data=True) if before else ():
            copy.add_edges_from([(u, v, data)] if u == v else [(u, v, data), (v, u, data)])
        ordered.append(copy)
    found, expected = read_graphs(sources[0], nodes=sources[1]), as_graphset(made)
    for name in ("node_ptr", "edge_ptr", "ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.schema == expected.schema
    for name in found.node:
        np.testing.assert_array_equal(found.node[name], expected.node[name])
    for g in range(len(found)):
        assert arcs(found[g]) == arcs(expected[g]) == arcs(as_graphset([ordered[g]]), fill=found)


def in_order(graphs):
    """The same graphs with arcs in the order of their ends and columns; the order of networkx is its own."""
    keys = [*(values for values in graphs.edge.values() if values.ndim == 1), *graphs.edges[::-1]]
    order = np.lexsort((*keys, graphs.edge_graph))
    columns = {name: values[order] for name, values in graphs.edge.items()}
    return replace(graphs, edges=graphs.edges[:, order], edge=columns)


def arcs(graphs, fill=None):
    """The arcs of a set with their columns, sorted."""
    columns = [
        graphs.values("edge", c.name).tolist() for c in (fill or graphs).schema.edge if c.name in graphs.edge
    ]
    return sorted(zip(*graphs.edges.tolist(), *columns, strict=True))


def test_labels_of_graphs_in_a_table_of_edges(tmp_path):
    table = edge_table(networks())
    table["class"] = table["graph"].map({f"g{n}": ["ring", "chain"][n % 2] for n in range(12)})
    table.to_csv(tmp_path / "edges.csv", index=False)
    for source in (table, tmp_path / "edges.csv"):
        graphs = read_graphs(source, label="class")
        assert graphs.values("graph", "y").tolist() == ["ring", "chain"] * 6 and "class" not in graphs.edge
    with pytest.raises(
        InvalidParameter, match="two values of it in graph g0; a label is the same in all rows"
    ):
        read_graphs(table, label="weight")
    with pytest.raises(InvalidParameter, match="label='colour': no such column, only"):
        read_graphs(table, label="colour")


def test_one_graph_without_a_column_of_graphs(tmp_path):
    table = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0]})
    assert_equal(in_order(read_graphs(table)), in_order(as_graphset([nx.cycle_graph(3)])))
    nodes = pd.DataFrame({"node": [0, 1, 2, 3], "colour": ["r", "g", "r", "g"]})
    table.to_csv(tmp_path / "ring.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    graphs = read_graphs(tmp_path / "ring.csv", nodes=str(tmp_path / "nodes.csv"))
    assert graphs.ids.tolist() == ["ring"] and graphs.values("node", "colour").tolist() == [
        "r",
        "g",
        "r",
        "g",
    ]


def test_names_stay_as_they_are_written(tmp_path):
    (tmp_path / "edges.csv").write_text("run,source,target\n007,01,1\n007,1,NA\n7,1,2\n")
    graphs = read_graphs(tmp_path / "edges.csv", id="run")
    assert graphs.ids.tolist() == ["007", "7"] and graphs.sizes.tolist() == [3, 2]
    table = pd.DataFrame({"run": ["x", "x", "y"], "source": [0, 1, 0], "target": [1, 2, 1]})
    assert read_graphs(table, id="run").ids.tolist() == ["x", "y"]


def test_lists_of_numbers_and_positions_of_nodes():
    edges = pd.DataFrame({"graph": [1, 1], "source": [0, 1], "target": [1, 2]})
    nodes = pd.DataFrame(
        {"graph": [1] * 3, "node": [0, 1, 2], "x": [[0.5, 1], [1, 2], [3, 4]], "pos": [[0, 0, 1]] * 3}
    )
    graphs = read_graphs(edges, nodes=nodes)
    assert graphs.node["x"].tolist() == [[0.5, 1], [1, 2], [3, 4]] and graphs.schema.position.name == "pos"
    network = nx.path_graph(3)
    for node in network:
        network.nodes[node].update(x=nodes["x"][node], pos=[0.0, 0.0, 1.0])
    assert_equal(graphs, as_graphset([network], ids=[1]))


def test_kinds_of_attributes_are_those_of_networks():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"graph": 0, "source": range(300), "target": range(1, 301)})
    table["few"], table["share"] = rng.integers(0, 5, 300), rng.random(300)
    table["flag"], table["gap"] = rng.random(300) < 0.5, pd.array([1, None, 2] * 100, dtype="Int64")
    graphs = read_graphs(table)
    kinds = {column.name: (column.kind, column.categories) for column in graphs.schema.edge}
    assert kinds == {
        "few": ("categorical", (0, 1, 2, 3, 4)),
        "share": ("float", ()),
        "flag": ("categorical", (False, True)),
        "gap": ("categorical", (1, 2)),
    }
    with pytest.warns(ColumnWarning, match="'many' has 300 different whole numbers"):
        assert read_graphs(table.assign(many=range(300))).schema.column("edge", "many").kind == "float"
    assert read_graphs(table, edge=["few"], weight="share").schema.weight.name == "share"
    assert read_graphs(table, edge={"few": "float"}).schema.column("edge", "few").kind == "float"


def test_a_fitted_model_reads_tables_its_way():
    tables = [edge_table(networks(seed=seed)) for seed in (0, 1)]
    model = InfoGraph(dim=8, epochs=0, edge_columns=["kind"]).fit(tables[0])
    vectors = model.transform(tables[1])
    np.testing.assert_allclose(vectors, model.transform(in_rows(networks(seed=1))), rtol=1e-5, atol=1e-5)


EDGES = pd.DataFrame({"graph": ["a", "a", "b", "b"], "source": [0, 1, 0, 1], "target": [1, 2, 1, 2]})
NODES = pd.DataFrame({"graph": ["a"] * 3 + ["b"] * 3, "node": [0, 1, 2] * 2})


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        (
            EDGES.assign(source=[0, None, 0, 1]),
            None,
            "graph 0 (id 'a'): row 2 of the DataFrame: an edge without source",
        ),
        (
            EDGES.assign(target=["1", "2", "", "z"]),
            None,
            "graph 1 (id 'b'): row 3 of the DataFrame: an edge without t",
        ),
        (EDGES.assign(w=[1, 2, np.inf, 1]), None, "row 3 of the DataFrame: 'w' is not finite or too large"),
        (EDGES, NODES[:5], "row 4 of the DataFrame: not among the nodes in the table of nodes: '2'"),
        (EDGES, NODES[:3], "graph 1 (id 'b'): it has edges and no nodes in the table of nodes"),
        (
            EDGES,
            NODES.assign(node=[0, 1, 2, 0, 1, 1]),
            "row 6 of the table of nodes: the node stands there a second",
        ),
        (
            EDGES,
            NODES.assign(node=[0, 1, 2, 0, 1, None]),
            "row 6 of the table of nodes: a node without a name",
        ),
    ],
)
def test_a_bad_row_costs_its_graph(edges, nodes, words, tmp_path):
    with pytest.raises(InvalidGraph) as raised:
        read_graphs(edges, nodes=nodes)
    assert words in str(raised.value)
    graphs = read_graphs(edges, nodes=nodes, errors="skip")
    (rejected,) = graphs.rejected
    assert rejected.problem in str(raised.value) and len(graphs) == 1 and graphs.sizes.tolist() == [3]
    assert graphs.ids.tolist() == [{"a": "b", "b": "a"}[rejected.graph_id]]
    infograph.write_rejected(graphs, tmp_path / "rejected.csv")


@pytest.mark.parametrize(
    ("edges", "options", "words"),
    [
        (EDGES.assign(graph=["a", None, "b", "b"]), {}, "the DataFrame, row 2: no graph is named"),
        (EDGES[:0], {}, "the DataFrame has columns and no rows"),
        (
            EDGES,
            {"nodes": NODES.drop(columns="node")},
            "the table of nodes has no columns graph and node among",
        ),
        (
            EDGES,
            {"nodes": NODES.drop(columns="graph")},
            "the table of nodes has no column graph, and the other",
        ),
        (EDGES, {"nodes": "nowhere.csv"}, "nodes='nowhere.csv': no such file"),
        (EDGES, {"nodes": 5}, "a int, expected a DataFrame, an Arrow table or a path"),
        (EDGES, {"weight": "w"}, "the edge attribute 'w' is missing; the edges have: none"),
        (EDGES.assign(w=list("abcd")), {"weight": "w"}, "the edge attribute 'w' does not hold numbers"),
        (TABLE, {"nodes": NODES}, "nodes= is for tables of edges"),
        (EDGES, {"node": "kind"}, "the node attribute 'kind' is missing; the nodes have: none"),
        (EDGES, {"id": "net"}, "id='net': the DataFrame has no such column, only ['graph', 'source', "),
    ],
)
def test_tables_that_are_refused(edges, options, words):
    with pytest.raises((InvalidFile, InvalidParameter, infograph.errors.InfoGraphError)) as raised:
        read_graphs(edges, **options)
    assert words in str(raised.value)


def test_files_of_edges_that_are_refused(tmp_path):
    path = tmp_path / "edges.csv"
    for content, words in (
        ("graph,source,target\na,1,2\na,3\n", "Expected 3 columns, got 2"),
        ("graph,source,target,target\na,1,2,3\n", "two columns of one name"),
        ("graph,source,target\n", "has columns and no rows"),
    ):
        path.write_text(content)
        with pytest.raises(InvalidFile, match=words):
            read_graphs(path)
    rows = [f"{number},{number * 7919 % 100_003}\n" for number in range(60_000)]
    packed = gzip.compress("".join(["graph,source,target\n", *(f"a,{row}" for row in rows)]).encode())
    (tmp_path / "edges.csv.gz").write_bytes(packed[:-20_000])
    with pytest.raises(InvalidFile, match="is damaged, or no table: Compressed file ended"):
        read_graphs(tmp_path / "edges.csv.gz")
    latin = pa.Array.from_buffers(pa.string(), 1, [None, *map(pa.py_buffer, (b"\0\0\0\0\1\0\0\0", b"\xff"))])
    parquet.write_table(pa.table({"source": ["a"], "target": ["b"], "kind": latin}), tmp_path / "a.parquet")
    with pytest.raises(InvalidFile, match=r"a\.parquet is damaged or no Parquet file: Column 2"):
        read_graphs(tmp_path / "a.parquet")


def test_a_million_edges_take_seconds():
    rng, n = np.random.default_rng(0), 1_000_000
    table = pd.DataFrame({"graph": np.sort(rng.integers(0, 20_000, n)), "source": rng.integers(0, 60, n)})
    table["target"], table["kind"] = rng.integers(0, 60, n), rng.choice(list("abc"), n)
    began = time.process_time()
    graphs = read_graphs(table)
    assert time.process_time() - began < 4  # 0.8 s
    assert len(graphs) == 20_000 and graphs.n_edges == 2 * n - (table["source"] == table["target"]).sum()


def test_tables_of_edges_on_the_command_line(tmp_path):
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    NODES.assign(kind=list("xyxyxy")).to_csv(tmp_path / "nodes.csv", index=False)
    command = [sys.executable, "-m", "infograph", "info", "edges.csv", "--nodes", "nodes.csv"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "kind" in out and "2" in out


# ---- matrices, igraph


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array, sp.csc_array, sp.lil_matrix])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_adjacency_matrices_are_directed_networks(form, weighted, symmetric):
    rng = np.random.default_rng(0)
    matrices = []
    for size in (1, 3, 6):
        entries = (rng.random((size, size)) < 0.4) * (rng.random((size, size)) if weighted else 1.0)
        matrices.append(
            entries + entries.T
            if symmetric and weighted
            else np.maximum(entries, entries.T)
            if symmetric
            else entries
        )
    networks = [nx.from_numpy_array(matrix, create_using=nx.DiGraph) for matrix in matrices]
    for network in networks if not weighted else ():
        for _, _, data in network.edges(data=True):
            data.clear()
    expected = as_graphset(networks)
    assert_equal(as_graphset([form(matrix) for matrix in matrices]), expected)
    assert_equal(as_graphset(form(matrices[2])), as_graphset(networks[2:]))


def test_kinds_of_matrices():
    stack = np.array([[[0, 1], [1, 0]], [[0, 0], [1, 1]]])
    with pytest.warns(PendingDeprecationWarning, match="matrix subclass"):
        assert_equal(as_graphset([np.matrix([[0, 2], [1, 0]])]), as_graphset([np.array([[0, 2], [1, 0]])]))
    for kind in (bool, int, np.float32):
        assert_equal(as_graphset(stack.astype(kind)), as_graphset(list(stack)))
    twice = sp.coo_array(([1, 1, 2], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert as_graphset(twice).edge["weight"].tolist() == [2, 2]
    weighted = InfoGraph(dim=8, epochs=0).fit(stack * 0.5)
    np.testing.assert_array_equal(weighted.transform(stack), weighted.transform(stack * 1.0))
    plain = InfoGraph(dim=8, epochs=0).fit(stack)
    np.testing.assert_array_equal(plain.transform(stack * 0.5), plain.transform(stack))
    assert len(as_graphset([stack[0], np.zeros((2, 3))], errors="skip").rejected) == 1


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_of_igraph_are_those_of_networkx(directed):
    graphs = networks(directed=directed)
    others = []
    for graph in graphs:
        nx.set_node_attributes(graph, {node: {"kind": node, "size": len(node) / 2} for node in graph})
        graph.graph["year"] = 2020
        numbers, edges = {node: n for n, node in enumerate(graph)}, list(graph.edges(data=True))
        made = igraph.Graph(len(graph), [(numbers[u], numbers[v]) for u, v, _ in edges], directed=directed)
        made["id"], made["year"], made.vs["name"] = graph.graph["id"], 2020, list(graph)
        for name in ("kind", "size"):
            made.vs[name] = [data[name] for data in graph.nodes.values()]
        for name in edges[0][2]:
            made.es[name] = [data[name] for _, _, data in edges]
        others.append(made)
    assert_equal(in_order(as_graphset(others)), in_order(as_graphset(graphs)))
    assert_equal(as_graphset(others[3]), as_graphset(others[3:4]))
    both = as_graphset([igraph.Graph.from_networkx(graph) for graph in graphs])
    assert set(both.edge) == {"weight", "kind", "order"} and set(both.node) == {"kind", "size"}
    named = igraph.Graph.TupleList([("a", "b"), ("b", "c")])
    assert list(as_graphset(named).node) == []


def test_one_graph_alone_is_a_list_of_one():
    pair = (np.array([[0, 1], [1, 0]]), np.ones((2, 1)))
    for graph in (nx.path_graph(3), Chem.MolFromSmiles("CCO"), pair):
        assert_equal(as_graphset(graph), as_graphset([graph]))


def test_tables_need_no_pandas(tmp_path):
    code = (
        "import sys, types\n"
        "def find(name, path=None, target=None):\n"
        "    if name.split('.')[0] in ('pandas', 'polars', 'igraph'):\n"
        "        raise ImportError(name)\n"
        "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=find))\n"
        "import pyarrow as pa, infograph\n"
        "print(len(infograph.read_graphs(pa.table({'smiles': ['CC', 'CO'], 'y': [1, 2]}))))\n"
        "print(len(infograph.read_graphs(pa.table({'graph': [1, 2], 'source': [0, 0], 'target': [1, 1]}))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["2", "2"]


def test_a_square_table_with_the_same_names_twice_is_an_adjacency_matrix():
    network = nx.Graph()
    network.add_weighted_edges_from([("ann", "bob", 0.5), ("bob", "eve", 2.0)])
    table = nx.to_pandas_adjacency(network)
    expected = as_graphset(table.to_numpy())
    for source in (table, [table], read_graphs(table)):
        assert_equal(as_graphset(source), expected)
    assert expected.edge["weight"].tolist() == [0.5, 0.5, 2.0, 2.0]
    assert len(as_graphset([table, table, nx.to_pandas_adjacency(nx.path_graph(4))])) == 3
    for bare in (pd.DataFrame([[0, 1], [1, 2]]), table.reset_index(drop=True)):  # it may be a list of edges
        with pytest.raises(InvalidParameter, match=r"same names as index and columns, or .* to_numpy\(\)"):
            as_graphset(bare)
        with pytest.raises(InvalidGraph, match=r"graph 1: a DataFrame of shape .*same names in its index"):
            as_graphset([table, bare])


def test_ids_that_gaps_made_floats_are_whole_numbers_again(tmp_path):
    table = pd.DataFrame({"smiles": ["CC", "CCO", "CCC"], "number": [1.0, 2.0, 7.0]})
    assert read_graphs(table, id="number").ids.tolist() == [1, 2, 7]
    assert as_graphset(table.set_index("number")).ids.tolist() == [1, 2, 7]
    assert as_graphset(table["smiles"].tolist(), ids=table["number"]).ids.tolist() == [1, 2, 7]
    table["number"] = [1.0, 2.0, np.nan]
    table.to_parquet(tmp_path / "a.parquet")
    for source in (table, tmp_path / "a.parquet"):  # an id that is missing never is that of another graph
        assert read_graphs(source, id="number").ids.tolist() == ["1", "2", "row 2"]
    table["number"] = [0.5, 2.0, 1e300]
    assert read_graphs(table, id="number").ids.tolist()[:2] == ["0.5", "2"]

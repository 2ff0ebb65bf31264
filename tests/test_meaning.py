"""A user's data is read as meant: nothing is changed, dropped or scored otherwise in silence."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from sklearn.exceptions import NotFittedError

from infograph import (
    InfoGraph,
    MutualInformation,
    WeisfeilerLehman,
    as_graphset,
    cross_validate,
    load_dataset,
    read_graphs,
    to_networkx,
    to_pyg,
)
from infograph.errors import ColumnWarning, InvalidGraph, InvalidParameter, InvalidTarget, TargetWarning
from infograph.evaluate import Gram

# ---- labels


def networks(n_graphs: int = 60) -> list[nx.Graph]:
    """Sparse and dense networks, every third without its label."""
    made = [nx.gnp_random_graph(12, 0.2 if i % 2 else 0.5, seed=i) for i in range(n_graphs)]
    for position, graph in enumerate(made):
        if position % 3:
            graph.graph["y"] = "sparse" if position % 2 else "dense"
    return made


def test_an_unlabelled_graph_is_of_no_class():
    graphs = as_graphset(networks())
    y = graphs.graph["y"]
    known = ~np.isnan(y)
    assert known.sum() == 40 and set(y[known]) == {0, 1}
    assert graphs.values("graph", "y")[:2].tolist() == [None, "sparse"]
    vectors = np.c_[graphs.sizes, np.diff(graphs.edge_ptr)].astype(float)
    with pytest.warns(TargetWarning, match="20 of 60 graphs have no label"):
        scores = cross_validate(vectors, y, repeats=1)
    assert scores.to_dict() == cross_validate(vectors[known], y[known], repeats=1).to_dict()
    assert np.isnan(graphs[[0, 1]].graph["y"][0])
    assert np.isnan(to_pyg(graphs)[0].y.item())
    for marked in (np.where(known, y, -1), np.where(known, y, np.iinfo(np.int64).min).astype(np.int64)):
        with pytest.raises(InvalidTarget, match="beside 2 other classes: graphs without a label have NaN"):
            cross_validate(vectors, marked)
    assert cross_validate(vectors[known], 2 * y[known] - 1, repeats=1).mean > 0.5  # -1 and 1 are classes


# ---- PyG


def test_a_loader_is_unpacked():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    loader = pytest.importorskip("torch_geometric.loader")
    arcs = torch.tensor([[0, 1], [1, 0]])
    made = [data.Data(x=torch.full((2, 1), i), edge_index=arcs, y=torch.tensor([i % 2])) for i in range(10)]
    graphs = as_graphset(loader.DataLoader(made, batch_size=4))
    assert len(graphs) == 10 and graphs.sizes.tolist() == [2] * 10
    assert graphs.values("graph", "y").tolist() == [i % 2 for i in range(10)]


def test_pyg_and_back_keeps_everything():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    arcs = torch.tensor([[0, 1], [1, 0]])
    given = [
        data.Data(
            x=torch.rand(2, 3),
            pos=torch.rand(2, 3),
            edge_index=arcs,
            edge_attr=torch.rand(2, 2),
            y=torch.tensor([[1.0, i]]),
            energy=torch.tensor([0.5 * i]),
            name=f"graph {i}",
        )
        for i in range(3)
    ]
    for one, back in zip(given, to_pyg(as_graphset(given)), strict=True):
        assert torch.equal(back.pos, one.pos) and torch.equal(back.x, one.x)
        assert torch.equal(back.edge_attr, one.edge_attr) and torch.equal(back.y, one.y)
        assert torch.equal(back.energy, one.energy) and back.name == one.name
    assert [column.name for column in as_graphset(given).schema.graph] == ["y_0", "y_1", "energy", "name"]
    with pytest.warns(ColumnWarning, match="'mask' of PyG data is kept, but no encoder sees it"):
        as_graphset([data.Data(edge_index=arcs, num_nodes=2, mask=torch.ones(2))] * 2)
    labels = {graph.y.dtype for graph in to_pyg(load_dataset("MUTAG")[:4])}
    assert labels == {torch.int64}


# ---- folders and attributes


def test_files_of_every_kind_are_read_or_listed(tmp_path):
    graph = nx.path_graph(4)
    nx.write_gml(graph, tmp_path / "a.gml")
    nx.write_pajek(graph, tmp_path / "b.net")
    nx.write_graph6(graph, tmp_path / "c.g6")
    nx.write_graphml(graph, tmp_path / "e.graphml")
    (tmp_path / "d.adjlist").write_text("0 1\n")
    (tmp_path / "notes.docx").write_text("hello")
    graphs = read_graphs(tmp_path, errors="skip")
    assert graphs.ids.tolist() == ["a", "b", "c", "e"] and graphs.sizes.tolist() == [4] * 4
    assert graphs.n_edges == 4 * 6
    assert {item.graph_id for item in graphs.rejected} == {"d.adjlist", "notes.docx"}
    assert "no reader" in graphs.rejected[0].problem


def attributed(n_graphs: int = 3) -> list[nx.Graph]:
    made = [nx.path_graph(3) for _ in range(n_graphs)]
    for graph in made:
        nx.set_node_attributes(graph, {0: "C", 1: "N", 2: "O"}, "atom")
        nx.set_edge_attributes(graph, 2.0, "weight")
        nx.set_edge_attributes(graph, "single", "bond")
    return made


@pytest.mark.parametrize("ending", ["", "graphml", "gexf", "gml"])
def test_attributes_are_used_whatever_the_source(tmp_path, ending):
    given = attributed()
    if ending:
        for position, graph in enumerate(given):
            getattr(nx, f"write_{ending}")(graph, tmp_path / f"{position}.{ending}")
    source = tmp_path if ending else given
    read = read_graphs if ending else as_graphset
    graphs = read(source)
    assert [column.name for column in graphs.schema.features("node")] == ["atom"]
    assert [column.name for column in graphs.schema.features("edge")] == ["bond"]
    assert graphs.schema.weight.name == "weight" and set(graphs.edge["weight"]) == {2.0}
    without = read(source, node=[], edge=[])
    assert not without.schema.node and not without.schema.edge


# ---- a Gram matrix


def test_a_gram_matrix_is_known_as_one():
    graphs = load_dataset("MUTAG")[:60]
    kernel = WeisfeilerLehman().fit(graphs)
    y = graphs.graph["y"]
    values = kernel.gram(graphs)
    scores, known = (cross_validate(each, y, repeats=1) for each in (values, Gram(values)))
    assert scores.to_dict() == known.to_dict()
    rounded = np.triu(values * (1 + 1e-12), 1) + np.tril(values)  # as normalising by hand gives it
    assert cross_validate(rounded, y, repeats=1).candidates[0].classifier == "svm"
    with pytest.raises(InvalidParameter, match=r"a WeisfeilerLehman came: pass its vectors"):
        cross_validate(kernel, y)


def test_half_a_character_in_a_name_costs_one_graph():
    made = [nx.path_graph(3) for _ in range(3)]
    nx.set_node_attributes(made[1], 1.0, "size\ud800")
    graphs = as_graphset(made, errors="skip")
    assert len(graphs) == 2 and [(r.index, r.problem[:16]) for r in graphs.rejected] == [
        (1, "half a character")
    ]


# ---- numbers, categories, missing


def test_integers_with_many_values_are_numbers():
    made = [nx.path_graph(50) for _ in range(8)]
    for position, graph in enumerate(made):
        nx.set_node_attributes(graph, {n: position * 50 + n for n in graph}, "age")
    with pytest.warns(UserWarning, match=r"'age'.*400 .*categorical"):
        graphs = as_graphset(made)
    assert graphs.schema.node[0].kind == "float"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = as_graphset(made, node={"age": "categorical"})
        assert as_graphset(made, node={"age": "float"}).schema.node[0].kind == "float"
    assert len(chosen.schema.node[0].categories) == 400


MISSING = {
    "none": (None, True),
    "nan": (float("nan"), True),
    "absent": (..., True),
    "numpy's nan": (np.float32("nan"), True),
    "an empty text": ("", True),
    "pandas' NA": (type("NAType", (), {})(), True),
    "pandas' NaT": (type("NaTType", (), {})(), True),
    "inf": (float("inf"), False),
}


@pytest.mark.parametrize("case", MISSING)
def test_missing_means_the_same_at_nodes(case):
    value, missing = MISSING[case]
    made = [nx.path_graph(4) for _ in range(3)]
    for graph in made:
        nx.set_node_attributes(graph, {n: 1.5 * n for n in graph}, "size")
        nx.set_node_attributes(graph, {n: "ab"[n % 2] for n in graph}, "kind")
    for name in ("size", "kind"):
        if value is ...:
            del made[0].nodes[2][name]
        elif name == "size" or missing:
            made[0].nodes[2][name] = value
    if not missing:
        with pytest.raises(InvalidGraph, match="not finite"):
            as_graphset(made)
        return
    graphs = as_graphset(made)
    assert np.isnan(graphs.node["size"]).tolist() == [n == 2 for n in range(12)]
    assert graphs.values("node", "kind")[2] is None
    vectors = InfoGraph(dim=8, epochs=1).fit_transform(graphs)
    assert np.isfinite(vectors).all() and np.abs(vectors[0] - vectors[1]).max() > 0
    back = to_networkx(graphs)[0].nodes[2]
    assert back["kind"] is None and np.isnan(back["size"])


def test_many_categories_are_looked_up(monkeypatch):
    """Thousands of categories are a sparse matrix, with the same result; 100,000 take about one gigabyte."""
    graphs = load_dataset("MUTAG")[:30]
    model = InfoGraph(dim=32, epochs=2, edge_columns=None)
    vectors = model.fit_transform(graphs)
    monkeypatch.setattr("infograph.data.colours.WIDE", 3)
    monkeypatch.setattr("infograph.estimators.architecture.WIDE", 3)
    assert np.allclose(model.fit_transform(graphs), vectors, atol=1e-4)
    with pytest.raises(InvalidParameter, match="7 inputs per node or edge, more than 3"):
        InfoGraph(dim=32, epochs=2, edge_columns=["label"]).fit(graphs)


# ---- molecules


def test_stereochemistry_is_said_and_used():
    twins = ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "C/C=C/C", "C/C=C\\C"]
    with pytest.warns(UserWarning, match="4 of 4 molecules have stereo"):
        flat = InfoGraph(dim=64, epochs=0).fit_transform(twins)
    assert np.array_equal(flat[0], flat[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphs = as_graphset(twins, stereo=True)
    seen = InfoGraph(dim=64, epochs=0).fit_transform(graphs)
    assert np.abs(seen[0] - seen[1]).max() > 0 and np.abs(seen[2] - seen[3]).max() > 0


def test_types_of_parquet_are_kept(tmp_path):
    big = 2**60
    table = pa.table(
        {
            "smiles": ["CCO", "CC", "C", "CCC"],
            "code": ["007", "008", "007", "009"],
            "tested": [True, False, None, True],
            "number": pa.array([big + 1, big + 2, big + 1, None], pa.int64()),
            "value": [0.5, None, 1.5, 2.0],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    graphs = read_graphs(tmp_path / "t.parquet")
    for name in ("code", "tested", "number"):
        given = [str(v) if name == "number" and v else v for v in table[name].to_pylist()]  # no digit is lost
        assert graphs.values("graph", name).tolist() == given, name
    assert np.isnan(graphs.graph["value"][1])


# ---- as scikit-learn's users expect


def test_not_fitted_is_scikit_learns():
    with pytest.raises(NotFittedError):
        InfoGraph().transform(["CCO"])


def test_processes_need_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            from infograph import InfoGraphRegressor, make_parts, read_graphs, tune
            model = InfoGraphRegressor(dim=8, epochs=1, objective="supervised", steps_per_epoch=1)
            parts = make_parts(read_graphs("t.csv"), ["y"])
            print("done", tune(model, {"lr": [1e-3, 1e-2]}, parts, "found", workers=2).best)
            """
        )
    )
    rows = [f"{'C' * (1 + i % 9)}{'O' * (i % 3)},{i / 7}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["smiles,y", *rows]))
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and "done" in done.stdout, done.stderr


def test_threads_that_fit_side_by_side_give_what_they_give_alone():
    graphs = load_dataset("MUTAG")[:40]
    noisy = MutualInformation(prior=0.1)  # draws noise in every step

    def vectors(seed):
        return InfoGraph(dim=16, epochs=3, objective=noisy, random_state=seed).fit_transform(graphs)

    alone = [vectors(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert all(map(np.array_equal, pool.map(vectors, range(3)), alone))

"""What the map shows: deterministic, inside its square, kept beside the index until that changes."""

from __future__ import annotations

import json
import shutil

import networkx as nx
import numpy as np
import pytest

import infograph.explore.atlas as atlas_module
from infograph import InfoGraph, as_graphset, find_clusters
from infograph.data.records import objects
from infograph.explore import make_atlas
from infograph.explore.atlas import lay_out, matching, own_name, point_columns, typed_column
from infograph.index import GraphIndex
from tests.explore.conftest import index_of


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "index", ignore=shutil.ignore_patterns("atlas"))


@pytest.fixture
def counted(monkeypatch):
    """How often the slow part ran."""
    calls = []
    real = atlas_module.find

    def find(*arguments):
        calls.append(arguments[1])
        return real(*arguments)

    monkeypatch.setattr(atlas_module, "find", find)
    return calls


def two_groups(n: int = 60, dim: int = 6) -> np.ndarray:
    vectors = np.random.default_rng(0).standard_normal((n, dim)).astype(np.float32)
    vectors[n // 2 :] += 25
    return vectors


def test_a_layout_fills_the_square():
    points = lay_out(two_groups(), "pca")
    assert points.dtype == np.float32 and np.abs(points).max() == pytest.approx(1)
    assert np.array_equal(lay_out(np.ones((3, 2)), "pca"), np.zeros((3, 2)))


def test_columns_are_typed_for_colours(index, atlas):
    kinds = {column.name: column.kind for column in atlas.columns}
    assert kinds == {
        "active": "category",
        "logS [mol/L]": "number",
        "cluster": "category",  # the user's own
        "cluster (map)": "category",
        "weight": "number",
        "logP": "number",
        "TPSA": "number",
        "outlier score": "number",
    }  # smiles and note differ from graph to graph
    columns = {column.name: column for column in atlas.columns}
    told = columns["logS [mol/L]"].summary()
    assert told["missing"] == 1 and told["unit"] == "mol/L"
    known = [i / 7 for i in range(40) if i != 5]
    assert (told["min"], told["max"]) == pytest.approx(tuple(np.percentile(known, (1, 99))), rel=1e-6)
    told = columns["active"].summary()
    assert told["categories"] == ["no", "yes"] and told["counts"] == [20, 20]
    assert atlas.columns[atlas.colour].name == "active"
    chosen = make_atlas(index, method="pca", colour="logS")
    assert chosen.columns[chosen.colour].name == "logS [mol/L]"


def test_columns_of_all_kinds():
    assert typed_column("a", np.array([1.0, 2.0, np.nan])).categories == ("1", "2")
    assert typed_column("a", np.array([None, None], dtype=object)) is None
    assert typed_column("a", np.zeros((3, 2))) is None
    assert typed_column("a", np.array([f"t{i}" for i in range(30)])) is None
    huge = typed_column("a", np.array([1e300, None, *np.arange(30) + 0.5], dtype=object))
    assert np.isnan(huge.values[:2]).all() and huge.summary()["missing"] == 2
    codes = typed_column("a", np.array(["b", "a", "b", ""]))
    assert codes.categories == ("b", "a") and codes.values[:3].tolist() == [0, 1, 0] and codes.cell(3) is None


def test_users_columns_keep_their_names_and_ours_give_way():
    assert own_name("cluster", ["logS"]) == "cluster"
    assert own_name("cluster", ["cluster", "cluster (map)"]) == "cluster (map) (map)"
    atlas = make_atlas(index_of(two_groups(), cluster=np.arange(60) % 3), method="pca")
    assert [(c.name, c.found) for c in atlas.columns] == [
        ("cluster", False),
        ("cluster (map)", True),
        ("outlier score", True),
    ]


def test_properties_of_molecules_and_sizes_of_networks(index, atlas):
    Chem, Descriptors = pytest.importorskip("rdkit.Chem"), pytest.importorskip("rdkit.Chem.Descriptors")
    known = {"weight": Descriptors.MolWt, "logP": Descriptors.MolLogP, "TPSA": Descriptors.TPSA}
    mols = [Chem.MolFromSmiles(smiles) for smiles in index.columns["smiles"]]
    for column in (c for c in atlas.columns if c.name in known):
        assert column.values == pytest.approx([known[column.name](mol) for mol in mols], rel=1e-6)
    assert {c.name: c.unit for c in atlas.columns if c.found}["weight"] == "g/mol"
    rings = [nx.cycle_graph(3 + i % 5) for i in range(30)]
    found = make_atlas(GraphIndex.build(InfoGraph(dim=4, epochs=1).fit(rings), rings), method="pca").columns
    sizes = {c.name: c.values for c in found}
    assert sizes["nodes"].tolist() == sizes["edges"].tolist() == [3 + i % 5 for i in range(30)]
    assert sizes["density"] == pytest.approx([nx.density(ring) for ring in rings])


def test_texts_are_found_whole_or_in_part(index):
    assert matching(index, "note 3") == [3] and matching(index, "yes") == list(range(1, 40, 2))
    assert matching(index, "NOTE 3") == [3, *range(30, 40)]  # of no cell all, so a part in any case
    assert matching(index, str(3 / 7)) == [3] and matching(index, "nothing of it") == []
    gaps = index_of(np.eye(3), note=objects(["alone", None, "x"]), size=np.array([1.0, np.nan, 2.0]))
    assert matching(gaps, "one") == [0] and matching(gaps, "None") == matching(gaps, "nan") == []


def test_the_atlas_is_kept_until_method_seed_or_index_change(copy, counted, molecules):
    index = GraphIndex.open(copy)
    made = make_atlas(index, copy, method="pca")
    again = make_atlas(GraphIndex.open(copy), copy, method="pca")
    assert counted == ["pca"] and made.descriptions == again.descriptions
    for name in ("points", "clusters", "outliers"):
        assert np.array_equal(getattr(made, name), getattr(again, name))
    assert made.summary(index) == again.summary(index)
    for seed in (0, 1):
        make_atlas(index, copy, method="tsne", random_state=seed)
    index.add(as_graphset(molecules[[1, 2]], ids=["n1", "n2"]))
    grown = make_atlas(index, copy, method="tsne", random_state=1)
    make_atlas(GraphIndex.open(copy), copy, method="pca")  # is kept beside the others
    assert counted == ["pca", "tsne", "tsne", "tsne"] and len(grown) == 42
    assert not [path for path in copy.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("damage", ["truncate", "json", "shape", "missing"])
def test_a_damaged_atlas_is_made_anew(copy, counted, damage):
    index = GraphIndex.open(copy)
    made = make_atlas(index, copy, method="pca")
    where = copy / "atlas" / "pca-0"
    if damage == "truncate":
        (where / "points.npy").write_bytes((where / "points.npy").read_bytes()[:-5])
    elif damage == "json":
        (where / "atlas.json").write_text("{")
    elif damage == "shape":
        np.save(where / "clusters.npy", np.full(40, 7))
    else:
        (where / "outliers.npy").unlink()
    again = make_atlas(index, copy, method="pca")
    assert len(counted) == 2 and np.array_equal(made.points, again.points)
    assert json.loads((where / "atlas.json").read_text())["format"]


def test_a_folder_that_cannot_be_written_to_is_a_warning(copy, monkeypatch):
    def refuse(folder, kind):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("infograph.explore.atlas.replaced_folder", refuse)
    with pytest.warns(UserWarning, match="could not be kept.*Permission denied"):
        make_atlas(GraphIndex.open(copy), copy, method="pca")


def test_vectors_without_graphs_have_a_map():
    index = index_of(two_groups(), y=np.arange(60) % 2)
    atlas = make_atlas(index, method="pca")
    assert [c.name for c in atlas.columns] == ["y", "cluster", "outlier score"]
    assert len(atlas.descriptions) == 2 and atlas.descriptions[0] == "30 graphs (50 %)"
    assert set(atlas.clusters[:30]) != set(atlas.clusters[30:])
    assert atlas.about == "60 graphs as vectors of 6 numbers, 2 clusters"
    exported = point_columns(index, atlas, slice(None))["cluster"].tolist()
    assert (
        set(exported) == {1, 2} and exported == find_clusters(index.vectors).to_pandas()["cluster"].tolist()
    )
    assert make_atlas(index_of(np.ones((1, 1)))).about == "1 graph as a vector of 1 number, no clusters"


def test_predictions_of_a_model_that_predicts_are_columns(molecules, classifier):
    atlas = make_atlas(GraphIndex.build(classifier, molecules), method="pca")
    (column,) = (column for column in atlas.columns if column.name == "predicted active")
    assert column.kind == "category" and set(column.categories) <= {"yes", "no"}
    assert [column.cell(row) for row in range(40)] == classifier.predict(molecules).tolist()

"""Models by name, and encoders that are saved alone."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import infograph
from infograph import GIN, GraphIndex, InfoGraph, InfoGraphRegressor, as_graphset
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidParameter,
    SchemaMismatch,
    UnknownCategoryWarning,
)
from infograph.estimators import folder
from infograph.evaluate.methods import carried as carried_model
from infograph.index.graph_index import represent
from infograph.scale.embed import embed_shards

ROOT = Path(__file__).parent.parent.parent
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N"]


@pytest.fixture(scope="module")
def graphs():
    return as_graphset(SMILES, stereo=False)


@pytest.fixture(scope="module")
def model(graphs):
    return InfoGraph(12, GIN(layers=2), epochs=2).fit(graphs)


@pytest.fixture
def carried(model, graphs, tmp_path, monkeypatch):
    """The package carries this encoder by the name of mine."""
    monkeypatch.setattr(folder, "PRETRAINED", tmp_path / "pretrained")
    return model.save_encoder(tmp_path / "pretrained" / "mine", graphs)


def test_an_encoder_alone(model, graphs, carried, tmp_path):
    read = InfoGraph.from_pretrained("mine")
    np.testing.assert_array_equal(read.transform(SMILES), model.transform(graphs))
    assert not any("local_global" in name for name in read._state())
    with pytest.raises(InvalidParameter, match="encoder alone"):
        read.score_nodes(SMILES)
    again = InfoGraph.load(read.save(tmp_path / "again"))  # it stays one
    with pytest.raises(InvalidParameter, match="encoder alone"):
        again.score_nodes(SMILES)
    with pytest.raises(InvalidParameter, match="encoder alone"):  # nothing was learned yet
        again.partial_fit(SMILES, epochs=0).score_nodes(SMILES)
    with pytest.raises(InvalidParameter, match="at least two"):
        model.save_encoder(tmp_path / "one", SMILES[:1])
    with pytest.raises(InvalidParameter, match="keeps no directions"):
        InfoGraph.from_pretrained(model.save(tmp_path / "whole"), dim=3)
    before = read.transform(SMILES)
    read.set_params(epochs=1).fit(SMILES)
    assert len(read.history_) == 3 and not np.array_equal(read.transform(SMILES), before)
    assert read.score_nodes(SMILES).shape == (graphs.n_nodes,)


def test_shorter_vectors_are_leading_directions(model, graphs, carried, tmp_path):
    short = InfoGraph.from_pretrained(carried, dim=3)
    found, whole = short.transform(SMILES), model.transform(graphs)
    _, _, axes = np.linalg.svd(whole - whole.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs(found), np.abs((whole - whole.mean(0)) @ axes[:3].T), atol=1e-4)
    assert len(short.get_feature_names_out()) == 3
    np.testing.assert_array_equal(infograph.load(short.save(tmp_path / "short")).transform(SMILES), found)
    whole_again = short.save_encoder(tmp_path / "from short", graphs)
    np.testing.assert_array_equal(InfoGraph.from_pretrained(whole_again).transform(SMILES), whole)
    assert short.set_params(epochs=1).fit(SMILES).transform(SMILES).shape == (8, 12)  # others would be stale
    for dim in (0, 13, True, 2.5):
        with pytest.raises(InvalidParameter, match="expected 1 to 12"):
            InfoGraph.from_pretrained("mine", dim=dim)


def test_a_regressor_starts_from_a_name(graphs, carried):
    target = np.arange(8.0)
    settings = {"dim": 12, "encoder": GIN(layers=2), "epochs": 1, "random_state": 1}
    by_name, by_folder = (
        InfoGraphRegressor("infograph*", init_from=start, **settings).fit(graphs, target).predict(graphs)
        for start in ("mine", str(carried))
    )
    np.testing.assert_array_equal(by_name, by_folder)


def test_names_and_folders(model, carried, tmp_path, monkeypatch):
    with pytest.raises(FileMissing, match=r"no model folder other, nor a model of the package \(mine\)"):
        infograph.load("other")
    monkeypatch.chdir(tmp_path)
    assert len(represent("mine", lambda schema: as_graphset(SMILES, schema=schema)).vectors) == len(SMILES)
    Path("molecules.csv").write_text("smiles\n" + "\n".join(SMILES) + "\n")
    assert embed_shards("mine", "molecules.csv", "vectors").embedded == len(SMILES)
    Path("mine").mkdir()
    with pytest.raises(FileMissing, match="hides the one of the package"):
        infograph.load("mine")
    InfoGraph(8, GIN(layers=2), epochs=0).fit(SMILES).save("mine")  # a folder wins over a name
    assert infograph.load("mine").dim == 8
    weights = carried / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(InvalidFile, match="checksum"):
        InfoGraph.load(carried)
    weights.unlink()
    with pytest.raises(FileMissing, match="safetensors"):
        InfoGraph.load(carried)


def test_graphs_of_another_kind(carried):
    with pytest.raises(SchemaMismatch, match="the model was trained on molecules"):
        InfoGraph.from_pretrained("mine").transform([nx.path_graph(3)])


# ---- the model that the package carries


def test_the_model_of_molecules_is_what_it_was():
    carried = folder.PRETRAINED / "molecules"
    assert sum(path.stat().st_size for path in carried.iterdir()) < 5e6
    expected = json.loads((Path(__file__).parent.parent / "golden" / "molecules.json").read_text())
    model = InfoGraph.from_pretrained("molecules")  # its checksum is looked at
    with pytest.warns(UnknownCategoryWarning, match="'element': 'Na'"):
        found = model.transform(list(expected))
    np.testing.assert_allclose(found[:, ::64], list(expected.values()), atol=2e-4)
    assert found.shape == (6, 512)
    np.testing.assert_array_equal(model.transform(["C[C@H](N)C(=O)O"]), model.transform(["CC(N)C(=O)O"]))
    assert (carried / "README.md").read_text() == (ROOT / "pretraining" / "card.md").read_text()


def test_molecules_of_one_family_are_near(tmp_path):
    smiles = ["CCO", "CCCO", "CCCCO", "c1ccccc1", "Cc1ccccc1", "CCc1ccccc1"]
    index = GraphIndex.build(InfoGraph.from_pretrained("molecules", dim=64), smiles)
    hits = index.search(["CCCCCO", "CCCc1ccccc1"], 3).table()
    assert {row["smiles"] for row in hits[:3]} == set(smiles[:3])
    assert {row["smiles"] for row in hits[3:]} == set(smiles[3:])


def test_a_regressor_starts_from_molecules():
    model = InfoGraphRegressor("infograph*", init_from="molecules", epochs=1).fit(SMILES[:4], np.arange(4.0))
    assert model._encoder.dim == 512 and model.predict(["CCO"]).shape == (1,)


def test_a_regressor_gets_inputs_for_elements_that_its_start_does_not_know(tmp_path):
    y, settings = np.arange(float(len(STRANGE))), {"init_from": "molecules", "lr": 1e-30}
    pretrained, kept = InfoGraph.from_pretrained("molecules"), tmp_path / "one"
    model = InfoGraphRegressor("supervised", epochs=2, **settings).fit(STRANGE, y, checkpoint=kept)
    known = pretrained.schema_.node[0].categories
    assert model.schema_.node[0].categories == (*known, "Na", "Ca", "Pt")
    platinum, carbon = model.transform(["C[Pt]C", "CCC"])
    assert not np.allclose(platinum, carbon)
    again = InfoGraphRegressor("supervised", epochs=2, **settings)
    again.fit(STRANGE, y, checkpoint=kept, resume=True)  # the same weights for what is new
    assert np.array_equal(again.predict(STRANGE), model.predict(STRANGE))
    untouched = InfoGraphRegressor("supervised", epochs=0, **settings).fit(STRANGE, y)
    assert untouched.transform(SMILES[:4]) == pytest.approx(pretrained.transform(SMILES[:4]), abs=1e-5)
    with pytest.warns(UnknownCategoryWarning):
        head = InfoGraphRegressor("vectors").fit(STRANGE, y)  # its encoder does not learn
    assert head.schema_.node[0].categories == known


# ---- training that starts from it


STRANGE = [*SMILES, "[Na+].[Cl-]", "C[Pt]C", "[Ca+2].[OH-].[OH-]"]


def test_molecules_start_from_the_pretrained_model(tmp_path):
    pretrained = InfoGraph.from_pretrained("molecules")
    started = InfoGraph(epochs=1, lr=1e-30).fit(STRANGE)
    assert started.started_from_ == "molecules"
    known = pretrained.schema_.node[0].categories
    assert started.schema_.node[0].categories == (*known, "Na", "Ca", "Pt")
    weights = {each.network_["encoder"].layers[0].first.weight for each in (started, pretrained)}
    assert {tuple(each.shape) for each in weights} == {(128, 21), (128, 21 + 5)}  # three elements, +2, four H
    started.save(tmp_path / "model")
    again = InfoGraph.load(tmp_path / "model")
    assert np.array_equal(again.transform(STRANGE), started.transform(STRANGE))
    assert again.started_from_ == "molecules" == again._facts()["started from"]


def test_inputs_that_are_new_leave_the_others_as_they_are():
    as_it_is = InfoGraph.from_pretrained("molecules").transform(SMILES[:4])
    wider = InfoGraph(epochs=0, init_from="molecules").fit(STRANGE)
    assert wider.transform(SMILES[:4]) == pytest.approx(as_it_is, abs=1e-5)
    platinum, carbon = wider.transform(["C[Pt]C", "CCC"])
    assert not np.allclose(platinum, carbon)


def networks(node: dict[str, str], edge: dict[str, str]) -> list[nx.Graph]:
    """Paths with some of these categories each; as many numbers on edges, and places in space."""
    rng, made = np.random.default_rng(0), []
    for size in (4, 5, 6, 7) * 3:
        graph = nx.path_graph(size)
        for place in graph:
            graph.nodes[place].update({name: rng.choice([*kinds]) for name, kinds in node.items()})
            graph.nodes[place]["pos"] = rng.normal(size=3).tolist()
        for place in graph.edges:
            graph.edges[place].update({name: rng.choice([*kinds]) for name, kinds in edge.items()})
            graph.edges[place]["length"] = float(rng.normal())
        made.append(graph)
    return made


@pytest.mark.parametrize(
    ("encoder", "node", "edge"),
    [
        ("enn-s2s", ["a", "pos"], ["c"]),  # the distance stands behind new bonds
        ("enn-s2s", ["a"], ["length", "c"]),  # categories stand before numbers
        (GIN(layers=2), ["a", "b"], ["c"]),  # nodes and edges have four inputs each, and then five
    ],
)
def test_new_categories_of_nodes_and_edges_at_once(encoder, node, edge):
    few = networks({"a": "pq", "b": "xy"}, {"c": "stuv"})
    many = networks({"a": "pqr", "b": "xy"}, {"c": "stuvw"})
    settings = {"dim": 12, "encoder": encoder, "node_columns": node, "edge_columns": edge}
    start = InfoGraph(**settings, epochs=1).fit(few)
    wider = InfoGraph(**settings, epochs=0, init_from=start).fit(many)
    assert wider.schema_.column("edge", "c").categories == (*"stuvw",)
    np.testing.assert_allclose(wider.transform(few), start.transform(few), atol=1e-5)


@pytest.mark.parametrize(
    ("graphs", "settings"),
    [
        (SMILES, {"init_from": None}),
        (SMILES, {"dim": 500}),
        (SMILES, {"encoder": GIN(layers=3)}),
        (SMILES, {"node_columns": ["element"]}),
        (as_graphset(SMILES, hydrogens=True), {}),
        ([nx.path_graph(n) for n in (2, 3, 4)], {}),
    ],
)
def test_other_settings_and_graphs_start_anew(graphs, settings):
    assert InfoGraph(epochs=1, **settings).fit(graphs).started_from_ == ""


def test_the_untrained_encoder_and_the_papers_settings_start_anew(model):
    assert InfoGraph(epochs=0).fit(SMILES).started_from_ == ""
    assert InfoGraph.paper(epochs=1).fit(SMILES).started_from_ == ""
    assert InfoGraph.paper().init_from is None
    started = InfoGraph(12, GIN(layers=2), epochs=1, init_from=model).fit(SMILES)
    assert started.started_from_ == "another model" and started._fitted_settings()["init_from"] is None


def test_a_start_that_does_not_fit(model):
    with pytest.raises(InvalidParameter, match=r"dim=512, but init_from has dim=12: give the same"):
        InfoGraph(init_from=model).fit(SMILES)
    with pytest.raises(FileMissing, match="no model folder nowhere"):
        InfoGraph(init_from="nowhere").fit(SMILES)
    with pytest.raises(SchemaMismatch):
        InfoGraph(init_from="molecules").fit([nx.path_graph(n) for n in (2, 3, 4)])


def test_a_folder_of_that_name_is_in_nobodys_way(tmp_path, monkeypatch):
    (tmp_path / "molecules").mkdir()
    monkeypatch.chdir(tmp_path)
    assert InfoGraph(epochs=1).fit(SMILES).started_from_ == "molecules"
    model = InfoGraphRegressor("vectors").fit(SMILES[:4], np.arange(4.0))
    assert np.isfinite(model.predict(["CCO"])).all()
    assert carried_model().fit_transform(as_graphset(SMILES[:4])).shape == (4, 512)

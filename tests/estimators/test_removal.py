from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from infograph import (
    GIN,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    as_graphset,
    contribution_drawing,
    load,
    to_networkx,
)
from infograph.errors import InvalidParameter, UnknownCategoryWarning
from infograph.estimators import removal
from infograph.objectives.vectors import Vectors

SMILES = ["C" * n + tail for n in range(1, 9) for tail in ("O", "N", "Cl", "C#N", "c1ccccc1")]
SIZE = np.array([float(len(text)) for text in SMILES])
ASKED = ["OCC", "CC(=O)Oc1ccccc1C(=O)O", "O"]  # none is written as the canonical SMILES
NETWORK = {"objective": "supervised", "epochs": 1, "steps_per_epoch": 3, "dim": 8, "encoder": GIN(layers=2)}
RIDGE = {"objective": Vectors(inputs="vectors", head="ridge")}


def smaller(graphs, schema):
    """Every graph without each of its nodes, by networkx; graphs of one node are left out."""
    made = []
    for graph in to_networkx(graphs):
        for node in [*graph] if len(graph) > 1 else []:
            rest = graph.copy()
            rest.remove_node(node)
            made.append(nx.convert_node_labels_to_integers(rest, ordering="sorted"))
    return as_graphset(made, schema=schema)


@pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
@pytest.mark.parametrize(
    "settings", [RIDGE, NETWORK, {**NETWORK, "n_models": 2}], ids=["ridge", "network", "two"]
)
def test_a_contribution_is_the_prediction_minus_that_without_the_node(settings, monkeypatch):
    model = InfoGraphRegressor(**settings).fit(SMILES, np.column_stack([SIZE, -(SIZE**2)]))
    graphs = as_graphset(ASKED, schema=model.schema_)
    monkeypatch.setattr(removal, "MOST_GRAPHS", 4)  # several chunks
    scores = model.score_nodes(ASKED)
    large = np.flatnonzero(graphs.sizes[graphs.node_graph] > 1)
    expected = model.predict(graphs)[graphs.node_graph[large]] - model.predict(smaller(graphs, model.schema_))
    np.testing.assert_allclose(scores[large], expected, rtol=1e-4, atol=1e-4)
    nothing = np.array(model.scaler_.mean) + (0 if model.offset_ is None else model.offset_.intercept)
    np.testing.assert_allclose(scores[-1], model.predict(["O"])[0] - nothing, rtol=1e-5)


def test_directed_weighted_networks_of_numbers_with_loops():
    random = np.random.default_rng(0)
    networks = []
    for size in random.integers(2, 9, 24):
        network = nx.gnp_random_graph(int(size), 0.5, seed=int(size), directed=True)
        network.add_edge(0, 0)
        nx.set_node_attributes(network, {node: float(random.normal()) for node in network}, "x")
        nx.set_edge_attributes(network, {edge: float(random.random()) for edge in network.edges}, "weight")
        networks.append(network)
    model = InfoGraphRegressor(**NETWORK).fit(networks, random.normal(size=24))
    graphs = as_graphset(networks, schema=model.schema_)
    rest = removal.without(graphs, np.arange(graphs.n_nodes))
    expected = model.predict(graphs)[graphs.node_graph] - model.predict(smaller(graphs, model.schema_))
    assert len(rest) == graphs.n_nodes
    np.testing.assert_allclose(model.score_nodes(networks), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
def test_classes_are_told_in_log_odds():
    two, three = SIZE > 6, np.digitize(SIZE, [5, 8])
    for y, told in ((two, lambda model, p: 1), (three, lambda model, p: p.argmax())):
        model = InfoGraphClassifier(**RIDGE).fit(SMILES, y)
        graphs = as_graphset(["OCCC"], schema=model.schema_)
        whole, rest = model.predict_proba(graphs), model.predict_proba(smaller(graphs, model.schema_))
        c = told(model, whole[0])
        expected = np.log(whole[:, c] / (1 - whole[:, c])) - np.log(rest[:, c] / (1 - rest[:, c]))
        np.testing.assert_allclose(model.score_nodes(["OCCC"]), expected, rtol=1e-3, atol=1e-4)
    several = InfoGraphClassifier(**RIDGE).fit(SMILES, np.column_stack([two, ~two]).astype(int))
    first, second = several.score_nodes(["OCCC"]).T
    np.testing.assert_allclose(first, -second, atol=1e-3)


@pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
def test_of_fingerprints_the_environments_of_an_atom_go(tmp_path):
    from rdkit.Chem import FindAtomEnvironmentOfRadiusN, MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import AdditionalOutput, GetMorganGenerator

    head = Vectors(inputs="fingerprints+descriptors", head="forest")
    model = InfoGraphRegressor(objective=head).fit(SMILES, SIZE)
    graphs = as_graphset(["OC(=O)CCN", "CCCC"], schema=model.schema_)
    atoms = removal._atoms(graphs)
    for row, graph in enumerate(graphs):
        molecule, more = MolFromSmiles(str(graph.graph["smiles"][0])), AdditionalOutput()
        more.CollectBitInfoMap()
        counts = GetMorganGenerator(radius=2, fpSize=2048).GetCountFingerprintAsNumPy(
            molecule, additionalOutput=more
        )
        for node in range(*graphs.node_ptr[row : row + 2]):
            left, atom = counts.astype(int), int(atoms[node])
            number = molecule.GetAtomWithIdx(atom).GetSymbol()
            assert number == graphs.values("node", "element")[node]
            for bit, environments in more.GetBitInfoMap().items():
                for centre, radius in environments:
                    bonds = FindAtomEnvironmentOfRadiusN(molecule, radius, centre) if radius else []
                    inside = {centre} | {
                        end
                        for bond in map(molecule.GetBondWithIdx, bonds)
                        for end in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
                    }
                    left[bit] -= atom in inside
            made = removal._fingerprints(graphs, np.array([node]), atoms)[0]
            np.testing.assert_allclose(np.expm1(made), left, atol=1e-4)
    twice = ["OC(=O)CCN", "NCCC(=O)O"]  # one molecule
    scores = model.score_nodes(twice)
    np.testing.assert_allclose(scores[:6], scores[6:][[5, 3, 4, 2, 1, 0]], atol=1e-9)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").score_nodes(twice), scores)


def test_drawings_of_predictions_say_what_the_numbers_are():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        model = InfoGraphRegressor(**RIDGE).fit(SMILES, np.column_stack([SIZE, -SIZE]))
        classes = InfoGraphClassifier(**RIDGE).fit(SMILES, np.where(SIZE > 6, "<large>", "small"))
    svg = contribution_drawing(model, "CCCO", target="y_1")
    ET.fromstring(svg)
    assert "contribution to y_1" in svg
    titles = [part.text.split(": ")[1] for part in ET.fromstring(svg).iter() if part.tag.endswith("title")]
    shown = [float(text.replace("−", "-")) for text in titles[1:]]
    assert shown == pytest.approx(model.score_nodes(["CCCO"])[:, 1].tolist(), rel=1e-2)
    svg = contribution_drawing(classes, "CCCO", theme="dark", size=(120, 120))
    ET.fromstring(svg)
    assert "log-odds" not in svg  # no room
    assert "log-odds of y = small" in contribution_drawing(classes, "CCCO")
    other = InfoGraph(4, epochs=0).fit(["CCO", "CC", "CCCO"])
    with pytest.warns(UnknownCategoryWarning, match="'Br'"):
        assert ">Br, node 2" in contribution_drawing(other, "CCBr")  # which the model does not know
    with pytest.raises(InvalidParameter, match="target='z': the model predicts y_0, y_1"):
        contribution_drawing(model, "CCCO", target="z")
    with pytest.raises(InvalidParameter, match="does not score nodes"):
        contribution_drawing(InfoGraphRegressor(), "CCCO")

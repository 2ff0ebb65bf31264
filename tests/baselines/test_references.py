"""The reference rows against NumPy's and scikit-learn's own answers, and against values by hand."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from rdkit.Chem.Descriptors import ExactMolWt
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from infograph import (
    AtomCounts,
    DegreeHistogram,
    FingerprintForest,
    LabelHistogram,
    MeanPredictor,
    as_graphset,
)
from infograph.data.fingerprints import descriptor_names, rdkit_descriptors
from infograph.data.schema import Column
from infograph.errors import (
    InvalidGraph,
    InvalidParameter,
    InvalidTarget,
    MissingExtra,
    UnknownCategoryWarning,
)

HEADS = ("C", "CC", "O", "N", "CCC", "C=C", "C#C", "c1ccccc1", "OC", "NC(=O)")
TAILS = ("C", "O", "N", "F", "CO", "CN", "C#N", "C(=O)O", "C(C)C", "c1ccncc1")
SMILES = [head + tail for head, tail in itertools.product(HEADS, TAILS)]
MOLECULES = [Chem.MolFromSmiles(text) for text in SMILES]
MASS = np.array([ExactMolWt(molecule) for molecule in MOLECULES])
NOISE = np.random.default_rng(0).normal(size=(len(SMILES), 2))
NAN = np.nan


SYMBOLS = [[atom.GetSymbol() for atom in Chem.AddHs(molecule).GetAtoms()] for molecule in MOLECULES]
COUNTS = np.array([[found.count(symbol) for symbol in "HCNOF"] for found in SYMBOLS], dtype=float)
DESCRIPTORS = [value for name, value in Descriptors.descList if name not in ("Ipc", "AvgIpc")]
GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
BITS = np.array([list(GENERATOR.GetFingerprint(molecule)) for molecule in MOLECULES])


@pytest.fixture(scope="module")
def graphs():
    return as_graphset(SMILES)


def test_labels_by_hand(corner_cases):
    model = LabelHistogram()
    counts = model.fit_transform(corner_cases)
    assert model.feature_names_ == ("label a", "label b", "label c")
    assert counts[:3].tolist() == [[2, 1, 1], [1, 0, 0], [2, 2, 1]]
    assert counts.sum(axis=1).tolist() == corner_cases.sizes.tolist()
    np.testing.assert_allclose(LabelHistogram(share=True).fit_transform(corner_cases)[0], [0.5, 0.25, 0.25])
    assert LabelHistogram().fit_transform([nx.path_graph(3), nx.path_graph(8)]).tolist() == [[3], [8]]
    model = LabelHistogram().fit(["CCO", "CN"])
    with pytest.warns(UnknownCategoryWarning, match="'Cl'"):
        counts = model.transform(["CCl"])
    assert dict(zip(model.get_feature_names_out(), counts[0], strict=True))["element C"] == 1
    assert counts[0, :-1].sum() == 1  # Cl is counted nowhere; the last column holds hydrogens


def test_degrees_by_hand(corner_cases):
    model = DegreeHistogram().fit(corner_cases)
    assert model.feature_names_ == (*(f"degree {d}" for d in (0, 1, 2, 3, 4, 300)), "other")
    counts = dict(zip(corner_cases.ids.tolist(), model.transform(corner_cases).tolist(), strict=True))
    assert counts["no edges"] == [4, 0, 0, 0, 0, 0, 0]
    assert counts["huge hub"] == [0, 300, 0, 0, 0, 1, 0]
    assert counts["self-loops"] == [0, 0, 3, 0, 0, 0, 0]
    assert counts["repeated edges"] == [0, 0, 0, 2, 1, 0, 0]
    assert counts["directed"] == [0, 4, 0, 0, 0, 0, 0]  # incoming arcs
    model = DegreeHistogram(share=True).fit([nx.path_graph(4)])  # degrees never seen have a column
    found = model.transform([nx.star_graph(4), nx.path_graph(2)])
    np.testing.assert_allclose(found, [[0.8, 0, 0.2], [1, 0, 0]])


def test_means_and_most_frequent_classes_by_hand(graphs):
    some = graphs[:4]
    assert MeanPredictor().fit(some, [1, None, 3, 8]).predict(graphs).tolist() == [4.0] * 100
    both = MeanPredictor().fit(some, [[1, 10], [None, 20], [3, NAN], [8, NAN]]).predict(some)
    assert both.tolist() == [[4.0, 15.0]] * 4
    y = ["b", "a", "b", None, "a", "b"]
    model = MeanPredictor("classification").fit(graphs[:6], y)
    assert model.predict(graphs[:2]).tolist() == ["b", "b"]
    np.testing.assert_allclose(model.predict_proba(graphs[:1]), [[0.4, 0.6]])
    assert model.score(graphs[:6], y) == 0.6
    tie = MeanPredictor("classification").fit(some, [1, 0, 0, 1])
    assert tie.predict(graphs[:1]).tolist() == [0]


@pytest.mark.parametrize("hydrogens", [False, True])
def test_atom_counts_are_least_squares(hydrogens):
    graphs = as_graphset(SMILES, hydrogens=hydrogens)
    y = np.column_stack([MASS, COUNTS @ [-0.5, -38, -54.6, -75, -99.7]]) + NOISE
    y[3, 0] = y[5:20, 1] = NAN
    model = AtomCounts().fit(graphs, y)
    design = np.column_stack([COUNTS, np.ones(len(COUNTS))])
    for target in range(2):
        known = ~np.isnan(y[:, target])
        oracle = np.linalg.lstsq(design[known], y[known, target], rcond=None)[0]
        np.testing.assert_allclose(model.predict(graphs)[:, target], design @ oracle, rtol=1e-10)
        ours = dict(zip(model.feature_names_, model.coef_[:, target], strict=True))
        named = [ours["element H" if hydrogens else "implicit hydrogens"]]
        named += [ours[f"element {symbol}"] for symbol in "CNOF"]
        np.testing.assert_allclose(named, oracle[:-1], rtol=1e-8)
        assert model.intercept_[target] == pytest.approx(oracle[-1], abs=1e-8)


def test_more_elements_than_labels_still_have_one_answer():
    y = [1.0, 2.0, 4.0] + [None] * 97
    model = AtomCounts().fit(SMILES, y)
    np.testing.assert_allclose(model.predict(SMILES[:3]), [1, 2, 4], atol=1e-9)
    assert np.array_equal(model.coef_, AtomCounts().fit(SMILES, y).coef_)
    assert model.coef_[model.feature_names_.index("element F"), 0] == 0  # no labelled molecule has any


@pytest.mark.parametrize("n_classes", [2, 3])
def test_atom_counts_of_classes_are_logistic_regression(graphs, n_classes):
    y = np.random.default_rng(1).integers(n_classes, size=100).astype(float)
    y[::9] = NAN
    known = ~np.isnan(y)
    oracle = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000))
    oracle.fit(COUNTS[known], y[known])
    model = AtomCounts(task="classification").fit(graphs, y)
    np.testing.assert_allclose(model.predict_proba(graphs), oracle.predict_proba(COUNTS), atol=1e-4)
    assert model.predict(graphs).dtype.kind == "i"


def test_an_element_never_seen_is_one_warning():
    model = AtomCounts().fit(SMILES, MASS)
    said = r"node column 'element': 'Cl' \(1x\), 'Br' \(1x\)"
    with pytest.warns(UnknownCategoryWarning, match=said) as caught:
        predicted = model.predict(["CCCl", "CCBr", "CCC"])
    assert len(caught) == 1
    assert predicted[2] == pytest.approx(ExactMolWt(Chem.MolFromSmiles("CCC")), abs=1e-8)


def test_what_is_counted(graphs, corner_cases):
    model = AtomCounts().fit(corner_cases, np.arange(10.0) ** 2)
    assert model.feature_names_ == ("label a", "label b", "label c")
    plain = [nx.path_graph(n) for n in range(2, 9)]
    by_size = AtomCounts().fit(plain, [3.0 * n + 1 for n in range(2, 9)])
    assert by_size.feature_names_ == ("nodes",)
    assert by_size.predict([nx.cycle_graph(30)])[0] == pytest.approx(91)
    model = AtomCounts(columns=["aromatic"]).fit(graphs, MASS)
    assert model.feature_names_ == ("aromatic False", "aromatic True")
    model = AtomCounts(columns=["hydrogens"]).fit(graphs, MASS)
    assert model.feature_names_[:2] == ("hydrogens 0", "hydrogens 1")


def test_the_forest_is_that_of_scikit_learn(graphs, monkeypatch):
    y = np.column_stack([MASS, COUNTS[:, 0] ** 2]) + NOISE
    y[7, 0] = y[20:60, 1] = NAN
    model = FingerprintForest(n_trees=15, random_state=3).fit(graphs, y)
    for target in range(2):
        known = ~np.isnan(y[:, target])
        oracle = RandomForestRegressor(15, max_features=1 / 3, random_state=3)
        oracle.fit(BITS[known], y[known, target])
        assert np.array_equal(model.predict(graphs)[:, target], oracle.predict(BITS))
    one = FingerprintForest(n_trees=15, max_features=1, min_samples_leaf=3, n_jobs=2).fit(SMILES, MASS)
    oracle = RandomForestRegressor(15, max_features=1.0, min_samples_leaf=3, random_state=0).fit(BITS, MASS)
    monkeypatch.setattr("infograph.baselines.references.CHUNK", 7)  # predicted in pieces
    assert np.array_equal(one.predict(SMILES), oracle.predict(BITS))


def test_the_forest_of_classes_is_that_of_scikit_learn(graphs):
    y = np.array(["few", "some", "many"])[np.digitize(MASS, [50, 75])].astype(object)
    y[::7] = None
    known = np.array([label is not None for label in y])
    model = FingerprintForest(n_trees=20, task="classification").fit(graphs, y)
    oracle = RandomForestClassifier(20, random_state=0).fit(BITS[known], y[known].astype(str))
    assert model.classes_.tolist() == oracle.classes_.tolist() == ["few", "many", "some"]
    np.testing.assert_allclose(model.predict_proba(graphs), oracle.predict_proba(BITS), rtol=0, atol=1e-15)
    assert np.array_equal(model.predict(graphs), oracle.predict(BITS))


def test_the_forest_on_counts_and_descriptors(graphs, tmp_path, monkeypatch):
    counts = np.array([GENERATOR.GetCountFingerprintAsNumPy(molecule) for molecule in MOLECULES])
    described = np.array([[value(molecule) for value in DESCRIPTORS] for molecule in MOLECULES])
    both = np.hstack([counts, described.astype(np.float32)])
    assert np.isfinite(described).all() and np.abs(described).max() < 1e6
    for features, table in (("counts", counts), ("counts+descriptors", both)):
        model = FingerprintForest(n_trees=15, features=features, random_state=3).fit(graphs, MASS)
        oracle = RandomForestRegressor(15, max_features=1 / 3, random_state=3).fit(table, MASS)
        assert np.array_equal(model.predict(graphs), oracle.predict(table))
        model.save(tmp_path / features)
        again = FingerprintForest.load(tmp_path / features)
        assert np.array_equal(again.predict(SMILES), oracle.predict(table))
    reordered = [*Descriptors.descList[::-1], ("another", ExactMolWt)]  # as a later RDKit may have them
    monkeypatch.setattr(Descriptors, "descList", reordered)
    assert np.array_equal(again.predict(SMILES), oracle.predict(both))
    monkeypatch.setattr(Descriptors, "descList", reordered[1:])
    with pytest.raises(InvalidParameter, match=f"no descriptor {reordered[0][0]}: grow the forest again"):
        again.predict(SMILES)


def test_descriptors_that_a_molecule_has_none_of():
    odd = "[Pt]", "C" * 80  # no partial charges
    molecules = map(Chem.MolFromSmiles, odd)
    values = np.array([[value(each) for value in DESCRIPTORS] for each in molecules])
    assert np.isnan(values[0]).any()
    found = rdkit_descriptors(as_graphset(list(odd)), descriptor_names())
    expected = np.clip(np.where(np.isnan(values), 0, values), -1e6, 1e6).astype(np.float32)
    assert np.array_equal(found, expected)
    hydrogen = rdkit_descriptors(as_graphset(["[H][H]"]), descriptor_names())  # no heavy atom to divide by
    assert hydrogen[0, descriptor_names().index("SPS")] == 0 and np.isfinite(hydrogen).all()
    assert hydrogen[0, descriptor_names().index("MolWt")] == pytest.approx(2.016)


def test_a_forest_regresses_no_two_classes(graphs):
    two = (np.arange(len(graphs)) % 2).astype(float)
    with pytest.raises(InvalidTarget, match=rf"'y' is 0 or 1 in all of {len(two)} labelled graphs: classes"):
        FingerprintForest(n_trees=2).fit(graphs, two)
    FingerprintForest(n_trees=2).fit(graphs, two / 3)  # measured
    FingerprintForest(n_trees=2, task="classification").fit(graphs, two)


def test_the_column_of_smiles(graphs, monkeypatch):
    column = {"graph": {"structure": graphs.graph["smiles"]}}
    renamed = replace(graphs, **column, schema=graphs.schema.replace("graph", (Column("structure", "text"),)))
    model, usual = (FingerprintForest(n_trees=2, smiles=name) for name in ("structure", "smiles"))
    assert np.array_equal(model.fit(renamed, MASS).predict(renamed), usual.fit(graphs, MASS).predict(graphs))
    spoilt = replace(graphs[:2], graph={"smiles": np.array(["CC", "C1CC"])})
    with pytest.raises(InvalidGraph, match="graph 1: its SMILES 'C1CC' cannot be read"):
        usual.predict(spoilt)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"rdkit.*infograph\[chem\]"):
        FingerprintForest().fit(graphs, MASS)

"""The reference rows against NumPy's and scikit-learn's own answers, and against values by hand."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
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
from infograph.baselines.references import morgan_fingerprints
from infograph.data.schema import Column
from infograph.errors import InvalidGraph, MissingExtra, UnknownCategoryWarning

HEADS = ("C", "CC", "O", "N", "CCC", "C=C", "C#C", "c1ccccc1", "OC", "NC(=O)")
TAILS = ("C", "O", "N", "F", "CO", "CN", "C#N", "C(=O)O", "C(C)C", "c1ccncc1")
SMILES = [head + tail for head, tail in itertools.product(HEADS, TAILS)]
MOLECULES = [Chem.MolFromSmiles(text) for text in SMILES]
MASS = np.array([ExactMolWt(molecule) for molecule in MOLECULES])
NOISE = np.random.default_rng(0).normal(size=(len(SMILES), 2))
NAN = np.nan


@pytest.fixture(scope="module")
def graphs():
    return as_graphset(SMILES)


def elements(molecule: Chem.Mol) -> list[int]:
    """Counts of H, C, N, O, F by RDKit's own loop."""
    symbols = [atom.GetSymbol() for atom in Chem.AddHs(molecule).GetAtoms()]
    return [symbols.count(symbol) for symbol in ("H", "C", "N", "O", "F")]


COUNTS = np.array([elements(molecule) for molecule in MOLECULES], dtype=float)


def bits_of(molecules: list[Chem.Mol], radius: int = 2, n_bits: int = 2048) -> np.ndarray:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=n_bits)
    return np.array([list(generator.GetFingerprint(molecule)) for molecule in molecules])


# ---- histograms


def test_labels_by_hand(corner_cases):
    model = LabelHistogram()
    counts = model.fit_transform(corner_cases)
    assert model.feature_names_ == ("label a", "label b", "label c")
    assert counts[:3].tolist() == [[2, 1, 1], [1, 0, 0], [2, 2, 1]]
    assert counts.sum(axis=1).tolist() == corner_cases.sizes.tolist()
    np.testing.assert_allclose(LabelHistogram(share=True).fit_transform(corner_cases)[0], [0.5, 0.25, 0.25])
    assert LabelHistogram().fit_transform([nx.path_graph(3), nx.path_graph(8)]).tolist() == [[3], [8]]


def test_labels_never_seen_are_counted_nowhere():
    model = LabelHistogram().fit(["CCO", "CN"])
    with pytest.warns(UnknownCategoryWarning, match="'Cl'"):
        counts = model.transform(["CCl"])
    assert dict(zip(model.get_feature_names_out(), counts[0], strict=True))["element C"] == 1
    assert counts[0][: len(counts[0]) - 1].sum() == 1  # the last column holds hydrogens


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
    np.testing.assert_allclose(
        model.transform([nx.star_graph(4), nx.path_graph(2)]), [[0.8, 0, 0.2], [1, 0, 0]]
    )


# ---- the mean


def test_mean_of_the_labelled_by_hand(graphs):
    some = graphs[:4]
    assert MeanPredictor().fit(some, [1, None, 3, 8]).predict(graphs).tolist() == [4.0] * 100
    both = MeanPredictor().fit(some, [[1, 10], [None, 20], [3, NAN], [8, NAN]]).predict(some)
    assert both.tolist() == [[4.0, 15.0]] * 4
    assert MeanPredictor().fit(some, [1, 2, 3, 8]).score(some, [1, 2, 3, 8]) == 0.0


def test_most_frequent_class_by_hand(graphs):
    y = ["b", "a", "b", None, "a", "b"]
    model = MeanPredictor("classification").fit(graphs[:6], y)
    assert model.predict(graphs[:2]).tolist() == ["b", "b"]
    np.testing.assert_allclose(model.predict_proba(graphs[:1]), [[0.4, 0.6]])
    assert model.score(graphs[:6], y) == 0.6
    tie = MeanPredictor("classification").fit(graphs[:4], [1, 0, 0, 1])
    assert tie.predict(graphs[:1]).tolist() == [0]


# ---- counts of atoms


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


def test_atom_counts_find_the_masses_of_the_elements():
    model = AtomCounts().fit(SMILES, MASS)
    masses = dict(zip(model.feature_names_, model.coef_[:, 0], strict=True))
    assert masses["implicit hydrogens"] == pytest.approx(1.00783, abs=1e-5)
    assert masses["element C"] == pytest.approx(12, abs=1e-9)
    assert masses["element F"] == pytest.approx(18.9984, abs=1e-4)
    assert model.score(SMILES, MASS) == pytest.approx(1, abs=1e-12)
    assert model.predict(["OCCO"])[0] == pytest.approx(ExactMolWt(Chem.MolFromSmiles("OCCO")), abs=1e-8)


def test_more_elements_than_labels_still_have_one_answer():
    model = AtomCounts().fit(SMILES, [1.0, 2.0, 4.0] + [None] * 97)
    np.testing.assert_allclose(model.predict(SMILES[:3]), [1, 2, 4], atol=1e-9)
    again = AtomCounts().fit(SMILES, [1.0, 2.0, 4.0] + [None] * 97)
    assert np.array_equal(model.coef_, again.coef_)
    assert model.coef_[model.feature_names_.index("element F"), 0] == 0  # no labelled molecule has any


def test_atom_counts_of_classes_are_logistic_regression(graphs):
    rng = np.random.default_rng(1)
    for n_classes in (2, 3):
        y = rng.integers(n_classes, size=100).astype(float)
        y[::9] = NAN
        known = ~np.isnan(y)
        oracle = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000))
        oracle.fit(COUNTS[known], y[known])
        model = AtomCounts(task="classification").fit(graphs, y)
        np.testing.assert_allclose(model.predict_proba(graphs), oracle.predict_proba(COUNTS), atol=1e-4)
        assert model.predict(graphs).dtype.kind == "i"
        assert model.score(graphs, y) == pytest.approx(oracle.score(COUNTS[known], y[known]), abs=0.021)


def test_an_element_never_seen_is_one_warning():
    model = AtomCounts().fit(SMILES, MASS)
    with pytest.warns(
        UnknownCategoryWarning, match=r"node column 'element': 'Cl' \(1x\), 'Br' \(1x\)"
    ) as caught:
        predicted = model.predict(["CCCl", "CCBr", "CCC"])
    assert len(caught) == 1
    assert predicted[2] == pytest.approx(ExactMolWt(Chem.MolFromSmiles("CCC")), abs=1e-8)


def test_other_graphs_count_what_they_have(corner_cases):
    counts = [[(graph.node["label"] == code).sum() for code in range(3)] for graph in corner_cases]
    design = np.column_stack([counts, np.ones(10)])
    y = np.arange(10.0) ** 2
    oracle = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(AtomCounts().fit(corner_cases, y).predict(corner_cases), oracle, atol=1e-8)
    plain = [nx.path_graph(n) for n in range(2, 9)]
    by_size = AtomCounts().fit(plain, [3.0 * n + 1 for n in range(2, 9)])
    assert by_size.feature_names_ == ("nodes",)
    assert by_size.predict([nx.cycle_graph(30)])[0] == pytest.approx(91)


def test_columns_to_count_can_be_chosen(graphs):
    model = AtomCounts(columns=["aromatic"]).fit(graphs, MASS)
    assert model.feature_names_ == ("aromatic False", "aromatic True")
    assert AtomCounts(columns=["hydrogens"]).fit(graphs, MASS).feature_names_[:2] == (
        "hydrogens 0",
        "hydrogens 1",
    )


# ---- fingerprints


def test_fingerprints_are_those_of_rdkit(graphs):
    np.testing.assert_array_equal(morgan_fingerprints(graphs), bits_of(MOLECULES))
    short = morgan_fingerprints(graphs, radius=1, n_bits=64)
    np.testing.assert_array_equal(short, bits_of(MOLECULES, 1, 64))


def test_the_forest_is_that_of_scikit_learn(graphs):
    y = np.column_stack([MASS, COUNTS[:, 0] ** 2]) + NOISE
    y[7, 0] = y[20:60, 1] = NAN
    model = FingerprintForest(n_trees=15, random_state=3).fit(graphs, y)
    bits = bits_of(MOLECULES)
    for target in range(2):
        known = ~np.isnan(y[:, target])
        oracle = RandomForestRegressor(15, max_features=1 / 3, random_state=3).fit(
            bits[known], y[known, target]
        )
        assert np.array_equal(model.predict(graphs)[:, target], oracle.predict(bits))
    one = FingerprintForest(n_trees=15, max_features=1, min_samples_leaf=3).fit(SMILES, MASS)
    oracle = RandomForestRegressor(15, max_features=1.0, min_samples_leaf=3, random_state=0).fit(bits, MASS)
    assert np.array_equal(one.predict(SMILES), oracle.predict(bits))


def test_the_forest_of_classes_is_that_of_scikit_learn(graphs):
    y = np.array(["few", "some", "many"])[np.digitize(MASS, [50, 75])].astype(object)
    y[::7] = None
    known = np.array([label is not None for label in y])
    model = FingerprintForest(n_trees=20, task="classification").fit(graphs, y)
    bits = bits_of(MOLECULES)
    oracle = RandomForestClassifier(20, random_state=0).fit(bits[known], y[known].astype(str))
    assert model.classes_.tolist() == oracle.classes_.tolist() == ["few", "many", "some"]
    np.testing.assert_allclose(model.predict_proba(graphs), oracle.predict_proba(bits), rtol=0, atol=1e-15)
    assert np.array_equal(model.predict(graphs), oracle.predict(bits))
    assert model.score(graphs, y) == oracle.score(bits[known], y[known].astype(str))


def test_forests_of_many_molecules_are_predicted_in_pieces(graphs, monkeypatch):
    model = FingerprintForest(n_trees=3).fit(graphs, MASS)
    whole = model.predict(graphs)
    monkeypatch.setattr("infograph.baselines.references.CHUNK", 7)
    assert np.array_equal(model.predict(graphs), whole)


def test_workers_do_not_change_the_forest(graphs):
    few = {"n_trees": 6, "n_bits": 256}
    alone = FingerprintForest(**few).fit(graphs, MASS).predict(graphs)
    assert np.array_equal(alone, FingerprintForest(**few, n_jobs=2).fit(graphs, MASS).predict(graphs))
    assert not np.array_equal(
        alone, FingerprintForest(**few, random_state=1).fit(graphs, MASS).predict(graphs)
    )


def test_a_smiles_that_cannot_be_read_is_named(graphs):
    spoilt = replace(graphs[:2], graph={"smiles": np.array(["CC", "C1CC"])})
    with pytest.raises(InvalidGraph, match="graph 1: its SMILES 'C1CC' cannot be read"):
        FingerprintForest(n_trees=2).fit(graphs, MASS).predict(spoilt)


def test_smiles_in_another_column(graphs):
    renamed = replace(
        graphs,
        graph={"structure": graphs.graph["smiles"]},
        schema=graphs.schema.replace("graph", (Column("structure", "text"),)),
    )
    model = FingerprintForest(n_trees=2, smiles="structure").fit(renamed, MASS)
    assert np.array_equal(
        model.predict(renamed), FingerprintForest(n_trees=2).fit(graphs, MASS).predict(graphs)
    )


def test_without_rdkit_the_extra_is_named(graphs, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"rdkit.*infograph\[chem\]"):
        FingerprintForest().fit(graphs, MASS)

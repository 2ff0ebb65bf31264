"""What composition says of a number: exact where it is linear, silent where it says nothing."""

from __future__ import annotations

import numpy as np
import pytest

import infograph
from infograph import InfoGraphRegressor, Vectors, as_graphset
from infograph.errors import UnknownCategoryWarning
from infograph.estimators.offset import Offset, composition

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "CCOC", "c1ccncc1", "CNC", "OCC(O)CO", "CC#N"]
SMILES += ["CCCl", "CC(N)=O", "C1CC1", "CCS", "CC=C", "NCCO", "COC", "C#C", "CCCN", "OCCO", "CC(C)C", "CF"]
GRAPHS = as_graphset(SMILES)
NAMES, COUNTS = composition(GRAPHS)


def test_composition_counts_atoms_bonds_and_hydrogens():
    found = dict(zip(NAMES, composition(as_graphset(["CC(=O)O"]))[1][0], strict=True))
    assert {name: count for name, count in found.items() if count} == {
        "nodes": 4,
        "element C": 2,
        "element O": 2,
        "implicit hydrogens": 4,
        "bond single": 4,  # both ways
        "bond double": 2,
    }


def test_it_is_exact_on_what_is_linear_in_counts_and_keeps_gaps_apart():
    atoms = COUNTS[:, [NAMES.index(f"element {element}") for element in "CNO"]]
    wanted = np.column_stack([atoms @ [3.0, -1.0, 2.0] + 7, 1e6 * atoms @ [0.5, 0, 1]])
    gaps = wanted.copy()
    gaps[::3, 0] = gaps[1::4, 1] = np.nan
    for given in (wanted, gaps):
        made = Offset.fit(GRAPHS, given)
        known = ~np.isnan(given)
        np.testing.assert_allclose(made.predict(GRAPHS)[known], wanted[known], rtol=1e-3)
    alone = Offset.fit(GRAPHS, gaps[:, :1])
    np.testing.assert_allclose(alone.predict(GRAPHS), Offset.fit(GRAPHS, gaps).predict(GRAPHS)[:, :1])
    shifted = Offset.fit(GRAPHS, 1000 * wanted + 5)
    np.testing.assert_allclose(shifted.predict(GRAPHS), 1000 * Offset.fit(GRAPHS, wanted).predict(GRAPHS) + 5)


def test_there_is_none_where_the_mean_is_as_good():
    noise = np.random.default_rng(0).normal(size=(len(GRAPHS), 2))
    assert Offset.fit(GRAPHS, noise) is None
    assert Offset.fit(GRAPHS, np.full((len(GRAPHS), 1), 3.0)) is None
    same = as_graphset(["CCO"] * 5 + ["COC"] * 5)
    assert Offset.fit(same[:5], noise[:5]) is None  # of one composition
    assert Offset.fit(GRAPHS[:1], noise[:1]) is None
    part = np.hstack([noise[:, :1], np.full((len(GRAPHS), 1), np.nan)])
    assert Offset.fit(GRAPHS, part) is None


def test_elements_that_were_not_seen_add_nothing_and_saved_models_say_the_same(tmp_path):
    y = COUNTS[:, NAMES.index("element C")] + 0.1 * COUNTS[:, NAMES.index("element O")]
    model = InfoGraphRegressor(objective="supervised", dim=8, epochs=1, encoder="gin").fit(GRAPHS, y)
    assert model.offset_ is not None
    loaded = infograph.load(model.save(tmp_path / "model"))
    seen = as_graphset(GRAPHS, schema=model.schema_)
    assert np.array_equal(loaded.offset_.predict(seen), model.offset_.predict(seen))
    assert np.array_equal(loaded.predict(GRAPHS), model.predict(GRAPHS))
    with pytest.warns(UnknownCategoryWarning, match="'element': 'Br'"):
        model.predict(["CBr"])
    with pytest.warns(UnknownCategoryWarning, match="'element': 'Br'"):
        known = as_graphset(["CBr", "CCl"], schema=model.schema_)
    said = model.offset_.predict(known)
    assert np.abs(said - 1).max() < 1


def test_each_target_decides_for_itself_and_heads_take_what_is_nearly_all():
    carbons = COUNTS[:, NAMES.index("element C")]
    noise = np.random.default_rng(0).normal(size=len(GRAPHS))
    both = np.column_stack([100 * carbons + noise, noise])
    made = Offset.fit(GRAPHS, both)
    np.testing.assert_allclose(made.predict(GRAPHS)[:, 1], noise.mean())
    np.testing.assert_allclose(
        made.predict(GRAPHS)[:, 0], Offset.fit(GRAPHS, both[:, :1]).predict(GRAPHS)[:, 0]
    )
    assert Offset.fit(GRAPHS, (carbons + noise)[:, None], worth=0.1) is None  # of the variance half is left
    head = Vectors("vectors", "ridge")
    model = InfoGraphRegressor(head).fit(SMILES, 100 * carbons + noise)
    without = InfoGraphRegressor(head, offset=None).fit(SMILES, 100 * carbons + noise)
    assert model.offset_ is not None and without.offset_ is None
    new = ["CCCCC", "CCCCCO", "CCCCN", "CCCCCC"]
    wrong, worse = (np.abs(each.predict(new) - [500, 500, 400, 600]).mean() for each in (model, without))
    assert wrong < 20 < worse
    assert InfoGraphRegressor(head).fit(SMILES, carbons + noise).offset_ is None

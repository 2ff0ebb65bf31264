"""What every kernel promises of its values; what all baselines promise is in tests/test_contract.py."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import issparse
from sklearn.base import clone

import infograph
from infograph import (
    DeepGraphKernel,
    Graphlets,
    MultiscaleLaplacian,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
)
from infograph.data.records import Record, assemble
from tests.baselines.oracles import permuted, random_set, seeds

EXACT = {  # values do not depend on the order of nodes, nor on who was fitted
    "wl": WeisfeilerLehman(3),
    "wl with bonds": WeisfeilerLehman(2, edge_columns=["bond"], normalise=True),
    "sp": ShortestPath(),
    "sp without labels": ShortestPath(node_columns=[], normalise=True),
    "gk3": Graphlets(3, values="counts"),
    "gk4": Graphlets(4, normalise=True),
    "rw": RandomWalk(0.001, edge_columns=[]),
    "rw with bonds": RandomWalk(0.001, edge_columns=["bond"], normalise=True),
    "rw without labels": RandomWalk(0.001, node_columns=[], edge_columns=[], normalise=True),
}
DEEP = {"dim": 6, "epochs": 2, "draws": 20}
KERNELS = EXACT | {
    "gk5": Graphlets(5, n_samples=40),
    "deep wl": DeepGraphKernel("wl", **DEEP),
    "deep graphlets": DeepGraphKernel("graphlet", **DEEP),
    "deep walks": DeepGraphKernel("walk", **DEEP),
    "deep paths": DeepGraphKernel("shortest-path", **DEEP, normalise=True),
    "mlg": MultiscaleLaplacian(1, n_landmarks=12, rank=5),
}
kernels = pytest.mark.parametrize("name", KERNELS)


@functools.cache
def graphs():
    return random_set(0, count=20, most=10)


@kernels
def test_kernel_values(name):
    """Symmetric, positive semidefinite, those of the features, and those of the graphs passed in again."""
    model = clone(KERNELS[name]).fit(graphs())
    values, features = model.gram(), model.transform(graphs())
    np.testing.assert_allclose(values, values.T, rtol=1e-12)
    assert np.linalg.eigvalsh(values).min() > -1e-9 * np.abs(values).max()
    np.testing.assert_allclose(model.gram(graphs()), values, rtol=1e-9, atol=1e-12)
    explicit = not isinstance(model, MultiscaleLaplacian) and getattr(model, "graphs_", None) is None
    products = features @ features.T if explicit else features
    products = products.toarray() if issparse(products) else products
    np.testing.assert_allclose(products, values, rtol=1e-9, atol=1e-9)


@kernels
def test_normalising_may_be_switched_after_fit(name):
    model = clone(KERNELS[name]).set_params(normalise=False).fit(graphs())
    plain = model.gram()
    model.normalise = True
    roots = np.sqrt(plain.diagonal())
    safe = np.where(roots == 0, 1, roots)
    np.testing.assert_allclose(model.gram(), plain / safe[:, None] / safe[None, :], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(model.gram().diagonal(), np.where(roots == 0, 0.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(model.gram(graphs()[3:7]), model.gram()[3:7], rtol=1e-9, atol=1e-12)


def test_other_settings_stay_what_they_were_in_fit(tmp_path):
    model = WeisfeilerLehman(2).fit(graphs())
    expected = model.gram(graphs()[:3])
    model.rounds = 7
    folder = model.save(tmp_path / "model")
    assert np.array_equal(infograph.load(folder).gram(graphs()[:3]), expected)
    assert "- rounds: 2\n" in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=8)
@given(seed=seeds)
def test_the_order_of_nodes_does_not_matter(name, seed):
    some = random_set(seed, count=6)
    values = clone(KERNELS[name]).fit(some).gram()
    shuffled = clone(KERNELS[name]).fit(permuted(some, seed)).gram()
    np.testing.assert_allclose(shuffled, values, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=8)
@given(seed=seeds)
def test_new_graphs_are_compared_as_if_they_had_been_there(name, seed):
    """With labels, colours and paths that no fitted graph has; also in k(x, x), which normalises."""
    old, new = random_set(seed, count=5, labels="ab"), random_set(seed + 1, count=4, labels="bcde")
    together = clone(KERNELS[name]).fit(infograph.concatenate([old, new])).gram()
    values = clone(KERNELS[name]).fit(old).gram(new)
    np.testing.assert_allclose(values, together[5:, :5], rtol=1e-11, atol=1e-13)


def test_missing_labels_are_a_label_of_their_own():
    """Also where new graphs have more categories, and "missing" another code."""

    def one(*labels):
        return Record(len(labels), np.zeros((2, 0), int), node={"label": np.array(labels, dtype=object)})

    old, new = assemble([one("a", None), one("b")]), assemble([one(None, "z"), one("z", "z", "a")])
    kernel = WeisfeilerLehman(0).fit(old)
    assert kernel.gram().tolist() == [[2, 0], [0, 1]]
    assert kernel.gram(new).tolist() == [[1, 0], [1, 0]]
    kernel.normalise = True
    np.testing.assert_allclose(kernel.gram(new), [[0.5, 0], [1 / np.sqrt(10), 0]])


def test_new_graphs_may_be_networkx_or_molecules():
    others = random_set(1, count=6, labels="abcde")
    kernel = clone(EXACT["wl with bonds"]).fit(graphs())
    assert np.array_equal(kernel.gram(infograph.to_networkx(others)), kernel.gram(others))
    kernel = WeisfeilerLehman(2).fit(["CCO", "CCN", "c1ccccc1"])
    assert np.array_equal(kernel.gram(["CCN", "CCO"]), kernel.gram()[[1, 0]])
    molecules = infograph.as_graphset(["CCO", "CCN"], hydrogens=True)  # stay as they were read
    kernel = Graphlets(3, values="counts").fit(molecules)
    assert np.array_equal(kernel.gram(["CCO", "CCN"]), kernel.gram())


def test_without_numba_one_sentence_says_what_to_install():
    """Neither the Weisfeiler-Lehman kernel nor walks without labels need compiled code."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from infograph import *; import infograph, numpy as np\n"
        "graphs = [(np.array([[0, 1], [1, 0]]), np.zeros((2, 1), int))] * 2\n"
        "for kernel in [WeisfeilerLehman(), RandomWalk(node_columns=[])]: kernel.fit(graphs).gram()\n"
        "for method in [RandomWalk(), ShortestPath(), Graphlets(), MultiscaleLaplacian(),\n"
        "               DeepGraphKernel(), Node2Vec(), Sub2Vec(), Graph2Vec()]:\n"
        "    try: method.fit(graphs); print('fitted')\n"
        "    except infograph.errors.MissingExtra as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "this needs numba, which is not installed: pip install 'infograph[baselines]'"
    assert found.stdout.splitlines() == [sentence] * 8

"""Histograms of labels and degrees, by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import infograph
from infograph import DegreeHistogram, LabelHistogram, as_graphset
from infograph.errors import InvalidParameter, NotFitted, UnknownCategoryWarning


def test_labels_by_hand(corner_cases):
    model = LabelHistogram()
    counts = model.fit_transform(corner_cases)
    assert model.feature_names_ == ("label a", "label b", "label c")
    assert counts[:3].tolist() == [[2, 1, 1], [1, 0, 0], [2, 2, 1]]
    assert counts.sum(axis=1).tolist() == corner_cases.sizes.tolist()
    shares = LabelHistogram(share=True).fit_transform(corner_cases)
    np.testing.assert_allclose(shares[0], [0.5, 0.25, 0.25])


def test_labels_never_seen_are_counted_nowhere():
    model = LabelHistogram().fit(["CCO", "CN"])
    with pytest.warns(UnknownCategoryWarning, match="'Cl'"):
        counts = model.transform(["CCl"])
    assert dict(zip(model.get_feature_names_out(), counts[0], strict=True))["element C"] == 1
    assert counts[0][: len(counts[0]) - 1].sum() == 1  # the last column holds hydrogens


def test_without_labels_the_number_of_nodes_is_left():
    counts = LabelHistogram().fit_transform([nx.path_graph(3), nx.path_graph(8)])
    assert counts.tolist() == [[3], [8]]


def test_degrees_by_hand(corner_cases):
    model = DegreeHistogram().fit(corner_cases)
    assert model.feature_names_ == (*(f"degree {d}" for d in (0, 1, 2, 3, 4, 300)), "other")
    counts = model.transform(corner_cases)
    by_name = {str(i): row for i, row in zip(corner_cases.ids, counts.tolist(), strict=True)}
    assert by_name["no edges"] == [4, 0, 0, 0, 0, 0, 0]
    assert by_name["huge hub"] == [0, 300, 0, 0, 0, 1, 0]
    assert by_name["self-loops"] == [0, 0, 3, 0, 0, 0, 0]
    assert by_name["one node with a loop"] == [0, 1, 0, 0, 0, 0, 0]
    assert by_name["repeated edges"] == [0, 0, 0, 2, 1, 0, 0]
    assert by_name["directed"] == [0, 4, 0, 0, 0, 0, 0]  # incoming arcs


def test_degrees_never_seen_have_a_column():
    model = DegreeHistogram(share=True).fit([nx.path_graph(4)])
    assert model.feature_names_ == ("degree 1", "degree 2", "other")
    np.testing.assert_allclose(
        model.transform([nx.star_graph(4), nx.path_graph(2)]), [[0.8, 0, 0.2], [1, 0, 0]]
    )


@pytest.mark.parametrize("model", [LabelHistogram(), DegreeHistogram(share=True)])
def test_the_contract(model, corner_cases, tmp_path):
    with pytest.raises(NotFitted):
        clone(model).transform(corner_cases)
    fitted = clone(model).fit(corner_cases)
    assert np.array_equal(fitted.transform(corner_cases[::-1])[::-1], fitted.transform(corner_cases))
    fitted.save(tmp_path / "model")
    loaded = infograph.load(tmp_path / "model")
    assert np.array_equal(loaded.transform(corner_cases), fitted.transform(corner_cases))
    assert list(loaded.get_feature_names_out()) == list(fitted.feature_names_)
    assert fitted.estimate(corner_cases).seconds < 1
    with pytest.raises(InvalidParameter, match="share='yes': expected True or False"):
        clone(model).set_params(share="yes").fit(corner_cases)
    assert as_graphset(corner_cases) is corner_cases

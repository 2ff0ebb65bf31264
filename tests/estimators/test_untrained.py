"""The untrained encoder is InfoGraph before its first step."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import infograph
from infograph import GIN, InfoGraph, UntrainedGIN, load_dataset
from infograph.errors import InvalidParameter


def test_it_is_infograph_without_epochs(tmp_path):
    graphs = load_dataset("MUTAG")[:40]
    model = UntrainedGIN(dim=12, random_state=4, encoder=GIN(layers=3))
    vectors = clone(model).fit_transform(graphs)
    expected = InfoGraph(dim=12, epochs=0, random_state=4, encoder=GIN(layers=3))
    assert np.array_equal(vectors, expected.fit_transform(graphs))
    fitted = model.fit(graphs)
    assert fitted.history_ == []
    for mine, theirs in zip(fitted.network_.parameters(), expected.network_.parameters(), strict=True):
        assert np.array_equal(mine.detach(), theirs.detach())
    fitted.save(tmp_path / "model")
    loaded = infograph.load(tmp_path / "model")
    assert isinstance(loaded, UntrainedGIN)
    assert np.array_equal(loaded.transform(graphs), vectors)
    assert "epochs" not in fitted.get_params()
    degree = UntrainedGIN(
        dim=12, encoder=GIN(layers=2, readout="mean", node_features="degree")
    ).fit_transform(graphs)
    assert np.array_equal(
        degree,
        InfoGraph(
            dim=12, epochs=0, encoder=GIN(layers=2, readout="mean", node_features="degree")
        ).fit_transform(graphs),
    )
    with pytest.raises(InvalidParameter, match="an untrained encoder stays one"):
        fitted.partial_fit(graphs, epochs=5)
    assert fitted.partial_fit(graphs).history_ == []

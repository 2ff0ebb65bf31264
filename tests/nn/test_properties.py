"""Sparse products, and users' encoders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infograph import as_graphset
from infograph.errors import InvalidParameter
from infograph.nn.batch import SparseMatrix
from infograph.nn.encoder import NodeEncoder


@given(st.integers(0, 10_000))
def test_sparse_products_are_dense_ones(seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, size=(rng.integers(1, 6), rng.integers(1, 6))).astype(np.float32)
    rows, columns = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])
    matrix = SparseMatrix.from_csr(ptr, columns, dense[rows, columns], dense.shape[1])
    x = torch.randn(dense.shape[1], 3, dtype=torch.float64, requires_grad=True)
    product = matrix @ x
    torch.testing.assert_close(product, torch.from_numpy(dense).double() @ x)
    gradient = torch.randn_like(product)
    (found,) = torch.autograd.grad(product, x, gradient)
    torch.testing.assert_close(found, torch.from_numpy(dense).double().T @ gradient)


class TwoLayers(torch.nn.Module):
    def __init__(self, result: str = "list") -> None:
        super().__init__()
        self.first, self.second, self.result = torch.nn.Linear(3, 4), torch.nn.Linear(4, 6), result

    def forward(self, x, edge_index, batch):
        a = torch.relu(self.first(x))
        b = self.second(a)
        return {"list": [a, b], "tensor": b, "short": [a, b[:1]], "none": []}[self.result]


SCHEMA = as_graphset([([(0, 1)], np.zeros((2, 3)))] * 2).schema


def test_a_users_encoder_says_its_widths():
    assert NodeEncoder(TwoLayers(), SCHEMA).widths == [4, 6]
    assert NodeEncoder(TwoLayers("tensor"), SCHEMA).widths == [6]


def test_batches_of_a_users_encoder_take_lists():
    graphs = as_graphset([([(0, 1)], np.full((2, 3), number)) for number in range(4)])
    source = NodeEncoder(TwoLayers(), SCHEMA).source(graphs)
    assert torch.equal(source.batch([2, 1]).x, source.batch(np.array([2, 1])).x)


@pytest.mark.parametrize(("result", "said"), [("short", r"\(1, 6\)"), ("none", r"returned \[\]")])
def test_a_users_encoder_that_returns_something_else(result, said):
    with pytest.raises(InvalidParameter, match=said):
        NodeEncoder(TwoLayers(result), SCHEMA)

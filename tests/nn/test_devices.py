"""A second device that is none: tensors on it hold numbers here, and nothing may mix the two unasked.

torch's device "meta" stands for it. Every operation is looked at: one with tensors of both devices fails, as
it would on a GPU, and every number that has to be waited for is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

from infograph import GIN, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, MutualInformation, load_dataset
from infograph.estimators import members
from infograph.nn.batch import SparseMatrix
from infograph.train import loop
from infograph.train.loop import compute

aten = torch.ops.aten
CROSSING = (aten._to_copy.default, aten.copy_.default)
WAITING = (
    aten._local_scalar_dense,
    aten.nonzero,
    aten._unique2,
    aten.masked_select,
    aten.equal,
    aten.is_nonzero,
)


class There(torch.Tensor):
    """A tensor of the second device."""

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> There:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} outside of the second device")


class SecondDevice(TorchDispatchMode):
    """While it is on, device="meta" is the second device; `waited` counts what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        there = [each for each in tensors if isinstance(each, There)]
        here = [each for each in tensors if not isinstance(each, There) and each.dim()]
        if there and here and func not in CROSSING:
            raise RuntimeError(
                f"{func}: tensors of shape {[tuple(t.shape) for t in here]} are on the processor"
            )
        asked = kwargs.get("device")
        made_there = bool(there) if asked is None else torch.device(asked).type == "meta"
        if there:
            self._count(func, args, kwargs, made_there)
        if asked is not None:
            kwargs["device"] = torch.device("cpu")
        held = lambda each: each.held if isinstance(each, There) else each  # noqa: E731
        result = func(*tree_map(held, args), **tree_map(held, kwargs))
        known = {id(each.held): each for each in there}
        if func is aten.copy_.default:
            return args[0]
        wrap = lambda each: known[id(each)] if id(each) in known else There(each)  # noqa: E731
        if not made_there:
            return result
        wrapped = tree_map(lambda each: wrap(each) if isinstance(each, torch.Tensor) else each, result)
        return return_and_correct_aliasing(func, args, kwargs, wrapped) if there else wrapped

    def _count(self, func: Any, args: Any, kwargs: Any, stays: bool) -> None:
        masked = func in (aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default) and any(
            each is not None and each.dtype == torch.bool for each in args[1]
        )
        unsized = func.overloadpacket is aten.repeat_interleave and kwargs.get("output_size") is None
        if func.overloadpacket in WAITING or masked or unsized or not stays:
            self.waited[str(func.overloadpacket)] += 1


@pytest.fixture(autouse=True)
def without_inference_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """In which torch cannot wrap tensors."""
    for module in (loop, members):
        monkeypatch.setattr(module, "compute", torch.no_grad()(compute.__wrapped__))


def fitted(device: str, graphs: Any, **changed: Any) -> InfoGraph:
    settings = {
        "dim": 12,
        "encoder": GIN(3),
        "objective": "infograph",
        "epochs": 2,
        "batch_size": 16,
        **changed,
    }
    return InfoGraph(**settings, device=device).fit(graphs)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"encoder": GIN(2, "max", learn_eps=True), "edge_columns": []},
        {"objective": "auto"},
        {"objective": MutualInformation("dv", "conditioned", weighting="node", max_patches=9)},
        {"objective": MutualInformation(prior=0.1, colours=0.1)},
        {"encoder": "enn-s2s", "edge_columns": ["label"]},  # without inputs of edges torch itself uses "meta"
        {"epochs": "auto", "clip": 1.0, "weight_decay": 1e-4},
    ],
)
def test_training_elsewhere_gives_the_same_vectors(changed, monkeypatch):
    monkeypatch.setattr("infograph.estimators.infograph.MOST_EPOCHS", 2)
    graphs = load_dataset("MUTAG")[:48]
    expected = fitted("cpu", graphs, **changed)
    with SecondDevice():
        found = fitted("meta", graphs, **changed)
        assert all(isinstance(each, There) for each in found.network_.parameters())
        vectors = found.transform(graphs)
    for one, two in zip(found.history_, expected.history_, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-4)
    # what training did is the same; single entries part further, as Adam makes steps of roundings near 0
    before = fitted("cpu", graphs, **{**changed, "epochs": 0}).transform(graphs)
    after = expected.transform(graphs)
    assert np.linalg.norm(vectors - after) < 2e-3 * np.linalg.norm(after - before)


@pytest.mark.parametrize("objective", ["infograph", "auto"])
@pytest.mark.parametrize("edges", [[], ["label"]])
def test_no_update_waits_for_the_device(objective, edges):
    """An epoch of many updates asks for as many numbers as one of few."""
    graphs, waited = load_dataset("MUTAG")[:48], []
    for size in (24, 6):
        with SecondDevice() as device:
            model = fitted("meta", graphs, objective=objective, edge_columns=edges, batch_size=size)
        waited.append(+device.waited)
        assert len(model.history_) == 2
    assert waited[0] == waited[1]


@pytest.mark.parametrize(
    "model",
    [
        InfoGraphRegressor("infograph*", "gin", 8, epochs=2, steps_per_epoch=3),
        InfoGraphRegressor("mean-teacher", "enn-s2s", 8, epochs=2, steps_per_epoch=3),
        InfoGraphClassifier("vat", "gin", 8, epochs=2, steps_per_epoch=3),
        InfoGraphClassifier("infograph", "gin", 8, epochs=2, steps_per_epoch=3),
    ],
)
def test_models_with_labels(model):
    graphs = load_dataset("MUTAG")[:40]
    y = graphs.sizes.astype(float) if isinstance(model, InfoGraphRegressor) else graphs.graph["y"]
    expected = model.set_params(device="cpu").fit(graphs, y, validation=0.2).predict(graphs)
    with SecondDevice():
        found = model.set_params(device="meta").fit(graphs, y, validation=0.2).predict(graphs)
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-2, atol=1e-2)


def test_what_is_on_the_processor_is_found():
    with SecondDevice() as device:
        there = torch.ones(3, device="meta")
        with pytest.raises(RuntimeError, match="are on the processor"):
            there + torch.ones(3)
        assert not device.waited and (there + 1).sum().item() == 6 and device.waited.total() == 1


@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (3, 1)])
def test_a_matrix_is_transposed_where_it_is(shape):
    rng = np.random.default_rng(0)
    dense = torch.from_numpy(rng.integers(0, 3, shape).astype(np.float32))
    sparse = csr_matrix(dense.numpy())
    parts = (sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data)
    matrix = SparseMatrix.from_csr(*parts, shape[1])
    for made in (matrix.transposed, matrix._transposed_there()):
        torch.testing.assert_close(made.times(torch.eye(shape[0])), dense.T)
    assert torch.equal(matrix.transposed.index, matrix._transposed_there().index)

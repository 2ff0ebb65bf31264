"""A researcher's own parts: a page shows them all, own classes are parameters like any other."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import infograph
from infograph import (
    Bound,
    Discriminator,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphStar,
    LossTerms,
    MutualInformation,
    Objective,
    cross_validate,
    load_dataset,
)
from infograph.cells import parameters_of
from infograph.errors import InvalidParameter
from infograph.evaluate.compare import Protocol, compare
from infograph.learn.parts import make_parts
from infograph.learn.tune import tune

PAGE = (Path(__file__).parent.parent / "docs" / "change_the_method.md").read_text()
EXAMPLES = re.findall(r"^## ([^\n]+)$.*?^```python\n(.*?)^```$", PAGE, re.S | re.M)


class Bilinear(Discriminator):
    def __init__(self, patch_dim, graph_dim):
        super().__init__()
        self.matrix = torch.nn.Linear(patch_dim, graph_dim)

    def forward(self, patches, graphs):
        return self.matrix(patches) @ graphs.T / graphs.shape[1]


class Turned(Bilinear):
    def forward(self, patches, graphs):
        return super().forward(patches, graphs).T


class NWJ(Bound):
    def rows(self, scores, pairs):
        return (pairs.negative * (scores - 1).exp() - pairs.positive * scores).sum()


class EdgeGNN(torch.nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.nodes, self.edges = torch.nn.Linear(in_dim, 8), torch.nn.Linear(4, 8)

    def forward(self, x, edge_index, batch, edge_attr):
        message = self.nodes(x)[edge_index[0]] + self.edges(edge_attr)
        return torch.zeros(len(x), 8).index_add(0, edge_index[1], message.relu())


@dataclass
class Spread(Objective):
    weight: float = 0.1

    def loss(self, net, step, task):
        supervised = task.loss(net.predictor(step.labelled), step.targets)
        spread = net.predictor(step.unlabelled).var(0).sum()
        return LossTerms(supervised + self.weight * spread, {"supervised": supervised, "spread": spread})


@dataclass
class Larger(MutualInformation):
    weight: float = 0.01

    def loss(self, net, batch):
        total, shown = super().loss(net, batch)
        size = net.encoder.vectors(net.encoder(batch), batch).square().mean()
        return LossTerms(total + self.weight * size, {**shown, "size": size})


@pytest.fixture(scope="module")
def mutag():
    return load_dataset("MUTAG")


def test_the_page_has_its_examples():
    unsupervised = ["A discriminator", "A bound", "A term, or an augmentation", "An encoder"]
    others = ["An objective with labels", "A loop of your own", "Judging it"]
    assert [name for name, _ in EXAMPLES] == [*unsupervised, *others]
    assert all(code.count("\n") < 30 for _, code in EXAMPLES)


QUICK = {"dim": 16, "epochs": 1}
OWN = {
    "discriminator": InfoGraph(objective=MutualInformation(discriminator=Bilinear), **QUICK),
    "bound": InfoGraph(objective=MutualInformation(bound=NWJ(), discriminator=Bilinear), **QUICK),
    "term": InfoGraph(objective=Larger(), **QUICK),
    "encoder": InfoGraph(encoder=EdgeGNN, edge_columns=["label"], **QUICK),
    "teacher's": InfoGraphClassifier(
        InfoGraphStar(information=MutualInformation(discriminator=Bilinear)), steps_per_epoch=2, **QUICK
    ),
    "labels": InfoGraphClassifier(Spread(0.3), steps_per_epoch=2, **QUICK),
    "both": InfoGraphClassifier(Spread(), EdgeGNN, steps_per_epoch=2, edge_columns=["label"], **QUICK),
}


@pytest.mark.parametrize("name", OWN)
def test_own_code_is_given_again_to_load(name, mutag, tmp_path):
    model = clone(OWN[name]).fit(mutag)
    model.save(tmp_path / "model")
    with pytest.raises(InvalidParameter, match=r"was code .* again, load\(folder, (encoder|objective)="):
        infograph.load(tmp_path / "model")
    code = {"encoder": model.encoder, "objective": model.objective}
    code = {key: value for key, value in code.items() if not isinstance(value, str)}
    again = infograph.load(tmp_path / "model", **code)
    assert np.array_equal(again.transform(mutag), model.transform(mutag))
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(mutag), model.predict(mutag))


def test_own_code_is_judged_like_any_method(mutag):
    vectors = clone(OWN["term"]).fit_transform(mutag)
    assert 0.5 < cross_validate(vectors, mutag.graph["y"], folds=3, repeats=1).leak_free().mean <= 1
    search = GridSearchCV(clone(OWN["labels"]), {"objective__weight": [0.0, 0.5]}, cv=KFold(2)).fit(mutag)
    assert set(search.best_params_) == {"objective__weight"}
    assert OWN["labels"].objective.weight == 0.3  # not the object that others have


def test_own_methods_are_compared_and_searched(mutag, tmp_path):
    """In processes of their own, which get the code."""
    lines = compare(
        mutag,
        mutag.graph["y"],
        ["labels", ("mine", OWN["term"]), ("bilinear", OWN["discriminator"])],
        tmp_path / "compared",
        protocol=Protocol(repeats=1, folds=3, inner_folds=2),
    )
    assert [line.method for line in lines] == ["node labels", "mine", "bilinear"]
    assert all(50 < line.mean <= 100 and not line.empty for line in lines)
    parts = make_parts(mutag, ["y"], task="classification", validation=0, test=0.2)
    found = tune(OWN["term"], {"objective__weight": [0.0, 0.1]}, parts, tmp_path / "tuned", workers=2)
    assert set(found.best) == {"objective__weight"} and isinstance(found.model.objective, Larger)
    bounds = {"objective__bound": ["jsd", NWJ()]}  # own objects are values of a search, too
    found = tune(InfoGraph(dim=8, epochs=1), bounds, parts, tmp_path / "bounds")
    assert len(found.tried) == 2 and all(trial.error < 1 for trial in found.tried)


def test_results_of_changed_code_are_not_read(tmp_path, monkeypatch):
    """The name of a result depends on the source of a class, and not on where its object lies in memory."""
    source = "from infograph import Bound\nclass Mine(Bound):\n    def rows(self, scores, pairs): return {}\n"
    monkeypatch.syspath_prepend(tmp_path)

    def name_of(version: str, text: str) -> dict:
        (tmp_path / f"{version}.py").write_text(source.format(text))
        bound = importlib.import_module(version).Mine()
        return parameters_of(InfoGraph(objective=MutualInformation(bound=bound)))

    first = name_of("mine_a", "scores.sum()")
    assert first == name_of("mine_b", "scores.sum()") and first != name_of("mine_c", "-scores.sum()")
    assert "code" not in parameters_of(InfoGraph())


def test_nested_names_work_with_short_forms(mutag):
    model = InfoGraphClassifier(schedule="plateau")
    model.set_params(objective__lam=0.5, encoder__layers=2, schedule__patience=1)
    assert (model.objective.lam, model.encoder.layers, model.schedule.patience) == (0.5, 2, 1)
    model.set_params(objective__information__bound="infonce")
    assert model.objective.information.bound == "infonce"
    assert model.get_params()["objective__information__bound"] == "infonce"
    with pytest.raises(InvalidParameter, match="InfoGraphStar has no parameter 'lambda'; it has: lam"):
        model.set_params(objective__lambda=1)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (InfoGraph(objective=Larger), "objective=Larger is a class: give an object"),
        (InfoGraph(encoder=infograph.GIN), "encoder=GIN is a class: give an object"),
        (InfoGraph(objective=Spread()), "must be .* or an instance of .*MutualInformation"),
        (InfoGraphClassifier(Larger()), "must be .* or an instance of .*Objective"),
        (InfoGraph(objective=MutualInformation(discriminator=Bilinear(4, 4))), "discriminator"),
        (
            InfoGraph(objective=MutualInformation(discriminator=torch.nn.Linear)),
            "subclass infograph.Discriminator",
        ),
        (InfoGraph(objective=MutualInformation(discriminator=Turned)), r"expected scores of shape \(2, 3\)"),
    ],
)
def test_what_stands_in_the_wrong_place_is_refused(model, word, mutag):
    with pytest.raises(InvalidParameter, match=word):
        model.fit(mutag)


def test_an_encoder_that_would_not_see_edges_is_refused(mutag):
    class Plain(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            return [x]

    with pytest.raises(InvalidParameter, match="Plain would not see the edge column 'label'"):
        InfoGraph(encoder=Plain(), edge_columns=["label"], **QUICK).fit(mutag)

"""What the estimators refuse: the call, the exception, a word of the sentence."""

from __future__ import annotations

import functools
import hashlib
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save

from infograph import (
    GIN,
    AtomCounts,
    Auto,
    Column,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    InfoGraphStar,
    MutualInformation,
    Plateau,
    UntrainedGIN,
    load,
    load_dataset,
)
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidParameter,
    InvalidTarget,
    NotFitted,
    SchemaMismatch,
)

SMALL = {"dim": 12, "epochs": 1, "encoder": GIN(layers=2)}
QUICK = {"dim": 12, "epochs": 1, "steps_per_epoch": 2, "batch_size": 6, "encoder": Auto(layers=2)}
N = 24
HALF = np.where(np.arange(N) < 12, np.arange(N), np.nan)
PATHS = [nx.path_graph(n) for n in range(2, 8)]
SMILES = ["CCO", "CCN", "CCC", "CO", "CCCC", "CN"]


@functools.cache
def graphs():
    made = load_dataset("MUTAG")[:N].with_column("graph", Column("a", "float", unit="eV"), HALF)
    return made.with_column("graph", Column("b", "float"), HALF + 1)


@functools.cache
def in_hartree():
    return graphs().with_column("graph", Column("a", "float", unit="hartree"), HALF / 27.2)


@functools.cache
def vectors():
    return InfoGraph(**SMALL).fit(graphs())


@functools.cache
def regressor():
    return InfoGraphRegressor("infograph*", **QUICK).fit(graphs(), HALF)


@functools.cache
def counts(task="regression"):
    y = [1.0, 2.0, 4.0] if task == "regression" else ["a", "b", "a"]
    return AtomCounts(task=task).fit(SMILES, pd.Series(y * 2, name="a"))


def unsupervised(given=None, **settings):
    return lambda: InfoGraph(**settings).fit(given or graphs())


def numbers(y=HALF, validation=None, **settings):
    return lambda: InfoGraphRegressor(**{"objective": "infograph*", **QUICK, **settings}).fit(
        graphs(), y, validation=validation
    )


def judged(*pair, of=tuple):
    return lambda: InfoGraphRegressor("infograph*", **QUICK).fit(
        graphs(), HALF, validation=of([graphs(), *pair])
    )


def classes(y, judged=None, **settings):
    def call():
        validation = None if judged is None else (graphs(), judged)
        return InfoGraphClassifier(**{"objective": "infograph*", **QUICK, **settings}).fit(
            graphs(), y, validation=validation
        )

    return call


def judged_by_name(pair):
    return lambda: InfoGraphRegressor("infograph*", **QUICK).fit(graphs(), "a", validation=pair())


class OwnSchedule(Plateau):
    pass


SETTINGS = [
    (unsupervised(dim=0), "'dim' parameter of InfoGraph .* Got 0"),
    (unsupervised(dim=3, encoder=GIN(layers=4)), "dim=3 is less than layers=4"),
    (unsupervised(lr=float("nan")), "Got nan"),
    (unsupervised(encoder=GIN(readout="median")), "'readout' parameter of GIN must be a str among"),
    (unsupervised(encoder="gat"), "encoder='gat': expected 'auto', 'gin'"),
    (unsupervised(device="abacus"), "device='abacus' cannot be used here"),
    (unsupervised(device=None), "device"),
    (unsupervised([nx.path_graph(3)]), "1 graph: at least two"),
    *((lambda e=e: InfoGraph().partial_fit(PATHS, epochs=e), "'epochs'") for e in (-1, 1.5, "many")),
    (lambda: vectors().partial_fit(graphs()[:1]), "at least two"),
    (lambda: UntrainedGIN().fit(PATHS).partial_fit(PATHS, epochs=5), "stays one"),
    (numbers(objective="magic"), "'objective' parameter of InfoGraphRegressor must be a str among"),
    (numbers(objective="entropy"), "objective='entropy' is for classes: use InfoGraphClassifier"),
    (numbers(objective=InfoGraphStar(lam=-1)), "'lam' parameter of InfoGraphStar must be .* Got -1"),
    (numbers(n_models=0), "'n_models' parameter .* Got 0"),
    (numbers(encoder="enn-s2s", dim=13), "dim=13: expected an even number"),
    (numbers(unlabelled=[1]), r"unlabelled=\[1\]: expected one label, such as -1 or '\?'"),
    (numbers(init_from=3), "init_from=3: expected a fitted InfoGraph"),
    (lambda: numbers(init_from=counts())(), r"init_from=AtomCounts\(\): expected a fitted InfoGraph"),
    (numbers(objective=InfoGraphStar(information=MutualInformation(prior=0.1))), "prior=0.1: this term"),
    (
        unsupervised(encoder="enn-s2s", edge_columns=[], objective=MutualInformation(colours=0.1)),
        "colours: only encoder='gin' makes batches that have them",
    ),
    (lambda: InfoGraph(dim=8).fit(load_dataset("MUTAG")[:109], workers=11), "10 graphs that epochs='auto'"),
    (lambda: InfoGraph(schedule=OwnSchedule()).fit(graphs(), workers=2), "code of your own cannot be sent"),
    (lambda: classes(["a", "b"] * 12)().predict_set(graphs(), "0.9"), "coverage=0.9: how sure this model"),
    (lambda: InfoGraphRegressor("infograph*", **QUICK).fit(graphs()[:1], [1.0]), "needed"),
    (lambda: regressor().predict(graphs(), return_std=True), "one network and so no spread"),
    (numbers(validation=1.5), r"validation is 1\.5: expected a tuple \(graphs, y\), or a share"),
    (numbers(validation=True), "validation is True: expected"),
    (numbers(validation="half"), "validation is 'half': expected"),
    (numbers(validation=0.9), r"validation=0\.9: 12 labelled graphs are too few to hold 11 of them out"),
    (judged(HALF, of=list), r"validation is a list: expected a tuple \(graphs, y\)"),
    (judged(HALF, HALF), r"validation is a tuple: expected a tuple \(graphs, y\)"),
    (judged(HALF[:5]), "y has 5 labels for 24 graphs"),
    (judged(np.ones((N, 2))), "validation has 2 targets, y has 1: give the same ones"),
    (judged([None] * N), "validation has a target without any label"),
]
TARGETS = [
    (numbers([None] * N), "the target 'y' has no labelled graph: at least two are needed"),
    (numbers(np.where(np.arange(N) == 3, np.inf, np.arange(N))), "the target 'y' of graph 3 is inf"),
    (numbers("logS"), "no graph column 'logS' to predict"),
    (judged_by_name(lambda: (graphs(), "b")), "the targets are 'b', the model's are 'a'"),
    (judged_by_name(lambda: (in_hartree(), "a")), "'a' is in hartree here, the model learns it in eV"),
    (classes([None] * N), "y holds no labels: at least two classes are needed"),
    (classes(["a"] * N), "y holds only class 'a'"),
    (classes([-1, 1] * 12), "there is a -1 among the classes -1, 1: pass unlabelled=-1 if it means"),
    (classes([0.5, 1.5] * 12), "no class: .*use InfoGraphRegressor"),
    (classes(["a", "b"] * 12, ["a", "c"] * 12), "the class 'c' is not among those of the training: 'a', 'b'"),
    (classes(["a", "b"] * 12, [None] * N), "validation has not one label"),
    (classes([0, 1] * 12, ["0", "1"] * 12), r"labels are texts \('0', '1'\), those .* are integers \(0, 1\)"),
    (lambda: counts().score(SMILES[:2], [1, None]), r"R\^2 needs at least two"),
    (lambda: counts().score(SMILES, np.ones((6, 2))), "2 targets to score by, the model predicts 1: a"),
    (lambda: counts().score(SMILES, pd.DataFrame({"c": range(6)})), "the targets are 'c', .* give the same"),
    (lambda: counts("classification").score(SMILES, [None] * 6), "not one of the graphs has a label"),
    (lambda: counts("classification").score(SMILES, list(range(6))), "the labels are integers"),
]
OTHERS = [
    (unsupervised(node_columns=["mass"]), SchemaMismatch, "no node column 'mass'; the graphs have"),
    (lambda: regressor().predict(["CCO"]), SchemaMismatch, "'label' is missing; these graphs have"),
    (judged_by_name(lambda: (["CCO", "CC"], [1, 2])), SchemaMismatch, "node column 'label' is missing"),
    (numbers(init_from=InfoGraph()), NotFitted, "init_from=.* is not fitted"),
    (numbers(init_from="nowhere"), FileMissing, "no model folder"),
]


def another_type(tensors):
    return {name: values.astype(np.float64) for name, values in tensors.items()}


@pytest.mark.parametrize("model", [vectors, regressor])
@pytest.mark.parametrize(
    ("dim", "weights", "word"),
    [
        (None, lambda tensors: save(another_type(tensors)), "holds torch.float64 .* expected torch.float32"),
        (None, lambda tensors: of_type(save(tensors), "BF16"), "its numbers are of the type 'BF16'"),
        (None, lambda tensors: of_type(save(tensors), "F8_E4M3"), "is damaged"),
        (1_000_000, save, r"holds torch.float32 of shape .*, expected torch.float32 of shape \["),
    ],
)
def test_weights_and_settings_of_a_changed_folder(tmp_path, monkeypatch, model, dim, weights, word):
    folder = model().save(tmp_path / "model")
    content = weights(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").write_bytes(content)
    config = json.loads((folder / "config.json").read_text())
    config["sha256"] = hashlib.sha256(content).hexdigest()
    config["params"]["dim"] = dim or config["params"]["dim"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises((InvalidFile, InvalidParameter), match=word) as raised:
        load(folder)
    assert str(folder) in str(raised.value)


def of_type(content, kind):
    """Weights that say that they are of a type which numpy does not have."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = next(name for name, entry in header.items() if entry["dtype"] == "F32")
    size = {"BF16": 2, "F8_E4M3": 4}[kind]
    header[name].update(dtype=kind, shape=[*header[name]["shape"], size])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        *((call, InvalidParameter, word) for call, word in SETTINGS),
        *((call, InvalidTarget, word) for call, word in TARGETS),
        *OTHERS,
    ],
)
def test_mistakes(call, error, word):
    with pytest.raises(error, match=word):
        call()

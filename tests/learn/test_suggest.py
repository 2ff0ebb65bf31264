from __future__ import annotations

import csv

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from infograph import GIN, AtomCounts, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, suggest
from infograph.cli.app import app
from infograph.errors import InvalidParameter
from infograph.learn import suggest as module
from infograph.learn.suggest import choose
from infograph.objectives.vectors import Vectors

pytestmark = pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning")
KNOWN = ["C" * n + tail for n in range(1, 9) for tail in ("O", "N", "Cl", "C#N", "c1ccccc1")]
SIZE = np.array([float(len(text)) for text in KNOWN])
POOL = ["OCC", "NCCCCCCCCCC", "C(C)O", "c1ccccc1Cl", "FC(F)F", "CCCCC(=O)O", "O=C(O)CCCC", "C1CCCCC1"]
RIDGE = {"objective": Vectors(inputs="vectors", head="ridge")}


@pytest.fixture(scope="module")
def model():
    return InfoGraphRegressor(**RIDGE).fit(KNOWN, SIZE)


def greedy(vectors, unsure, n, known):
    """The definition, by loops: at each step the graph with which the weighted sum is least."""
    every = np.vstack([vectors, known])
    places = (every - every.mean(axis=0)) / np.maximum(every.std(axis=0), 1e-9)
    distances = ((places[:, None] - places) ** 2).sum(axis=2)
    pool, taken = range(len(vectors)), []
    for _ in range(n):
        there = [*range(len(vectors), len(every)), *taken]
        sums = {
            x: unsure @ distances[: len(vectors), [*there, x]].min(axis=1) for x in pool if x not in taken
        }
        taken.append(min(sums, key=lambda x: sums[x]))
    return taken


def test_the_greedy_choice_is_that_of_the_definition(monkeypatch):
    random = np.random.default_rng(0)
    vectors, known, unsure = random.normal(size=(60, 3)), random.normal(size=(7, 3)), random.random(60)
    assert choose(vectors, unsure, 10, known) == greedy(vectors, unsure, 10, known)
    assert choose(vectors[:5], unsure[:5], 5) != [0, 1, 2, 3, 4]
    assert sorted(choose(np.ones((4, 2)), np.ones(4), 4)) == [0, 1, 2, 3]  # equal vectors
    monkeypatch.setattr(module, "CANDIDATES", 20)
    monkeypatch.setattr(module, "REPRESENTED", 10)
    few = choose(vectors, unsure, 30, known)
    assert len(set(few)) == 30


def test_measured_and_repeated_graphs_are_left_out(model):
    found = suggest(model, POOL, 5, known=KNOWN)
    assert sorted(found.columns["smiles"].tolist()) == sorted(
        ["CCCCCCCCCCN", "Clc1ccccc1", "FC(F)F", "CCCCC(=O)O", "C1CCCCC1"]
    )
    assert found.notes == (
        "Left out of the pool, where they repeat others: 2 of 8 graphs.",
        "Left out of the pool, where they are known already: 0.",
    )
    rows = found.columns["id"]
    predicted, low, high = model.predict([POOL[row] for row in rows], interval=0.9)
    for name, values in {"y": predicted, "y low": low, "y high": high}.items():
        np.testing.assert_allclose(found.columns[name], values, rtol=1e-6)
    assert {*found.columns["unlike training"]} <= {"yes", "no"}
    first = suggest(model, POOL, 2, known=KNOWN).columns["id"]
    assert rows[:2].tolist() == first.tolist()  # an order to measure in


def test_graphs_that_the_model_has_met_are_left_out(model):
    found = suggest(model, [*POOL, "OC", KNOWN[7], "C#CC"], 5)
    assert [note for note in found.notes if "has met: 0, 8, 9." in note]
    assert not {"OCC", "C(C)O", "OC", KNOWN[7]} & set(found.columns["smiles"])
    with pytest.raises(InvalidParameter, match="0 graphs are left"):
        suggest(model, KNOWN, 1)


def test_other_graphs_are_equal_whatever_the_order_of_their_nodes():
    networks = [nx.path_graph(n) for n in range(2, 22)] + [nx.cycle_graph(n) for n in range(3, 13)]
    settings = {"objective": "supervised", "epochs": 1, "steps_per_epoch": 2, "encoder": GIN(layers=2)}
    model = InfoGraphClassifier(dim=8, **settings).fit(networks, [0] * 20 + [1] * 10)
    turned = nx.relabel_nodes(nx.path_graph(7), {0: 6, 6: 3, 3: 0})
    pool = [turned, nx.star_graph(4), nx.star_graph(5), nx.relabel_nodes(nx.star_graph(4), {0: 4, 4: 0})]
    found = suggest(model, pool, 2, known=networks)
    assert sorted(found.columns["id"].tolist()) == [1, 2] and len(found.notes) == 2
    best = model.predict_proba([pool[row] for row in found.columns["id"]]).max(axis=1)
    np.testing.assert_allclose(found.columns["probability"], best, rtol=1e-6)


def test_several_targets_and_columns_of_classes(model):
    numbers = InfoGraphRegressor(**RIDGE).fit(KNOWN, np.column_stack([SIZE, -SIZE]))
    assert {"y_0 low", "y_1 high"} <= {*suggest(numbers, POOL, 3).columns}
    both = np.column_stack([SIZE > 6, SIZE > 8]).astype(int)
    classes = suggest(InfoGraphClassifier(**RIDGE).fit(KNOWN, both), POOL, 3)
    assert "y_1 probability 1" in classes.columns and len(classes) == 3


def test_mistakes_are_explained(model):
    network = InfoGraphRegressor(objective="supervised", epochs=0, dim=8).fit(KNOWN, SIZE)
    for ask, problem in (
        (lambda: suggest(InfoGraph(epochs=0, dim=8).fit(KNOWN), POOL), "predicts nothing: train a model"),
        (lambda: suggest(AtomCounts().fit(KNOWN, SIZE), POOL), "AtomCounts does not say how sure it is"),
        (lambda: suggest(network, POOL, 2), "fit it with validation=0.2"),
        (lambda: suggest(model, POOL, 9), "n=9: 5 graphs are left to choose from; ask for fewer"),
        (lambda: suggest(model, POOL, "3"), "n='3': expected"),
        (lambda: suggest(model, POOL, 0), "n=0: expected a number of graphs"),
        (
            lambda: suggest(model, ["OCC"], 1, known=["CCO"]),
            "give a pool of others. Left .* known already: 0",
        ),
    ):
        with pytest.raises(InvalidParameter, match=problem):
            ask()


def test_the_verb(model, tmp_path):
    model.save(tmp_path / "model")
    for name, texts in (("pool", POOL), ("known", KNOWN)):
        (tmp_path / f"{name}.smi").write_text("\n".join(f"{text} {name}{n}" for n, text in enumerate(texts)))
    words = ["suggest", str(tmp_path / "model"), str(tmp_path / "pool.smi"), "-n", "3"]
    words += ["--known", str(tmp_path / "known.smi")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "known already: pool0." in told.output
    out = tmp_path / "next.csv"
    assert CliRunner().invoke(app, [*words, "--out", str(out)]).exit_code == 0
    with out.open() as file:
        rows = [*csv.DictReader(file)]
    assert [*rows[0]] == ["id", "smiles", "y", "y low", "y high", "unlike training"]
    expected = suggest(model, POOL, 3, known=KNOWN)
    assert [row["smiles"] for row in rows] == expected.columns["smiles"].tolist()

"""Figures drawn into Axes: what is drawn are the figures of the objects."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import infograph
from infograph import plot_gains, plot_history, plot_map, plot_predictions
from infograph.data.schema import Column
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidParameter
from infograph.evaluate import PairedTest
from infograph.look.svg import LIGHT

matplotlib.use("Agg")
HISTORY = [{"epoch": e, "loss": 3.0 / e, "mi": e / 4, "accuracy": 0.5, "seconds": 1.0} for e in range(1, 6)]


@pytest.fixture(scope="module")
def mutag():
    return infograph.load_dataset("MUTAG")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_history_is_a_panel_per_figure():
    panels = plot_history(HISTORY)
    assert [axes.get_title(loc="left") for axes in panels] == ["loss", "pairs, %"]
    assert panels[1].lines[0].get_ydata().tolist() == [50.0] * 5
    _, own = pyplot.subplots()
    assert plot_history(HISTORY, "mi", ax=own) is own
    assert own.lines[0].get_ydata().tolist() == [0.25, 0.5, 0.75, 1.0, 1.25]
    with pytest.raises(InvalidParameter, match="no 'lr'; it has loss, mi"):
        plot_history(HISTORY, "lr")
    with pytest.raises(InvalidParameter, match="2 figures need as many Axes, got 1"):
        plot_history(HISTORY, ax=own)
    with pytest.raises(InvalidParameter, match="not trained"):
        plot_history(infograph.InfoGraph())


def test_map_has_a_point_per_vector_in_the_colour_of_its_class():
    points = np.random.default_rng(0).normal(size=(30, 2))
    kinds = np.array(["a", "b", None] * 10, object)
    axes = plot_map(points, kinds)
    assert [len(drawn.get_offsets()) for drawn in axes.collections] == [10, 10, 10]
    assert np.array_equal(axes.collections[0].get_offsets(), points[::3])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "a (10)",
        "b (10)",
        "no value (10)",
    ]
    index = infograph.GraphIndex.of(Embeddings(np.arange(30), points.astype(np.float32), {"kind": kinds}))
    assert plot_map(index, "kind").get_legend().get_title().get_text() == "kind"
    wide = plot_map(np.random.default_rng(0).normal(size=(30, 5)), np.linspace(0, 1, 30) + 0.01, method="pca")
    assert len(wide.collections[1].get_offsets()) == 30 and len(wide.figure.axes) == 2  # and a colour bar
    for wrong, said in (("size", "there are 'kind'"), ([1, 2], "30 vectors, but colour has the shape")):
        with pytest.raises(InvalidParameter, match=said):
            plot_map(index, wrong)
    with pytest.raises(InvalidParameter, match="no names: pass graphs="):
        plot_map(points, "kind")


def test_map_by_a_column_of_graphs_names_its_classes(mutag):
    points = np.random.default_rng(0).normal(size=(188, 2))
    legend = plot_map(points, "y", graphs=mutag).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["1 (125)", "-1 (63)"]
    assert legend.get_title().get_text() == "y"
    column = Column("logS", "float", unit="mol/L")
    numbers = mutag.with_column("graph", column, np.linspace(0, 1, 188))
    assert len(plot_map(points, "logS", graphs=numbers).figure.axes) == 2
    with pytest.raises(InvalidParameter, match="colour='z': no such column to colour by; there are 'y'"):
        plot_map(points, "z", graphs=mutag)


def test_predictions_of_numbers_stand_over_measured_ones_with_their_intervals():
    pytest.importorskip("rdkit")
    smiles = [f"{'C' * n}{end}" for end in ("O", "N", "Cl", "C") for n in range(3, 15)]
    values = np.array([10.0 * s.count("C") + 5 * ("O" in s) for s in smiles])
    model = infograph.InfoGraphRegressor("vectors").fit(smiles[::2], values[::2])
    given = values[1::2].copy()
    given[3] = np.nan
    axes = plot_predictions(model, smiles[1::2], given, interval=0.8)
    bars, points = axes.collections
    kept = np.delete(np.arange(len(given)), 3)
    said, low, high = model.predict(smiles[1::2], interval=0.8)
    assert np.allclose(points.get_offsets(), np.column_stack([given, said])[kept])
    drawn = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert np.allclose(drawn, np.column_stack([low, high])[kept])
    assert f"{np.abs(said - given)[kept].mean():.3g}" in axes.get_title(loc="left")
    assert len(plot_predictions(model, smiles[1::2], given, interval=None).collections) == 1
    with pytest.raises(InvalidParameter, match="predicts y"):
        plot_predictions(model, smiles, values, target="z")
    with pytest.raises(InvalidParameter, match="predicts nothing"):
        plot_predictions(infograph.UntrainedGIN(), smiles)


def test_predictions_of_classes_are_counts(mutag):
    labels = mutag.values("graph", "y")
    model = infograph.InfoGraphClassifier("supervised", epochs=1, dim=8).fit(mutag)
    axes = plot_predictions(model, mutag)
    told = [int(text.get_text()) for text in axes.texts]
    said = model.predict(mutag)
    assert told == [int(np.sum((labels == a) & (said == b))) for a in (-1, 1) for b in (-1, 1)]
    right = 100 * np.mean(said == labels)
    assert axes.get_title(loc="left") == f"y: {right:.1f} % of 188 right"
    with pytest.raises(InvalidParameter, match="not one of the graphs has a value"):
        plot_predictions(model, mutag[:5], [None] * 5)


def test_gains_are_dots_and_intervals_coloured_where_sure():
    def test(difference, p, scoring="accuracy"):
        return PairedTest(difference, (difference - 0.02, difference + 0.02), p, 1.0, 9, 0.95, scoring)

    axes = plot_gains({"A": test(0.05, 0.01), "B": test(-0.05, 0.02), "C": test(0.01, 0.4)})
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([5, -5, 1])
    assert [dot.get_color() for dot in dots] == [LIGHT.hues[0], LIGHT.hues[1], LIGHT.hues[6]]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["A", "B", "C"]
    spans = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_marker() != "o"]
    assert [*spans[1].get_xdata()] == pytest.approx([3, 7])
    for gains in ({}, {"A": test(0.1, 0.1), "B": test(0.1, 0.1, "rmse")}):
        with pytest.raises(InvalidParameter, match="one kind of score"):
            plot_gains(gains)

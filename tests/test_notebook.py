"""What objects show of themselves in a notebook, small and escaped; and the notebooks of the examples run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import networkx as nx
import numpy as np
import pytest
from nbclient import NotebookClient

import infograph
from infograph import GraphSet, Schema, as_graphset, cross_validate, draw_graph, paired_test
from infograph.evaluate.compare import Protocol
from infograph.learn.predictions import predict_table
from infograph.notebook import Drawing, as_html

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))
EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def mutag():
    return infograph.load_dataset("MUTAG")


class Page(HTMLParser):
    """Tags that were opened and not closed, the texts of cells, and every tag's name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.names: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.names.add(tag)
        if tag in ("td", "th", "b"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th", "b"} & {*self.open} and "svg" not in self.open:
            self.cells[-1] += data


def page(shown: object) -> Page:
    """What a notebook gets of an object: well-formed, without scripts, below 50 kB."""
    html = shown._repr_html_()
    found = Page(html)
    assert not found.open and "script" not in found.names and len(html) < 50_000
    return found


def networks() -> GraphSet:
    graphs = [nx.cycle_graph(3), nx.path_graph(5), nx.star_graph(6), nx.empty_graph(4)]
    for place, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {node: EVIL if node == 0 else "b" for node in graph}, EVIL)
        graph.graph["y"] = [1.5, 2.5, float("nan"), 9.0][place]
    return as_graphset(graphs)


def test_graph_set_has_its_counts_columns_and_first_graphs():
    graphs = networks()
    found = page(graphs)
    assert found.cells[0] == "4 graphs"
    assert f"2 categories: {EVIL}, b" in found.cells and EVIL in found.cells
    assert "1.5 to 9, median 2.5; 1 missing" in found.cells
    html = graphs._repr_html_()
    assert "3 to 7, median 4.5" in html and "0 to 12, median 7" in html  # nodes; arcs 6, 8, 12, 0
    assert html.count("<svg") == 4 and EVIL not in html


def test_large_sets_are_not_drawn_whole():
    ring = as_graphset([nx.cycle_graph(6)] * 100_000)
    assert ring._repr_html_().count("<svg") == 4
    page(ring)
    huge = as_graphset([nx.cycle_graph(500)] * 3)
    assert "<svg" not in huge._repr_html_()
    page(huge)
    dense = as_graphset([nx.complete_graph(90)] * 4)  # 4,005 edges each
    page(dense)
    assert page(ring[:0]).cells[0] == "0 graphs"


def test_graphs_that_were_left_out_are_told():
    pytest.importorskip("rdkit")
    graphs = as_graphset(["CCO", "c1ccccc"], errors="skip")
    html = graphs._repr_html_()
    assert "left out" in html and "c1ccccc" in html
    page(graphs)


def test_schema_says_what_encoders_see():
    found = page(networks().schema).cells
    assert found[found.index("node") :][:4] == ["node", EVIL, f"2 categories: {EVIL}, b", "yes"]
    assert found[found.index("graph") :][:4] == ["graph", "y", "number", ""]
    assert page(Schema()).cells == ["Schema"]


def test_fitted_models_say_what_they_came_from(mutag, tmp_path):
    model = infograph.InfoGraph(dim=8, epochs=2)
    assert "sk-" in model._repr_html_()  # scikit-learn's own, of one that is not fitted
    model.fit(mutag)
    found = page(model).cells
    assert found[0] == "InfoGraph(dim=8, epochs=2), fitted"
    facts = dict(zip(found[1::2], found[2::2], strict=True))
    assert facts["fitted on"] == "188 graphs" and facts["training"] == "2 epochs"
    assert f"MI {model.history_[-1]['mi']:.3g}" in facts["last epoch"]
    assert facts["columns it sees"] == "label (node), label (edge)"
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    assert infograph.load(model.save(tmp_path / "model"))._repr_html_().count("188 graphs") == 1
    assert "fitted on: 188 graphs" in (tmp_path / "model" / "README.md").read_text()
    assert "none: the weights are random" in page(infograph.InfoGraph(dim=8, epochs=0).fit(mutag)).cells


def test_models_with_labels_say_what_was_chosen(mutag):
    labels = np.where(mutag.graph["y"] == 1, "yes", "no").astype(object)
    labels[40:] = None
    model = infograph.InfoGraphClassifier("supervised", epochs=1, dim=8).fit(mutag, labels, validation=0.25)
    found = page(model).cells
    facts = dict(zip(found[1::2], found[2::2], strict=True))
    assert facts["learned from"] == "188 graphs, 30 of them labelled"
    assert (facts["predicts"], facts["classes"]) == ("y", "no, yes")
    wrong = min(record["validation"] for record in model.history_)
    assert facts["validation error"] == f"{100 * wrong:.1f} % wrong"
    model.errors_, model.chosen_ = {"vectors": 0.25, "infograph*": 0.5}, "vectors"
    assert "vectors, by held-out error: vectors 0.25, infograph* 0.5" in page(model).cells
    table = page(predict_table(model, mutag)).cells
    assert table[:3] == ["Predictions", "id", "y"]
    assert "over 188 graphs" in predict_table(model, mutag)._repr_html_()


def test_scores_comparisons_and_tests_are_tables(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    good = cross_validate({EVIL: rng.normal(size=(40, 3)) + y[:, None], "noise": rng.normal(size=(40, 2))}, y,
                          folds=4, inner_folds=2, repeats=2)  # fmt: skip
    found = page(good).cells
    mean, std, folds = good.leak_free().in_table
    at = found.index("leak-free")
    assert found[at + 1 : at + 4] == [f"{mean:.1f} %", f"{std:.1f} %", f"{folds:.1f} %"]
    assert sum("noise" in cell for cell in found) == 1 and EVIL not in good._repr_html_()
    assert page(good.leak_free()).cells[-3] == f"{mean:.1f} %"
    assert str(paired_test(good, good)) in paired_test(good, good)._repr_html_()
    graphs = as_graphset([nx.path_graph(3 + n % 2) for n in range(40)])
    methods = infograph.compare(graphs, y, ["degrees"], tmp_path, protocol=Protocol(1, 4, 2))
    assert isinstance(methods, list) and page(methods).cells[8:10] == ["node degrees", "100.0"]


def test_hits_and_clusters_are_drawn(mutag):
    index = infograph.GraphIndex.build(infograph.UntrainedGIN(dim=16).fit(mutag), mutag)
    hits = index.search_id(3, k=5)
    found = page(hits).cells
    assert found[:5] == ["The 5 nearest", "rank", "id", "score", "y"]
    assert found[5:7] == ["1", str(hits.ids[0, 0])]
    assert 2 <= hits._repr_html_().count("<svg") <= 5
    assert page(index.search(mutag[:3], k=2)).cells[:2] == ["The 2 nearest of each of 3", "query"]
    clusters = infograph.find_clusters(index.vectors, n_clusters=8)
    assert page(clusters).cells[0] == str(clusters)
    described = infograph.describe_clusters(clusters, mutag)
    told = page(described).cells
    assert all(str(each) in told for each in described) and "<svg" in described._repr_html_()
    assert isinstance(described, list)


def test_drawings_are_texts_that_show_as_pictures():
    drawing = draw_graph(networks(), 0)
    assert isinstance(drawing, str) and drawing._repr_svg_() == drawing and drawing.startswith("<svg")
    assert as_html("", drawings=[(EVIL, Drawing(drawing))]).count("<svg") == 1
    assert EVIL not in as_html(EVIL, {EVIL: EVIL}, tables=[((EVIL,), [(EVIL,)])], notes=[EVIL])


def test_long_tables_and_cells_are_cut():
    html = as_html("", tables=[(("n",), [(n,) for n in range(50)])])
    assert html.count("<td>") == 20 and "and 30 more" in html
    assert "a" * 159 + "…" in as_html("", tables=[(("n",), [("a" * 400,)])])


def executed(*sources: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return run(nbformat.v4.new_notebook(cells=cells), Path())


def run(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    options = {"timeout": 600, "kernel_name": "python3", "resources": {"metadata": {"path": str(folder)}}}
    return NotebookClient(notebook, **options).execute()


def test_progress_is_one_line_that_is_written_over():
    told = "from infograph.progress import *\nwith Report() as watch:\n  tell = watch.count('read')\n"
    stages = "  for n in range(200): tell(n, 200)\n"
    train = "from infograph import *\nInfoGraph(dim=8, epochs=30, verbose=True).fit(load_dataset('MUTAG'));"
    read, trained = executed(told + stages, train).cells
    (line,) = trained.outputs
    assert line.output_type == "display_data" and line.data["text/plain"].startswith("epoch 30/30  loss ")
    (line,) = read.outputs
    assert re.fullmatch(r"read: \d\.\d s, 199 of 200", line.data["text/plain"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_short_and_were_run(path):
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(NOTEBOOKS) == 5 and len(notebook.cells) < 25
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [out for cell in code for out in cell.outputs]
    assert not [out for out in outputs if out.output_type == "error" or out.get("name") == "stderr"]
    assert not re.search(r"/(home|root|work|tmp)/", path.read_text()) and path.stat().st_size < 300_000


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)
    for cell in run(nbformat.read(path, 4), tmp_path).cells:
        assert all(out.get("name") != "stderr" for out in cell.get("outputs", ()))

"""What vectors are worth: the cells, their judges, the references, and the rule that decides."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors, rdFingerprintGenerator

from benchmarks.vector_tables import candidate_tables, duels, evaluation_of, gain_figure, gain_table
from infograph import InfoGraph, OptimalAssignment, read_graphs
from infograph.cells import Cell, run_cell
from infograph.data.splits import scaffold_groups
from infograph.errors import FileMissing
from infograph.estimators import folder
from infograph.evaluate import Evaluation, compare, cross_validate, judges
from infograph.evaluate.evaluation import Candidate, Plan
from infograph.paper import table1, vectors
from infograph.paper.vectors import (
    CANDIDATES,
    DEFAULT,
    DEFAULT_UNTRAINED,
    FRESH,
    METHODS,
    REFERENCES,
    SETS,
    compute_vectors,
    is_judged,
    vector_cell,
    vector_cells,
)

RESULTS = Path(__file__).parents[2] / "results"
RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCNCC1", "c1ccoc1", "C1CCOC1", "c1ccsc1", "C1CC1")
TAILS = ("", "C", "O", "N", "CO", "OC(=O)", "N#CC", "ClC", "CC(C)C", "F", "CCN", "OC")
SMILES = [tail + ring for ring in RINGS for tail in TAILS]
MOLECULES = [Chem.MolFromSmiles(text) for text in SMILES]
WEIGHT = np.array([Descriptors.MolWt(molecule) + 10 * molecule.GetNumBonds() for molecule in MOLECULES])


@pytest.fixture
def molecules(tmp_path, monkeypatch):
    """A small set of molecules under the name of a large one."""
    lines = [f"{text},{value}" for text, value in zip(SMILES, WEIGHT, strict=True)]
    (tmp_path / "molecules.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
    graphs = read_graphs(tmp_path / "molecules.csv")
    monkeypatch.setattr(vectors, "load_dataset", lambda name: graphs)
    monkeypatch.setattr(folder, "PRETRAINED", tmp_path / "pretrained")  # empty
    monkeypatch.setattr(judges, "TREES", 12)
    monkeypatch.setattr(judges, "INNER_TREES", 3)
    return graphs


def fold_scores(result):
    (candidate,) = result["evaluation"]["candidates"]
    return candidate["outer"], candidate["classifier"]


def test_results_that_were_computed_are_still_those_of_their_cells():
    found = [json.loads(path.read_text()) for path in (RESULTS / "vectors").glob("MUTAG-*.json")]
    assert len(found) >= 29
    for result in found:
        of = result["settings"]
        if of["method"] in METHODS:  # others were tried, and are gone
            assert vector_cell(of["data"], of["method"], of["seed"]).read(RESULTS) == result
        (candidate, *_) = result["evaluation"]["candidates"]
        assert candidate["classifier"] == of["judge"]


def test_which_methods_are_judged_where_and_by_what(molecules):
    everything = vector_cells(["MUTAG", "ESOL", "Tox21"], list(METHODS), [0])
    by_set = {
        name: [c for c in everything if c.settings["data"] == name] for name in ("MUTAG", "ESOL", "Tox21")
    }
    methods = {name: {cell.settings["method"] for cell in cells} for name, cells in by_set.items()}
    fingerprints = {name for name in REFERENCES if name.startswith("morgan")}
    assert methods["MUTAG"] == {
        *CANDIDATES,
        DEFAULT,
        DEFAULT_UNTRAINED,
        "wl",
        "wl-oa",
        "graph2vec",
        "ltp",
    }
    assert methods["ESOL"] == methods["MUTAG"] | fingerprints | {FRESH}  # no model is carried
    assert methods["Tox21"] == methods["ESOL"] - {"wl", "wl-oa"}
    judge_of = {
        name: {c.settings["method"]: c.settings["judge"] for c in cells} for name, cells in by_set.items()
    }
    assert {judge_of["MUTAG"][name] for name in CANDIDATES} == {"svm-rbf"}
    assert (
        judge_of["MUTAG"]["wl"] == judge_of["MUTAG"]["wl-oa"] == "svm" and judge_of["ESOL"]["wl"] == "ridge"
    )
    assert {judge_of["ESOL"][name] for name in ("ltp", *fingerprints)} == {"forest"}
    assert judge_of["ESOL"]["graph2vec"] == judge_of["ESOL"]["paper"] == "ridge-rbf"


def test_fingerprints_are_judged_by_a_forest(molecules, tmp_path):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = np.array([list(generator.GetFingerprint(molecule)) for molecule in MOLECULES], float)
    counts = np.array([generator.GetCountFingerprintAsNumPy(molecule) for molecule in MOLECULES], float)
    known = [value for name, value in Descriptors.descList if name not in ("Ipc", "AvgIpc")]
    described = np.array([[value(molecule) for value in known] for molecule in MOLECULES])
    tables = {"bits": bits, "counts": counts, "counts + descriptors": np.hstack([counts, described])}
    judging = {
        "classifiers": "forest",
        "groups": scaffold_groups(molecules),
        "inner_folds": 3,
        "random_state": 7,
    }
    for name, table in tables.items():
        result = run_cell(vector_cell("ESOL", f"morgan {name}", 7), compute_vectors, tmp_path)
        table = table.astype(np.float32)
        expected = cross_validate(table, WEIGHT, scoring="rmse", repeats=1, folds=5, **judging)
        outer, judge = fold_scores(result)
        assert judge == "forest" and outer == expected.candidates[0].outer.tolist()


def test_kernels_have_their_rounds_chosen_on_inner_folds(molecules, tmp_path):
    result = run_cell(vector_cell("ESOL", "wl-oa", 7), compute_vectors, tmp_path)
    candidates = result["evaluation"]["candidates"]
    assert [each["setting"] for each in candidates] == ["rounds=1", "rounds=3", "rounds=5"]
    gram = OptimalAssignment(3, normalise=True).fit(molecules).gram()
    judging = {
        "classifiers": "ridge",
        "groups": scaffold_groups(molecules),
        "inner_folds": 3,
        "random_state": 7,
    }
    expected = cross_validate(gram, WEIGHT, scoring="rmse", repeats=1, folds=5, **judging)
    np.testing.assert_allclose(candidates[1]["outer"], expected.candidates[0].outer, rtol=1e-9)
    assert evaluation_of(tmp_path, "ESOL", "wl-oa", [7]).mean == pytest.approx(
        Evaluation.from_dict(result["evaluation"]).leak_free().mean
    )


def test_the_model_that_the_package_carries(molecules, tmp_path):
    assert not is_judged("ESOL", "pre-trained")
    with pytest.raises(FileMissing, match=r"no model folder .*molecules"):
        vector_cell("ESOL", "pre-trained", 7)
    model = InfoGraph.paper(epochs=1, random_state=3).fit(SMILES)
    model.save(tmp_path / "pretrained" / "molecules")
    assert is_judged("ESOL", "pre-trained") and not is_judged("MUTAG", "pre-trained")
    cell = vector_cell("ESOL", "pre-trained", 7)
    outer, judge = fold_scores(run_cell(cell, compute_vectors, tmp_path))
    judging = {
        "classifiers": judge,
        "groups": scaffold_groups(molecules),
        "inner_folds": 3,
        "random_state": 7,
    }
    own = InfoGraph.from_pretrained(tmp_path / "pretrained" / "molecules").transform(molecules)
    expected = cross_validate(own, WEIGHT, scoring="rmse", repeats=1, folds=5, **judging)
    assert judge == "ridge-rbf" and outer == expected.candidates[0].outer.tolist()
    model.set_params(random_state=4).fit(SMILES).save(tmp_path / "pretrained" / "molecules")
    assert vector_cell("ESOL", "pre-trained", 7).key != cell.key  # other weights


def test_a_duel_is_with_the_better_untrained_encoder(molecules, tmp_path):
    for method in ("untrained", "untrained log", "morgan bits", "morgan counts"):
        for seed in (0, 1):
            run_cell(vector_cell("ESOL", method, seed), compute_vectors, tmp_path)
    pairs = {"morgan bits": "untrained log", "morgan counts": "untrained", "paper": "untrained"}
    bits, counts = duels(tmp_path, "ESOL", pairs, [0, 1])  # and no paper, which was not run
    means = {
        name: evaluation_of(tmp_path, "ESOL", name, [0, 1]).mean for name in ("untrained", "morgan bits")
    }
    both = {
        name: evaluation_of(tmp_path, "ESOL", name, [0, 1]).mean for name in ("untrained", "untrained log")
    }
    assert bits.reference == min(both, key=both.get) and counts.reference == "untrained"
    assert bits.gain == pytest.approx(1 - means["morgan bits"] / both[bits.reference])
    assert bits.interval[0] < bits.gain < bits.interval[1]
    assert evaluation_of(tmp_path, "ESOL", "untrained", [0, 1, 2]) is None
    assert evaluation_of(tmp_path, "ESOL", "nothing", [0]) is None


def test_results_of_other_settings_are_not_taken(molecules, tmp_path):
    cell = vector_cell("ESOL", "morgan bits", 0)
    result = run_cell(cell, compute_vectors, tmp_path)
    old = cell.path(tmp_path).with_name("ESOL-morgan-bits-0-00000000.json")
    old.write_text(json.dumps(result | {"evaluation": None}))
    assert evaluation_of(tmp_path, "ESOL", "morgan bits", [0]) is not None


def judged(results, data, method, seed, scores):
    """A result file with these scores of the outer folds."""
    of, outer = SETS[data], np.reshape(scores, (1, -1, 1)).astype(float)
    plan = Plan(of.folds, 3, (), f"labels of {data}", 100)
    found = Candidate("default", of.judge, (1.0,), True, 0, outer, outer, 0 * outer.astype(int), of.scoring)
    path = Cell("vectors", f"{data} {method} {seed}", {}).path(results)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"evaluation": Evaluation(plan, (seed,), (found,)).to_dict()}))


def test_the_report_has_the_seeds_of_the_report_alone(tmp_path):
    rng = np.random.default_rng(0)
    better = {"untrained": 0, "untrained default": 0.02, "default": 0.05, "wl": 0.04, "morgan bits": 0.01}
    for seed in range(3):
        for method, gain in better.items():
            noise = rng.normal(0, 1e-4, 5)
            judged(tmp_path, "BACE", method, seed, 0.7 + gain + noise)
            judged(tmp_path, "ESOL", method, seed, 2 + 10 * gain + noise)  # an error: worse by so much
            judged(tmp_path, "BACE", method, 100 + seed, 0.99 + noise)
        judged(tmp_path, "BACE", "paper", 100 + seed, 0.94 + noise)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in gain_table(tmp_path).splitlines()]
    rows = {line[0]: line[1:] for line in lines if line}
    bace, esol = (rows[f"{name}<br>3 of 10 seeds"] for name in ("BACE, ROC-AUC", "ESOL, RMSE"))
    assert bace == ["70.0", "72.0", "75.0", "**+3.0** (p < 0.001)", "–", "–", "74.0, WL"]
    assert esol == ["2.000", "2.200", "2.500", "**-25.0 %** (p < 0.001)", "–", "–", "2.100, Morgan bits"]
    assert set(rows["MUTAG, accuracy"]) == {"–"}
    told = gain_table(tmp_path)
    assert "ahead on 1 of 2 sets in the mean. With a test per set it is significantly ahead on 1 and" in told
    assert "after Holm's correction over the 2 tests 2 of these are left (ESOL, BACE)." in told
    assert (
        "strongest of three Morgan fingerprints under a forest: **-19.0 %** on ESOL (bits), n = 3; **+4.0**"
        in told
    )
    figure = gain_figure(tmp_path)
    ElementTree.fromstring(figure)
    assert (
        all(text in figure for text in (">BACE<", ">+3.0<", ">ESOL<", ">-25.0 %<")) and "MUTAG" not in figure
    )
    (tried,) = [line for line in candidate_tables(tmp_path).splitlines() if line.startswith("| paper")]
    assert tried == "| paper | – | – | – | – | – | **-5.0** | – | -2 |"
    assert "No results yet" in gain_figure(tmp_path / "nowhere")


def test_newer_methods_are_compared_and_are_not_in_table_1():
    assert set(compare.METHODS) ^ set(table1.METHODS) == {"wl-oa", "ltp", "infograph-paper", "nodes"}
    assert {cell.settings["method"] for cell in table1.table1_cells()} == set(table1.METHODS)
    assert all(name in SETS for name in table1.SMALL)

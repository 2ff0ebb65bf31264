"""What the version that wrote format 1 saved, in `format1/`, and the numbers it gave.

    python -m tests.golden.make

This was run once, with infograph 0.1.0, and cannot be run by a later version: what it writes has to come from
the code that made format 1. `test_formats.py` opens all of it with the code of today. To add a file, check
that old version out, add it here and run this again; training is repeatable, so the rest stays as it is up to
the rounding of the processor.

    format1/
        manifest.json       every model: what it was fitted to, and how exactly its numbers are known
        inputs/             files of graphs as users have them
        graphs/             the same as saved GraphSets, and some molecules of QM9
        models/             a folder per model
        expected/           what each model gave, an array per call
        indices/            of molecules with a model and an atlas, of vectors, and one that faiss searches
        shards/             inputs and vectors of `infograph embed`
        colours/            what `InfoGraph.fit(scratch=...)` keeps
"""

from __future__ import annotations

import csv
import inspect
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

import infograph
from infograph import GraphIndex, InfoGraph, InfoGraphClassifier, InfoGraphRegressor
from infograph.cli import main as command
from infograph.data.vectors import Embeddings

OUT = Path(__file__).parent / "format1"
SHARD_TIME = 1_700_000_000_123_456_789  # when the shards were last changed; git keeps no times
ELSEWHERE = "/data/shards"  # where the shards were; a record holds the whole path

LOG_S, MELTING = "logS [log(mol/L)]", "Tm (K)"
MOLECULES = [  # id, SMILES, solubility, melting point, class; all of C, N, O and Cl
    ("m01", "CCO", "1.10", "159.0", "alcohol"),
    ("m02", "CCCO", "0.62", "147.0", "alcohol"),
    ("m03", "CC(C)O", "0.43", "184.0", "alcohol"),
    ("m04", "OCCO", "1.20", "", "alcohol"),
    ("m05", "CC(=O)O", "1.22", "289.8", "acid"),
    ("m06", "CCC(=O)O", "", "252.0", "acid"),
    ("m07", "OC(=O)CC(=O)O", "0.87", "408.0", "acid"),
    ("m08", "OC(=O)c1ccccc1", "-1.55", "395.5", "acid"),
    ("m09", "CCN", "1.35", "192.0", "amine"),
    ("m10", "NCCN", "1.20", "281.5", "amine"),
    ("m11", "Nc1ccccc1", "-0.41", "267.0", ""),
    ("m12", "CCNCC", "1.00", "", "amine"),
    ("m13", "ClCCl", "-0.63", "176.5", ""),
    ("m14", "Clc1ccccc1", "-2.38", "228.0", ""),
    ("m15", "OCC(Cl)C", "", "", ""),
    ("m16", "Cl[C@H](N)C(=O)O", "", "300.5", ""),
]


EXACT = 0.0, 0.0  # whole numbers and shares of them
DOUBLE = 1e-10, 1e-8  # sums of float64
NETWORK = 1e-5, 5e-2  # float32; after steps of Adam, which go as far for a small gradient as for a large one
ONCE = 1e-5, None


@dataclass
class Made:
    """A model of the golden folder: how it is made, what it is fitted to, and what of it can be compared.

    Attributes:
        make: the unfitted model.
        graphs: the set, of which it learns from the first `fitted` graphs; all if None.
        y: labels, or the name of their column, as in `fit`.
        fit: more arguments of `fit`.
        known: how exactly its numbers are known on any processor: those of the saved model, and those of one
            that is fitted again; None where its settings do not say all about its training.
        encoder: a module of the user's, which `load` gets again.
    """

    make: Callable[[], Any]
    graphs: str
    fitted: int | None = None
    y: Any = None
    fit: dict[str, Any] = field(default_factory=dict)
    known: tuple[float, float | None] = NETWORK
    encoder: bool = False


class OwnEncoder(torch.nn.Module):
    """A user's encoder; `test_formats.py` has the same."""

    def __init__(self, inputs: int = 3) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(inputs, 4), torch.nn.Linear(4, 3)

    def forward(self, x: Any, edge_index: Any, batch: Any) -> list[Any]:
        source, target = edge_index
        heard = torch.zeros_like(x).index_add(0, target, x[source])
        one = torch.relu(self.first(x + heard))
        two = torch.relu(self.second(one + torch.zeros_like(one).index_add(0, target, one[source])))
        return [one, two]


def own_encoder() -> OwnEncoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return OwnEncoder()


SHORT = {"dim": 6, "layers": 2, "epochs": 2, "batch_size": 4}
FEW = {"epochs": 2, "batch_size": 4, "steps_per_epoch": 3, "dim": 6, "layers": 2}

MODELS: dict[str, Made] = {
    # ---- InfoGraph
    "infograph": Made(lambda: InfoGraph(**SHORT), "networks", 10),
    "infograph-changed": Made(
        lambda: InfoGraph(
            7,
            3,
            epochs=3,
            lr=5e-3,
            batch_size=5,
            readout="mean",
            weighting="node",
            bound="dv",
            discriminator="conditioned",
            node_columns=["kind"],
            weight_decay=1e-3,
            random_state=5,
        ),
        "networks",
        10,
    ),
    "infograph-edges": Made(
        lambda: InfoGraph(
            **SHORT,
            edge_columns=["bond"],
            readout="max",
            bound="infonce",
            prior=0.1,
            learn_eps=True,
            warm_start=True,
            device="cpu",
        ),
        "networks",
        10,
    ),
    "infograph-degree": Made(lambda: InfoGraph(**SHORT, node_features="degree", norm=False), "networks", 10),
    "infograph-weights": Made(lambda: InfoGraph(**SHORT, max_nodes=5_000, memory_mb=64.0), "weighted", 8),
    "infograph-molecules": Made(lambda: InfoGraph(**SHORT), "molecules", 12),
    "infograph-enn": Made(lambda: InfoGraph(**{**SHORT, "encoder": "auto"}), "qm9", 6),
    "infograph-own": Made(
        lambda: InfoGraph(epochs=2, batch_size=4, encoder=own_encoder()),
        "networks",
        10,
        known=ONCE,
        encoder=True,
    ),
    "untrained": Made(
        lambda: infograph.UntrainedGIN(6, 3, batch_size=4, readout="mean", random_state=2), "networks", 10
    ),
    # ---- few labels, numbers
    "regressor-star": Made(
        lambda: InfoGraphRegressor(
            **{**FEW, "epochs": 8},
            lr=1e-2,
            lam=0.5,
            weight_decay=1e-4,
            readout="mean",
            transfer="all",
            transfer_scale="mean",
            detach_teacher=True,
            patches="last",
            factor=0.5,
            patience=0,
            early_stopping=3,
            random_state=4,
        ),
        "molecules",
        14,
        LOG_S,
        {"validation": 0.25},
    ),
    "regressor-enn": Made(
        lambda: InfoGraphRegressor(
            epochs=2, batch_size=4, steps_per_epoch=2, dim=8, transfer="last", lam=0.1
        ),
        "qm9",
        6,
        ["mu", "Cv"],
    ),
    "regressor-ensemble": Made(
        lambda: InfoGraphRegressor("infograph", **FEW, n_models=2, lam=0.5, edge_columns=[]),
        "molecules",
        14,
        [LOG_S, MELTING],
    ),
    "regressor-supervised": Made(
        lambda: InfoGraphRegressor("supervised", **FEW, lr=1e-2, learn_eps=True, norm=False, readout="max"),
        "weighted",
        8,
        "strength",
    ),
    "regressor-mean-teacher": Made(
        lambda: InfoGraphRegressor(
            "mean-teacher", **FEW, consistency=0.5, ramp_up=4, decay=0.5, noise=0.05, node_features="degree"
        ),
        "networks",
        10,
        "height",
    ),
    "regressor-pi-model": Made(
        lambda: InfoGraphRegressor("pi-model", **FEW, consistency=5.0, noise=0.2), "networks", 10, "height"
    ),
    "regressor-vat": Made(
        lambda: InfoGraphRegressor("vat", **FEW, radius=0.3, ramp_up=2, node_columns=["kind"]),
        "networks",
        10,
        "height",
    ),
    # ---- few labels, classes
    "classifier": Made(lambda: InfoGraphClassifier(**FEW), "networks", 10, "shape", {"validation": 0.3}),
    "classifier-numbers": Made(
        lambda: InfoGraphClassifier("supervised", **FEW, unlabelled=-1, n_models=2),
        "networks",
        10,
        [0, 2, -1, 0, 2, 0, -1, 2, 0, 2],
    ),
    "classifier-pseudo-label": Made(
        lambda: InfoGraphClassifier("pseudo-label", **FEW, threshold=0.35, consistency=0.5),
        "molecules",
        14,
        "class",
    ),
    "classifier-entropy": Made(
        lambda: InfoGraphClassifier("entropy", **FEW, consistency=0.1), "molecules", 14, "class"
    ),
    "classifier-init-from": Made(
        lambda: InfoGraphClassifier(
            "infograph", **FEW, lam=1e-3, init_from=infograph.load(OUT / "models" / "infograph")
        ),
        "networks",
        10,
        "shape",
        known=ONCE,
    ),
    # ---- kernels
    "wl": Made(lambda: infograph.WeisfeilerLehman(2), "networks", 10, known=EXACT),
    "wl-changed": Made(
        lambda: infograph.WeisfeilerLehman(
            3, normalise=True, node_columns=["kind"], edge_columns=["bond"], max_minutes=5.0, memory_mb=1024.0
        ),
        "networks",
        10,
        known=DOUBLE,
    ),
    "shortest-path": Made(lambda: infograph.ShortestPath(), "networks", 10, known=EXACT),
    "graphlets-3": Made(lambda: infograph.Graphlets(3, values="counts"), "networks", 10, known=EXACT),
    "graphlets-4": Made(
        lambda: infograph.Graphlets(4, connected_only=True, normalise=True), "networks", 10, known=DOUBLE
    ),
    "graphlets-5": Made(
        lambda: infograph.Graphlets(5, n_samples=40, random_state=1), "networks", 10, known=DOUBLE
    ),
    "random-walk": Made(
        lambda: infograph.RandomWalk(0.05, normalise=True, edge_columns=["bond"]),
        "networks",
        10,
        known=DOUBLE,
    ),
    "random-walk-auto": Made(lambda: infograph.RandomWalk(node_columns=[]), "networks", 10, known=DOUBLE),
    "laplacian": Made(
        lambda: infograph.MultiscaleLaplacian(
            1, gamma=0.1, eta=0.2, rank=3, n_landmarks=6, n_labels=4, max_ego=6, random_state=1
        ),
        "networks",
        10,
        known=DOUBLE,
    ),
    "deep-wl": Made(lambda: infograph.DeepGraphKernel(dim=4, window=3, rounds=1, epochs=3), "networks", 10),
    "deep-graphlets": Made(
        lambda: infograph.DeepGraphKernel("graphlet", dim=3, draws=10, epochs=2, normalise=True),
        "networks",
        10,
    ),
    "deep-paths": Made(lambda: infograph.DeepGraphKernel("shortest-path", dim=3, epochs=2), "networks", 10),
    "deep-walks": Made(lambda: infograph.DeepGraphKernel("walk", dim=3, draws=5, epochs=2), "networks", 10),
    # ---- embeddings
    "node2vec": Made(
        lambda: infograph.Node2Vec(5, 0.5, 2.0, walks=3, length=8, window=3, pooling="sum"), "networks"
    ),
    "sub2vec": Made(
        lambda: infograph.Sub2Vec(5, length=60, walk=12, n_bins=4, epochs=3, min_count=1), "networks", 10
    ),
    "sub2vec-neighbourhood": Made(
        lambda: infograph.Sub2Vec(5, "neighbourhood", length=60, walk=12, epochs=3, min_count=1),
        "networks",
        10,
    ),
    "graph2vec": Made(lambda: infograph.Graph2Vec(5, 1, 4, min_count=1, random_state=2), "networks", 10),
    "label-histogram": Made(lambda: infograph.LabelHistogram(["kind"]), "networks", 10, known=EXACT),
    "degree-histogram": Made(lambda: infograph.DegreeHistogram(share=True), "networks", 10, known=EXACT),
    # ---- references that predict
    "mean": Made(lambda: infograph.MeanPredictor(), "molecules", 14, [LOG_S, MELTING], known=DOUBLE),
    "most-frequent": Made(
        lambda: infograph.MeanPredictor("classification"), "molecules", 14, "class", known=EXACT
    ),
    "atom-counts": Made(lambda: infograph.AtomCounts(["element"]), "molecules", 14, LOG_S, known=DOUBLE),
    "atom-counts-classes": Made(
        lambda: infograph.AtomCounts(["element"], "classification"), "molecules", 14, "class", known=DOUBLE
    ),
    "forest": Made(
        lambda: infograph.FingerprintForest(1, 64, 3, max_features=0.5, min_samples_leaf=2, random_state=1),
        "molecules",
        14,
        [LOG_S, MELTING],
        known=ONCE,
    ),
    "forest-classes": Made(
        lambda: infograph.FingerprintForest(n_bits=32, n_trees=3, task="classification"),
        "molecules",
        14,
        "class",
        known=ONCE,
    ),
}


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    write_inputs(OUT / "inputs")
    sets = make_graphs(OUT / "inputs", OUT / "graphs")
    (OUT / "expected").mkdir()
    manifest = {name: make_model(name, made, sets[made.graphs]) for name, made in MODELS.items()}
    write_json(OUT / "manifest.json", {"defaults": defaults(), "models": manifest})
    make_indices(OUT / "indices", sets["molecules"])
    make_shards(OUT / "shards")
    InfoGraph(**SHORT).fit(sets["networks"], scratch=OUT / "colours")
    print(sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file()) // 1024, "kB")


def defaults() -> dict[str, dict[str, Any]]:
    """What a setting was where nobody said otherwise, by class."""
    classes = sorted({type(made.make()) for made in MODELS.values()}, key=lambda each: each.__name__)
    return {
        each.__name__: {n: p.default for n, p in inspect.signature(each).parameters.items()}
        for each in classes
    }


# ---- graphs


def write_inputs(folder: Path) -> None:
    folder.mkdir(parents=True)
    lines = [network(place) for place in range(13)]
    (folder / "networks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    lines = [weighted(place) for place in range(10)]
    (folder / "weighted.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with (folder / "molecules.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "smiles", LOG_S, MELTING, "class"), *MOLECULES])


def network(place: int) -> dict[str, Any]:
    """A ring, a chain or a star with kinds of nodes and of edges; one in four has a chord and a loner."""
    shape, size = ("ring", "chain", "star")[place % 3], 4 + place % 4
    edges = [(u, u + 1) if shape != "star" else (0, u + 1) for u in range(size - 1)]
    edges += [(size - 1, 0)] if shape == "ring" else []
    edges += [(0, 2)] if place % 4 == 3 and shape != "star" else []
    return {
        "id": f"n{place:02}",
        "nodes": [{"kind": "abc"[(u * u + place) % 3]} for u in range(size + (place % 4 == 3))],
        "edges": [[u, v, {"bond": ("thin", "thick")[(u + v + place) % 2]}] for u, v in edges],
        "shape": shape,
        "height": size / 2 + place / 8,
        "year": 2020 + place % 2,
    }


def weighted(place: int) -> dict[str, Any]:
    """Arcs with weights, nodes with numbers and a flag; a loop, isolated nodes, a single node."""
    size = 1 if place == 4 else 3 + place % 3
    arcs = [(u, (u + 1) % size) for u in range(size - 1)]
    arcs += [(1, 1)] if place == 2 else [(size - 1, 0)] if place % 2 else []
    return {
        "id": 100 + place,
        "directed": True,
        "nodes": [
            {"load": round(0.3 * u - 0.1 * place, 3), "open": (u + place) % 2 == 0}
            for u in range(size + (place == 6))
        ],
        "edges": [
            [u, v, {"flow": 0.5 + (u + v + place) % 4 / 2, "lane": 1 + (u + place) % 3}] for u, v in arcs
        ],
        "strength": round(place * 0.7 - 2, 3) if place != 5 else None,
        "note": f"seen on day {place}",
    }


def make_graphs(inputs: Path, folder: Path) -> dict[str, Any]:
    sets = {
        "networks": infograph.read_graphs(inputs / "networks.jsonl", node=["kind"], edge=["bond"]),
        "weighted": infograph.read_graphs(inputs / "weighted.jsonl", weight="flow", edge=[]),
        "molecules": infograph.read_graphs(inputs / "molecules.csv", stereo=True),
        "qm9": infograph.load_dataset("QM9")[[0, 3, 7, 12, 17, 25, 39, 58]],
    }
    for name, graphs in sets.items():
        infograph.save_graphs(graphs, folder / name)
    return {name: infograph.open_graphs(folder / name) for name in sets}


# ---- models


def make_model(name: str, made: Made, graphs: Any) -> dict[str, Any]:
    fitted = graphs if made.fitted is None else graphs[: made.fitted]
    model = made.make().fit(fitted, made.y, **made.fit)
    model.save(OUT / "models" / name)
    arrays, facts = answers(model, graphs, fitted)
    np.savez_compressed(OUT / "expected" / f"{name}.npz", **arrays)
    return {
        "graphs": made.graphs,
        "fitted": len(fitted),
        "y": made.y,
        "fit": made.fit,
        "rtol": made.known[0],
        "again": made.known[1],
        "encoder": made.encoder,
        **facts,
    }


def answers(model: Any, graphs: Any, fitted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by the call that gave them, and what else is known of a model."""
    arrays: dict[str, Any] = {}
    facts: dict[str, Any] = {"class": type(model).__name__, "sparse": False}
    if hasattr(model, "transform"):
        vectors = model.transform(graphs)
        facts["sparse"] = issparse(vectors)
        arrays["transform"] = vectors.toarray() if issparse(vectors) else vectors
        names = model.get_feature_names_out().tolist()
        facts["features"] = [names[0], names[-1]]
    if hasattr(model, "gram"):
        arrays["gram"], arrays["gram of the fitted"] = model.gram(graphs), model.gram()
    if hasattr(model, "transform_nodes"):
        arrays["transform_nodes"], arrays["score_nodes"] = (
            model.transform_nodes(graphs),
            model.score_nodes(graphs),
        )
    if hasattr(model, "predict"):
        arrays["predict"] = model.predict(graphs)
        facts["targets"], facts["units"] = list(model.target_names_), list(model.target_units_)
    if hasattr(model, "predict_proba"):
        arrays["predict_proba"] = model.predict_proba(graphs)
        facts["classes"] = model.classes_.tolist()
    if getattr(model, "n_models", 1) > 1:
        call = getattr(model, "predict_proba", model.predict)
        arrays["mean"], arrays["spread"] = call(graphs, return_std=True)
    return arrays, facts


# ---- folders made of models


def make_indices(folder: Path, molecules: Any) -> None:
    index = GraphIndex.build(infograph.load(OUT / "models" / "regressor-star"), molecules)
    make_map(index.save(folder / "molecules"))
    rng = np.random.default_rng(0)
    many = np.round(rng.normal(size=(40, 3)) + 8 * (np.arange(40) % 2)[:, None], 3).astype(np.float32)
    found = GraphIndex.of(Embeddings(np.arange(40), many, {}), approximate=True)
    found.save(folder / "approximate")
    columns = {
        "weight": np.where(np.arange(30) % 7 == 1, np.nan, np.arange(30) / 4),
        "name": np.array([f"vector {i}" if i % 5 else "" for i in range(30)]),
        "mixed": np.array(["x", None, 3, 4.5, True] * 6, dtype=object),
    }
    some = many[:30].copy()
    some[29] = some[3]
    vectors = GraphIndex.of(
        Embeddings(np.array([f"v{i}" for i in range(30)]), some, columns), metric="euclidean"
    )
    make_map(vectors.save(folder / "vectors"))
    write_json(
        folder / "neighbours.json",
        {
            "molecules": {
                "search": index.search(["CCCCO", "c1ccccc1O"], 4).table(),
                "search_id": index.search_id("m05", 3).table(),
            },
            "vectors": {
                "search": vectors.search(np.array([7.5, 8.5, 8.0]), 3).table(),
                "search_id": vectors.search_id("v3", 5).table(),
                "near_duplicates": vectors.near_duplicates(),
            },
            "approximate": {"search_id": found.search_id(7, 5).table()},
        },
    )


def make_map(index: Path) -> None:
    """A map of an index, for the atlas that is kept beside it."""
    page = index.with_suffix(".html")
    command(["map", str(index), "--method", "pca", "--seed", "3", "--out", str(page)])
    page.unlink()


def make_shards(folder: Path) -> None:
    """Three kinds of shards, one of them with a row that is no molecule."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    with (inputs / "a.csv").open("w", newline="") as file:
        rows = [[*row[:2], row[2]] for row in MOLECULES[:5]]
        csv.writer(file).writerows([("id", "smiles", "logS"), *rows, ("bad", "C(C", "0.5")])
    (inputs / "b.smi").write_text("".join(f"{row[1]} {row[0]}\n" for row in MOLECULES[5:9]))
    shutil.copytree(OUT / "graphs" / "molecules", inputs / "c")
    for path in inputs.rglob("*"):
        os.utime(path, ns=(SHARD_TIME, SHARD_TIME))
    model, out = OUT / "models" / "infograph-molecules", folder / "vectors"
    command(["embed", str(model), f"{inputs}/*", "--out", f"{out}/", "--workers", "1"])
    (out / ".lock").unlink(missing_ok=True)
    for path in (out / "_shards").glob("*.json"):
        record = json.loads(path.read_text())
        record["input"]["path"] = f"{ELSEWHERE}/{Path(record['input']['path']).name}"
        write_json(path, record)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""SMILES to vectors at scale: beside RDKit's parser alone, in processes, and on Ray.

    python -m benchmarks.scale [--only cores|jobs|training] [--molecules 1000000] [--dim 128] [--out DIR]

Nothing that reads SMILES with RDKit can be faster than `MolFromSmiles` alone, so rates stand beside it: of
QM9's molecules and of drug-like ones, four times as large, that are put together here from pieces. The three
take turns on the same few molecules, and the quickest of several rounds counts: other work on the machine
disturbs all alike. Jobs are whole ones, in processes of their own, from Parquet shards to Parquet shards,
with the start of workers and of Ray, the quicker of two that take turns; memory is that of the whole tree of
processes, pages that they share counted once. Training is InfoGraph's with its defaults, the quickest epoch.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as parquet
import torch

from benchmarks.harness import elsewhere, options_of, seconds, write
from benchmarks.scale_tables import workers_named
from infograph import InfoGraph, load_dataset
from infograph.data.molecules import from_molecules

ROUNDS, CHUNK, SAMPLE = 7, 500, 10_000
LOOK = 3.0  # seconds between two looks at the memory of all processes, which take a core some 0.1 s
TURNS = 2  # of every job
STORED = 2  # shards that are stored and coloured
SHARD, SHARDS = 50_000, 20  # the most rows of a shard, and the fewest shards
HEADS = ("CC(C)Cc1ccc(cc1)C(C)", "c1ccc2[nH]ccc2c1", "COc1ccc2cc(ccc2c1)C(C)", "Cc1ccc(cc1)S(=O)(=O)N")
HEADS += ("FC(F)(F)c1ccc(Cl)cc1", "C1CCN(CC1)c1ncccn1", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "O=c1[nH]cnc2ccccc12")
LINKS = ("C(=O)N", "OCC", "NC(=O)CC", "S(=O)(=O)N", "CC(O)CN", "C(=O)NCC", "C#CC", "C=CC(=O)N")
RINGS = ("c1ccc(cc1)", "c1cnc(nc1)", "C1CCC(CC1)", "c1cc(F)c(cc1)", "C1CN(CCN1)")
TAILS = ("C1CCN(C)CC1", "c1ccc(F)cc1", "[C@@H](C)c1ccccc1", "CCN(CC)CC", "c1ccncc1", "C1CC1", "c1nnc(C)o1")


def druglike(count: int) -> list[str]:
    """Molecules of some 30 heavy atoms, the same ones every time; pieces that do not go together are not."""
    from rdkit import Chem, rdBase

    rng = np.random.default_rng(0)
    parts = (HEADS, LINKS, RINGS, LINKS, TAILS)
    found: list[str] = []
    with rdBase.BlockLogs():
        while len(found) < count:
            text = "".join(part[rng.integers(len(part))] for part in parts)
            if Chem.MolFromSmiles(text) is not None:
                found.append(text)
    return found


def quickest(work: dict[str, Callable[[Sequence[str]], Any]], smiles: Sequence[str]) -> dict[str, float]:
    """Microseconds per molecule of each kind of work, by chunks, the quickest of all rounds."""
    chunks = [smiles[start : start + CHUNK] for start in range(0, len(smiles), CHUNK)]
    best = {name: np.full(len(chunks), np.inf) for name in work}
    for _ in range(ROUNDS):
        for place, chunk in enumerate(chunks):
            for name, call in work.items():
                best[name][place] = min(best[name][place], seconds(lambda c=call, of=chunk: c(of))[0])
    return {name: 1e6 * float(times.sum()) / len(smiles) for name, times in best.items()}


def one_core(name: str, smiles: Sequence[str], dim: int) -> dict[str, Any]:
    """Molecules per second of the parser alone, of reading, and of reading and embedding; one thread."""
    from rdkit import Chem, rdBase

    torch.set_num_threads(1)
    model = InfoGraph(dim=dim, epochs=0).fit(smiles[:500])

    def parse(chunk: Sequence[str]) -> None:
        for text in chunk:
            Chem.MolFromSmiles(text)

    with rdBase.BlockLogs():
        work = {"parse": parse, "read": lambda chunk: from_molecules(chunk, keep_smiles=False)}
        micro = quickest(work, smiles[:: max(1, len(smiles) // 2_000)][:2_000])
    graphs = from_molecules(smiles, keep_smiles=False)
    times = [seconds(lambda: model.transform(graphs))[0] for _ in range(ROUNDS)]  # a block as a job has it
    embed = 1e6 * min(times) / len(smiles)
    whole = micro["read"] + embed
    found = {
        "case": f"one core, {name}",
        "atoms": round(graphs.n_nodes / len(graphs), 1),
        "dim": dim,
        "rdkit_per_second": round(1e6 / micro["parse"]),
        "read_per_second": round(1e6 / micro["read"]),
        "transform_per_second": round(1e6 / embed),
        "vectors_per_second": round(1e6 / whole),
        "share_of_rdkit": round(micro["parse"] / whole, 3),
    }
    print(json.dumps(found), flush=True)
    return found


def write_shards(folder: Path, smiles: Sequence[str], count: int) -> None:
    """`count` molecules as Parquet, those given again and again, every time in another order."""
    folder.mkdir()
    rng, waiting = np.random.default_rng(0), np.zeros(0, np.int64)
    table = np.array(smiles, dtype=object)
    size = min(SHARD, -(-count // SHARDS))
    for number, start in enumerate(range(0, count, size)):
        rows = min(size, count - start)
        while len(waiting) < rows:
            waiting = np.concatenate([waiting, rng.permutation(len(table))])
        chosen, waiting = waiting[:rows], waiting[rows:]
        ids = [f"m{start + row}" for row in range(rows)]
        content = pa.table({"id": ids, "smiles": table[chosen].tolist()})
        parquet.write_table(content, folder / f"part{number:04d}.parquet")


def tree_mb(root: int) -> float:
    """Memory of a process and of all below it; what several share counts once."""
    total = 0.0
    with suppress(psutil.Error):
        for each in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
            with suppress(psutil.Error):
                total += each.memory_full_info().pss / 2**20
    return total


def job(model: Path, shards: Path, out: Path, workers: int, on: str) -> dict[str, Any]:
    """A whole job by the command line, and the memory of its tree of processes."""
    command = [sys.executable, "-m", "infograph", "embed", str(model), str(shards), "--out", f"{out}/"]
    command += ["--workers", str(workers), "--on", on, "--json"]
    began, peak = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None:
            peak = max(peak, tree_mb(process.pid))
            time.sleep(LOOK)
        report = json.loads(process.stdout.read())  # type: ignore[union-attr]
    took = time.perf_counter() - began
    found = {
        "case": f"job, {workers_named(workers)}, {on}",
        "rows": report["rows"],
        "seconds": round(took, 1),
        "rows_per_second": round(report["rows"] / took),
        "peak_mb": round(peak),
    }
    print(json.dumps(found), flush=True)
    return found


TRAIN = """
import json, sys
import torch
torch.set_num_threads(1)
from infograph import InfoGraph, load_dataset
graphs = load_dataset(sys.argv[1])
options = json.loads(sys.argv[2])
model = InfoGraph(epochs=options.pop("epochs")).fit(graphs, **options)
weights = sum(weight.numel() for weight in model.network_.parameters())
print(json.dumps([len(graphs), weights, min(record["seconds"] for record in model.history_)]))
"""


def training(data: str, workers: int, epochs: int) -> dict[str, Any]:
    """The quickest epoch of a training run by workers of one thread each, in a process of its own."""
    said = elsewhere("-c", TRAIN, data, json.dumps({"workers": workers, "epochs": epochs}))
    graphs, weights, took = json.loads(said.splitlines()[-1])
    print(f"training on {data}, {workers} workers: {took:.2f} s an epoch", flush=True)
    case = f"training, {data}, {workers_named(workers)}"
    return {"case": case, "graphs": graphs, "weights": weights, "epoch_seconds": round(took, 2)}


def stored(folder: Path, shards: Path, layers: int = 4) -> dict[str, Any]:
    """Bytes on disk per molecule of a stored set and of its colours, and how fast both are made."""
    from infograph.data.colours import refine, save_colouring
    from infograph.scale import store_graphs

    torch.set_num_threads(1)
    chosen = sorted(shards.iterdir())[:STORED]
    storing, graphs = seconds(lambda: store_graphs(chosen, folder / "graphs").graphs)
    colouring, _ = seconds(lambda: save_colouring(refine(graphs, layers), folder / "colours"))
    size = {name: sum(f.stat().st_size for f in (folder / name).iterdir()) for name in ("graphs", "colours")}
    found = {
        "case": f"stored, {layers} rounds of colours",
        "graphs": len(graphs),
        "graphs_bytes": round(size["graphs"] / len(graphs)),
        "colours_bytes": round(size["colours"] / len(graphs)),
        "stored_per_second": round(len(graphs) / storing),
        "coloured_per_second": round(len(graphs) / colouring),
    }
    print(found, flush=True)
    return found


def cores(qm9: Sequence[str], dim: int) -> list[dict[str, Any]]:
    """The speed of one core."""
    every = max(1, len(qm9) // SAMPLE)
    return [one_core("QM9", qm9[::every][:SAMPLE], dim), one_core("drug-like", druglike(SAMPLE // 2), dim)]


def jobs(
    qm9: Sequence[str], dim: int, molecules: int, counts: Sequence[int], turns: int
) -> list[dict[str, Any]]:
    """Storing, and whole jobs, those here and on Ray in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = InfoGraph(dim=dim, epochs=0).fit(qm9[::1000]).save(folder / "model")
        write_shards(folder / "shards", qm9, molecules)
        found = [stored(folder, folder / "shards")]
        for workers in counts:
            runs = [
                job(model, folder / "shards", folder / f"{on}{workers}-{turn}", workers, on)
                for turn in range(turns)
                for on in ("local", "ray")
            ]
            for on in ("local", "ray"):
                own = [run for run in runs if run["case"].endswith(on)]
                found.append(min(own, key=lambda run: float(run["seconds"])))
    return found


def trainings() -> list[dict[str, Any]]:
    """Epochs by one worker and by two, and on molecules."""
    return [*(training("REDDIT-BINARY", workers, 3) for workers in (1, 2)), training("QM9", 1, 1)]


def main() -> None:
    """Measure, print, and write the figures."""
    parser = options_of(__doc__)
    parser.add_argument("--molecules", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="of jobs")
    parser.add_argument("--turns", type=int, default=TURNS, help="of every job")
    parser.add_argument("--only", choices=("cores", "jobs", "training"), help="measure only these again")
    given = parser.parse_args()
    qm9 = load_dataset("QM9").graph["smiles"].tolist()
    found: list[dict[str, Any]] = []
    if given.only in (None, "cores"):
        found += cores(qm9, given.dim)
    if given.only in (None, "jobs"):
        found += jobs(qm9, given.dim, given.molecules, given.workers, given.turns)
    if given.only in (None, "training"):
        found += trainings()
    path = given.out / "scale.json"
    before = json.loads(path.read_text()) if path.is_file() else []
    known = {row["case"]: row for row in [*before, *found]}  # those of today in the place of older ones
    write(given.out, "scale", list(known.values()))


if __name__ == "__main__":
    main()

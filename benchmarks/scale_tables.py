"""The tables of docs/scale.md, made from benchmarks/results/scale.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
LIBRARY, TRAINING = 10**9, 10**6  # molecules to embed, graphs to train on
CORES, WORKERS, EPOCHS, BATCH = 100, 8, 20, 128
NETWORK = 10e9 / 8  # bytes per second between machines


def scale_table(rows: Sequence[Row]) -> str:
    """What was measured."""
    of = {row["case"]: row for row in rows}
    lines = ["| | |", "|---|---|"]
    for name in ("QM9", "drug-like"):
        one = of[f"one core, {name}"]
        lines += [
            f"| {name}, {one['atoms']:.0f} heavy atoms, one core: RDKit's `MolFromSmiles` alone | "
            f"{one['rdkit_per_second']:,} per second |",
            f"| the same, SMILES to vectors of {one['dim']} numbers | {one['vectors_per_second']:,} "
            f"per second, {one['share_of_rdkit']:.0%} of the parser's speed |",
        ]
    local = {n: of[f"job, {workers_named(n)}, local"] for n in (1, 2)}
    for n, job in local.items():
        more = "" if n == 1 else f", {local[1]['seconds'] / job['seconds']:.2f} times one worker's speed"
        lines.append(
            f"| {job['rows']:,} of QM9's molecules from Parquet to Parquet, {workers_named(n)} | "
            f"{job['seconds']:.0f} s, {job['peak_mb']:,} MB{more} |"
        )
    for n in (1, 2):
        job = of[f"job, {workers_named(n)}, ray"]
        share = job["seconds"] / local[n]["seconds"] - 1
        lines.append(
            f"| the same on Ray, {workers_named(n)} | {job['seconds']:.0f} s, {job['peak_mb']:,} MB, "
            f"{share:.0%} more than without |"
        )
    one, two = (of[f"training, REDDIT-BINARY, {workers_named(n)}"]["epoch_seconds"] for n in (1, 2))
    lines += [
        f"| an epoch of InfoGraph on REDDIT-BINARY, one worker and two | {one:.1f} s and {two:.1f} s, "
        f"{one / two:.2f} times the speed |",
        f"| storing molecules, one core | {_stored(rows)['stored_per_second']:,} per second |",
        f"| colouring them, one core | {_stored(rows)['coloured_per_second']:,} per second |",
        "",
        "Two cores, one thread per worker; times of jobs with the start of workers and of Ray.",
    ]
    return "\n".join(lines)


def plan(rows: Sequence[Row]) -> str:
    """What a billion molecules and a million training graphs would take, by the figures above."""
    of = {row["case"]: row for row in rows}
    one, stored, trained = of["one core, drug-like"], _stored(rows), of["training, QM9, 1 worker"]
    hours = LIBRARY / one["vectors_per_second"] / 3600
    vector = 4 * one["dim"]
    per_core = one["vectors_per_second"] * vector / 1e6
    step = trained["epoch_seconds"] / math.ceil(trained["graphs"] / BATCH)
    epoch = step * math.ceil(TRAINING / BATCH) / 3600
    gradients = 4 * trained["weights"]
    talk = 2 * gradients / NETWORK
    shared = step / WORKERS + talk
    return "\n".join(
        [
            f"**Vectors of {LIBRARY:,} drug-like molecules**, {one['dim']} numbers each:",
            "",
            f"- {hours:,.0f} core hours, {60 * hours / CORES:,.0f} minutes on {CORES} cores; "
            f"{one['share_of_rdkit']:.0%} of that is what RDKit's parser alone would take, the bottleneck "
            f"here.",
            f"- {LIBRARY * vector / 1e9:,.0f} GB of vectors. A core writes {per_core:.1f} MB a second: from "
            f"some {1000 / per_core:,.0f} cores on, storage that takes 1 GB a second is the bottleneck.",
            f"- A thousand shards of a million molecules take a core "
            f"{1e6 / one['vectors_per_second'] / 60:.0f} minutes each, which is what a lost core costs, and "
            f"how long the last ones keep the others waiting.",
            "",
            f"**Training on {TRAINING:,} molecules** of QM9's size, with the paper's settings:",
            "",
            f"- {TRAINING * stored['graphs_bytes'] / 1e9:.1f} GB of graphs on disk and "
            f"{TRAINING * stored['colours_bytes'] / 1e9:.1f} GB of colours in memory, made in "
            f"{TRAINING / stored['stored_per_second'] / 60:.0f} and "
            f"{TRAINING / stored['coloured_per_second'] / 60:.1f} minutes by one core.",
            f"- A step of {BATCH} graphs takes a core {1000 * step:.0f} ms, an epoch {epoch:.2f} hours, "
            f"{EPOCHS} epochs {EPOCHS * epoch:.1f} hours.",
            f"- Workers exchange {gradients / 1e6:.0f} MB of gradients per step, {1000 * talk:.0f} ms "
            f"between machines at 10 Gbit/s. A step shared by {WORKERS} machines of a core each would take "
            f"about {1000 * shared:.0f} ms, {step / shared:.1f} times faster than one, "
            f"{talk / shared:.0%} of it talk: from there on, larger batches or threads inside a machine help "
            f"more than workers.",
        ]
    )


def _stored(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row["case"].startswith("stored"))


def workers_named(count: int) -> str:
    """How cases name so many workers."""
    return f"{count} {'workers' if count > 1 else 'worker'}"

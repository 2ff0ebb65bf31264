"""A region of the map in words, and as a table."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.chem.atoms import BOND
from infograph.data.graphset import GraphSet, IntArray
from infograph.explore.atlas import Atlas
from infograph.explore.columns import own_names
from infograph.index import GraphIndex
from infograph.understand import Clusters, Finding, describe_clusters
from infograph.understand.sentence import cluster_sentence, percent

GROUPS_UP_TO = 10_000  # molecules whose functional groups are looked for: 0.3 ms each
MOST = 12  # sentences
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets run


def describe_region(graphs: GraphSet | None, points: NDArray[np.float32], rows: IntArray) -> dict[str, Any]:
    """What is special about some graphs, compared with all: one line, and a sentence per finding."""
    total = len(points)
    if graphs is None or len(rows) == total:
        text = cluster_sentence(len(rows), len(rows) / total, ()).partition(":")[0]
        return {"text": text if graphs is None else f"All {total:,} graphs.", "facts": []}
    labels = np.full(total, -1, np.int64)
    labels[rows] = 0
    alone = Clusters(
        labels=labels,
        probability=np.ones(total),
        sizes=(len(rows),),
        points=points.astype(np.float64),
        min_size=1,
        n_clustered=total,
    )
    known = graphs if total <= GROUPS_UP_TO else _without_bonds(graphs)
    (found,) = describe_clusters(alone, known)
    sentences = [_sentence(finding) for finding in found.findings[:MOST]]
    return {"text": f"{found}.", "facts": sentences}


def _without_bonds(graphs: GraphSet) -> GraphSet:
    """Molecules without bonds, whose functional groups nobody looks for."""
    schema = graphs.schema.replace("edge", (c for c in graphs.schema.edge if c.name != BOND.name))
    return replace(graphs, schema=schema, edge={c.name: graphs.edge[c.name] for c in schema.edge})


def _sentence(found: Finding) -> str:
    """One finding in full."""
    if found.kind in ("number", "size"):
        word = "higher" if found.larger > 0.5 else "lower"
        return f"{found.name}: {word}, median {found.inside:.4g} here and {found.overall:.4g} of all"
    what = {
        "class": f"{found.name} = {found.value}",
        "node type": f"nodes with {found.name} {found.value}",
        "group": f"{found.name}",
    }[found.kind]
    return f"{what}: {percent(found.inside)} here, {percent(found.overall)} of all"


def region_table(index: GraphIndex, atlas: Atlas, rows: IntArray) -> str:
    """Graphs as CSV: id, the user's columns, cluster (from 1), outlier score, map_x and map_y.

    Texts that a spreadsheet would run as a formula begin with an apostrophe.
    """
    names = own_names(index.columns)
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        [cell(name) for name in ("id", *names.values(), "cluster", "outlier score", "map_x", "map_y")]
    )
    columns = [index.columns[name][rows].tolist() for name in names]
    for place, row in enumerate(rows.tolist()):
        label = int(atlas.clusters[row])
        x, y = atlas.points[row].tolist()
        own = [column[place] for column in columns]
        known = ["" if label < 0 else label + 1, round(float(atlas.outliers[row]), 4), x, y]
        writer.writerow([cell(value) for value in (index.ids[row].item(), *own, *known)])
    return file.getvalue()


def cell(value: Any) -> Any:
    """A value as a table has it; numbers stay what they are."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text

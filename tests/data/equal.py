"""Two sets of graphs that must be the same to the last bit; texts may be stored wider. What RDKit tells."""

from __future__ import annotations

import re

import numpy as np
from rdkit import rdBase

from infograph import GraphSet
from infograph.data.schema import LEVELS


def assert_equal(left: GraphSet, right: GraphSet) -> None:
    assert left.schema == right.schema
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    for level in LEVELS:
        assert list(getattr(left, level)) == list(getattr(right, level))
        for name, values in getattr(left, level).items():
            other = getattr(right, level)[name]
            assert values.dtype == other.dtype or values.dtype.kind == other.dtype.kind == "U"
            np.testing.assert_array_equal(values, other)


def told(problem: str) -> str:
    """What is said of a SMILES; RDKit tells since 2024.9 what is wrong with it."""
    known = hasattr(rdBase, "CaptureErrorLog")
    return problem if known else re.sub(r"does not parse \(.*\)$", "does not parse", problem)

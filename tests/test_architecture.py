"""The walk of the data is the order of the packages: each imports only packages to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import infograph

ROOT = Path(infograph.__file__).parent
ORDER = [
    *("errors", "notebook", "io", "parameters", "progress", "jobs", "cells", "data", "nn", "objectives"),
    *("train", "estimators", "baselines", "evaluate", "index", "learn", "look", "report", "explore"),
    *("paper", "scale", "cli", "__main__"),
]
WITHOUT_TORCH = ("errors", "notebook", "io", "progress", "jobs", "cells", "data", "evaluate")
HEAVY = {"torch", "torch_geometric", "rdkit", "matplotlib"}
FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(nodes):
    """Every module that these nodes import, absolutely."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module.split(".")
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".") for name in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_the_left_and_never_to_pickle(path):
    tree, own = ast.parse(path.read_text()), part_of(path)
    for module, *parts in imported(ast.walk(tree)):
        assert module not in ("pickle", "dill", "shelve")
        if module == "infograph" and parts:
            assert ORDER.index(parts[0]) <= ORDER.index(own), f"{path.name} imports {parts}"
    if own in WITHOUT_TORCH:
        assert not HEAVY & {module for module, *_ in imported(tree.body)}

"""The walk of the data is the order of the packages: each imports only packages to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import infograph

ROOT = Path(infograph.__file__).parent
ORDER = [
    "errors",
    "io",
    "parameters",
    "progress",
    "jobs",
    "cells",
    "data",
    "nn",
    "objectives",
    "train",
    "estimators",
    "baselines",
    "evaluate",
    "index",
    "learn",
    "look",
    "report",
    "explore",
    "paper",
    "scale",
    "cli",
    "__main__",
]
WITHOUT_TORCH = ("errors", "io", "progress", "jobs", "cells", "data", "evaluate")
FILES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    """Every module that a file imports, wherever in the file it does."""
    modules = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
    return modules


def test_every_package_has_its_place():
    assert {part_of(path) for path in FILES} - {"__init__"} <= set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_the_left(path):
    own = part_of(path)
    if own == "__init__":
        return
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "infograph" and len(parts) > 1:
            assert ORDER.index(parts[1]) <= ORDER.index(own), f"{path.name} imports {module}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if part_of(p) in WITHOUT_TORCH], ids=lambda p: str(p.relative_to(ROOT))
)
def test_data_and_evaluation_need_no_torch(path):
    top_level = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or "" for node in top_level
    }
    assert not [
        name for name in names if name.split(".")[0] in ("torch", "torch_geometric", "rdkit", "matplotlib")
    ]


def test_no_pickle_anywhere():
    for path in FILES:
        assert not [
            module for module in imported(path) if module.split(".")[0] in ("pickle", "dill", "shelve")
        ]

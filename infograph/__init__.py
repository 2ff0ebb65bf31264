"""Whole graphs to vectors, a few labels to predictions.

    from infograph import InfoGraph, load_dataset

    graphs = load_dataset("MUTAG")
    vectors = InfoGraph().fit_transform(graphs)

Public names are those of `__init__.pyi`, imported when first used, so that `import infograph` is quick.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOME = {
    each.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for each in node.names
}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'infograph' has no attribute {name!r}")
    return getattr(importlib.import_module(str(_HOME[name])), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

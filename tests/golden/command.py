"""The command `infograph` in this process, wherever pyproject.toml says that it is."""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def infograph(*arguments: str | Path) -> int:
    """Run it and give its exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["infograph"].partition(":")
    run: Callable[[list[str]], int] = getattr(importlib.import_module(module), name)
    return run([str(argument) for argument in arguments])


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """What it prints with `--json`."""
    capsys.readouterr()
    code = infograph(*arguments, "--json")
    found = capsys.readouterr()
    assert code == 0, found.err
    return json.loads(found.out)

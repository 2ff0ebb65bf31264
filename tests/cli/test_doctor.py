"""`infograph doctor` says what is there and what is missing, with the command that installs it."""

from __future__ import annotations

import importlib.metadata
import json
import os

import psutil
import pytest
import torch

from infograph.cli import main


def told(capsys) -> dict:
    assert main(["doctor", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_is_installed(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    found = told(capsys)
    assert found["extras"]["core"]["installed"]["numpy"] == importlib.metadata.version("numpy")
    assert found["extras"]["chem"] == {
        "installed": {"rdkit": importlib.metadata.version("rdkit")},
        "missing": [],
    }
    assert not {"all", "dev"} & set(found["extras"])
    assert found["machine"]["threads"] == torch.get_num_threads()
    assert found["machine"]["memory_gb"] == pytest.approx(psutil.virtual_memory().total / 2**30)
    assert found["cache"]["folder"] == str(tmp_path / "cache") and found["cache"]["writable"]
    assert not (tmp_path / "cache").exists()  # it looks, and leaves nothing
    assert "MUTAG" in found["data"]["found"] and found["problems"] == []
    assert main(["doctor"]) == 0
    assert "rdkit" in capsys.readouterr().out


def test_what_is_missing_or_too_old(capsys, monkeypatch):
    real = importlib.metadata.version

    def version(name):
        if name in ("rdkit", "pooch"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.10.2" if name == "scipy" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = told(capsys)
    assert found["extras"]["chem"] == {
        "installed": {},
        "missing": ["rdkit"],
        "command": "pip install 'infograph[chem]'",
    }
    assert sorted(found["problems"]) == [
        "pooch is missing: pip install 'pooch>=1.8'",
        "scipy 1.10.2 is older than 1.12: pip install -U 'scipy>=1.12'",
    ]


def test_folders_that_do_not_work(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("INFOGRAPH_DATA", str(tmp_path / "absent"))
    found = told(capsys)
    assert [each.split(str(os.sep))[0] for each in found["problems"]] == ["INFOGRAPH_DATA is ", "the cache "]
    assert main(["doctor"]) == 0
    assert "Problem: the cache" in capsys.readouterr().out

"""The public names, and that getting at them is cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import infograph


@pytest.mark.parametrize("name", infograph.__all__)
def test_every_public_name_is_there(name):
    assert getattr(infograph, name) is not None
    assert name in dir(infograph)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'InfoGrahp'"):
        _ = infograph.InfoGrahp


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"torch", "numpy", "sklearn", "pyarrow", "rdkit"}
    code = f"import sys, infograph; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_package_says_that_it_is_typed():
    assert (Path(infograph.__file__).parent / "py.typed").is_file()

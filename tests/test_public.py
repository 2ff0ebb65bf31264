"""The public names, and that getting at them is cheap."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import infograph
from infograph import errors
from infograph.errors import InfoGraphError, InvalidGraph, MissingExtra, NothingLeft

PLAIN = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, InfoGraphError)]
KNOWING = [
    MissingExtra("ray", "scale"),
    InvalidGraph("empty", index=3, graph_id="x"),
    NothingLeft("no", 5, ["a"]),
]


def test_every_public_name_is_there():
    for name in infograph.__all__:
        assert getattr(infograph, name) is not None and name in dir(infograph)
    with pytest.raises(AttributeError, match="no attribute 'InfoGrahp'"):
        _ = infograph.InfoGrahp
    assert (Path(infograph.__file__).parent / "py.typed").is_file()


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"torch", "numpy", "sklearn", "pyarrow", "rdkit"}
    code = f"import sys, infograph; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "error", [*(each("no") for each in PLAIN if each is not MissingExtra), *KNOWING], ids=repr
)
def test_an_error_keeps_its_class_its_words_and_what_it_knows(error):
    """Errors cross from one process to another."""
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error) and str(found) == str(error) and vars(found) == vars(error)

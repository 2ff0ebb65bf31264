"""Help: every verb and example exists, defaults are those of the estimators, nothing heavy is imported."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
from typing import get_args, get_type_hints

import pytest
import typer.main

from infograph import ENN, GIN, InfoGraph, InfoGraphRegressor, __version__
from infograph.cli.app import app
from infograph.cli.options import ColumnOptions, LabelOptions, ModelOptions
from infograph.parameters import described


def verbs(command, words=()):
    """All verbs below a command, by the words that call them."""
    for name, each in getattr(command, "commands", {}).items():
        yield (*words, name), each
        yield from verbs(each, (*words, name))


VERBS = {words: verb for words, verb in verbs(typer.main.get_command(app)) if not hasattr(verb, "commands")}
EXAMPLE = re.compile(r"\[bold\](infograph .*?)\[/bold\]")
EXAMPLES = {verb: EXAMPLE.findall(inspect.cleandoc(command.help)) for verb, command in VERBS.items()}


def test_version_and_help(run):
    assert run("--version").out == f"infograph {__version__}\n"
    listed = run().out
    for verb in VERBS:
        shown = run(*verb, "--help")
        assert shown.code == 0 and f"infograph {' '.join(verb)} " in shown.out and verb[0] in listed
        assert not re.search(r"\S\n\S", inspect.cleandoc(VERBS[verb].help))  # the terminal breaks lines


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from infograph.cli import main; main(['--help']); "
        "print(sorted({'torch', 'sklearn', 'scipy', 'matplotlib', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_examples_are_commands(verb):
    assert EXAMPLES[verb]
    for text in EXAMPLES[verb]:
        _, *words = shlex.split(text)
        called = verb if tuple(words[: len(verb)]) == verb else tuple(words[:1])
        VERBS[called].make_context(" ".join(called), words[len(called) :]).close()


@pytest.mark.parametrize(
    "text", [text for verb in VERBS if verb[0] == "reproduce" for text in EXAMPLES[verb]]
)
def test_names_in_examples_of_reproduce_exist(text, run, tmp_path, monkeypatch):
    """They are called as they stand, with no time to compute anything."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(text)[1:]
    done = run(*words, *(("--budget", "0.001s") if words[1] not in ("status", "report") else ()))
    assert done.code == 0, done.err


def shown_defaults(options):
    """What the help says that the defaults are, by option."""
    hints = get_type_hints(options, include_extras=True)
    found = {name: get_args(hint)[1].show_default for name, hint in hints.items()}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def test_defaults_are_those_of_the_estimators():
    assert ModelOptions().estimator(ColumnOptions()).get_params() == InfoGraph().get_params()
    model, grid = LabelOptions("y").estimator("regression", ModelOptions(), ColumnOptions())
    assert (model.get_params(), grid) == (InfoGraphRegressor().get_params(), {})
    plain, labels = described(InfoGraph()), described(InfoGraphRegressor())
    own, learning = shown_defaults(ModelOptions), shown_defaults(LabelOptions)
    for name, text in own.items():
        first, _, second = text.partition(", with --target ")
        if name in ("seed", "norm", "layers", "memory_mb"):
            continue
        assert first == str(plain[name]) or float(first) == plain[name], name
        other = second or first
        assert name not in labels or other == str(labels[name]) or float(other) == labels[name], name
    for name in ("lam", "early_stopping", "n_models"):
        assert float(learning[name]) == labels[name]
    assert learning["transfer"] == labels["transfer"]
    assert own["layers"] == f"{GIN().layers}, of enn-s2s {ENN().layers}"

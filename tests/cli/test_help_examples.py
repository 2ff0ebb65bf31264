"""Every example in a help is a command that exists, with options that exist."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import infograph.cli
from infograph.cli.app import app
from tests.cli.conftest import Run

EXAMPLE = re.compile(r"\[bold\](infograph .*?)\[/bold\]", re.DOTALL)


def verbs(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All verbs below a command, by the words that call them."""
    for name, each in getattr(command, "commands", {}).items():
        yield (*words, name), each
        yield from verbs(each, (*words, name))


VERBS = dict(verbs(typer.main.get_command(app)))
EXAMPLES = [
    (verb, " ".join(found.split()))
    for verb, command in VERBS.items()
    for found in EXAMPLE.findall(inspect.cleandoc(command.help or ""))
]
OWN = [text for verb, text in EXAMPLES if verb[0] == "reproduce"]


def test_all_examples_of_the_source_are_seen() -> None:
    """Those of functions that are no verb would be seen by nobody."""
    files = Path(infograph.cli.__file__).parent.glob("*.py")
    written = [text for path in files for text in EXAMPLE.findall(path.read_text(encoding="utf-8"))]
    assert len(EXAMPLES) == len(written) > 20
    leaves = {verb for verb, command in VERBS.items() if not hasattr(command, "commands")}
    assert leaves == {verb for verb, _ in EXAMPLES}  # none has no example


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES])
def test_the_verb_and_the_options_of_an_example_exist(text: str) -> None:
    _, *words = shlex.split(text)
    verb = next((each for n in (2, 1) if (each := tuple(words[:n])) in VERBS), ())
    assert verb, f"there is no verb {words[0]!r}"
    command, rest = VERBS[verb], words[len(verb) :]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.partition("=")[0] for word in rest if word.startswith("-")} <= known
    context = command.make_context(" ".join(verb), list(rest))  # as typed: values and arguments too
    context.close()


@pytest.mark.parametrize("text", OWN)
def test_names_in_examples_of_reproduce_exist(
    text: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are called as they stand, with no time to compute anything."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(text)[1:]
    budget = ("--budget", "0.001s") if words[1] not in ("status", "report") else ()
    done = run(*words, *budget)
    assert done.code == 0, done.err

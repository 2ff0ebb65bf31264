"""Children that say what they should not: they are heard to their end, and lost with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from infograph.jobs import Children, Said
from tests.workers.processes import PATIENCE

GOOD = "print('{\"good\": 1}', flush=True)\n"


def hear(folder: Path, program: str) -> list[Said]:
    """All that a child says until it is lost."""
    (folder / "babbler.py").write_text(program)
    children = Children("babbler", {"PYTHONPATH": str(folder)})
    heard: list[Said] = []
    try:
        children.start("go")
        while not any(said.content is None for said in heard):
            said = children.listen(PATIENCE)
            assert said, "its loss was never told"
            heard += said
    finally:
        children.close()
    return heard


@pytest.mark.parametrize(
    ("babble", "kept"),
    [
        ("print('no json')\n", "no json"),
        ("print('null')\n", "null"),  # JSON, but no object
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n')\n", "��"),
    ],
)
def test_a_line_that_is_no_json_object_is_a_complaint(tmp_path: Path, babble: str, kept: str) -> None:
    assert hear(tmp_path, GOOD + babble + GOOD) == [
        Said(0, {"good": 1}),
        Said(0, {"good": 1}),
        Said(0, lost=kept),
    ]


def test_what_stands_on_standard_error_is_the_better_reason(tmp_path: Path) -> None:
    *_, last = hear(tmp_path, "print('no json')\nraise KeyError('x')\n")
    assert last.lost == "KeyError: 'x'"


def test_a_child_without_a_word_has_its_exit_code(tmp_path: Path) -> None:
    assert hear(tmp_path, "raise SystemExit(3)\n") == [Said(0, lost="exit code 3")]

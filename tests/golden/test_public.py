"""What users call is what `public.txt` and `commands.txt` list: no call, option or default changes unseen."""

from __future__ import annotations

import difflib

import pytest

from tests.golden.make_listing import HERE, listings


@pytest.mark.parametrize("name", ["public.txt", "commands.txt"])
def test_what_users_call_is_as_listed(name):
    listed, today = (HERE / name).read_text(encoding="utf-8"), listings()[name]
    if listed != today:
        lines = (text.splitlines(keepends=True) for text in (listed, today))
        difference = "".join(difflib.unified_diff(*lines, f"{name} as listed", f"{name} today", n=2))
        pytest.fail(
            f"{difference}\nIf this change is meant: python -m tests.golden.make_listing, a line in "
            f"CHANGELOG.md, and both go into the commit.",
            pytrace=False,
        )

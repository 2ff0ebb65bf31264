"""How long jobs on data tell how far they are."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called now and then with what is done and what there is in all, in one unit: bytes of a download (0 in all
where that is not known), graphs of a set that is parsed. A new job starts again at a smaller number."""

"""Tables as Markdown and HTML: users' text is text in both."""

from __future__ import annotations

import pytest

from infograph.report.pages import Sheet, as_markdown, bar, render, signed, text


def test_sheets_are_plain_text_in_both_forms() -> None:
    sheet = Sheet(("a|b", "c"), ((text("x*", "", "<y>", ""), text("1", bold=True)), (text("z"), bar(12.34))))
    assert as_markdown(sheet).splitlines() == [
        "| a\\|b | c |",
        "|---|--:|",
        "| x\\*<br><br>&lt;y> | **1** |",
        "| z |  |",
    ]
    page = render("comparison.html", title="T & <S>", sheet=sheet, notes=["a <note>"])
    for expected in (
        "<title>T &amp; &lt;S&gt;</title>",
        "<small></small><small>&lt;y&gt;</small>",
        "<strong>1</strong>",
        'style="width:12.3%"',
        "<li>a &lt;note&gt;</li>",
    ):
        assert expected in page


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.0001, "0.00"), (0.001, "0.00"), (1.239, "+1.24"), (-2.0, "-2.00")]
)
def test_a_difference_that_rounds_to_zero_has_no_sign(value: float, shown: str) -> None:
    assert signed(value, 2) == shown

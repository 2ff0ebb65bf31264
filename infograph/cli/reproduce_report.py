"""`infograph reproduce report`: the paper's tables beside ours, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infograph.cli.options import AsJson
from infograph.cli.output import print_json, show
from infograph.cli.reproduce_running import RESULTS, Results


def report(
    results: Results = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for report.html and tables.md.",
            show_default="DIR/report of --results",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write both tables beside the paper's, from the results that are there; nothing is computed.

    Leaves report.html and tables.md in DIR. What was not run stays empty.

    Example: [bold]infograph reproduce report --out runs/report[/bold]
    """
    from infograph.report.reproduction import write_report

    written = write_report(results, results / "report" if out is None else out)
    if as_json:
        print_json({"page": written.page, "tables": written.tables, "summary": written.summary})
        return
    for sentence in written.summary:
        show(sentence)
    show(f"Report: {written.page}")

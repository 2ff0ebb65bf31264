"""`infograph reproduce status`: how far the tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infograph.cli.options import AsJson
from infograph.cli.output import print_json, print_table, show
from infograph.cli.reproduce_running import RESULTS, Results

if TYPE_CHECKING:
    from infograph.reproduce.status import Standing


def status(results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Show how many cells of each table are done, and how long the others will take.

    Times are those of equal cells that are done, one after the other. --json has every method on its own.

    Example: [bold]infograph reproduce status[/bold]
    """
    from infograph.reproduce.status import standings, total

    found = standings(results)
    if as_json:
        keys = ("table", "column", "row")
        print_json([{key: getattr(e, key) for key in keys} | vars(e.outlook) for e in found])
        return
    rows: list[tuple[str, ...]] = []
    for table in dict.fromkeys(each.table for each in found):
        mine = [each for each in found if each.table == table]
        whole = total([each.outlook for each in mine])
        rows.append((table, f"{whole.done}/{whole.cells}", str(whole), ""))
        for column in dict.fromkeys(each.column for each in mine):
            part = [each for each in mine if each.column == column]
            state = total([each.outlook for each in part])
            rows.append((f"  {column}", f"{state.done}/{state.cells}", str(state), _missing(part)))
    print_table(("", "done", "time left", "of it"), rows, texts=(2, 3))
    show("Times are for one cell after the other.")


def _missing(part: list[Standing]) -> str:
    """The methods that are not done, with their cells; those with nothing at all just by name."""
    texts = []
    for each in part:
        state = each.outlook
        if state.done < state.cells:
            texts.append(f"{each.row} {state.done}/{state.cells}" if state.done else each.row)
    return ", ".join(texts) if len(texts) < len(part) or any("/" in each for each in texts) else "all"

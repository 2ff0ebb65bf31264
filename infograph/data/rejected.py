"""What could not be read, as a table for whoever has to mend the file."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from infograph.data.graphset import GraphSet, Rejected
from infograph.data.storage import replaced_file

HEADER = ("place", "position", "id", "problem")
PLACE = re.compile(r"(line \d+|row \d+|record \d+ \(line \d+\)|file [^:]+): (.*)", flags=re.DOTALL)


def place_of(rejected: Rejected) -> tuple[str, str]:
    """Where a rejected input stands in its file, such as "line 7", and what is wrong with it.

    The place is empty for what does not come from a file.
    """
    found = PLACE.fullmatch(rejected.problem)
    return ("", rejected.problem) if found is None else (found[1], found[2])


def write_rejected(graphs: GraphSet, path: str | Path) -> Path:
    """Write what `errors="skip"` left out to a CSV file; only a header says that all was well.

    Columns: `place` (the line of a CSV, TSV, SMILES or JSON file, the row of a Parquet file, the record and
    its line in an SDF file), `position` among the inputs, counted from 0, the user's `id`, the `problem`.

    Do it before the set is sliced: parts of a set do not know what was left out.
    """
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for rejected in graphs.rejected:
            place, problem = place_of(rejected)
            writer.writerow([place, rejected.index, rejected.graph_id, problem])
    return Path(path)

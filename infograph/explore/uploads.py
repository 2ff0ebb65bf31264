"""A file that a user chose in the page -> graphs. Its name gives only the ending; sizes are checked first.

Archives and Parquet are not taken: a few bytes of them can hold more than memory does.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from infograph.data.files import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES
from infograph.data.formats.network_files import EDGE_LISTS, XML
from infograph.data.graphset import GraphSet
from infograph.explore.explorer import Explorer
from infograph.explore.limits import Limits
from infograph.explore.queries import check_count, check_json, check_size, read_text
from infograph.explore.refusals import Refusal
from infograph.explore.strict_json import strict_json

ENDINGS = tuple(dict.fromkeys((*SMILES_FILES, *TABLES, *SDF_FILES, *JSON_LINES, *XML, *EDGE_LISTS)))
RECORD = 8_000  # lines of one molecule in an SDF file
HEAD = re.compile(rb"smiles", re.IGNORECASE)


def read_upload(explorer: Explorer, name: str, body: bytes) -> GraphSet:
    """The graphs of a file, those that cannot be used in `rejected`.

    Raises:
        Refusal: 400, it cannot be read; 413, it holds too much; 415, no such files are read; 422, not one of
            its graphs is for this model.
    """
    if explorer.model is None:
        raise Refusal(422, "This index holds vectors and no model, so new graphs cannot be embedded.")
    ending = PurePosixPath(name.replace("\\", "/")).suffix.casefold()
    if ending not in ENDINGS:
        raise Refusal(
            415, f"Files of the kind {ending[:20]!r} are not taken; known are {', '.join(ENDINGS)}."
        )
    if not body.strip():
        raise Refusal(400, "The file is empty.")
    check_text(body, ending, explorer.limits)
    return read_text(explorer, body, ending, "the file", errors="skip")


def check_text(body: bytes, ending: str, limits: Limits) -> None:
    """Refuse what would take the readers too long, by looks that are quick.

    Raises:
        Refusal: 413.
    """
    lines = body.count(b"\n") + 1
    if ending in JSON_LINES:
        _check_json_lines(body, limits)
    elif ending in SDF_FILES:
        check_count(body.count(b"$$$$"), limits)
        longest = max(record.count(b"\n") for record in body.split(b"$$$$"))
        if longest > RECORD:
            raise Refusal(413, f"A molecule of {longest:,} lines; at most {RECORD:,} are taken.")
    elif ending in XML:
        check_size(len(re.findall(rb"<node[\s/>]", body)), len(re.findall(rb"<edge[\s/>]", body)), limits)
    else:
        _check_lines(body, lines, ending, limits)


def _check_json_lines(body: bytes, limits: Limits) -> None:
    lines = [line for line in body.split(b"\n") if line.strip()]
    check_count(len(lines), limits)
    graphs = []
    for line in lines:
        try:
            content = strict_json(line)
        except Refusal:
            if _is_lax_json(line):
                raise
            continue  # the reader lists it among the rejected ones
        if isinstance(content, dict) and isinstance(content.get("nodes"), int | list):
            graphs.append({"nodes": content["nodes"], "edges": _list(content.get("edges"))})
    check_json([graph for graph in graphs if not isinstance(graph["nodes"], bool)], limits)


def _is_lax_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _check_lines(body: bytes, lines: int, ending: str, limits: Limits) -> None:
    """Tables and lists: as many lines as graphs or edges, none of them endless."""
    molecules = ending in SMILES_FILES or HEAD.search(body[: body.find(b"\n") if b"\n" in body else None])
    if molecules:
        check_count(lines - 2, limits)  # without a header and the end of the last line
    else:
        check_size(0, lines - 2, limits)
    longest = max(map(len, body.splitlines()))
    if longest > 4 * limits.smiles:
        raise Refusal(413, f"A line of {longest:,} characters; at most {4 * limits.smiles:,} are taken.")

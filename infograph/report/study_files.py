"""The files a study leaves: model, vectors, map, results and report."""

from __future__ import annotations

import json
from pathlib import Path

from infograph.contract import check_model_folder
from infograph.data.embedding_files import write_embeddings
from infograph.data.storage import check_own, check_writable, replaced_file
from infograph.errors import InvalidParameter
from infograph.report.figures import draw_map
from infograph.report.html import render_report
from infograph.report.result import Study

FILES = ("embeddings.parquet", "map.png", "results.json", "report.html")


def check_study_folder(out: str | Path) -> None:
    """Make sure, before the work that leads to it, that a study can be written there.

    Raises:
        InvalidParameter: it is a file, `model` in it is a folder of other things, or a file has the name of
            one of ours.
        OSError: it cannot be made or written to.
    """
    out = Path(out)
    if out.is_file():
        raise InvalidParameter(f"{out} is a file; a study is written to a folder")
    check_own(out, FILES, "results.json", {"source", "graphs", "table", "settings"})
    check_writable(out / "report.html")
    check_model_folder(out / "model")


def write_study(study: Study, out: str | Path) -> dict[str, Path]:
    """Write everything a study found to the folder `out`, each file whole or not at all; other files stay.

    Returns:
        What each path holds.
    """
    out = Path(out)
    paths = {name.partition(".")[0]: out / name for name in ("model", *FILES)}
    study.model.save(paths["model"])
    write_embeddings(study.embeddings, paths["embeddings"])
    draw_map(study.points, study.labels, paths["map"], title=study.name, column=study.label)
    with replaced_file(paths["results"]) as work:
        work.write_text(json.dumps(study.to_dict(), indent=1) + "\n", encoding="utf-8")
    with replaced_file(paths["report"]) as work:
        work.write_text(render_report(study), encoding="utf-8")
    return paths

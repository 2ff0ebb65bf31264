"""What the site adds to the pages of this folder: the API reference, and files that lie elsewhere.

MkDocs calls the functions by their names.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # MkDocs is started from anywhere

from benchmarks.public_names import GROUPS  # noqa: E402

# Where a file lies, seen from docs/, and what it is called on the site.
ELSEWHERE = {
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CITATION.cff": "CITATION.cff",
    "../results/report/tables.md": "report.md",
    "../infograph/pretrained/molecules/README.md": "pretrained.md",
    "../benchmarks/results/suggest.json": "suggest.json",
}
TITLES = {
    "models": "Models",
    "encoders": "Encoders",
    "objectives": "Objectives and schedules",
    "own": "For a method of your own",
    "graphs": "Graphs",
    "splits": "Splits and duplicates",
    "judging": "Judging",
    "looking": "Searching and looking",
    "plots": "Figures",
    "kernels": "Kernels",
    "embeddings": "Embeddings",
    "predictors": "References that predict",
}


def on_files(files: Files, config: Any) -> Files:
    """Add a page of the reference per group of public names, and what lies elsewhere."""
    for place, name in ELSEWHERE.items():
        text = (ROOT / "docs" / place).read_text()
        # Seen from the repository's root, docs/ is where the site's pages are.
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    for group, names in GROUPS.items():
        entries = "\n\n".join(f"::: infograph.{name}" for name in names)
        text = f"# {TITLES.get(group, group.capitalize())}\n\n{entries}\n"
        files.append(File.generated(config, f"api/{group}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point to pages by their names on the site, and to the entries of public names."""
    for place, name in ELSEWHERE.items():
        markdown = markdown.replace(f"]({place}", f"]({name}")
    if page.file.src_uri == "reference.md":
        for name in (name for names in GROUPS.values() for name in names):
            markdown = markdown.replace(f"\n| `{name}` |", f"\n| [`{name}`][infograph.{name}] |")
    return markdown

"""What lies in dist/ is whole: python .ci/check_dist.py

The wheel has every file of the package and nothing else; the sources have every file that they should.
"""

from __future__ import annotations

import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def files(place: Path) -> set[str]:
    """All files at or below a place, seen from the repository."""
    found = place.rglob("*") if place.is_dir() else [place]
    kept = (path.relative_to(ROOT) for path in found if path.is_file() and "__pycache__" not in path.parts)
    return {path.as_posix() for path in kept if not any(part.startswith(".") for part in path.parts[:-1])}


def main() -> None:
    """Say what is missing or too much, and the sizes."""
    (wheel,), (sdist,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        sources = {member.name.partition("/")[2] for member in archive if member.isfile()}
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    wanted = set().union(*(files(ROOT / place) for place in included["sdist"]["include"]))
    wrong = {
        "missing in the wheel": files(ROOT / "infograph") - held,
        "too much in the wheel": held - files(ROOT / "infograph"),
        "missing in the sources": wanted - sources,
        "too much in the sources": sources - wanted - {"PKG-INFO", "pyproject.toml", ".gitignore"},
    }
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MB")
    if any(wrong.values()):
        sys.exit("\n".join(f"{what}: {', '.join(sorted(names))}" for what, names in wrong.items() if names))


if __name__ == "__main__":
    main()

"""The least versions that pyproject.toml allows, as constraints for pip: python .ci/minimum.py > minimum.txt

What is for developers only is left to pip: its least versions are not promised to anyone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
wanted = [*project["dependencies"]]
for extra, packages in project["optional-dependencies"].items():
    wanted += packages if extra not in ("all", "dev") else []
for each in sorted(set(wanted)):
    name, least = re.match(r"([\w.-]+)(?:\[[^]]*\])?>=([\d.]+)", each).groups()  # type: ignore[union-attr]
    print(f"{name}=={least}" + (".*" if least.count(".") < 2 else ""))

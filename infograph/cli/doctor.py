"""`infograph doctor`: what is installed here, what is missing, and what the machine offers."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import infograph
from infograph.cli import options as opt
from infograph.cli.output import Output, table

# A requirement of the wheel: numpy>=1.26, ray[client,train]>=2.40; extra == "scale"
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?")
SUMS = ("all", "dev")  # extras that are others together, and what developers use
GIB = 2**30


@opt.verb
def doctor() -> Output:
    """Say what is installed and what is missing, and which threads, memory, data sets and cache there are.

    What is missing comes with the command that installs it. Nothing is changed, sent or downloaded.

    Examples:
        infograph doctor
        infograph doctor --json
    """
    extras, wrong = _packages()
    machine, data, cache = _machine(), _data(), _cache()
    wrong += [each["problem"] for each in (machine, data, cache) if each["problem"]]
    content = {
        "infograph": infograph.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "folder": Path(infograph.__file__).parent,
        "extras": extras,
        "machine": machine,
        "data": data,
        "cache": cache,
        "problems": wrong,
    }
    return content, [table(("", ""), _rows(content), texts=(1,)), *(f"Problem: {each}." for each in wrong)]


def _rows(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    machine, data, cache = content["machine"], content["data"], content["cache"]
    yield "infograph", f"{content['infograph']}, {content['folder']}"
    yield "python", f"{content['python']}, {content['platform']}"
    for name, extra in content["extras"].items():
        there = ", ".join(f"{package} {version}" for package, version in extra["installed"].items())
        lacks = f"no {', '.join(extra['missing'])}: {extra['command']}" if extra["missing"] else ""
        yield name, "; ".join(filter(None, [there, lacks]))
    yield "cores", f"{machine['cores']}, {machine['threads']} threads"
    yield "memory", f"{machine['memory_gb']:.1f} GB, {machine['available_gb']:.1f} GB of it free"
    yield "GPU", f"{machine['gpu']}; untested" if machine["gpu"] else "none that torch can use"
    places: dict[str, list[str]] = {}
    for name, place in data["found"].items():
        places.setdefault(place, []).append(name)
    yield "data sets", "; ".join(f"{place}: {', '.join(names)}" for place, names in places.items()) or "none"
    yield "INFOGRAPH_DATA", str(data["folder"] or "not set")
    writable = "writable" if cache["writable"] else "not writable"
    yield "cache", f"{cache['folder']}, {writable}, {cache['free_gb']:.0f} GB free"


def _packages() -> tuple[dict[str, Any], list[str]]:
    """The packages of the core and of every extra, and what is wrong with them."""
    try:
        required = metadata.requires("infograph") or []
    except metadata.PackageNotFoundError:
        return {}, ["infograph runs from a folder and is not installed: pip install . in a clone"]
    found: dict[str, Any] = {}
    wrong = []
    for package, bounds, extra in (match.groups() for each in required if (match := REQUIREMENT.match(each))):
        if extra in SUMS:
            continue
        group = found.setdefault(extra or "core", {"installed": {}, "missing": []})
        version, least = _version(package), re.search(r">=([\d.]+)", bounds)
        if version is None:
            group["missing"].append(package)
            group["command"] = f"pip install '{package}{bounds.strip()}'"
            if extra:
                group["command"] = f"pip install 'infograph[{extra}]'"
            else:
                wrong.append(f"{package} is missing: {group['command']}")
            continue
        group["installed"][package] = version
        if least and _parts(version) < _parts(least[1]):
            wrong.append(
                f"{package} {version} is older than {least[1]}: pip install -U '{package}>={least[1]}'"
            )
    return found, wrong


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def _machine() -> dict[str, Any]:
    import psutil

    memory = psutil.virtual_memory()
    affinity = getattr(os, "sched_getaffinity", None)  # what this process may use; Linux only
    cores = len(affinity(0)) if affinity else os.cpu_count()
    found = {"cores": cores, "memory_gb": memory.total / GIB, "available_gb": memory.available / GIB}
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: its libraries do not load
        return {**found, "threads": None, "gpu": None, "problem": f"torch cannot be imported: {error}"}
    gpu = None
    if torch.cuda.is_available():
        gpu = ", ".join(torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count()))
    elif torch.backends.mps.is_available():
        gpu = "Apple's (mps)"
    return {**found, "threads": torch.get_num_threads(), "gpu": gpu, "problem": ""}


def _data() -> dict[str, Any]:
    from infograph.data.datasets import describe_datasets

    folder = os.environ.get("INFOGRAPH_DATA")
    found = {each.name: each.where for each in describe_datasets() if each.found}
    lost = folder and not Path(folder).is_dir()
    problem = f"INFOGRAPH_DATA is {folder}, where no folder is" if lost else ""
    return {"folder": folder, "found": found, "problem": problem}


def _cache() -> dict[str, Any]:
    from infograph.data.datasets import cache_folder

    folder = cache_folder()
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(above).free / GIB
    try:
        with tempfile.TemporaryFile(dir=above):  # it may be mounted read-only, whatever permissions say
            writable = True
    except OSError:
        writable = False
    lost = f"the cache {folder} cannot be written: INFOGRAPH_CACHE names another folder"
    return {"folder": folder, "writable": writable, "free_gb": free, "problem": "" if writable else lost}

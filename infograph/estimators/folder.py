"""The folder of a saved model, file by file.

`config.json` (class, settings, version, checksum, and what was learned besides arrays),
`model.safetensors` (the arrays), `schema.json` (what the graphs must look like), `history.json` and
`README.md`, a card for people; after `infograph train --target` also `results.json` and `report.html`, how
good it is. No pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from infograph.data.schema import Schema
from infograph.errors import FileMissing, InvalidFile
from infograph.io import FolderKind, read_json, replaced_folder
from infograph.parameters import nested

FORMAT = "infograph-model-2"
OLD = "infograph-model-1"  # had the parameters of encoder, objective and schedule among the others
State = dict[str, NDArray[Any]]
History = list[dict[str, float]]
Content = TypeVar("Content")
FILES = ("model.safetensors", "schema.json", "history.json", "README.md", "results.json", "report.html")
PRETRAINED = Path(__file__).parent.parent / "pretrained"
MODEL = FolderKind("a model", "config.json", (FORMAT, OLD), lambda content: FILES)


def write_model(
    folder: str | Path, config: dict[str, Any], state: State, schema: Schema, history: History, card: str
) -> None:
    """Write all files of a model, whole or not at all; `config` gets the format and the checksum."""
    weights = save_tensors({name: np.ascontiguousarray(value) for name, value in state.items()})
    config = {"format": FORMAT, **config, "sha256": hashlib.sha256(weights).hexdigest()}
    with replaced_folder(folder, MODEL) as work:
        (work / "model.safetensors").write_bytes(weights)
        for name, content in (("config", config), ("schema", schema.to_dict()), ("history", history)):
            (work / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        (work / "README.md").write_text(card, encoding="utf-8", errors="replace")


def model_folder(name: str | Path) -> Path:
    """The folder of a model: a path, or one that the package carries by its name, unless there is a path."""
    known = not Path(name).exists() and str(name) in pretrained_names()
    return carried_folder(str(name)) if known else Path(name)


def carried_folder(name: str) -> Path:
    """The folder of a model that the package carries, whatever lies in the folder one works in."""
    return PRETRAINED / name


def pretrained_names() -> list[str]:
    """Models that the package carries."""
    return sorted(path.parent.name for path in PRETRAINED.glob("*/config.json"))


def read_config(folder: Path) -> dict[str, Any]:
    """What `config.json` says: class, version, settings as today, checksum, the rest of what was learned."""
    if not folder.is_dir():
        carried = ", ".join(pretrained_names())
        also = f", nor a model of the package ({carried})" if carried and folder.name == str(folder) else ""
        raise FileMissing(f"no model folder {folder}{also}")
    path = folder / "config.json"
    if not path.is_file() and str(folder) in pretrained_names():
        raise FileMissing(
            f"the folder {folder} here holds no model and hides the one of the package: rename the folder"
        )
    config = read_json(path)
    if config.get("format") not in MODEL.form or not {"class", "params", "sha256", "version"} <= set(config):
        raise InvalidFile(f"{path} is not a saved model of this package")
    for name in ("params", "learned"):
        if not isinstance(config.setdefault(name, {}), dict):
            raise InvalidFile(f"{path} is damaged: {name!r} is no JSON object")
    return config


def read_model(folder: Path) -> tuple[dict[str, Any], Schema, History, State]:
    """All that `write_model` wrote but the card; the settings as this version has them."""
    config = read_config(folder)
    if config["format"] == OLD:
        try:
            config["params"] = nested(config["class"], config["params"])
        except KeyError as error:
            raise InvalidFile(f"{folder} is damaged: a model of version 1 without {error}") from error

    def arrays(content: bytes) -> State:
        if hashlib.sha256(content).hexdigest() != config["sha256"]:
            raise ValueError("its checksum is not the one in config.json")
        try:
            return load_tensors(content)
        except KeyError as error:
            raise ValueError(f"its numbers are of the type {error}, which no model has") from error

    def epochs(content: bytes) -> History:
        history: History = json.loads(content)
        if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
            raise ValueError("expected a list of epochs")
        return history

    schema = _read(folder / "schema.json", lambda content: Schema.from_dict(json.loads(content)))
    state = _read(folder / "model.safetensors", arrays)
    return config, schema, _read(folder / "history.json", epochs), state


def _read(path: Path, read: Callable[[bytes], Content]) -> Content:
    try:
        return read(path.read_bytes())
    except FileNotFoundError as error:
        raise FileMissing(f"{path} is missing: save the model again") from error
    except (SafetensorError, ValueError, RecursionError) as error:
        raise InvalidFile(f"{path} is damaged: {error}; save the model again") from error

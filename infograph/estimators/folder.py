"""The folder of a saved model, file by file.

`config.json` (class, settings, version, checksum, and what was learned besides arrays),
`model.safetensors` (the arrays), `schema.json` (what the graphs must look like), `history.json` and
`README.md`, a card for people. No pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from infograph.data.schema import Schema
from infograph.errors import FileMissing, InvalidFile
from infograph.io import FolderKind, check_replaceable, read_json, replaced_folder
from infograph.parameters import nested

FORMAT = "infograph-model-2"
OLD = ("infograph-model-1",)
State = dict[str, NDArray[Any]]
FILES = ("model.safetensors", "schema.json", "history.json", "README.md")
MODEL = FolderKind("a model", "config.json", (FORMAT, *OLD), lambda content: FILES)


def write_model(
    folder: str | Path,
    config: dict[str, Any],
    state: State,
    schema: Schema,
    history: list[dict[str, float]],
    card: str,
) -> None:
    """Write all files of a model, whole or not at all; `config` gets the format and the checksum."""
    weights = save_tensors({name: np.ascontiguousarray(value) for name, value in state.items()})
    config = {"format": FORMAT, **config, "sha256": hashlib.sha256(weights).hexdigest()}
    with replaced_folder(folder, MODEL) as work:
        (work / "model.safetensors").write_bytes(weights)
        (work / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        (work / "schema.json").write_text(json.dumps(schema.to_dict(), indent=1) + "\n")
        (work / "history.json").write_text(json.dumps(history, indent=1) + "\n")
        (work / "README.md").write_text(card, encoding="utf-8", errors="replace")


def check_model_folder(folder: str | Path) -> None:
    """Make sure, before the work that leads to it, that a model can be saved there: `check_replaceable`."""
    check_replaceable(folder, MODEL)


def read_config(folder: Path) -> dict[str, Any]:
    """What `config.json` says: class, version, settings, checksum, and the rest of what was learned."""
    if not folder.is_dir():
        raise FileMissing(f"no model folder {folder}")
    config = read_json(folder / "config.json")
    if config.get("format") not in (FORMAT, *OLD) or not {"class", "params", "sha256", "version"} <= set(
        config
    ):
        raise InvalidFile(f"{folder / 'config.json'} is not a saved model of this package")
    if not isinstance(config["params"], dict):
        raise InvalidFile(f"{folder / 'config.json'} is damaged: 'params' holds no settings")
    if not isinstance(config.setdefault("learned", {}), dict):
        raise InvalidFile(f"{folder / 'config.json'} is damaged: 'learned' is no JSON object")
    return config


def up_to_date(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model of any version as this one has them."""
    params: dict[str, Any] = config["params"]
    return update_1_to_2(config["class"], params) if config["format"] == OLD[0] else params


def update_1_to_2(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Version 1 had the parameters of encoder, objective and schedule in one list with the others."""
    try:
        return nested(name, params)
    except KeyError as error:
        raise InvalidFile(f"a model of version 1 without the setting {error}: it is damaged") from error


def read_schema(path: Path) -> Schema:
    """What the graphs must look like."""
    content = read_json(path)
    try:
        return Schema.from_dict(content)
    except InvalidFile as error:
        raise InvalidFile(f"{path} is damaged, {error}; save the model again") from error


def read_history(path: Path) -> list[dict[str, float]]:
    """One record per epoch; none where nothing was trained."""
    if not path.is_file():
        return []
    try:
        history = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(f"{path} is damaged, it holds no JSON: {error}; save the model again") from error
    if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
        raise InvalidFile(f"{path} is damaged: expected a list of epochs; save the model again")
    return history


def read_weights(path: Path, expected: str) -> State:
    """The learned arrays, once their checksum is the `expected` one."""
    if not path.is_file():
        raise FileMissing(f"{path} is missing: save the model again")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        raise InvalidFile(
            f"{path} is damaged: its checksum is not the one in config.json; save the model again"
        )
    try:
        state: State = load_tensors(content)
    except SafetensorError as error:
        raise InvalidFile(f"{path} is damaged ({error}); save the model again") from error
    return state

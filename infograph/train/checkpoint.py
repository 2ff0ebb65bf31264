"""One file with a training run after an epoch: weights, optimiser, history. Written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from infograph.data.storage import check_folder
from infograph.errors import FileMissing, InvalidFile, InvalidParameter

FILE = "checkpoint.safetensors"


def write_checkpoint(
    folder: str | Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: dict[str, Any],
    best: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write the state after an epoch.

    Args:
        folder: where to; there is one checkpoint in a folder.
        network, optimiser: as they are now.
        run: what identifies and describes the run, JSON-ready.
        best: the weights of the best epoch so far, where there is a best one.
    """
    folder = Path(folder)
    check_folder(folder)
    states = {"network": network.state_dict(), "best": best or {}}
    tensors = {
        f"{kind}.{name}": tensor.contiguous().cpu()
        for kind in states
        for name, tensor in states[kind].items()
    }
    for position, state in optimiser.state_dict()["state"].items():
        tensors.update({f"optimiser.{position}.{key}": value.contiguous() for key, value in state.items()})
    partial = folder / f".{FILE}.{os.getpid()}"
    save_file(tensors, partial, metadata={"run": json.dumps(run)})
    partial.replace(folder / FILE)
    return folder / FILE


def read_checkpoint(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description of a run.

    Raises:
        FileMissing: there is no checkpoint.
        InvalidFile: it is damaged.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileMissing(f"no checkpoint in {folder}: {FILE} is missing; start without resume")
    try:
        with safe_open(path, framework="pt") as file:
            run = json.loads(file.metadata()["run"])
            return {name: file.get_tensor(name) for name in file.keys()}, run  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{path} is damaged ({error}); start without resume") from error


def load_weights(network: nn.Module, weights: dict[str, Tensor]) -> None:
    """Give a network its weights.

    Raises:
        InvalidParameter: they are of another network.
    """
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise InvalidParameter(f"the saved weights do not fit this encoder: {reason}") from error


def restore(
    tensors: dict[str, Tensor], network: nn.Module, optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Put a checkpoint's tensors back in place, and give the best weights so far, if it has some.

    Raises:
        InvalidParameter: the network has another shape than the checkpoint's.
    """
    load_weights(network, _of_kind(tensors, "network"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, position, key = name.split(".")
            state.setdefault(int(position), {})[key] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
    return _of_kind(tensors, "best")


def _of_kind(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{kind}."): t for name, t in tensors.items() if name.startswith(f"{kind}.")}

"""One file with a training run after an epoch: weights, optimiser, history. Written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.io import replaced_file

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
    states = {"network": network.state_dict(), "best": best or {}}
    tensors = {
        f"{kind}.{name}": tensor.contiguous().cpu()
        for kind in states
        for name, tensor in states[kind].items()
    }
    for position, state in optimiser.state_dict()["state"].items():
        tensors.update({f"optimiser.{position}.{key}": value.contiguous() for key, value in state.items()})
    with replaced_file(folder / FILE) as partial:
        save_file(_separate(tensors), partial, metadata={"run": json.dumps(run)})
    return folder / FILE


def kept_epochs(folder: str | Path) -> int | None:
    """Epochs of the checkpoint in a folder, or of the first network of several; None where there is none."""
    for place in (Path(folder), Path(folder) / member_folder(0)):
        if (place / FILE).is_file():
            return len(read_checkpoint(place)[1]["history"])
    return None


def member_folder(member: int) -> str:
    """The folder inside a run's folder that is network number `member`'s of several."""
    return f"model-{member + 1}"


def _separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors, none of which shares memory with another: tied weights are written twice."""
    seen: set[int] = set()
    apart = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        apart[name] = tensor.clone() if place in seen else tensor
        seen.add(place)
    return apart


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

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
MEMBER = "model-{}"  # the folder inside a run's folder of one network of several, counted from 1


def write_checkpoint(
    folder: str | Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: dict[str, Any],
    best: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the state after an epoch: `run` describes it, `best` are the weights of the best epoch so far."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in (best or {}).items()}
    for position, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{position}.{key}": value for key, value in state.items()}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        tensors[name] = tensor.contiguous().cpu()
        place = tensors[name].untyped_storage().data_ptr()
        if place in seen:  # tied weights are written twice
            tensors[name] = tensors[name].clone()
        seen.add(place)
    with replaced_file(Path(folder) / FILE) as partial:
        save_file(tensors, partial, metadata={"run": json.dumps(run)})


def read_checkpoint(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description of a run."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileMissing(f"no checkpoint in {folder}: {FILE} is missing; start without resume")
    try:
        with safe_open(path, framework="pt") as file:
            run = json.loads(file.metadata()["run"])
            return {name: file.get_tensor(name) for name in file.keys()}, run  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{path} is damaged ({error}); start without resume") from error


def kept_epochs(folder: str | Path) -> int | None:
    """Epochs of the checkpoint in a folder, or of the first network of several; None where there is none."""
    for place in (Path(folder), Path(folder) / MEMBER.format(1)):
        if (place / FILE).is_file():
            return len(read_checkpoint(place)[1]["history"])
    return None


def restore(
    tensors: Mapping[str, Tensor], network: nn.Module, optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Put a checkpoint's tensors back in place, and give the best weights so far, if it has some."""
    kinds: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "optimiser": {}}
    for name, tensor in tensors.items():
        kind, _, own = name.partition(".")
        kinds[kind][own] = tensor
    load_weights(network, kinds["network"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in kinds["optimiser"].items():
        position, key = name.split(".")
        state.setdefault(int(position), {})[key] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
    return kinds["best"]


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a network its weights, which must be of such a network."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise InvalidParameter(
            f"the saved weights do not fit this encoder and objective: {reason}"
        ) from error

"""One file with a training run after an epoch: weights, optimiser, history. Written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.io import replaced_file

UNFIT = "the saved weights do not fit this encoder and objective"
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
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
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
    _compare(network, weights)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InvalidParameter(f"{UNFIT}: {str(error).splitlines()[-1].strip()}") from error


def check_weights(make: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> None:
    """Compare weights with a network before it is made: the settings of a damaged file may be of any size."""
    try:
        with torch.device("meta"):  # shapes without numbers
            network = make()
    except (RuntimeError, TypeError):  # code of the user's own that needs numbers
        return
    _compare(network, weights)


def _compare(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, own in network.state_dict().items():
        if name not in weights:
            raise InvalidParameter(f"{UNFIT}: {name} is missing")
        found = weights[name]
        if not isinstance(own, Tensor) or is_lazy(own):
            continue
        fits = found.shape == own.shape or found.numel() == own.dim() + 1 == 1  # old files have [1] for []
        if not fits or found.dtype != own.dtype:  # torch would round to the other type
            kinds = [f"{tensor.dtype} of shape {list(tensor.shape)}" for tensor in (found, own)]
            raise InvalidParameter(f"{UNFIT}: {name} holds {kinds[0]}, expected {kinds[1]}")

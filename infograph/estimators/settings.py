"""Checks of an estimator's settings, made in `fit` as scikit-learn asks."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, get_args

import torch
from torch import nn

from infograph.data.labels import check_unlabelled
from infograph.errors import InvalidParameter
from infograph.methods.infograph_star import Transfer, TransferScale
from infograph.methods.objectives import ObjectiveName
from infograph.mi.local_global import Patches

CHOICES: dict[str, tuple[str, ...]] = {
    "objective": get_args(ObjectiveName),
    "transfer": get_args(Transfer),
    "transfer_scale": get_args(TransferScale),
    "patches": get_args(Patches),
    "readout": ("sum", "mean", "max"),
    "weighting": ("graph", "node"),
    "bound": ("jsd", "dv", "infonce"),
    "discriminator": ("paper", "conditioned"),
    "node_features": ("auto", "constant", "degree"),
}
LEAST: dict[str, float] = {
    "dim": 1,
    "layers": 1,
    "epochs": 0,
    "batch_size": 2,
    "max_nodes": 1,
    "random_state": 0,
    "ramp_up": 0,
    "patience": 0,
    "early_stopping": 1,
    "steps_per_epoch": 1,
    "n_models": 1,
}
MAY_BE_NONE = ("layers", "early_stopping", "steps_per_epoch", "noise")
LARGEST_SEED = 2**32 - 1  # numpy's
POSITIVE = ("lr", "memory_mb", "radius")
NOT_NEGATIVE = ("prior", "weight_decay", "lam", "consistency", "noise")
SHARES = ("factor", "decay", "threshold")


def check_settings(estimator: Any) -> None:
    """Refuse settings that cannot work.

    Raises:
        InvalidParameter: says which, what it is and what it may be.
    """
    given = estimator.get_params(deep=False)
    settings = {k: v for k, v in given.items() if v is not None or k not in MAY_BE_NONE}
    for name, allowed in CHOICES.items():
        if name in settings and settings[name] not in allowed:
            raise InvalidParameter(
                f"{name}={settings[name]!r}: expected one of {', '.join(map(repr, allowed))}"
            )
    for name, least in LEAST.items():
        value = settings.get(name, least)
        if isinstance(value, bool) or not _whole(value) or value < least:
            raise InvalidParameter(f"{name}={value!r}: expected a whole number, at least {least:g}")
    if settings.get("random_state", 0) > LARGEST_SEED:
        raise InvalidParameter(f"random_state={settings['random_state']!r}: expected at most {LARGEST_SEED}")
    for name in POSITIVE + NOT_NEGATIVE:
        value = settings.get(name, 1.0)
        if not _finite(value) or value < 0 or (name in POSITIVE and value == 0):
            kind = "positive" if name in POSITIVE else "not negative"
            raise InvalidParameter(f"{name}={value!r}: expected a finite number that is {kind}")
    for name in SHARES:
        value = settings.get(name, 1.0)
        if not _finite(value) or not 0 <= value <= 1:
            raise InvalidParameter(f"{name}={value!r}: expected a number from 0 to 1")
    if settings["dim"] < settings.get("layers", 1):
        raise InvalidParameter(
            f"dim={settings['dim']} is less than layers={settings['layers']}: a layer needs a width"
        )
    _check_encoder(settings["encoder"])
    check_unlabelled(settings.get("unlabelled"))
    choose_device(settings["device"])


def check_epochs(epochs: object) -> None:
    """Refuse a number of epochs that is none; None stands for the estimator's own."""
    if epochs is not None and (isinstance(epochs, bool) or not _whole(epochs) or int(epochs) < 0):  # type: ignore[call-overload]
        raise InvalidParameter(f"epochs={epochs!r}: expected a whole number, at least 0")


def _check_encoder(encoder: object) -> None:
    if isinstance(encoder, nn.Module) or encoder in ("auto", "gin", "enn-s2s"):
        return
    hint = (
        "; this model was saved with one: pass it again, load(folder, encoder=...)"
        if encoder == "custom"
        else ""
    )
    raise InvalidParameter(f"encoder={encoder!r}: expected 'auto', 'gin', 'enn-s2s' or a torch module{hint}")


def choose_device(device: str) -> torch.device:
    """ "auto" is a GPU if there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidParameter(
            f"device={device!r} cannot be used here ({reason}); use 'auto' or 'cpu'"
        ) from error
    return chosen


def _whole(value: object) -> bool:
    return hasattr(value, "__index__")


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)

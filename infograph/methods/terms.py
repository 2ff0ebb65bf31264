"""What every objective returns for a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class LossTerms:
    """The loss to minimise, and the figures to show beside it, detached."""

    total: Tensor
    shown: Mapping[str, Tensor]

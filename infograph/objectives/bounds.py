"""Lower bounds on mutual information, from scores and the weights of positive and negative pairs.

Each bound is a loss that adds up over rows of the score matrix, so that rows can be cut into chunks, and
gives its slope in every score. With expectations E+ over positive and E- over negative pairs, T being the
score:

    jsd      -I = E+ softplus(-T) + E- softplus(T)        (Eq. 5; 2 log 2 at chance, 0 at best)
    dv       -I = -E+ T + log E- exp(T)                   (Donsker and Varadhan)
    infonce  -I = -E+ [T - log mean_g exp(T_g)]           (van den Oord et al., all graphs of the batch)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

BoundName = Literal["jsd", "dv", "infonce"]
# Scores of an untrained network reach hundreds, where exp(-T) underflows into denormal numbers: exponentials
# and matrix products with those are six times slower. Beyond 50 all terms are below 2e-22 and do not count.
FAR = 50.0


@dataclass(frozen=True)
class Pairs:
    """The pairs of C colours and G distinct graphs.

    Attributes:
        scores: (C, G) T.
        positive, negative: (C, G) weights; over all rows either adds up to 1.
        copies: (G,) how many graphs of the batch each distinct graph stands for.
    """

    scores: Tensor
    positive: Tensor
    negative: Tensor
    copies: Tensor


class Bound(Protocol):
    """A bound: `loss` over some rows, given log E- exp(T) over all rows where it needs that."""

    needs_normaliser: bool

    def loss(self, pairs: Pairs, normaliser: Tensor) -> tuple[Tensor, Tensor]:
        """The rows' share of the loss, a scalar, and its slope in every score (C, G)."""
        ...

    def estimate(self, loss: Tensor) -> Tensor:
        """The loss as an estimate of mutual information, 0 at chance."""
        ...


class JSD:
    """The Jensen-Shannon bound (Eq. 5)."""

    needs_normaliser = False

    def loss(self, pairs: Pairs, normaliser: Tensor) -> tuple[Tensor, Tensor]:
        """softplus(-T) = softplus(T) - T, so one softplus serves both sides."""
        weight = pairs.positive + pairs.negative
        loss = _dot(weight, _softplus(pairs.scores)) - _dot(pairs.positive, pairs.scores)
        slope = pairs.scores.clamp(min=-FAR).sigmoid_().mul_(weight).sub_(pairs.positive)
        return loss, slope

    def estimate(self, loss: Tensor) -> Tensor:
        """2 log 2 - loss: twice the Jensen-Shannon divergence the discriminator sees, at most 2 log 2."""
        return 2 * math.log(2) - loss


class DonskerVaradhan:
    """The Donsker-Varadhan bound; its logarithm runs over all rows, hence the normaliser."""

    needs_normaliser = True

    def loss(self, pairs: Pairs, normaliser: Tensor) -> tuple[Tensor, Tensor]:
        """Rows add up to `log E- exp(T) - E+ T`; the normaliser is that logarithm."""
        share = pairs.negative * torch.exp(pairs.scores - normaliser)  # adds up to 1 over all rows
        return share.sum() * normaliser - _dot(pairs.positive, pairs.scores), share - pairs.positive

    def estimate(self, loss: Tensor) -> Tensor:
        """The bound itself."""
        return -loss


class InfoNCE:
    """InfoNCE: each patch finds its own graph among all graphs of the batch."""

    needs_normaliser = False

    def loss(self, pairs: Pairs, normaliser: Tensor) -> tuple[Tensor, Tensor]:
        """The cross-entropy of the own graph, minus log B."""
        weighted = pairs.scores + pairs.copies.log()
        everyone = torch.logsumexp(weighted, dim=1, keepdim=True)  # (C, 1)
        rows = pairs.positive.sum(1, keepdim=True)  # (C, 1)
        loss = _dot(rows, everyone - pairs.copies.sum().log()) - _dot(pairs.positive, pairs.scores)
        return loss, rows * torch.exp(weighted - everyone) - pairs.positive

    def estimate(self, loss: Tensor) -> Tensor:
        """The bound itself, at most log B."""
        return -loss


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), to full precision; torch's is linear from 20 on."""
    return x.abs().clamp_(max=FAR).neg_().exp_().log1p_().add_(x.clamp(min=0))


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.dot(a.flatten(), b.flatten())


BOUNDS: dict[str, Bound] = {"jsd": JSD(), "dv": DonskerVaradhan(), "infonce": InfoNCE()}

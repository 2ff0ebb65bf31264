"""Lower bounds on mutual information, from scores and the weights of positive and negative pairs.

Each bound is a loss that adds up over rows of the score matrix, so that rows can be cut into chunks. With
expectations E+ over positive and E- over negative pairs, T being the score:

    jsd      -I = E+ softplus(-T) + E- softplus(T)        (Eq. 5; 2 log 2 at chance, 0 at best)
    dv       -I = -E+ T + log E- exp(T)                   (Donsker and Varadhan)
    infonce  -I = -E+ [T - log mean_g exp(T_g)]           (van den Oord et al., against all graphs of the
    batch)
"""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, cast

import torch
from torch import Tensor
from torch.nn.functional import softplus

BoundName = Literal["jsd", "dv", "infonce"]
THRESHOLD = 40.0  # where softplus becomes linear; torch's 20 is only right to 2e-9


class Bound(Protocol):
    """A bound: `loss` over some rows, given what `normaliser` found over all rows."""

    needs_normaliser: bool

    def loss(self, scores: Tensor, positive: Tensor, negative: Tensor, normaliser: Tensor | None) -> Tensor:
        """(C, B) scores and weights -> the rows' share of the loss, a scalar."""
        ...

    def estimate(self, loss: Tensor) -> Tensor:
        """The loss as an estimate of mutual information, 0 at chance."""
        ...


class JSD:
    """The Jensen-Shannon bound (Eq. 5)."""

    needs_normaliser = False

    def loss(self, scores: Tensor, positive: Tensor, negative: Tensor, normaliser: Tensor | None) -> Tensor:
        """softplus(-T) = softplus(T) - T, so one softplus serves both sides."""
        return cast(Tensor, _WeightedSoftplus.apply(scores, positive + negative, positive))  # type: ignore[no-untyped-call]

    def estimate(self, loss: Tensor) -> Tensor:
        """2 log 2 - loss: twice the Jensen-Shannon divergence the discriminator sees, at most 2 log 2."""
        return 2 * math.log(2) - loss


class DonskerVaradhan:
    """The Donsker-Varadhan bound; its logarithm runs over all rows, hence the normaliser."""

    needs_normaliser = True

    def loss(self, scores: Tensor, positive: Tensor, negative: Tensor, normaliser: Tensor | None) -> Tensor:
        """Rows add up to `log E- exp(T) - E+ T` in value and gradient; the normaliser is that logarithm."""
        assert normaliser is not None
        share = negative * torch.exp(scores.detach() - normaliser)  # adds up to 1 over all rows
        surrogate = (share * scores).sum()
        return share.sum() * normaliser + surrogate - surrogate.detach() - (positive * scores).sum()

    def estimate(self, loss: Tensor) -> Tensor:
        """The bound itself."""
        return -loss


class InfoNCE:
    """InfoNCE: each patch finds its own graph among all graphs of the batch."""

    needs_normaliser = False

    def loss(self, scores: Tensor, positive: Tensor, negative: Tensor, normaliser: Tensor | None) -> Tensor:
        """The cross-entropy of the own graph, minus log B."""
        everyone = torch.logsumexp(scores, dim=1) - math.log(scores.shape[1])  # (C,)
        return positive.sum(1) @ everyone - (positive * scores).sum()

    def estimate(self, loss: Tensor) -> Tensor:
        """The bound itself, at most log B."""
        return -loss


BOUNDS: dict[str, Bound] = {"jsd": JSD(), "dv": DonskerVaradhan(), "infonce": InfoNCE()}


class _WeightedSoftplus(torch.autograd.Function):
    """sum weight * softplus(T) - sum positive * T; written out to keep one matrix instead of six."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, weight: Tensor, positive: Tensor) -> Tensor:
        ctx.save_for_backward(scores, weight, positive)
        return torch.vdot(weight.flatten(), softplus(scores, threshold=THRESHOLD).flatten()) - torch.vdot(
            positive.flatten(), scores.flatten()
        )

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        scores, weight, positive = ctx.saved_tensors
        # A score of -90 has a slope below the smallest normal float, and a matrix product with such numbers is
        # six times slower; beyond -50 the slope, 2e-22, makes no difference in any sum.
        slope = scores.clamp(min=-50.0).sigmoid_().mul_(weight).sub_(positive)
        return slope.mul_(gradient), None, None

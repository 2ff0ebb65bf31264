"""Lower bounds on mutual information: what some rows of the score matrix add to the loss.

With expectations E+ over positive and E- over negative pairs, T being the score:

    jsd      -I = E+ softplus(-T) + E- softplus(T)        (Eq. 5; 2 log 2 at chance, 0 at best)
    dv       -I = -E+ T + log E- exp(T)                   (Donsker and Varadhan)
    infonce  -I = -E+ [T - log mean_g exp(T_g)]           (van den Oord et al., all graphs of the batch)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

# Scores of an untrained network reach hundreds, where exp(-T) underflows into denormal numbers: exponentials
# and matrix products with those are six times slower. Beyond 50 all terms are below 2e-22 and do not count.
SOFTPLUS_LIMIT = 50.0


class Pairs(NamedTuple):
    """The pairs of some rows: C patches with each of G distinct graphs."""

    positive: Tensor  # (C, G) weights, which over all rows add up to 1
    negative: Tensor  # (C, G) likewise
    copies: Tensor  # (G,) how many graphs of the batch each distinct graph stands for
    normaliser: Tensor  # log E- exp(T) over all rows, for bounds that need it


class Bound:
    """A bound. Yours has `rows` and `information`."""

    needs_normaliser = False  # whether `rows` looks at `pairs.normaliser`, one more pass over all rows

    def rows(self, scores: Tensor, pairs: Pairs) -> Tensor:
        """The share of the loss that some rows of scores (C, G) have, a scalar."""
        raise NotImplementedError

    def information(self, loss: Tensor) -> Tensor:
        """The loss of a batch as an estimate of mutual information, 0 at chance."""
        return -loss

    def slope(self, scores: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """`rows` and its gradient in every score (C, G); override it only for speed."""
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            share = self.rows(leaf, pairs)
            (gradient,) = torch.autograd.grad(share, leaf)
        return share.detach(), gradient


class JSD(Bound):
    """The Jensen-Shannon bound (Eq. 5)."""

    def rows(self, scores: Tensor, pairs: Pairs) -> Tensor:
        # softplus(-T) = softplus(T) - T, so one softplus serves both sides
        both = softplus(scores, threshold=SOFTPLUS_LIMIT)
        return _dot(pairs.positive + pairs.negative, both) - _dot(pairs.positive, scores)

    def information(self, loss: Tensor) -> Tensor:
        """Twice the Jensen-Shannon divergence that the discriminator sees, at most 2 log 2."""
        return 2 * math.log(2) - loss

    def slope(self, scores: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """The derivative of softplus is the sigmoid: a third of autograd's passes over the scores."""
        weight, slope = pairs.positive + pairs.negative, scores.clamp(min=-SOFTPLUS_LIMIT).sigmoid_()
        # softplus(T) = max(T, 0) + log(1 + exp(-|T|)), to full precision
        both = scores.abs().clamp_(max=SOFTPLUS_LIMIT).neg_().exp_().log1p_().add_(scores.clamp(min=0))
        share = _dot(weight, both) - _dot(pairs.positive, scores)
        return share, slope.mul_(weight).sub_(pairs.positive)


class DonskerVaradhan(Bound):
    """The Donsker-Varadhan bound; its logarithm runs over all rows, hence the normaliser."""

    needs_normaliser = True

    def rows(self, scores: Tensor, pairs: Pairs) -> Tensor:
        """`E- exp(T) / exp(normaliser)` adds up to 1 and has the gradient of the logarithm."""
        share = pairs.negative * torch.exp(scores - pairs.normaliser)
        constant = share.detach().sum() * (pairs.normaliser - 1)
        return share.sum() + constant - _dot(pairs.positive, scores)


class InfoNCE(Bound):
    """InfoNCE: each patch finds its own graph among all graphs of the batch; at most log B."""

    def rows(self, scores: Tensor, pairs: Pairs) -> Tensor:
        everyone = torch.logsumexp(scores + pairs.copies.log(), 1, keepdim=True)  # (C, 1)
        return (pairs.positive * (everyone - pairs.copies.sum().log() - scores)).sum()


BOUNDS: dict[str, Bound] = {"jsd": JSD(), "dv": DonskerVaradhan(), "infonce": InfoNCE()}


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.dot(a.flatten(), b.flatten())

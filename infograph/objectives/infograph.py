"""InfoGraph (Eq. 4 and 5): graph vectors share information with their own patches, little with others'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor, nn
from torch.nn.functional import softplus

from infograph.errors import InvalidParameter
from infograph.nn.batch import Batch, ColourBatch
from infograph.nn.encoder import GraphEncoder, xavier
from infograph.nn.norm import WeightedBatchNorm, all_sum
from infograph.objectives.bounds import BOUNDS, Bound
from infograph.objectives.contrast import LocalGlobal, Patches, Weighting
from infograph.objectives.discriminator import DISCRIMINATORS, Discriminator
from infograph.objectives.objective import LossTerms
from infograph.parameters import Spec


@dataclass
class MutualInformation(Spec):
    """The unsupervised objective: mutual information between graphs and their patches.

    A term, a view or a loss of your own is a subclass with `loss`; docs/change_the_method.md has one.

    Args:
        bound: "jsd" (Eq. 5), "dv" (Donsker-Varadhan), "infonce", or a `Bound` of your own.
        discriminator: "paper" (Appendix D), "conditioned" (BatchNorm on graph vectors, scores divided by
            sqrt(dim)), or a class of your own, made with the widths of patches and graph vectors.
        weighting: "graph" gives each graph the same weight (1/|G|, Eq. 4), "node" each node, as the authors'
            code does.
        patches: a patch is the states of "all" layers (Eq. 2), or of the "last" one only, as in the authors'
            code for molecules.
        prior: weight of Deep InfoMax's prior term; the paper has none.
        colours: weight of a linear map that gives back, from a graph's vector, how many nodes of each
            Weisfeiler-Lehman colour the graph has; the paper has none.
        max_patches: how many nodes of a graph are contrasted in an update, drawn at random; None for all, as
            in the paper.
        memory_mb: what the score matrix and its activations may take at a time.
    """

    bound: str | Bound = "jsd"
    discriminator: str | Callable[[int, int], Discriminator] = "paper"
    weighting: Weighting = "graph"
    patches: Patches = "all"
    prior: float = 0.0
    colours: float = 0.0
    max_patches: int | None = None
    memory_mb: float = 512.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bound": [StrOptions(set(BOUNDS)), HasMethods(["rows", "information"])],
        "discriminator": [StrOptions(set(DISCRIMINATORS)), callable],
        "weighting": [StrOptions({"graph", "node"})],
        "patches": [StrOptions({"all", "last"})],
        "prior": [Interval(Real, 0, None, closed="left")],
        "colours": [Interval(Real, 0, None, closed="left")],
        "max_patches": [None, Interval(Integral, 1, None, closed="left")],
        "memory_mb": [Interval(Real, 0, None, closed="neither")],
    }

    def local_global(self, encoder: GraphEncoder) -> LocalGlobal:
        """The contrast for an encoder, with a discriminator of fresh weights."""
        width = sum(encoder.widths) if self.patches == "all" else encoder.widths[-1]
        make = self.discriminator
        if isinstance(make, nn.Module):
            raise InvalidParameter("discriminator is a module: give its class, made with the widths it sees")
        made = (DISCRIMINATORS[make] if isinstance(make, str) else make)(width, encoder.dim)
        if not isinstance(make, str):
            _check_discriminator(made, width, encoder.dim)
        bound = BOUNDS[self.bound] if isinstance(self.bound, str) else self.bound
        return LocalGlobal(made, bound, self.weighting, self.patches, self.max_patches, self.memory_mb)

    def build(self, encoder: GraphEncoder) -> nn.ModuleDict:
        """What is trained: the encoder, and whatever else the loss needs."""
        parts: dict[str, nn.Module] = {"encoder": encoder, "local_global": self.local_global(encoder)}
        parts |= {"prior": PriorMatcher(encoder.dim)} if self.prior else {}
        return nn.ModuleDict(parts | ({"colours": ColourDecoder(encoder.dim)} if self.colours else {}))

    def loss(self, net: Any, batch: Batch) -> LossTerms:
        """The loss of a batch of at least two graphs; `net` is what `build` gave, its parts by name."""
        states = net.encoder(batch)
        vectors = net.encoder.vectors(states, batch)
        found = net.local_global(states, vectors, batch)
        total, shown = found.loss, {"mi": found.information, "accuracy": found.accuracy}
        if self.prior:
            prior = net.prior(vectors, batch.copies)
            total, shown["prior"] = total + self.prior * prior, all_sum(prior)
        if self.colours:
            colours = net.colours(vectors, batch)
            total, shown["colours"] = total + self.colours * colours, all_sum(colours)
        return LossTerms(total, shown)


def _check_discriminator(made: Any, patch_dim: int, graph_dim: int) -> None:
    """Refuse what does not score two patches against three graphs."""
    if not isinstance(made, Discriminator):
        raise InvalidParameter(f"a {type(made).__name__} as discriminator: subclass infograph.Discriminator")
    training = made.training
    with torch.no_grad():
        scores = made.eval()(torch.zeros(2, patch_dim), torch.zeros(3, graph_dim))
    made.train(training)
    if getattr(scores, "shape", None) != (2, 3):
        raise InvalidParameter(
            f"{type(made).__name__}.forward(patches, graphs) gave {getattr(scores, 'shape', scores)} for two "
            f"patches and three graphs, expected scores of shape (2, 3)"
        )


class PriorMatcher(nn.Module):
    """The prior term of Deep InfoMax (Hjelm et al. 2019, Eq. 7): graph vectors pulled towards uniform noise.

    A discriminator D minimises `-E log D(u) - E log(1 - D(sigmoid(H)))` and the encoder maximises it, in one
    backward pass: the gradient changes its sign between the two.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1)
        )
        xavier(self)

    def forward(self, graph_vectors: Tensor, copies: Tensor) -> Tensor:
        """Distinct graphs (G, dim) and how often each is there (G,) -> scalar."""
        noise = torch.rand_like(graph_vectors)
        squashed = torch.sigmoid(cast(Tensor, _Reverse.apply(graph_vectors)))  # type: ignore[no-untyped-call]
        n_distinct, n_graphs = all_sum(torch.stack([torch.ones_like(copies).sum(), copies.sum()]))
        share = (copies / n_graphs).to(graph_vectors.dtype)
        noise_term = softplus(-self.network(noise)).sum() / n_distinct
        return cast(Tensor, noise_term + share @ softplus(self.network(squashed))[:, 0])


class ColourDecoder(nn.Module):
    """Gives back the colours of a graph from its vector by one linear map.

    Colours of each of the first rounds are hashed into buckets; what is to be given back is the logarithm of
    one plus the nodes in each, standardised over the batch. The loss is the share of variance that is missed.
    """

    ROUNDS, BUCKETS = 4, 128  # rounds 0 to 3

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm, self.head = WeightedBatchNorm(dim), nn.Linear(dim, self.ROUNDS * self.BUCKETS)

    def forward(self, vectors: Tensor, batch: Batch) -> Tensor:
        """Distinct graphs (G, dim) of a batch of colours -> scalar, of workers each its share."""
        if not isinstance(batch, ColourBatch):
            raise InvalidParameter("colours: only encoder='gin' makes batches that have them; leave it at 0")
        wanted = torch.from_numpy(self.sketch(batch)).to(vectors)  # (G, F)
        weight = (batch.copies / all_sum(batch.copies.sum())).to(vectors.dtype)[:, None]
        wanted = wanted - all_sum((weight * wanted).sum(0))
        spread = all_sum((weight * wanted.square()).sum(0))
        varies = spread > 1e-9
        wanted = wanted[:, varies] / spread[varies].sqrt()
        missed = self.head(self.norm(vectors, batch.copies))[:, varies] - wanted
        return cast(Tensor, (weight * missed.square()).sum(0).mean())

    def sketch(self, batch: ColourBatch) -> NDArray[np.float32]:
        """What is to be given back, not yet standardised. (G, ROUNDS * BUCKETS)."""
        counts = batch.source.colouring.graph_counts
        found = np.zeros((len(batch.distinct), self.ROUNDS, self.BUCKETS), np.float32)
        for k in range(self.ROUNDS):
            part = counts[min(k, len(counts) - 1)][batch.distinct]
            row = np.repeat(np.arange(len(batch.distinct)), np.diff(part.indptr))
            mixed = (part.indices.astype(np.uint64) + np.uint64(k + 1)) * np.uint64(0x9E3779B97F4A7C15)
            place = row * self.BUCKETS + (mixed >> np.uint64(57)).astype(np.int64)
            found[:, k] = np.bincount(place, part.data, len(found) * self.BUCKETS).reshape(len(found), -1)
        return np.log1p(found).reshape(len(found), -1)


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return -gradient

"""The graphlet kernel: how often each small graph occurs as an induced subgraph."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.adjacency import Adjacency, simple_graphs
from infograph.baselines.bounded import Estimate, check_bool, check_whole
from infograph.baselines.compiled import mix_keys
from infograph.baselines.feature_kernel import FeatureKernel
from infograph.baselines.graphlet_formulas import FOUR, N_CONNECTED, THREE, four_nodes, three_nodes
from infograph.baselines.graphlet_types import five_node_types
from infograph.baselines.kernel import BASE_MB, Floats
from infograph.baselines.products import squared_norms
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

Values = Literal["frequencies", "counts"]


class Graphlets(FeatureKernel):
    """The kernel of Shervashidze et al. (2009): the distribution of all graphs on `size` nodes in a graph.

        Graphlets(size=4).fit(graphs).gram()

    Three and four nodes are counted exactly, connected graphlets and unconnected ones, from degrees,
    triangles, four-cycles and four-cliques. Five nodes are sampled: sets of five nodes, drawn uniformly,
    whose shares are unbiased estimates of the frequencies. With n samples the sum of their absolute errors is
    below e with probability 1 - d if n >= 2 (34 log 2 + log(1 / d)) / e^2 (the paper's bound for 34 types):
    5,174 samples for e = d = 0.1. In large sparse graphs nearly all sets are empty; `connected_only` samples
    the connected ones by growing them along edges, each weighted by the inverse of its chance, so that counts
    are unbiased; there is no such bound for these.

    Node and edge labels are not looked at, and graphs are taken as simple and undirected: directions are
    dropped, repeated edges are one edge, self-loops are left out. A graph with fewer nodes than `size` (or no
    connected graphlet, with `connected_only`) has zero features, and k(x, x) = 0.

    Args:
        size: 3, 4 or 5, the sizes of the paper; 4 is the largest that is exact.
        connected_only: leave out the unconnected graphlets, as exact counts in GraKeL do.
        values: "frequencies", which add up to 1 (the paper's choice), or "counts".
        n_samples: sets drawn per graph for `size=5`.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
        random_state: seed of the samples. A graph has the same samples in any set, but others once its nodes
            are renumbered.

    Attributes:
        graphlet_names_: (F,) what is counted; types of five nodes have numbers, by their number of edges.
    """

    _remedy = "leave out the largest graphs, or take size=3 or fewer samples"

    def __init__(
        self,
        size: int = 4,
        *,
        connected_only: bool = False,
        values: Values = "frequencies",
        n_samples: int = 5174,
        normalise: bool = False,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
        random_state: int = 0,
    ) -> None:
        self.size = size
        self.connected_only = connected_only
        self.values = values
        self.n_samples = n_samples
        self.normalise = normalise
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _check_settings(self) -> None:
        if isinstance(self.size, bool) or self.size not in (3, 4, 5):
            raise InvalidParameter(f"size={self.size!r}: expected 3, 4 or 5 nodes per graphlet")
        if self.values not in ("frequencies", "counts"):
            raise InvalidParameter(f"values={self.values!r}: expected 'frequencies' or 'counts'")
        check_bool("connected_only", self.connected_only)
        check_whole("n_samples", self.n_samples, 1)
        check_whole("random_state", self.random_state, 0)

    def _schema(self, graphs: GraphSet) -> Schema:
        return Schema(options=graphs.schema.options)  # any graph will do

    @property
    def graphlet_names_(self) -> tuple[str, ...]:
        """What the columns count."""
        self._check_fitted()
        size, connected = self._made_with["size"], self._made_with["connected_only"]
        if size == 5:
            kept = np.flatnonzero(five_node_types()[1] | (not connected))
            return tuple(f"five nodes, type {number}" for number in kept)
        names = THREE if size == 3 else FOUR
        return names[-N_CONNECTED[size] :] if connected else names

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        simple = simple_graphs(graphs)
        if self._made_with["size"] == 5:
            counts = self._sampled(simple)
        else:
            counts = self._exact(simple)
        if self._made_with["values"] == "frequencies":
            total = counts.sum(axis=1, keepdims=True)
            counts = counts / np.where(total > 0, total, 1.0)
        return counts, squared_norms(counts)

    def _exact(self, simple: Adjacency) -> Floats:
        from infograph.baselines.graphlet_counts import raw_counts

        raw = raw_counts(simple.node_ptr, simple.ptr, simple.targets)
        size = self._made_with["size"]
        counts = three_nodes(raw) if size == 3 else four_nodes(raw)
        if self._made_with["connected_only"]:
            counts = counts[:, -N_CONNECTED[size] :]
        return counts.astype(np.float64)

    def _sampled(self, simple: Adjacency) -> Floats:
        from infograph.baselines.graphlet_samples import sample_connected, sample_sets

        types, connected = five_node_types()
        sizes = np.diff(simple.node_ptr)
        keys = mix_keys(self._made_with["random_state"], sizes)
        parts = (simple.node_ptr, simple.ptr, simple.targets, types, keys, int(self._made_with["n_samples"]))
        if self._made_with["connected_only"]:
            return sample_connected(*parts)[:, connected]
        return sample_sets(*parts) * _n_sets(sizes)[:, None]

    def estimate(self, graphs: Any) -> Estimate:
        """From the triangles and cycles to look at (exact) or the samples to draw (five nodes)."""
        self._check_settings()
        known = as_graphset(graphs)
        n, pairs = known.n_nodes + known.n_edges, len(known) ** 2
        seconds = 1e-6 * n + 1e-8 * pairs
        if self.size == 5:
            seconds += 2e-6 * self.n_samples * len(known)
        else:
            degree = np.bincount(known.edge_index[0], minlength=known.n_nodes)
            source, target = known.edge_index
            seconds += 1e-8 * float(np.minimum(degree[source], degree[target]).sum())
        return Estimate(seconds, BASE_MB + (120 * n + 24 * pairs) / 1e6)


def _n_sets(sizes: NDArray[np.int64]) -> Floats:
    """How many sets of five nodes a graph has; as floats, since 64 bits hold it only up to 6,000 nodes."""
    n = sizes.astype(np.float64)
    return n * (n - 1) * (n - 2) * (n - 3) * (n - 4) / 120

"""Graphs reduced to what labelled walks see: labels as numbers, and arcs sorted by their label."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.tokens import Tokens, row_tokens
from infograph.baselines.vocabulary import Vocabulary
from infograph.contract import State
from infograph.data.colours import group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """G graphs, N nodes with L labels, E arcs with M labels.

    Attributes:
        node_ptr, arc_ptr: (G+1,) the nodes and the arcs of every graph.
        label: (N,) numbers of labels.
        source, target: (E,) arcs, numbered from 0 inside each graph, sorted by their label in each graph.
        arc_label: (E,) numbers of labels.
        node_tokens, arc_tokens: (2, L) and (2, M) what the labels are, in the order of their tokens.
    """

    node_ptr: Ints
    arc_ptr: Ints
    label: Ints
    source: Ints
    target: Ints
    arc_label: Ints
    node_tokens: Tokens
    arc_tokens: Tokens

    @classmethod
    def of(cls, graphs: GraphSet) -> Self:
        """Take what is needed out of graphs with the columns that count as labels."""
        label, node_tokens = _numbered(node_inputs(graphs)[0], graphs, "node")
        columns = graphs.schema.features("edge")
        codes: IntArray = np.zeros(graphs.n_edges, np.int32)
        if columns and graphs.n_edges:
            codes = group_rows([graphs.edge[column.name] for column in columns])[0]
        arc_label, arc_tokens = _numbered(codes, graphs, "edge")
        order = np.lexsort((arc_label, graphs.edge_graph))
        source, target = graphs.edges[:, order].astype(np.int64)
        node_ptr, arc_ptr = graphs.node_ptr.astype(np.int64), graphs.edge_ptr.astype(np.int64)
        return cls(node_ptr, arc_ptr, label, source, target, arc_label[order], node_tokens, arc_tokens)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """What `state` gave."""
        return cls(**{field.name: state[field.name] for field in fields(cls)})

    def state(self) -> State:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def numbered_like(self, other: LabelledGraphs) -> LabelledGraphs:
        """The same graphs with the label numbers of `other`; labels that it does not have are negative."""
        node = Vocabulary(other.node_tokens).find(self.node_tokens)
        arc = Vocabulary(other.arc_tokens).find(self.arc_tokens)
        order = np.lexsort((arc[self.arc_label], np.repeat(np.arange(len(self)), np.diff(self.arc_ptr))))
        return replace(
            self,
            label=node[self.label],
            source=self.source[order],
            target=self.target[order],
            arc_label=arc[self.arc_label][order],
            node_tokens=other.node_tokens,
            arc_tokens=other.arc_tokens,
        )

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        """What compiled code takes."""
        return self.node_ptr, self.arc_ptr, self.label, self.source, self.target, self.arc_label


def _numbered(codes: IntArray, graphs: GraphSet, level: str) -> tuple[Ints, Tokens]:
    """Numbers of labels in the order of their tokens, and these tokens."""
    if level == "node":
        tokens = row_tokens(graphs, "node", graphs.schema.features("node"))
    else:
        tokens = row_tokens(graphs, "edge", graphs.schema.features("edge"))
    first = np.unique(codes, return_index=True)[1]
    distinct = tokens[:, first]  # (2, L)
    known = Vocabulary(distinct)
    return known.find(distinct)[codes], known.tokens

"""How much one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a server takes; more is refused with one sentence, before the work.

    Attributes:
        body: bytes of a request.
        graphs, nodes, edges: of all graphs of a request together.
        smiles: characters of a SMILES; RDKit needs half a second for 5,000.
        hits: graphs that one search gives.
        seconds: until a request that is still at work is answered with 504.
        at_once: requests that embed, describe or export at the same time, running or waiting; 429 beyond.
    """

    body: int = 10 << 20
    graphs: int = 1_000
    nodes: int = 100_000
    edges: int = 400_000
    smiles: int = 3_000
    hits: int = 100
    seconds: float = 30.0
    at_once: int = 4

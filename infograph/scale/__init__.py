"""Jobs that outgrow one process or its memory: vectors of many files of graphs, and one set made of them."""

from __future__ import annotations

from infograph.progress import ShardProgress as Progress
from infograph.scale.embed import Failure as Failure
from infograph.scale.embed import Report as Report
from infograph.scale.embed import embed_shards as embed_shards
from infograph.scale.store import Stored as Stored
from infograph.scale.store import store_graphs as store_graphs

__all__ = ["Failure", "Progress", "Report", "Stored", "embed_shards", "store_graphs"]

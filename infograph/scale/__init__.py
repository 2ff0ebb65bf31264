"""Jobs that outgrow one process: vectors of many files of graphs, in processes here or on a Ray cluster."""

from __future__ import annotations

from infograph.scale.embed import embed_shards as embed_shards
from infograph.scale.report import Failure as Failure
from infograph.scale.report import Progress as Progress
from infograph.scale.report import Report as Report

__all__ = ["Failure", "Progress", "Report", "embed_shards"]

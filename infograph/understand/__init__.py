"""What people ask of vectors: which graphs belong together, which are odd, and what does one look like?"""

from __future__ import annotations

from infograph.understand.clusters import Clusters as Clusters
from infograph.understand.clusters import find_clusters as find_clusters
from infograph.understand.describe import ClusterDescription as ClusterDescription
from infograph.understand.describe import describe_clusters as describe_clusters
from infograph.understand.draw import contribution_drawing as contribution_drawing
from infograph.understand.draw import draw_graph as draw_graph
from infograph.understand.findings import Finding as Finding
from infograph.understand.named_atoms import name_atoms as name_atoms
from infograph.understand.outliers import outlier_scores as outlier_scores

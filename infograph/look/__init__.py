"""What people ask of vectors: which graphs belong together, which are odd, and what does one look like?"""

from __future__ import annotations

from infograph.look.clusters import Clusters as Clusters
from infograph.look.clusters import find_clusters as find_clusters
from infograph.look.describe import ClusterDescription as ClusterDescription
from infograph.look.describe import Finding as Finding
from infograph.look.describe import describe_clusters as describe_clusters
from infograph.look.draw import contribution_drawing as contribution_drawing
from infograph.look.draw import draw_graph as draw_graph
from infograph.look.molecules import name_atoms as name_atoms
from infograph.look.project import outlier_scores as outlier_scores

"""Look at all graphs of an index: a map in the browser, a server for programs, a page as one file.

index = GraphIndex.open("index")
atlas = make_atlas(index, "index")
write_map(index, atlas, "map.html")
serve(index, atlas, port=8765)

The server is a FastAPI application, `infograph.explore.server.make_app`; everything else needs no server.
"""

from __future__ import annotations

from infograph.explore.atlas import Atlas as Atlas
from infograph.explore.atlas import make_atlas as make_atlas
from infograph.explore.guard import Limits as Limits
from infograph.explore.guard import serve as serve
from infograph.explore.map_file import write_map as write_map
from infograph.explore.map_file import write_points as write_points

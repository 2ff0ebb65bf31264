"""Which stored graphs are most like this one: search among the vectors of embedded graphs.

index = GraphIndex.build(model, graphs)
index.search(["CCO"], k=5).table()

The exact search compares a query with every vector and is right to the last digit; above 100,000 vectors
faiss, where it is installed, looks only where neighbours are likely. A saved index is a folder of JSON and
`.npy` files with the graphs, and the model in its own folder. No pickle.
"""

from infograph.index.graph_index import GraphIndex as GraphIndex
from infograph.index.graph_index import Hits as Hits
from infograph.index.nearest import Metric as Metric

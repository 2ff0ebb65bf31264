"""One file per format of graph files."""

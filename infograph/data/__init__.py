"""Anyone's graphs to GraphSets; no torch."""

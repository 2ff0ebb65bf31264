"""Anyone's graphs to GraphSets; numpy only."""

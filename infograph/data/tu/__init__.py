"""The TU text format of graph benchmarks."""

"""Molecules to graphs, by RDKit."""

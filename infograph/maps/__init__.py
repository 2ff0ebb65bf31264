"""Vectors as points in the plane: principal components, t-SNE, UMAP."""

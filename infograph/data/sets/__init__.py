"""Named data sets: which there are, where each is found, the cache of parsed ones."""

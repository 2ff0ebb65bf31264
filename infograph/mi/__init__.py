"""The mathematics of mutual information: discriminators, bounds, all-pairs contrast."""

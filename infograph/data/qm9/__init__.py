"""Reader of QM9 (Ramakrishnan et al. 2014): small molecules with coordinates and properties."""

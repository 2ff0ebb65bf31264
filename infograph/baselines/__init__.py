"""One file per method that InfoGraph is compared with."""

"""One training loop: batches, progress, checkpoints, resume."""

"""What people look at: maps, curves, a page on what was trained, and the study that makes them all."""

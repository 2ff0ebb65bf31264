"""What people look at: maps, curves, a page that tells what was trained, and the study that makes them all."""

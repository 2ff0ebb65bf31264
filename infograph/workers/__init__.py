"""Work for several processes: children of this one, calls side by side, and the way to a Ray cluster."""

"""From a table with some labels to a model that predicts: divide, learn, predict, and say how wrong it is."""

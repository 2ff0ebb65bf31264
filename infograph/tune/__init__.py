"""Settings searched on graphs that no test sees: many short trainings, the better ones made longer."""

from infograph.tune.search import Tuned, tune
from infograph.tune.space import Range, Space

__all__ = ["Range", "Space", "Tuned", "tune"]

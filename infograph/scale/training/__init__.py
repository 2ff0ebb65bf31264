"""One training run by several workers: processes of this machine, or of a Ray cluster."""

from infograph.scale.training.drive import train_by_team
from infograph.train.team import Team

__all__ = ["Team", "train_by_team"]

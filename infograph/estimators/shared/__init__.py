"""One training run by several workers: processes of this machine, or of a Ray cluster."""

from infograph.estimators.shared.drive import train_by_team as train_by_team

"""What every estimator of this package promises: scikit-learn's contract, a schema, and a folder it can be
saved to.

A saved model is a folder: `config.json` (class, settings, version, checksum, and what was learned besides
arrays), `model.safetensors` (the arrays), `schema.json` (what the graphs must look like), `history.json` and
`README.md`, a card for people. No pickle.
"""

from infograph.contract.estimator import GraphEstimator as GraphEstimator
from infograph.contract.estimator import GraphTransformer as GraphTransformer
from infograph.contract.estimator import load as load
from infograph.contract.folder import State as State
from infograph.contract.folder import check_model_folder as check_model_folder
from infograph.contract.predictor import GraphPredictor as GraphPredictor
from infograph.contract.predictor import Task as Task

"""How good are the vectors? Nested cross-validation, the two ways to report it, and tests between methods.

evaluation = cross_validate(vectors, y)            # 5 repeats of 10 folds, C chosen inside the training folds
print(evaluation)                            # 86.4 % ± 0.9 (over 5 repeats; folds ± 7.1)
paired_test(evaluation, other).p_value       # the same folds, another method
"""

from infograph.evaluate.cross_validation import cross_validate as cross_validate
from infograph.evaluate.evaluation import Candidate as Candidate
from infograph.evaluate.evaluation import Evaluation as Evaluation
from infograph.evaluate.evaluation import PairedTest as PairedTest
from infograph.evaluate.evaluation import Plan as Plan
from infograph.evaluate.evaluation import Score as Score
from infograph.evaluate.evaluation import merge as merge
from infograph.evaluate.evaluation import paired_test as paired_test
from infograph.evaluate.inputs import Gram as Gram

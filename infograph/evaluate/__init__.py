"""How good are the vectors? Nested cross-validation, the two ways to report it, and tests between methods.

evaluation = cross_validate(vectors, y)            # 5 repeats of 10 folds, C chosen inside the training folds
print(evaluation)                            # 86.4 % ± 0.9 (over 5 repeats; folds ± 7.1)
paired_test(evaluation, other).p_value       # the same folds, another method
"""

from infograph.evaluate.candidate import Candidate as Candidate
from infograph.evaluate.evaluation import Evaluation as Evaluation
from infograph.evaluate.gram import Gram as Gram
from infograph.evaluate.merge import merge as merge
from infograph.evaluate.paired import PairedTest as PairedTest
from infograph.evaluate.paired import paired_test as paired_test
from infograph.evaluate.plan import Plan as Plan
from infograph.evaluate.protocol import cross_validate as cross_validate
from infograph.evaluate.score import Choice as Choice
from infograph.evaluate.score import Score as Score

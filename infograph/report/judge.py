"""How well do vectors predict a column?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infograph.data.embeddings import Embeddings
from infograph.data.label_columns import as_classes, is_known
from infograph.evaluate import Evaluation, cross_validate
from infograph.report.result import Row


def judge(
    embeddings: Embeddings,
    label: str,
    *,
    classifiers: Sequence[str] | str = "svm-rbf",
    repeats: int = 5,
    folds: int = 10,
    inner_folds: int = 5,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Evaluation, int]:
    """Cross-validate the classes in the column `label`, of the graphs that have a vector and a label.

    Returns:
        The evaluation, and how many graphs were left out.

    Raises:
        SchemaMismatch: there is no such column.
        InvalidParameter: the column holds no classes, or too few graphs of one.
    """
    values = as_classes(embeddings.column(label), label)
    judged = embeddings.usable & is_known(values)
    evaluation = cross_validate(
        embeddings.vectors[judged],
        values[judged],
        classifiers=classifiers,
        repeats=repeats,
        folds=folds,
        inner_folds=inner_folds,
        random_state=random_state,
        progress=progress,
    )
    return evaluation, int((~judged).sum())


def score_rows(evaluation: Evaluation) -> list[Row]:
    """A line per classifier, one for the best on the inner folds if there are several, and the majority."""
    classifiers = list(dict.fromkeys(candidate.classifier for candidate in evaluation.candidates))
    scores = {name: evaluation.select(classifiers=[name]).leak_free() for name in classifiers}
    if len(scores) > 1:
        scores["best on inner folds"] = evaluation.leak_free()
    rows = [
        Row.of(name, score, f"single folds ± {100 * score.std_folds:.1f}") for name, score in scores.items()
    ]
    return [*rows, Row("majority class", 100 * evaluation.plan.majority)]

"""How well do vectors predict a column?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infograph.data.embeddings import Embeddings
from infograph.evaluate import Evaluation, cross_validate
from infograph.report.labels import as_classes, is_known


def judge(
    embeddings: Embeddings,
    label: str,
    *,
    classifiers: Sequence[str] | str = "svm-rbf",
    repeats: int = 5,
    folds: int = 10,
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
        random_state=random_state,
        progress=progress,
    )
    return evaluation, int((~judged).sum())

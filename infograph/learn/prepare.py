"""A chemist's table before it is learned from: what was stripped, what stands there twice."""

from __future__ import annotations

from collections.abc import Sequence

from infograph.contract import Task
from infograph.data.chem.duplicates import Rule, repeated, resolve_duplicates, smiles_of
from infograph.data.chem.salts import describe_stripped
from infograph.data.graphset import GraphSet
from infograph.data.units import graph_column
from infograph.learn.marks import Mark, without_mark
from infograph.learn.task import task_of


def prepare(
    graphs: GraphSet,
    targets: Sequence[str],
    *,
    duplicates: Rule | None = None,
    task: Task | None = None,
    unlabelled: Mark | None = None,
) -> tuple[GraphSet, list[str]]:
    """Make unlabelled what is, resolve repeated molecules, and say what a reader must know.

    Args:
        graphs: as they were read.
        targets: the columns that will be predicted.
        duplicates: the rule of `resolve_duplicates`; None leaves repetitions as they are and counts them.
        task: what the targets hold; None decides by the columns.
        unlabelled: one more value that means unlabelled; the graphs that are given back do not have it.

    Returns:
        The graphs, and sentences on stripped pieces and repeated molecules.

    Raises:
        InvalidParameter: a rule for graphs that are no molecules; or no graph has the `unlabelled` value.
    """
    names = [graph_column(graphs.schema, name).name for name in targets]
    graphs = without_mark(graphs, names, unlabelled, needed=True)
    columns = [graph_column(graphs.schema, name) for name in names]
    stripped = describe_stripped(graphs)
    notes = [f"{stripped}."] if stripped else []
    if duplicates is not None:
        classes = (task or task_of(graphs, columns)) == "classification"
        graphs, report = resolve_duplicates(graphs, names, rule=duplicates, classes=names if classes else ())
        return graphs, [*notes, str(report)]
    if graphs.schema.column("graph", "smiles") is not None:
        groups = repeated(smiles_of(graphs))
        if groups:
            molecules = "molecule stands" if len(groups) == 1 else "molecules stand"
            notes.append(
                f"{len(groups):,} {molecules} there more than once ({sum(map(len, groups)):,} of "
                f"{len(graphs):,} graphs), and may be on both sides of the split; --duplicates mean "
                f"makes one of each."
            )
    return graphs, notes

"""QM9 -> GraphSet, on all cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from infograph.data.align import concatenate
from infograph.data.chem.atoms import POSITION
from infograph.data.graphset import GraphSet
from infograph.data.progress import Progress
from infograph.data.qm9.bonds import OUTCOMES, match_bonds
from infograph.data.qm9.rows import FRESH_COPY, PATTERN, Piece, pieces, read_rows
from infograph.data.qm9.targets import TARGETS
from infograph.data.schema import Column
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, MissingExtra

DISTANCE = Column("distance", "float", unit="angstrom", used=False)


def read_qm9(
    path: str | Path,
    *,
    limit: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> GraphSet:
    """Read QM9 from a folder with the CSV files of the package qm9pack; that package is not imported.

    Molecules come in the order of the files, with their numbers in the data set as ids. Hydrogens are nodes.
    Columns:

      * node: those of `from_molecules(hydrogens=True, descriptors=True)`, and `position` in angstrom;
      * edge: `bond`, and `distance` in angstrom;
      * graph: the canonical `smiles`; `bonds`, which says where the bonds come from (`qm9/bonds.py` states
        the rules, `bond_outcomes` counts); the targets mu, alpha, homo, lumo, gap, r2, zpve, U0, U, H, G, Cv.

    Encoders do not see `position` and `distance` unless asked to.

    Args:
        path: the folder with `qm9_part1.csv` and so on.
        limit: read only that many molecules, the first ones.
        n_jobs: processes that parse; by default one per core, and this one alone for a few thousand rows.
        progress: called with molecules done and molecules in all.

    Raises:
        FileMissing: the files are not there.
        InvalidFile: a file is damaged; the message names the line.
        MissingExtra: RDKit is not installed.
    """
    try:
        import rdkit  # noqa: F401
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    if limit is not None and limit < 1:
        raise InvalidParameter(f"limit={limit}: expected 1 or more molecules, or None for all")
    work = list(_pieces(Path(path), limit))
    if not work:
        raise InvalidFile(f"the files {PATTERN} in {path} hold no molecules; {FRESH_COPY}")
    total, done = sum(piece.n_rows for piece in work), 0
    parts: list[GraphSet] = []
    for graphs in _read_all(work, n_jobs):
        parts.append(graphs)
        done += len(graphs)
        if progress is not None:
            progress(done, total)
    return concatenate(parts)


def find_qm9(folder: Path, name: str = "QM9") -> Path | None:
    """The folder with QM9's files: `folder` itself, or one called QM9 or qm9pack in it; None if neither."""
    for candidate in (folder, folder / name, folder / name.lower(), folder / "qm9pack" / "data"):
        if any(candidate.glob(PATTERN)):
            return candidate
    return None


def bond_outcomes(graphs: GraphSet) -> dict[str, int]:
    """How many molecules have their bonds from each rule of `qm9/bonds.py`.

    `graphs[graphs.values("graph", "bonds") == "distances"]` are the ones of a rule.
    """
    counts = np.bincount(graphs.graph["bonds"], minlength=len(OUTCOMES))
    return dict(zip(OUTCOMES, counts.tolist(), strict=True))


def read_piece(piece: Piece) -> GraphSet:
    """Some rows of a file as graphs, with all columns."""
    rows = read_rows(piece)
    graphs = match_bonds(rows)
    source, target = graphs.edge_index
    lengths = np.sqrt(((rows.positions[source] - rows.positions[target]) ** 2).sum(axis=1))
    graphs = graphs.with_column("node", POSITION, rows.positions.astype(np.float32))
    graphs = graphs.with_column("edge", DISTANCE, lengths.astype(np.float32))
    for column, values in zip(TARGETS, rows.targets.T, strict=True):
        graphs = graphs.with_column("graph", column, values)
    return replace(graphs, ids=rows.ids)


def _pieces(folder: Path, limit: int | None) -> Iterator[Piece]:
    files = sorted(folder.glob(PATTERN))
    if not files:
        raise FileMissing(f"{folder} has no files {PATTERN}: expected the data folder of the package qm9pack")
    for path in files:
        found = list(pieces(path, limit))
        yield from found
        if limit is not None:
            limit -= sum(piece.n_rows for piece in found)
            if limit <= 0:
                return


def _read_all(work: list[Piece], n_jobs: int | None) -> Iterable[GraphSet]:
    """The graphs of all pieces, in order, by as many processes as there are cores.

    The processes are joblib's, which start afresh and import only what they need: a script that calls this
    needs no `if __name__ == "__main__"`, and threads of the calling process do no harm.
    """
    from joblib import Parallel, cpu_count, delayed

    if n_jobs is None:  # starting processes takes a second
        n_jobs = cpu_count() if len(work) > 4 else 1
    if n_jobs == 1:
        return map(read_piece, work)
    jobs: Iterable[GraphSet] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(read_piece)(piece) for piece in work
    )
    return jobs

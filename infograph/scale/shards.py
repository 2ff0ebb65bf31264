"""Which files a job is about, and their rows: molecules read as they stream by, other graphs cut to blocks.

Parquet, CSV, TSV and `.smi` files are streamed, so that memory is bounded by the block. SDF, JSON lines,
saved GraphSets and all else that `infograph.read_graphs` knows are read whole by it: keep such shards small
enough for memory (a saved GraphSet is a memory map, and takes little).

Ids are the cells of the id column, as texts: the chosen one, or the first that is called like ids. They
may repeat: whether they do would take the whole file. Rows without an id are `<shard>:<row>`, rows counted
from 0; so are graphs whose ids are just their positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from infograph.data.columns import placed, texts
from infograph.data.graphset import MARKER, GraphSet, IntArray, Rejected
from infograph.data.molecules import SMILES, from_molecules
from infograph.data.network_files import LABELS, NETWORKS, network_files
from infograph.data.read import JSON_LINES, SDF_FILES, SMILES_FILES, TABLES, ReadOptions, read
from infograph.data.tables import id_column, is_molecule_table, kept_columns, rows_of
from infograph.data.text_tables import header, kind
from infograph.data.vectors import arrow_column, check_names, graph_values
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, NothingLeft

ENDINGS = (".parquet", *TABLES, *SMILES_FILES, *SDF_FILES, *JSON_LINES)
MAGIC = "*?["
Inputs = str | Path | Sequence[str | Path]
BLOCK = 10_000  # rows: some 20 MB of vectors of 512 numbers


@dataclass(frozen=True)
class Shard:
    """One input file, or a folder with a saved GraphSet."""

    name: str  # of its output, without an ending; no two shards of a job share it
    path: str
    size: int
    mtime_ns: int


def is_pattern(source: str | Path) -> bool:
    """Whether a text is a pattern such as `shards/*.parquet`, and not the name of a file that is there."""
    return any(sign in str(source) for sign in MAGIC) and not Path(source).exists()


def find_shards(inputs: Inputs) -> list[Shard]:
    """The shards of a pattern, a folder or a list of files, in the order of their paths (lists keep theirs).

    Of a folder the files of molecules and of JSON lines count, and the GraphSets saved in it; a folder
    without any is one shard itself: a saved GraphSet, a TU folder, a folder of networks, with their labels.
    """
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    found = [path for each in paths for path in _expand(each)]
    if not found:
        raise FileMissing("no shards: the list of files is empty")
    absolute = [path.absolute() for path in found]
    twice = [path for path, times in Counter(absolute).items() if times > 1]
    if twice:
        raise InvalidParameter(f"{twice[0]} is named twice among the shards: name it once")
    return [shard_at(name, path) for name, path in zip(_names(absolute), absolute, strict=True)]


def _expand(source: str | Path) -> list[Path]:
    path = Path(source)
    with suppress(RuntimeError):  # of a user who does not exist
        path = path.expanduser()
    if is_pattern(path):
        steps = path.parts
        first = next(n for n in range(len(steps)) if not Path(*steps[: n + 1]).exists())  # of the pattern
        found = sorted(
            each for each in Path(*steps[:first]).glob(str(Path(*steps[first:]))) if _visible(each)
        )
        if not found:
            raise FileMissing(f"no file matches {str(source)!r}")
        return found
    if not path.exists():
        raise FileMissing(f"{path} does not exist; expected a pattern, a folder or files of graphs")
    if path.is_file() or (path / MARKER).is_file():
        return [path]
    networks = any(kind(each) in NETWORKS and kind(each) not in ENDINGS for each in network_files(path))
    shards = (
        each
        for each in path.iterdir()
        if _visible(each)
        and not (networks and each.name == LABELS)
        and (kind(each) in ENDINGS if each.is_file() else (each / MARKER).is_file())
    )
    return sorted(shards) or [path]


def _visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def shard_at(name: str, path: Path) -> Shard:
    """A shard as it is now."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    seen = [each.stat() for each in files]
    size, changed = sum(each.st_size for each in seen), max((each.st_mtime_ns for each in seen), default=0)
    return Shard(name, str(path), size, changed)


def _names(paths: Sequence[Path]) -> list[str]:
    """The stem of every path; where two are equal the ending too, then the folders, then a number."""
    ways: list[Callable[[Path], str]] = [
        lambda path: path.name.removesuffix(".gz").removesuffix(kind(path)) if path.is_file() else path.name,
        lambda path: path.name.replace(".", "-"),
        lambda path: "-".join([*path.parent.parts[-2:], path.name]).replace(".", "-").replace("/", ""),
    ]
    names = [""] * len(paths)
    open_places = list(range(len(paths)))
    for way in ways:
        for place in open_places:
            names[place] = way(paths[place])
        times = Counter(names)
        open_places = [place for place, name in enumerate(names) if times[name] > 1]
    for number, place in enumerate(open_places):
        names[place] += f"-{number}"
    return names


# ---- the rows of a shard


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a shard. R rows, of which G are graphs."""

    start: int  # the first one's place in the shard
    ids: Sequence[str]  # (R,)
    columns: dict[str, Any]  # what else is asked for, an Arrow array (R,) per name
    graphs: GraphSet | None  # None if none could be read
    rejected: tuple[Rejected, ...]  # the other rows; `index` counts from the start of the block
    typed: bool = True  # whether the file says what its columns hold; if not, numbers are texts

    @cached_property
    def rows(self) -> IntArray:
        """Where in the block the graphs stand. (G,)."""
        return np.delete(np.arange(len(self)), np.array([each.index for each in self.rejected], np.int64))

    def __len__(self) -> int:
        return len(self.ids)


def read_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """The rows of a shard, `size` at a time and every one of them, with some of its columns (None: all)."""
    path, start = Path(shard.path), 0
    streamed = path.is_file() and (
        kind(path) in SMILES_FILES
        or (kind(path) in (*TABLES, ".parquet") and is_molecule_table(path, options))
    )
    if not streamed:
        yield from _cut(shard, size, options, columns)
        return
    for rows in rows_of(path, options, size, columns):
        own = id_column(rows.columns, options, path)
        names = rows.ids or [""] * len(rows.molecules)
        if own:
            names = texts(path, own, rows.columns[own])
        ids = [name or f"{shard.name}:{start + row}" for row, name in enumerate(names)]
        stored = {name: rows.columns[name] for name in kept_columns(rows.columns, columns, own, path)}
        arrays = {n: pa.array(v, pa.string()) if isinstance(v, list) else v for n, v in stored.items()}
        graphs: GraphSet | None = None
        try:
            how = {**options.of_molecules, "errors": "skip"}
            graphs = from_molecules(rows.items, ids=ids, keep_smiles=False, **how)
            graphs, rejected = replace(graphs, rejected=()), graphs.rejected
        except NothingLeft as error:
            rejected = error.rejected
        yield Block(start, ids, arrays, graphs, placed(rejected, rows.place), kind(path) == ".parquet")
        start += len(ids)


def _cut(shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None) -> Iterator[Block]:
    """The blocks of a shard that is read whole."""
    graphs: GraphSet | None = None
    try:
        graphs = read(Path(shard.path), replace(options, errors="skip", label=None, units={}))
        graphs, rejected = replace(graphs, rejected=()), graphs.rejected
    except (InvalidFile, NothingLeft) as error:
        left = error if isinstance(error, NothingLeft) else error.__cause__
        if not isinstance(left, NothingLeft) or not left.rejected:
            raise
        rejected = left.rejected
    total = len(rejected) + (0 if graphs is None else len(graphs))
    position = np.full(total, -1)  # of the graph of every row
    named = {each.index: each.graph_id for each in rejected}
    if graphs is not None:
        rows = np.delete(np.arange(total), list(named))
        position[rows] = np.arange(len(graphs))
        named |= dict(zip(rows.tolist(), graphs.ids.tolist(), strict=True))
    ids = [f"{shard.name}:{row}" if named[row] == row else str(named[row]) for row in range(total)]
    known = [] if graphs is None else [column.name for column in graphs.schema.graph]
    kept = known if columns is None else list(columns)
    check_names(kept)
    stored = {
        name: pa.nulls(total, pa.string()) if graphs is None else arrow_column(graph_values(graphs, name))
        for name in kept
    }
    for start in range(0, max(total, 1), size):  # a set without graphs has columns, too
        here = position[start : start + size]
        found = here[here >= 0]
        inside = tuple(
            replace(each, index=each.index - start, graph_id=ids[each.index])
            for each in rejected
            if start <= each.index < start + size
        )
        cut = graphs[int(found[0]) : int(found[-1]) + 1] if graphs is not None and len(found) else None
        taken = {name: values.take(pa.array(here, mask=here < 0)) for name, values in stored.items()}
        yield Block(start, ids[start : start + size], taken, cut, inside)


def column_types(shard: Shard, options: ReadOptions, columns: Sequence[str] | None) -> Any:
    """The Arrow schema of the columns of a shard without rows; only Parquet and tables can be that."""
    import pyarrow.parquet as parquet

    path = Path(shard.path)
    if kind(path) == ".parquet":
        schema = parquet.read_schema(path)
    else:
        names = header(path) if kind(path) in TABLES else [SMILES.name]
        schema = pa.schema([(name, pa.string()) for name in names])
    kept = kept_columns(schema.names, columns, id_column(schema.names, options, path), path)
    return pa.schema([schema.field(name) for name in kept])

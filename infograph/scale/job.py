"""What is to be done to every shard, as plain values: processes and Ray's actors get it as JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from infograph.contract.folder import read_config
from infograph.data.embedding_files import check_names
from infograph.data.embeddings import PROBLEM
from infograph.data.formats.reading import ReadOptions
from infograph.data.storage import json_ready, read_json
from infograph.errors import InvalidParameter

BadRows = Literal["raise", "skip", "nan"]
BLOCK = 10_000  # rows: some 20 MB of vectors of 512 numbers
READ = ("smiles", "id", "node", "edge", "weight", "directed", "hydrogens", "stereo", "salts")


@dataclass(frozen=True)
class Job:
    """One job over many shards.

    Attributes:
        model: the model's folder.
        checksum: of all that the model's vectors depend on.
        out: the folder of the vectors.
        columns: columns of the inputs to write beside the vectors; None for all.
        errors: what happens to a row that cannot be embedded.
        block: rows that are in memory at a time.
        reading: the options of `ReadOptions` that a user may give, by name.
    """

    model: str
    checksum: str
    out: str
    columns: tuple[str, ...] | None
    errors: BadRows
    block: int
    reading: dict[str, Any]

    @classmethod
    def of(
        cls,
        model: str | Path,
        out: str | Path,
        *,
        columns: Sequence[str] | None,
        errors: BadRows,
        block: int,
        reading: ReadOptions | None,
    ) -> Job:
        """A checked job.

        Raises:
            FileMissing, InvalidFile: there is no such model.
            InvalidParameter: a setting is outside its range.
        """
        if errors not in get_args(BadRows):
            raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
        if block < 1:
            raise InvalidParameter(f"block={block}: expected at least one row")
        if columns is not None:
            check_names(columns)
            if errors == "nan" and PROBLEM in columns:
                raise InvalidParameter(
                    f"the column {PROBLEM!r} says why a row is empty: leave the files' own one out"
                )
        return cls(
            model=str(Path(model).absolute()),
            checksum=model_checksum(Path(model)),
            out=str(Path(out).absolute()),
            columns=None if columns is None else tuple(columns),
            errors=errors,
            block=block,
            reading=_read(reading or ReadOptions()),
        )

    def settings(self) -> dict[str, Any]:
        """What the vectors depend on: shards of other settings do not belong into the same folder."""
        columns = "all" if self.columns is None else list(self.columns)
        return {"model": self.checksum, "columns": columns, "errors": self.errors, **self.reading}

    def options(self, schema: Any) -> ReadOptions:
        """How a model of this schema reads the shards; bad rows are always listed."""
        return ReadOptions(errors="skip", schema=schema, **self.reading)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The inverse of `to_json`."""
        content = json.loads(text)
        columns = content.pop("columns")
        return cls(**content, columns=None if columns is None else tuple(columns))


def model_checksum(folder: Path) -> str:
    """A checksum of weights, settings and schema; the same for a copy of the folder."""
    config = read_config(folder)
    parts = {name: config[name] for name in ("class", "params", "learned", "sha256")}
    text = json.dumps([parts, read_json(folder / "schema.json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(options: ReadOptions) -> dict[str, Any]:
    if options.label is not None or options.units:
        raise InvalidParameter(
            "label and units describe columns, which are copied as they are here: name them in columns"
        )
    return {name: json_ready(getattr(options, name)) for name in READ}

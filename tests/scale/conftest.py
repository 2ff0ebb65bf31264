"""A small model of molecules, and shards of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import GIN, InfoGraph

PIECES = ("C", "O", "N", "CC", "C(=O)O", "c1ccccc1", "C#N", "C1CC1", "S(=O)(=O)C", "F")


def molecules(count, seed=0):
    """Chains of four random pieces."""
    drawn = np.random.default_rng(seed).integers(len(PIECES), size=(count, 4))
    return ["".join(f"C({PIECES[piece]})" for piece in row) + "C" for row in drawn]


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale") / "model"
    return InfoGraph(dim=12, epochs=0, encoder=GIN(layers=2)).fit(molecules(60)).save(folder)


@pytest.fixture
def write(tmp_path):
    """Write a Parquet shard to tmp_path/in."""

    def shard(name, smiles, /, **columns):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.table({"smiles": pa.array(smiles, pa.string()), **columns}), path)
        return path

    return shard


def vectors(path):
    """The vectors of a file. (G, D)."""
    rows = parquet.read_table(path)["vector"].to_numpy()
    return np.stack(rows) if len(rows) else np.zeros((0, 0), np.float32)


def column(path, name):
    return parquet.read_table(path)[name].to_pylist()


def everything(out):
    """All that a job wrote, but for times."""
    found = {path.name: parquet.read_table(path) for path in sorted(out.glob("*.parquet"))}
    for path in sorted((out / "_rejected").glob("*.csv")):
        found[f"rejected {path.name}"] = path.read_text()
    return found

"""The split by scaffolds: hand-checked scaffolds, and that no scaffold is ever on two sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infograph.data.convert import from_edges
from infograph.data.graphset import GraphSet
from infograph.data.molecules import from_molecules
from infograph.data.schema import Column
from infograph.data.splits import Split, scaffold_groups, scaffold_split, scaffolds
from infograph.errors import InvalidParameter, SchemaMismatch

RINGS = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "c1ccsc1", "C1CC1", "c1ccc2ccccc2c1", "C1CCNCC1", "c1cnc[nH]1"]


def alkyl(ring: str, count: int) -> list[str]:
    return [f"{'C' * length}{ring}" for length in range(1, count + 1)]


def parts(split: Split) -> list[set[int]]:
    return [
        set(values.tolist()) for values in (split.labelled, split.unlabelled, split.validation, split.test)
    ]


def test_hand_checked_scaffolds() -> None:
    molecules = {
        "Cc1ccccc1": "c1ccccc1",
        "CC(=O)Oc1ccccc1C(=O)O": "c1ccccc1",
        "C[C@H]1CC[C@@H](O)CC1": "C1CCCCC1",  # without stereochemistry
        "Cc1ccccc1CCc1ccncc1": "c1ccc(CCc2ccncc2)cc1",  # rings and what links them
        "CC1CCCCC1=O": "O=C1CCCCC1",  # what hangs on a ring by a double bond belongs to it
        "[Na+].[O-]c1ccccc1": "c1ccccc1",
        "CCO": "",
        "C/C=C/C": "",
    }
    assert scaffolds(from_molecules(list(molecules))).tolist() == list(molecules.values())


def test_molecules_without_rings_are_groups_of_their_own() -> None:
    groups = scaffold_groups(from_molecules(["CC", "CCC", "CC", "Cc1ccccc1", "CCc1ccccc1"]))
    assert groups[0] == groups[2] and groups[3] == groups[4] and len(set(groups.tolist())) == 3


def test_sizes_are_exact_where_there_are_single_molecules() -> None:
    graphs = from_molecules(
        [*alkyl(RINGS[0], 30), *alkyl(RINGS[1], 10), *alkyl(RINGS[2], 3), *alkyl("O", 57)]
    )
    for seed in range(5):
        split = scaffold_split(graphs, seed=seed)
        assert [len(part) for part in parts(split)] == [80, 0, 10, 10]
        assert set(range(40)) <= parts(split)[0]  # scaffolds of more than half the test set are for training
    sides = {
        next(n for n, part in enumerate(parts(scaffold_split(graphs, seed=s))) if 40 in part)
        for s in range(30)
    }
    assert sides == {0, 2, 3}  # the medium one is on any side, by the seed


def test_every_part_gets_a_scaffold_however_large() -> None:
    graphs = from_molecules([*alkyl(RINGS[0], 4), *alkyl(RINGS[1], 4), *alkyl(RINGS[2], 4)])
    assert sorted(map(len, parts(scaffold_split(graphs)))) == [0, 4, 4, 4]
    with pytest.raises(
        InvalidParameter,
        match=r"2 scaffolds cannot be split into 3 parts: .* \(the largest has 4 of 8\); use random_split",
    ):
        scaffold_split(graphs[:8])
    assert [len(part) for part in parts(scaffold_split(graphs[:8], (0.5, 0, 0.5)))] == [4, 0, 0, 4]
    assert [len(part) for part in parts(scaffold_split(graphs[:4], (1, 0, 0)))] == [4, 0, 0, 0]


def with_target(graphs: GraphSet, values: list[float]) -> GraphSet:
    return graphs.with_column("graph", Column("logS [mol/L]", "float", unit="mol/L"), np.array(values))


def test_unlabelled_molecules() -> None:
    graphs = from_molecules(
        [*alkyl(RINGS[0], 4), *alkyl(RINGS[1], 4), *alkyl(RINGS[2], 4), *alkyl(RINGS[3], 2)]
    )
    values = [1.0, 1, 1, np.nan, 2, 2, np.nan, np.nan, 3, np.nan, np.nan, np.nan, np.nan, np.nan]
    split = scaffold_split(with_target(graphs, values), (0.5, 1 / 3, 1 / 6), target="logS")
    # Three, two and one labelled molecules; the unlabelled ones of the held-out scaffolds are in no part.
    assert parts(split) == [{0, 1, 2}, {3, 12, 13}, {4, 5}, {8}]
    with pytest.raises(
        InvalidParameter, match="target='logS': no molecule has a value; split without a target"
    ):
        scaffold_split(with_target(graphs, [np.nan] * 14), target="logS")
    with pytest.raises(SchemaMismatch, match="no graph column 'logP'"):
        scaffold_split(with_target(graphs, values), target="logP")


def test_what_cannot_be_split() -> None:
    graphs = from_molecules(alkyl("O", 9))
    with pytest.raises(InvalidParameter, match=r"shares=\(0.8, 0.1\): expected three numbers"):
        scaffold_split(graphs, (0.8, 0.1))
    with pytest.raises(InvalidParameter, match="2 graphs cannot be split into 3 parts"):
        scaffold_split(graphs[:2])
    with pytest.raises(InvalidParameter, match="no graph column 'smiles'"):
        scaffold_split(from_edges([(np.zeros((2, 0), int), 2)] * 5))


MOLECULES = st.lists(
    st.builds(lambda n, ring: "C" * n + ring, st.integers(1, 6), st.sampled_from([*RINGS, "", "O", "N"])),
    min_size=3,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(
    MOLECULES,
    st.integers(0, 5),
    st.sampled_from([(0.8, 0.1, 0.1), (0.6, 0.2, 0.2), (0.5, 0.0, 0.5), (0.4, 0.3, 0.3)]),
)
def test_disjoint_exhaustive_and_no_scaffold_on_two_sides(
    smiles: list[str], seed: int, shares: tuple[float, float, float]
) -> None:
    graphs = from_molecules(smiles)
    groups = scaffold_groups(graphs)
    if len(set(groups.tolist())) < 3:
        return
    split = scaffold_split(graphs, shares, seed=seed)
    again = scaffold_split(graphs, shares, seed=seed)
    assert parts(split) == parts(again)
    assert sorted(np.concatenate(list(vars(split).values())).tolist()) == list(range(len(graphs)))
    sides = [set(groups[values].tolist()) for values in vars(split).values()]
    assert sum(map(len, sides)) == len(set(groups.tolist()))
    largest = np.bincount(groups).max()
    for values, share in zip((split.labelled, split.validation, split.test), shares, strict=True):
        assert abs(len(values) - share * len(graphs)) <= 2 * largest + 1

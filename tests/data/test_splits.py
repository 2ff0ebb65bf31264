"""Splits: every graph in one part, the same parts for the same seed, and no scaffold on two sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infograph import Column, GraphSet, as_graphset, random_split, scaffold_split, semi_supervised_split
from infograph.data.molecules import from_molecules
from infograph.data.splits import Split, deterministic_scaffold_split, scaffolds, share_stops
from infograph.errors import InvalidParameter

RINGS = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "c1ccsc1", "C1CC1", "c1ccc2ccccc2c1", "C1CCNCC1", "c1cnc[nH]1"]


def parts(split: Split) -> list[list[int]]:
    return [values.tolist() for values in (split.labelled, split.validation, split.test, split.unlabelled)]


def sizes(split: Split) -> list[int]:
    return list(map(len, parts(split)))


def assert_exhaustive(split: Split, n_graphs: int) -> None:
    assert sorted(graph for part in parts(split) for graph in part) == list(range(n_graphs))


def test_the_papers_split_of_qm9() -> None:
    split = semi_supervised_split(130_831)
    assert sizes(split) == [5_000, 10_000, 10_000, 105_831]
    assert_exhaustive(split, 130_831)
    assert repr(split) == "Split(5,000 labelled, 10,000 validation, 10,000 test, 105,831 unlabelled)"
    assert abs(split.labelled.mean() - 65_415) < 2_000  # drawn from everywhere: the deviation is 534


@given(
    counts=st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    seed=st.integers(0, 2**32),
)
def test_sizes_and_seeds(counts: tuple[int, int, int, int], seed: int) -> None:
    labelled, validation, test, _ = counts
    asked = {"labelled": labelled, "validation": validation, "test": test, "seed": seed}
    split = semi_supervised_split(sum(counts), **asked)
    assert sizes(split) == list(counts)
    assert_exhaustive(split, sum(counts))
    assert parts(split) == parts(semi_supervised_split(sum(counts), **asked))
    assert split.train.tolist() == [*split.labelled.tolist(), *split.unlabelled.tolist()]


def test_draws() -> None:
    few, many = (semi_supervised_split(500, labelled=n, validation=100, test=100, seed=3) for n in (20, 200))
    assert set(few.labelled) < set(many.labelled)  # fewer labels are some of the more, and the rest stays
    other = semi_supervised_split(500, labelled=20, validation=100, test=100)
    assert parts(few)[1:3] == parts(many)[1:3] != parts(other)[1:3]
    graphs = as_graphset([(np.zeros((2, 0), int), 1)] * 30)
    assert parts(random_split(graphs)) == parts(random_split(30))
    assert share_stops(130_831, (0.8, 0.1, 0.1)) == (104_665, 117_748)
    assert share_stops(3, (0.98, 0.01, 0.01)) == (1, 2)  # a part that was asked for has a graph


@given(
    n_graphs=st.integers(3, 300),
    weights=st.tuples(st.integers(1, 20), st.integers(0, 20), st.integers(0, 20)),
    seed=st.integers(0, 99),
)
def test_random_split(n_graphs: int, weights: tuple[int, int, int], seed: int) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    split = random_split(n_graphs, shares, seed=seed)
    assert_exhaustive(split, n_graphs)
    assert parts(split) == parts(random_split(n_graphs, shares, seed=seed))
    for count, share in zip(sizes(split), (*shares, 0), strict=True):
        assert bool(count) == (share > 0) and abs(count - share * n_graphs) <= 2


# ---- by scaffolds


def alkyl(ring: str, count: int) -> list[str]:
    return [f"{'C' * length}{ring}" for length in range(1, count + 1)]


def test_hand_checked_scaffolds() -> None:
    molecules = {
        "CC(=O)Oc1ccccc1C(=O)O": "c1ccccc1",
        "C[C@H]1CC[C@@H](O)CC1": "C1CCCCC1",  # without stereochemistry
        "Cc1ccccc1CCc1ccncc1": "c1ccc(CCc2ccncc2)cc1",  # rings and what links them
        "CC1CCCCC1=O": "O=C1CCCCC1",  # what hangs on a ring by a double bond belongs to it
        "[Na+].[O-]c1ccccc1": "c1ccccc1",
        "C/C=C/C": "",
    }
    assert scaffolds(np.array(list(molecules))).tolist() == list(molecules.values())


def test_sizes_are_exact_where_there_are_single_molecules() -> None:
    graphs = from_molecules(
        [*alkyl(RINGS[0], 30), *alkyl(RINGS[1], 10), *alkyl(RINGS[2], 3), *alkyl("O", 57)]
    )
    splits = [scaffold_split(graphs, seed=seed) for seed in range(30)]
    assert all(sizes(split) == [80, 10, 10, 0] for split in splits)
    assert all(set(range(40)) <= set(split.labelled) for split in splits)  # large scaffolds are for training
    sides = {next(n for n, part in enumerate(parts(split)) if 40 in part) for split in splits}
    assert sides == {0, 1, 2}  # the medium one is on any side, by the seed


def test_every_part_gets_a_scaffold_however_large() -> None:
    graphs = from_molecules([*alkyl(RINGS[0], 4), *alkyl(RINGS[1], 4), *alkyl(RINGS[2], 4)])
    assert sizes(scaffold_split(graphs)) == [4, 4, 4, 0]
    assert sizes(scaffold_split(graphs[:8], (0.5, 0, 0.5))) == [4, 0, 4, 0]
    assert sizes(scaffold_split(graphs[:4], (1, 0, 0))) == [4, 0, 0, 0]
    with pytest.raises(InvalidParameter, match=r"2 scaffolds cannot .* \(the largest has 4 of 8\)"):
        scaffold_split(graphs[:8])


def test_the_deterministic_split_is_that_of_deepchem() -> None:
    rng = np.random.default_rng(0)
    graphs = from_molecules(["C" * rng.integers(1, 6) + rng.choice([*RINGS, "O"]) for _ in range(80)])
    groups: dict[str, list[int]] = {}
    for place, scaffold in enumerate(scaffolds(graphs.graph["smiles"]).tolist()):
        groups.setdefault(scaffold, []).append(place)
    train, valid, test = [], [], []  # type: list[int], list[int], list[int]
    for members in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(train) + len(members) > 48:
            (test if len(train) + len(valid) + len(members) > 64 else valid).extend(members)
        else:
            train.extend(members)
    assert parts(deterministic_scaffold_split(graphs, (0.6, 0.2, 0.2))) == [train, valid, test, []]


def with_target(graphs: GraphSet, values: list[float]) -> GraphSet:
    return graphs.with_column("graph", Column("logS [mol/L]", "float", unit="mol/L"), np.array(values))


def test_unlabelled_molecules() -> None:
    graphs = from_molecules(
        [smiles for ring, n in zip(RINGS, (4, 4, 4, 2), strict=False) for smiles in alkyl(ring, n)]
    )
    values = [1.0, 1, 1, np.nan, 2, 2, np.nan, np.nan, 3, np.nan, np.nan, np.nan, np.nan, np.nan]
    split = scaffold_split(with_target(graphs, values), (0.5, 1 / 3, 1 / 6), target="logS")
    # Three, two and one labelled molecules; the unlabelled ones of the held-out scaffolds are in no part.
    assert parts(split) == [[0, 1, 2], [4, 5], [8], [3, 12, 13]]
    with pytest.raises(InvalidParameter, match="target='logS': no molecule has a value"):
        scaffold_split(with_target(graphs, [np.nan] * 14), target="logS")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(lambda n, ring: "C" * n + ring, st.integers(1, 6), st.sampled_from([*RINGS, "", "O", "N"])),
        min_size=3,
        max_size=40,
    ),
    st.integers(0, 5),
    st.sampled_from([(0.8, 0.1, 0.1), (0.6, 0.2, 0.2), (0.5, 0.0, 0.5), (0.4, 0.3, 0.3)]),
)
def test_no_scaffold_is_on_two_sides(smiles: list[str], seed: int, shares: tuple[float, ...]) -> None:
    graphs = from_molecules(smiles)
    found = zip(scaffolds(graphs.graph["smiles"]).tolist(), graphs.graph["smiles"].tolist(), strict=True)
    groups = np.array(
        [ring or f"acyclic {own}" for ring, own in found]
    )  # acyclic molecules are groups of one
    names, counts = np.unique(groups, return_counts=True)
    if len(names) < 3:
        return
    split = scaffold_split(graphs, shares, seed=seed)
    assert parts(split) == parts(scaffold_split(graphs, shares, seed=seed))
    assert_exhaustive(split, len(graphs))
    assert sum(len(set(groups[part])) for part in parts(split)) == len(names)
    for count, share in zip(sizes(split), (*shares, 0), strict=True):
        assert abs(count - share * len(graphs)) <= 2 * counts.max() + 1

"""Whatever a file or a graph holds, it is read or refused: never a defect."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infograph import GIN, InfoGraph
from infograph.explore import Limits, make_atlas
from infograph.explore.guard import Refusal
from infograph.index import GraphIndex

server = pytest.importorskip("infograph.explore.server", reason="the server needs FastAPI")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::infograph.errors.UnknownCategoryWarning"),
]
SEEDS = (
    b"CCO a\nCCN b\n",
    b"smiles,id,y\nCCO,a,1\nCCN,b,2.5\n",
    b'{"id": "g", "nodes": [{"label": "a"}, {"label": "b"}], "edges": [[0, 1]]}\n',
    b"\n  x\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0  0.0  0.0 C   0  0\nM  END\n$$$$\n",
    b'<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
    b'<edge source="a" target="b"/></graph></graphml>',
    b"1 2\n2 3\n",
)
JUNK = (b"\x00|\xff|" + b"9" * 30 + b"|-1|1e400|nan|" + b"[" * 50 + b'|{|"|<|\n|\r|\t|,|').split(b"|")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
LABELLED = st.lists(st.fixed_dictionaries({"label": st.sampled_from("abz")}), max_size=4)
NODES = st.integers(-2, 6) | LABELLED | VALUES
EDGES = st.lists(st.lists(st.integers(-1, 6), min_size=1, max_size=3), max_size=5) | VALUES


@pytest.fixture(scope="module")
def explorers(index, atlas, corner_cases):
    plain = GraphIndex.build(
        InfoGraph(dim=4, epochs=1, encoder=GIN(layers=2)).fit(corner_cases), corner_cases
    )
    made = [(index, atlas), (plain, make_atlas(plain, method="pca"))]
    logging.disable(logging.WARNING)
    with pytest.MonkeyPatch.context() as here:  # and not in a process for each
        here.setattr(server, "limited", lambda reader, path, **_: reader(path))
        yield [server.Explorer(*each, Limits(nodes=1000)) for each in made]
    logging.disable(logging.NOTSET)


@settings(max_examples=150)
@given(
    st.sampled_from(SEEDS),
    st.sampled_from(server.ENDINGS),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 9), st.sampled_from(JUNK)), max_size=4),
)
def test_mangled_files(explorers, seed, ending, changes):
    body = bytearray(seed)
    for place, length, junk in changes:
        body[place : place + length] = junk
    for explorer in explorers:
        try:
            assert b"nearest" in server.upload(explorer, f"a{ending}", bytes(body)).body
        except Refusal as refusal:
            assert 400 <= refusal.status < 500 and "infograph-" not in refusal.text


@settings(max_examples=150)
@given(st.lists(st.fixed_dictionaries({"nodes": NODES, "edges": EDGES}), min_size=1, max_size=3))
def test_graphs_that_may_be_none(explorers, graphs):
    for explorer in explorers:
        try:
            read = explorer.read(graphs)
            assert len(explorer.index.model.transform(read)) == len(graphs) - len(read.rejected)
        except Refusal as refusal:
            assert 400 <= refusal.status < 500

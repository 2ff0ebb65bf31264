"""Every piece of code and every command of README and docs runs, and the site needs nothing from elsewhere.

A page's blocks run in their order in one folder, which holds the files that pages speak of; pages to
start with begin in an empty one. A comment above a block says what else is done with it: `<!-- slow: why -->`
runs with the slow tests, `<!-- not run: why -->` is compiled, or checked against the options that there are.
"""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import griffe
import networkx as nx
import pytest
import typer.main

import infograph
from benchmarks.public_names import GROUPS
from infograph.cli import main
from infograph.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"(?:^<!-- (slow|not run): ([^\n]+) -->\n)?^```(\w*)([^\n]*)\n(.*?)^```$", re.M | re.S)
COMMANDS = ("sh", "")
SHOWN = ("text", "csv", "smi", "json", "yaml")  # outputs, and files that a test of their own reads
SMILES = [  # so many that a tenth of them is enough for intervals
    f"{group}{ring}"
    for ring in ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNC1")
    for group in ("C", "CC", "CO", "N", "O", "CCC", "CS", "CCO", "CCN", "NC")
]
SMILES += [
    "C" * length + end
    for length in range(2, 10)
    for end in ("O", "N", "Cl", "C(=O)O", "C#N", "F", "OC", "NC", "C(C)C", "C(=O)N", "C=C", "C=O")
]


class Block(NamedTuple):
    when: str  # "slow", "not run" or ""
    why: str
    language: str
    file: str  # that the block is, if any
    code: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(m[1] or "", m[2] or "", m[3], m[4].strip(), m[5]) for m in FENCE.finditer(page.read_text())]


WITH_CODE = [page for page in PAGES if any(block.language not in SHOWN for block in blocks_of(page))]
SLOW = [page for page in WITH_CODE if any(block.when == "slow" for block in blocks_of(page))]


# ---- the files that pages speak of


def write_table(path: Path) -> None:
    """Molecules with a made-up logS, of which some were not measured."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "smiles", "logS", "class"])
        for row, smiles in enumerate(SMILES):
            value = "" if row % 9 == 8 else f"{1.5 - 0.3 * len(smiles) + 0.1 * (row % 3):.2f}"
            table.writerow([f"mol{row}", smiles, value, "ring" if "1" in smiles else "chain"])


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small forms of what a user brings: tables of molecules, networks, shards, a model."""
    folder = tmp_path_factory.mktemp("stage")
    for name in ("solubility.csv", "molecules.csv", "mine.csv", "measured.csv"):
        write_table(folder / name)
    with (folder / "candidates.csv").open("w") as file:
        file.writelines(["smiles\n", *(f"CC{smiles}\n" for smiles in SMILES)])
    for name in ("new.smi", "pool.smi"):
        (folder / name).write_text("".join(f"CC{smiles} new{row}\n" for row, smiles in enumerate(SMILES)))
    (folder / "networks").mkdir()
    rows = [("id", "label")]
    for seed in range(12):
        kinds = {"random": nx.gnp_random_graph(12, 0.3, seed=seed), "ring": nx.cycle_graph(8 + seed)}
        for kind, network in kinds.items():
            nx.write_graphml(network, folder / "networks" / f"{kind}-{seed}.graphml")
            rows.append((f"{kind}-{seed}", kind))
    with (folder / "networks" / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (folder / "shards").mkdir()
    write_shards(folder)
    infograph.InfoGraph.from_pretrained("molecules").save(folder / "model")
    return folder


def write_shards(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for part in range(2):
        own = {"id": [f"s{part}-{row}" for row in range(len(SMILES))], "smiles": SMILES}
        own["logS"] = [float(row) for row in range(len(SMILES))]
        parquet.write_table(pa.table(own), folder / "shards" / f"part{part}.parquet")


def predictor(folder: Path) -> None:
    """`model` learns logS on this page."""
    molecules = infograph.read_graphs(folder / "measured.csv")
    infograph.InfoGraphRegressor("vectors").fit(molecules, "logS").save(folder / "model")


PREPARED = {"reference.md": predictor}


# ---- running them


class Shell:
    """Runs the lines of a page; a server that one starts is there for the lines after it."""

    def __init__(self) -> None:
        self.servers: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        if words[:2] == ["infograph", "explore"]:
            self.serve(words[1:])
        elif words[0] == "infograph":
            assert main(words[1:]) == 0, line
        elif words[0] == "curl":
            address = words[words.index("-s") + 1].replace("8765", str(self.port))
            body = words[words.index("-d") + 1].encode()
            asked = urllib.request.Request(f"http://{address}", body, {"Content-Type": "application/json"})
            try:
                urllib.request.urlopen(asked, timeout=300).close()
            except urllib.error.HTTPError as error:  # the index of the page has a model without labels
                assert address.endswith("/predict") and "error" in json.load(error), line
        elif words[0] == "python" and words[1].endswith(".py"):
            subprocess.run(
                [sys.executable, *words[1:]], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
        else:
            known(words)

    def serve(self, words: list[str]) -> None:
        command = [sys.executable, "-m", "infograph", *words, "--port", str(self.port), "--no-browser"]
        self.servers.append(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}))
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        pytest.fail("the explorer does not answer")

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait(30)


def known(words: list[str]) -> None:
    """What changes the machine is not run: its targets, extras and modules exist."""
    if words[0] == "make":
        assert re.search(rf"^{re.escape(words[1])}:", (ROOT / "Makefile").read_text(), re.M), words
    elif words[0] == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), words
    elif words[0] == "python" and words[1] == "-m":
        assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").exists() or words[2] == "http.server"
    elif words[0] == "curl":
        json.loads(words[words.index("-d") + 1])
    else:
        pytest.fail(f"nothing says how to try {shlex.join(words)}: teach tests/test_docs.py")


def parsed(line: str) -> None:
    """A command that is not run: its verb, arguments and options exist."""
    words = shlex.split(line, comments=True)
    if words[0] != "infograph":
        return known(words)
    command, words = typer.main.get_command(app), words[1:]
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    command.make_context("infograph", list(words))
    return None


def lines_of(code: str) -> Iterator[str]:
    for line in code.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def run_page(page: Path, stage: Path, folder: Path, *, slow: bool) -> None:
    if not page.name.startswith("start_"):
        shutil.copytree(stage, folder, dirs_exist_ok=True)
        PREPARED.get(page.name, lambda _: None)(folder)
    for block in blocks_of(page):
        if block.file:
            (folder / block.file).parent.mkdir(exist_ok=True)
            (folder / block.file).write_text(block.code)
    shell, names = Shell(), {}
    try:
        for number, block in enumerate(blocks_of(page)):
            assert block.language in (*COMMANDS, *SHOWN, "python"), f"{page.name}: {block.language!r}"
            left_out = block.when == "not run" or (block.when == "slow" and not slow)
            if block.language == "python":
                path = folder / f"block{number}.py"
                path.write_text(block.code)
                if left_out:
                    compile(block.code, str(path), "exec")
                else:
                    names |= runpy.run_path(str(path), init_globals=names)
            elif block.language in COMMANDS:
                for line in lines_of(block.code):
                    (parsed if left_out else shell.run)(line)
    finally:
        shell.close()


@pytest.mark.filterwarnings("default::infograph.errors.ColumnWarning")  # as a user would see it
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_a_page_runs(page, stage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, stage, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::infograph.errors.ColumnWarning")
@pytest.mark.parametrize("page", SLOW, ids=lambda page: page.name)
def test_a_page_runs_with_what_takes_long(page, stage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, stage, tmp_path, slow=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_code_escapes(page):
    text = FENCE.sub("", page.read_text())
    assert not re.findall(r"^ {4}(?:infograph|pip|make|curl|python|from|import) .*", text, re.M)
    assert "```" not in text and not re.findall(r"<!-- (?:slow|not run).*", text)


# ---- the reference, and the site


def test_docstrings_name_parameters_that_exist():
    package = griffe.load("infograph", search_paths=[str(ROOT)])
    for name in (name for names in GROUPS.values() for name in names):
        found = package[name]
        found = found.final_target if found.is_alias else found
        for each in (
            found,
            *(m for m in found.members.values() if m.is_function and not m.name.startswith("_")),
        ):
            if each.docstring is None or not (each.is_class or each.is_function):
                continue
            called = {parameter.name for parameter in each.parameters}
            options = {"warn_unknown_params": False, "warn_missing_types": False}
            for section in each.docstring.parse("google", **options):
                if section.kind.value == "parameters":
                    told = {word for item in section.value for word in item.name.split(", ")}
                    assert {word.lstrip("*") for word in told} <= {word.lstrip("*") for word in called}, (
                        each.path
                    )


class Loaded(HTMLParser):
    """What a page has a browser load: all addresses but those of links that a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag != "a" and given.get("rel") != "canonical":
            self.addresses += [given[name] for name in ("src", "href", "data", "srcset") if given.get(name)]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    return built


def test_the_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        found = Loaded()
        found.feed(page.read_text())
        assert not [address for address in found.addresses if re.match(r"(https?:)?//", address)], page
    for style in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text()), style


def test_every_public_name_has_an_entry(site):
    text = "".join(page.read_text() for page in (site / "api").glob("*.html"))
    for name in infograph.__all__[1:]:
        assert f'id="infograph.{name}"' in text, name
    assert 'href="api/models.html#infograph.InfoGraph"' in (site / "reference.html").read_text()


def test_the_search_finds_pages(site):
    index = (site / "search" / "search_index.json").read_text()
    assert "Weisfeiler" in index and "start_molecules.html" in index and "api/kernels.html" in index


def test_figures_are_what_the_script_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "figures.py"))
    for name, draw in drawn["FIGURES"].items():
        assert (ROOT / "docs" / name).read_text() == draw() + "\n", name

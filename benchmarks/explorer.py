"""The explorer over all 130,831 molecules of QM9: making the map once, then opening it, hovering, searching.

    python -m benchmarks.explorer [--folder .cache/explorer] [--out benchmarks/results] [--again]

The index and its map are kept in the folder, with how long they took; a second run measures the opening only.
A page is usable when its points are drawn in their colours; Chromium has no graphics card here and draws on
the processor. Needs playwright and Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import options_of, seconds, write
from infograph import GIN, InfoGraph, load_dataset
from infograph.cells import peak_mb
from infograph.explore import make_atlas
from infograph.index import GraphIndex
from infograph.progress import Watch

COLUMNS = ("smiles", "mu", "alpha", "gap", "U0")
TRAINED, TRIES = 10_000, 60
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FRAMES = """async () => {
  const times = [];
  for (let i = 0; i < 60; i++) {
    const began = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: i % 20 < 10 ? "ArrowLeft" : "ArrowRight" }));
    await new Promise(requestAnimationFrame);
    if (i >= 10) times.push(performance.now() - began);
  }
  return times;
}"""
HOVER = """async (address) => {
  const began = performance.now();
  const image = new Image();
  const loaded = new Promise((resolve, reject) => Object.assign(image, { onload: resolve, onerror: reject }));
  image.src = address;
  await loaded;
  return performance.now() - began;
}"""


class Stopwatch(Watch):
    """How long every stage of an atlas took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name, self._began = "", time.perf_counter()

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""
        self.end()
        self._name, self._began = name, time.perf_counter()

    def end(self) -> None:
        """The last stage is over."""
        if self._name:
            self.seconds[self._name] = round(time.perf_counter() - self._began, 1)
            print(self._name, self.seconds[self._name], flush=True)


def make(folder: Path, *, again: bool = False) -> dict[str, Any]:
    """Train on a part, embed everything, make the map; how long each took. Vectors of 512 numbers."""
    kept = folder.with_suffix(".json")
    if kept.is_file() and not again:
        return dict(json.loads(kept.read_text()))
    graphs = load_dataset("QM9")
    began = time.perf_counter()
    model = InfoGraph(dim=512, epochs=2, random_state=0, encoder=GIN(layers=4)).fit(
        graphs[np.arange(TRAINED) * 13]
    )
    trained = time.perf_counter()
    index = GraphIndex.build(model, graphs, columns=COLUMNS)
    built = time.perf_counter()
    print("training", trained - began, "embedding", built - trained, flush=True)
    index.save(folder)
    watch = Stopwatch()
    make_atlas(GraphIndex.open(folder), folder, title="QM9", colour="alpha", watch=watch)
    watch.end()
    about = {
        "graphs": len(index),
        "dim": int(index.vectors.shape[1]),
        "approximate": index.is_approximate,
        "recall_at_10": index.recall(),
        "embedding_seconds": round(built - trained, 1),
        "map_seconds": watch.seconds,
        "peak_mb": peak_mb(),
    }
    kept.write_text(json.dumps(about, indent=1) + "\n")
    return about


def milliseconds(work: Any) -> float:
    return 1e3 * seconds(work)[0]


def fetch(address: str, body: dict[str, Any] | None = None) -> bytes:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def status_mb(pid: int, name: str) -> float:
    """A line of /proc: VmRSS, or VmHWM, the highest it was."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def open_page(address: str, rows: list[int]) -> dict[str, Any]:
    """The page in a browser that runs already: seconds until it is usable, milliseconds of drawings."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1360, "height": 850})
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("body[data-ready=true]", timeout=60_000)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        usable = time.perf_counter() - began
        drawn = [page.evaluate(HOVER, f"api/graph/{row}/drawing?size=160&theme=light") for row in rows]
        frames = page.evaluate(FRAMES)
        browser.close()
    return {
        "usable_seconds": usable,
        "hover_median_ms": statistics.median(drawn),
        "hover_slowest_ms": max(drawn),
        "frame_median_ms": statistics.median(frames),
    }


def measure(folder: Path) -> dict[str, Any]:
    """Start the server as a user does, and measure it."""
    began = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "infograph", "explore", str(folder), "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0].rstrip("/")
        started = time.perf_counter() - began
        rng = np.random.default_rng(0)
        rows = [int(row) for row in rng.integers(0, 130_000, TRIES)]
        about: dict[str, Any] = {"server_seconds": started}
        if CHROMIUM is not None:
            about |= open_page(address, rows)
        fetch(f"{address}/api/search", {"query": "CCO", "k": 12, "theme": "light"})  # the model is loaded
        near = [milliseconds(lambda row=row: fetch(f"{address}/api/graph/{row}")) for row in rows]
        names = ["C" * (i % 8 + 1) + ("O", "N", "C#N", "C=O")[i % 4] for i in range(TRIES)]
        unseen = [
            milliseconds(lambda one=one: fetch(f"{address}/search", {"graphs": [one], "k": 10}))
            for one in names
        ]
        return {
            **about,
            "neighbours_median_ms": statistics.median(near),
            "neighbours_slowest_ms": max(near),
            "smiles_median_ms": statistics.median(unseen),
            "server_mb": status_mb(server.pid, "VmRSS"),
            "server_peak_mb": status_mb(server.pid, "VmHWM"),
        }
    finally:
        server.terminate()
        server.wait(20)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".cache/explorer"))
    parser.add_argument("--again", action="store_true", help="make an index that is there already")
    options = parser.parse_args(arguments)
    options.folder.parent.mkdir(parents=True, exist_ok=True)
    result = {"making": make(options.folder, again=options.again), "opening": measure(options.folder)}
    print(json.dumps(result, indent=1))
    write(options.out, "explorer", result)


if __name__ == "__main__":
    main()

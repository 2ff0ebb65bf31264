"""The command in a process of its own: what it prints where, its exit codes, and Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infograph.train.checkpoint import kept_epochs
from tests.cli.conftest import SMALL, environment, run_alone
from tests.processes import interrupted, started, wait_for


def test_console_script_is_the_same():
    script = Path(sys.executable).parent / "infograph"
    if script.exists():
        done = subprocess.run([script, "--version"], capture_output=True, text=True, env=environment())
        assert done.stdout == run_alone("--version").out


def test_json_is_all_there_is_on_standard_output(tmp_path):
    done = run_alone("train", "MUTAG", "--out", tmp_path / "model", *SMALL, "--json")
    assert done.json["graphs"] == 188 and "epoch 2/2" in done.err


def test_mistake_is_one_line_without_traceback(tmp_path):
    words = ("embed", tmp_path / "none", "MUTAG", "--out", tmp_path / "v.csv")
    done = run_alone(*words)
    assert (done.code, done.out, done.err) == (2, "", f"Error: no model folder {tmp_path / 'none'}\n")
    loud = run_alone(*words, INFOGRAPH_DEBUG="1")
    assert loud.code == 2 and "Traceback" in loud.err


def test_a_narrow_terminal():
    done = run_alone("datasets", COLUMNS="60")
    assert "REDDIT-MULTI-5K" in done.out and max(map(len, done.out.splitlines()[:-1])) <= 60


def test_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m infograph info MUTAG | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment())
    assert done.stderr == ""


TWO_NETWORKS = ["--target", "y", "--objective", "infograph*", "--n-models", "2", "--early-stopping", "100000"]


@pytest.mark.parametrize("labels", [(), TWO_NETWORKS])
def test_interrupted_training_can_be_resumed(tmp_path, labels):
    """Without labels to the bit of an undisturbed run; estimators promise that of networks with labels."""
    model, state, whole = tmp_path / "model", tmp_path / "state", tmp_path / "whole"
    words = ["train", "MUTAG", "--dim", "8", "--layers", "2", *labels]
    kept = [*words, "--out", str(model), "--checkpoint", str(state)]
    command = [sys.executable, "-m", "infograph", *kept, "--epochs", "100000"]
    with started(command, stderr=subprocess.PIPE, env=environment()) as process:
        wait_for(lambda: (kept_epochs(state) or 0) >= 2 or process.poll() is not None)
        err = interrupted(process)
    assert process.returncode == 130 and "Traceback" not in err and not model.exists(), err
    last = err.strip().splitlines()[-1]
    assert last.startswith("Interrupted; go on with: infograph train") and last.endswith("100000 --resume")
    epochs = (kept_epochs(state) or 0) + 1
    resumed = run_alone(*kept, "--epochs", str(epochs), "--resume")
    assert resumed.code == 0 and f"{2 * epochs if labels else epochs} epochs" in resumed.out, resumed.err
    if not labels:
        assert run_alone(*words, "--out", whole, "--epochs", str(epochs)).code == 0
        for name in ("model.safetensors", "config.json"):
            assert (model / name).read_bytes() == (whole / name).read_bytes()


def test_interrupt_without_a_checkpoint_says_so(tmp_path):
    words = ["train", "MUTAG", "--out", str(tmp_path / "model"), "--epochs", "100000"]
    command = [sys.executable, "-m", "infograph", *words]
    with started(command, stderr=subprocess.PIPE, env=environment()) as process:
        assert any("epoch" in line for line in process.stderr)  # the first is done
        err = interrupted(process)
    assert process.returncode == 130 and "no state was kept" in err

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from infograph.train.checkpoint import kept_epochs
from tests.cli.conftest import SMALL, Run, environment
from tests.processes import interrupted, started, wait_for


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from infograph.cli import main; main(['--help']); "
        "print(sorted({'torch', 'sklearn', 'scipy', 'matplotlib', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_console_script_is_the_same(run_alone: Run) -> None:
    script = Path(sys.executable).parent / "infograph"
    if script.exists():
        done = subprocess.run([script, "--version"], capture_output=True, text=True, env=environment())
        assert done.stdout == run_alone("--version").out


def test_json_is_all_there_is_on_standard_output(run_alone: Run, tmp_path: Path) -> None:
    done = run_alone("train", "MUTAG", "--out", tmp_path / "model", *SMALL, "--json")
    assert done.code == 0
    assert json.loads(done.out)["graphs"] == 188
    assert "epoch 2/2" in done.err


def test_mistake_is_one_line_without_traceback(run_alone: Run, tmp_path: Path) -> None:
    done = run_alone("embed", tmp_path / "none", "MUTAG", "--out", tmp_path / "v.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: no model folder {tmp_path / 'none'}\n"
    loud = run_alone("embed", tmp_path / "none", "MUTAG", "--out", tmp_path / "v.csv", INFOGRAPH_DEBUG="1")
    assert loud.code == 2
    assert "Traceback" in loud.err


def test_a_narrow_terminal(run_alone: Run) -> None:
    done = run_alone("datasets", COLUMNS="60")
    assert "REDDIT-MULTI-5K" in done.out and max(map(len, done.out.splitlines()[:-1])) <= 60


def test_reader_that_leaves_is_no_error(mutag_model: Path) -> None:
    command = f"{sys.executable} -m infograph info MUTAG | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment())
    assert done.stderr == ""


def test_interrupted_training_can_be_resumed(tmp_path: Path, run_alone: Run) -> None:
    model, state = tmp_path / "model", tmp_path / "state"
    words = [
        "train",
        "MUTAG",
        "--out",
        str(model),
        "--dim",
        "16",
        "--layers",
        "2",
        "--checkpoint",
        str(state),
    ]
    command = [sys.executable, "-m", "infograph", *words]
    with started([*command, "--epochs", "100000"], stderr=subprocess.PIPE, env=environment()) as process:
        wait_for(lambda: (kept_epochs(state) or 0) >= 2 or process.poll() is not None)
        err = interrupted(process)
    assert process.returncode == 130, err
    last = err.strip().splitlines()[-1]
    assert last.startswith("Interrupted after epoch ") and last.endswith("--epochs 100000 --resume")
    assert "Traceback" not in err and not model.exists()
    epochs = int(last.split()[3].rstrip(";")) + 2
    resumed = run_alone(*words, "--epochs", str(epochs), "--resume")
    assert resumed.code == 0, resumed.err
    assert f"{epochs} epochs" in resumed.out
    undisturbed = [str(tmp_path / "whole") if word == str(model) else word for word in words[:-2]]
    assert run_alone(*undisturbed, "--epochs", str(epochs)).code == 0
    for name in ("model.safetensors", "config.json"):
        assert (model / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_interrupt_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    words = ["train", "MUTAG", "--out", str(tmp_path / "model"), "--epochs", "100000"]
    with started(
        [sys.executable, "-m", "infograph", *words], stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stderr is not None
        assert any("epoch" in line for line in process.stderr)  # the first is done
        err = interrupted(process)
    assert process.returncode == 130, err
    assert "no state was kept" in err

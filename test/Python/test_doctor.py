"""`python -m remat doctor` says what is there, and what to do about what is not."""
import os
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python"


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "remat", *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(PACKAGE)} | environment)


def test_all_that_is_needed_is_there():
    done = run("doctor")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[1].startswith("ok  compiler") and "_native" in lines[1]
    assert [line[4:26].strip() for line in lines if line.startswith("--") and "target" not in line[4:26]] == \
        [name for name, found in (("remat.torch", has("torch", "torch_mlir")), ("remat.jax", has("jax", "iree"))) if not found]


def has(*modules):
    import importlib.util
    return all(importlib.util.find_spec(module) for module in modules)


def test_a_checkout_that_is_not_built(tmp_path):
    done = run("doctor", BUILD_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "--  compiler               not built: run tools/setup, or pip install . (looked in" in done.stdout


def test_no_cuda_tools(tmp_path):
    lines = run("doctor", PATH=str(tmp_path), CUDA_ROOT="", CUDA_HOME="", CUDA_PATH="").stdout.splitlines()
    line = next(line for line in lines if "target=cuda compiles" in line)
    assert line.startswith("--") and "set CUDA_ROOT" in line or "/nvidia/cu13" in line or "/usr/local/cuda" in line


def test_other_commands():
    done = run("cure")
    assert done.returncode == 2 and "invalid choice: 'cure'" in done.stderr

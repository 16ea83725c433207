# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m remat doctor` says what is there, and what to do about what is not."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import remat

PACKAGE = Path(__file__).resolve().parents[2] / "python"


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "remat", *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(PACKAGE)} | environment)


def test_all_that_is_needed_is_there():
    done = run("doctor")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[1].startswith("ok  compiler") and "_native" in lines[1]
    assert f" {remat.__version__}, " in lines[1] and remat.__version__.count(".") == 2
    assert [line[4:26].strip() for line in lines if line.startswith("--") and "target" not in line[4:26]] == \
        [name for name, found in (("remat.torch", has("torch", "torch_mlir")), ("remat.jax", has("jax", "iree"))) if not found]


def has(*modules):
    import importlib.util
    return all(importlib.util.find_spec(module) for module in modules)


def test_a_checkout_that_is_not_built(tmp_path):
    done = run("doctor", BUILD_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "--  compiler               not built: run tools/setup, or pip install . (looked in" in done.stdout


def cuda_tools(folder, root=""):
    """Returns the line about CUDA's tools, where PATH and environments have none."""
    done = run("doctor", PATH=str(folder), VIRTUAL_ENV="", CUDA_ROOT=str(root), CUDA_HOME="", CUDA_PATH="")
    return next(line for line in done.stdout.splitlines() if "target=cuda compiles" in line)


@pytest.mark.skipif(Path("/usr/local/cuda").exists(), reason="this machine has CUDA's tools")
def test_no_cuda_tools(tmp_path):
    line = cuda_tools(tmp_path)
    assert line.startswith("--") and "found no bin/ptxas" in line and "pip install" in line


def test_cuda_tools_of_a_folder(tmp_path):
    for name in ("bin/ptxas", "bin/fatbinary", "nvvm/libdevice/libdevice.10.bc"):
        path = tmp_path / "cuda" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o755)
    assert cuda_tools(tmp_path, tmp_path / "cuda") == f"ok  target=cuda compiles   {tmp_path / 'cuda'}"


def test_other_commands():
    done = run("cure")
    assert done.returncode == 2 and "invalid choice: 'cure'" in done.stderr

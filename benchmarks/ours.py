# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the benchmarks' models and trains them on one batch."""
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import models
import workloads

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from remat.testing import training  # noqa: E402  (needs the path above)

POLICIES = {"none": "none", "full": "nothing_saveable", "dots": "dots_saveable"}


def compile_program(workload, dims, policy, mode, folder, options=""):
    """Returns the program's file, the memory report of its step, and seconds. `options` are more of `remat-train`'s."""
    source, program, report = (Path(folder, name) for name in ("model.mlir", "program.mlir", "memory.json"))
    source.write_text(models.mlir(workload, dims))
    start = time.perf_counter()
    step = training.compile_model(source, program, report,
                                  [f"--remat-train=policy={POLICIES[policy]} mode={mode} report={report} {options}"])
    return program, step, time.perf_counter() - start


def run_program(folder, program, steps, environment=None):
    """The losses of `steps` steps, all on the first batch of data.npz, from init.npz where there are these; and the
    runtime's report."""
    files = {key: Path(folder, f"{key.lower()}.npz") for key in ("DATA", "INIT")}
    settings = {key: file for key, file in files.items() if file.exists()} | {"STEPS": steps, "SHUFFLE": 0}
    losses, report = training.run_program(program, folder, settings, environment)
    return [float(loss) for loss in losses], report


def measure(workload, dims, policy, mode, steps):
    """Everything that the table shows. Compile time is all of remat-opt, and of mlir-runner what is not steps."""
    with tempfile.TemporaryDirectory() as folder:
        program, memory, opt_s = compile_program(workload, dims, policy, mode, folder)
        arrays = workloads.parameters(workload, dims) | workloads.states(workload, dims)
        np.savez(Path(folder, "init.npz"), **arrays)
        np.savez(Path(folder, "data.npz"), **workloads.batch(workload, dims))
        start = time.perf_counter()
        losses, run = run_program(folder, program, steps + 1)
        wall = time.perf_counter() - start
        arena = run["peak_bytes_by_class"]["arena"]
        assert arena == memory["arena"], f"predicted {memory['arena']} bytes, measured {arena}"
        return {"times": run["step_s"][1:], "bytes": arena, "states": run["peak_bytes_by_class"].get("optimizer state", 0), "opt_s": opt_s,
                "compile_s": opt_s + wall - sum(run["step_s"]), "losses": losses}

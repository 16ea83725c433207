"""Compiles models with remat-opt and trains them with the stock mlir-runner, as a user would."""
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import models
import workloads

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
LIBRARIES = [BUILD / "lib/libremat_runtime.so", LLVM / "lib/libomp.so", LLVM / "lib/libmlir_c_runner_utils.so"]
POLICIES = {"none": "none", "full": "nothing_saveable", "dots": "dots_saveable"}


def compile_model(source, program, report, passes):
    """Writes the program, and the memory report to which the passes point; returns the report of the step."""
    subprocess.run([BUILD / "bin/remat-opt", source, "-o", program, *passes], check=True)
    return next(f for f in json.loads(report.read_text())["functions"] if f["name"] == "step")


def compile_program(workload, dims, policy, mode, folder):
    """Returns the program's file, the memory report of its step, and seconds."""
    source, program, report = (Path(folder, name) for name in ("model.mlir", "program.mlir", "memory.json"))
    source.write_text(models.mlir(workload, dims))
    start = time.perf_counter()
    step = compile_model(source, program, report,
                         [f"--remat-train=policy={POLICIES[policy]} mode={mode} report={report}"])
    return program, step, time.perf_counter() - start


def run_program(folder, program, steps, environment=None):
    """The losses of `steps` steps, all on the first batch of data.npz, from init.npz where there are these; and the
    runtime's report."""
    log, report = Path(folder, "losses.tsv"), Path(folder, "run.json")
    files = {key: Path(folder, f"{key.lower()}.npz") for key in ("DATA", "INIT")}
    settings = {key: file for key, file in files.items() if file.exists()} | {
        "STEPS": steps, "SHUFFLE": 0, "LOG": log, "LOG_EVERY": 1, "REPORT": report}
    subprocess.run([LLVM / "bin/mlir-runner", program, "-O3", "-e", "main", "-entry-point-result=void",
                    "--shared-libs=" + ",".join(map(str, LIBRARIES))], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {f"REMAT_{key}": str(value) for key, value in settings.items()} | (environment or {}))
    return [float(line.split("\t")[1]) for line in log.read_text().splitlines()], json.loads(report.read_text())


def measure(workload, dims, policy, mode, steps):
    """Everything that the table shows. Compile time is all of remat-opt, and of mlir-runner what is not steps."""
    with tempfile.TemporaryDirectory() as folder:
        program, memory, opt_s = compile_program(workload, dims, policy, mode, folder)
        arrays = workloads.parameters(workload, dims)
        if workload == "resnet18":
            arrays |= workloads.resnet18_states(dims)
        np.savez(Path(folder, "init.npz"), **arrays)
        np.savez(Path(folder, "data.npz"), **workloads.batch(workload, dims))
        start = time.perf_counter()
        losses, run = run_program(folder, program, steps + 1)
        wall = time.perf_counter() - start
        arena = run["peak_bytes_by_class"]["arena"]
        assert arena == memory["arena"], f"predicted {memory['arena']} bytes, measured {arena}"
        return {"times": run["step_s"][1:], "bytes": arena, "opt_s": opt_s,
                "compile_s": opt_s + wall - sum(run["step_s"]), "losses": losses}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile training programs with remat-opt and run them with the stock mlir-runner, as a user would.

Environment: BUILD_DIR, LLVM_PREFIX.
"""
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
COMMON = [LLVM / "lib/libmlir_c_runner_utils.so"]
LIBRARIES = {
    "cpu": [BUILD / "lib/libremat_runtime.so", *COMMON],
    "cuda": [BUILD / "lib/libremat_cuda_runtime.so", *COMMON],
    "cuda emulate": [BUILD / "lib/libremat_cuda_runtime.so", BUILD / "lib/libremat_cuda_emulator.so", *COMMON],
}


def compile_model(source, program, report, passes, step="step"):
    """Writes the program, and the memory report to which the passes point; returns the report of the step."""
    subprocess.run([BUILD / "bin/remat-opt", source, "-o", program, *passes], check=True)
    return next(f for f in json.loads(report.read_text())["functions"] if f["name"] == step)


def run_program(program, folder, settings, environment=None, target="cpu"):
    """Runs silently, with the runtime's `settings` (STEPS for REMAT_STEPS) and files in `folder`. Returns the losses with
    all their digits, and the runtime's report. `target` is what the program was compiled for, a key of LIBRARIES."""
    log, report = Path(folder, "losses.tsv"), Path(folder, "run.json")
    settings = settings | {"LOG": log, "LOG_EVERY": 1, "REPORT": report}
    subprocess.run([LLVM / "bin/mlir-runner", program, "-O3", "-e", "main", "-entry-point-result=void",
                    "--shared-libs=" + ",".join(map(str, LIBRARIES[target]))], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {f"REMAT_{key}": str(value) for key, value in settings.items()} | (environment or {}))
    return [line.split("\t")[1] for line in log.read_text().splitlines()], json.loads(report.read_text())

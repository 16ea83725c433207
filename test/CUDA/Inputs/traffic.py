# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the launches and bytes that are counted statically with those that the emulator reports of a step.

usage: traffic.py FOLDER
"""
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
import gpu  # noqa: E402  (needs the path above)
import models  # noqa: E402
import workloads  # noqa: E402

GPT = ("L=1", "d=32", "heads=1", "T=16", "B=2", "V=48")
CASES = [gpu.Case("gpt", "f32", GPT), gpu.Case("gpt", "bf16", GPT), gpu.Case("mlp", "f32", ("L=2", "d=48", "B=40"))]


def emulate(folder, workload, dims):
    """The emulator's counts of one step, by kernel."""
    program, report = folder / "program.mlir", folder / "emulator.json"
    np.savez(folder / "data.npz", **workloads.batch(workload, dims))
    np.savez(folder / "init.npz", **workloads.parameters(workload, dims))
    subprocess.run(["remat-opt", folder / "model.mlir", "--remat-train=target=cuda emulate check policy=none", "-o", program],
                   check=True)
    subprocess.run(["mlir-runner", program, "-O1", "-e", "main", "-entry-point-result=void",
                    "--shared-libs=" + os.environ["EMULATED_LIBRARIES"]], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"REMAT_DATA": str(folder / "data.npz"),
                                     "REMAT_INIT": str(folder / "init.npz"), "REMAT_STEPS": "1", "REMAT_SEED": "1",
                                     "REMAT_EMULATOR_REPORT": str(report)})
    return json.loads(report.read_text())["kernels"]


def count(launches):
    """The same from the program; bytes of kernels all of whose accesses are known."""
    counts = collections.defaultdict(lambda: {"launches": 0, "read": 0, "written": 0})
    for entry in launches.kernels:
        kernel = counts[entry["name"]]
        kernel["launches"] += entry["times"]
        for argument in entry["arguments"]:
            for direction, accesses in ("read", ("read", "read_write")), ("written", ("write", "read_write")):
                if argument["accessed"] is None:
                    kernel[direction] = None
                elif argument["access"] in accesses and kernel[direction] is not None:
                    kernel[direction] += entry["times"] * argument["accessed"]
        if None in kernel.values():
            kernel["read"] = kernel["written"] = None
    return dict(counts)


def count_products(launches):
    reads = writes = 0
    for entry in launches.calls:
        for argument in entry["arguments"]:
            reads += entry["times"] * argument["bytes"] * (argument["access"] in ("read", "read_write"))
            writes += entry["times"] * argument["bytes"] * (argument["access"] in ("write", "read_write"))
    return {"launches": gpu.count(launches.calls), "read": reads, "written": writes}


def main():
    for case in CASES:
        name = f"{case.workload} {case.precision}"
        folder = Path(sys.argv[1], name.replace(" ", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        launches, _ = gpu.compile_step(case, "none", folder)
        counted, seen = count(launches), emulate(folder, case.workload, workloads.dims_of(case.workload, case.overrides))
        counted["cublasLtMatmul"] = count_products(launches)
        known = [name for name, kernel in counted.items() if kernel["read"] is not None]
        for kernel in sorted(counted.keys() | seen.keys()):
            ours, found = counted.get(kernel), seen.get(kernel)
            if ours and ours["read"] is None and found:
                ours = ours | {"read": found["read"], "written": found["written"]}
            if ours != found:
                raise SystemExit(f"{name}: {kernel}: counted {ours}, but the emulator saw {found}")
        print(f"{name}: {gpu.count(launches.kernels)} launches of {len(counted) - 1} kernels, {len(known)} of them "
              "elementwise: as counted")


if __name__ == "__main__":
    main()

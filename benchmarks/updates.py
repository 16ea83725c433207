# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the memory that updates in the backward pass save where parameters are most of it: small batches, large weights.

Weights are counted by their shapes, and states as ours has them (a peer's are as large); residuals, gradients and temporaries, at
their peak, are counted beside them.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ours
import workloads

ROOT = Path(__file__).resolve().parent.parent
CASES = [("mlp", ("L=16", "d=2048", "B=8")), ("gpt", ("L=4", "d=512", "T=128", "B=1")),
         ("llama", ("L=8", "d=1024", "heads=16", "ffn=2816", "T=128", "B=1", "V=4096"))]
# In every framework, and in ours alone.
RULES, OURS = ("sgd", "adamw"), ("adamw-int8", "apollo", "apollo-mini")
# Weights of this part of the memory do not fit a second time, as gradients.
LARGE, LARGE_LAYER = 0.55, 4096
MIB = 2**20


def weight_bytes(workload, dims):
    return sum(4 * int(np.prod(initial.shape)) for initial in workloads.initials(workload, dims).values())


def measure(framework, workload, dims, rule, eager):
    command = [sys.executable, ROOT / "benchmarks/measure.py", framework, workload, "none", "--steps", "2",
               "--optimizer", rule, *(["--eager"] if eager else []), *dims]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def frameworks():
    return ["ours", "torch"] if importlib.util.find_spec("torch") else ["ours"]


def compare():
    print("| step | optimizer | who | weights and states, MiB | beside them, deferred | in the backward | peak over weights and "
          "states, deferred | in the backward |\n|---|---|---|---:|---:|---:|---:|---:|")
    for workload, sizes in CASES:
        weights = weight_bytes(workload, workloads.dims_of(workload, sizes))
        for rule in RULES + OURS:
            kept = 0
            for framework in frameworks() if rule in RULES else ["ours"]:
                records = [measure(framework, workload, sizes, rule, eager) for eager in (False, True)]
                kept = kept or weights + records[0]["states"]
                beside = [record["bytes"] for record in records]
                print(f"| {workload} {' '.join(sizes)} | {rule} | {framework} | {kept / MIB:.0f} | "
                      + " | ".join(f"{b / MIB:.1f}" for b in beside) + " | "
                      + " | ".join(f"{(kept + b) / kept:.2f}" for b in beside) + " |", flush=True)


def run_large(sizes):
    """A step with the program's own initial values, and the memory of the process that runs it."""
    dims = workloads.dims_of("mlp", sizes)
    with tempfile.TemporaryDirectory() as folder:
        needed = {}
        for mode in ("deferred", "eager"):  # the last program is the one that runs
            program, memory, _ = ours.compile_program("mlp", dims, "none", mode, folder)
            needed[mode] = memory["arena"]
        np.savez(Path(folder, "data.npz"), **workloads.batch("mlp", dims))
        _, report = ours.run_program(folder, program, 2)
        return needed, report


def compare_large():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    layer = 4 * LARGE_LAYER**2
    sizes = (f"L={int(LARGE * memory / layer)}", f"d={LARGE_LAYER}", "B=8")
    weights = weight_bytes("mlp", workloads.dims_of("mlp", sizes))
    needed, report = run_large(sizes)
    print(f"mlp {' '.join(sizes)} by sgd: {weights / MIB:.0f} MiB of weights on a machine of {memory / MIB:.0f} MiB")
    print(f"ours, deferred: would need {(weights + needed['deferred']) / MIB:.0f} MiB")
    peak = report["peak_bytes"]
    print(f"ours, in the backward: {peak / MIB:.0f} MiB, {peak / weights:.3f} of the weights; "
          f"{report['median_step_s']:.1f} s for a step")
    if "torch" in frameworks():
        record = measure("torch", "mlp", sizes, "sgd", True)
        peak = weights + record["bytes"]
        print(f"torch, in the backward: {peak / MIB:.0f} MiB, {peak / weights:.3f} of the weights; "
              f"{min(record['times']):.1f} s for a step")

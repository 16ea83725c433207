# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a benchmark's model under budgets between the smallest that is met and everything saved."""
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import models
import ours
import workloads
from remat.testing import training

MISS = re.compile(r"the smallest that was found is (\d+)")


def find_smallest(workload, dims, folder):
    """The smallest arena that the compiler names where a budget cannot be met."""
    source = Path(folder, "model.mlir")
    source.write_text(models.mlir(workload, dims))
    done = subprocess.run([training.BUILD / "bin/remat-opt", source, "-o", os.devnull,
                           "--remat-train=policy=none budget=1B budget-of=arena"], capture_output=True, text=True)
    miss = MISS.search(done.stderr)
    if not miss:
        raise RuntimeError(f"{workload}: a budget of one byte says nothing of the smallest:\n{done.stderr}")
    return int(miss[1])


def measure(workload, dims, count, steps):
    """Yields one record for each of `count` budgets, from everything saved down. Raises AssertionError where a budget is not
    met, where the measured peak is not the predicted one, and where a loss has other bits than with everything saved."""
    with tempfile.TemporaryDirectory() as folder:
        arrays = workloads.parameters(workload, dims) | workloads.states(workload, dims)
        np.savez(Path(folder, "init.npz"), **arrays)
        np.savez(Path(folder, "data.npz"), **workloads.batch(workload, dims))
        _, whole, _ = ours.compile_program(workload, dims, "none", "eager", folder, "budget=1.0 budget-of=arena")
        smallest = find_smallest(workload, dims, folder)
        expected = None
        for i in range(count):
            budget = whole["arena"] - (whole["arena"] - smallest) * i // max(count - 1, 1)
            program, memory, seconds = ours.compile_program(workload, dims, "none", "eager", folder,
                                                            f"budget={budget} budget-of=arena")
            assert memory["arena"] <= budget, f"{memory['arena']} bytes are more than the budget of {budget}"
            record = {"budget": budget, "bytes": memory["arena"], "recomputed": memory["recomputed_ops"], "compile_s": seconds}
            if steps:
                losses, run = ours.run_program(folder, program, steps + 1)
                arena = run["peak_bytes_by_class"]["arena"]
                assert arena == memory["arena"], f"predicted {memory['arena']} bytes, measured {arena}"
                expected = expected or losses
                assert losses == expected, f"the losses are {losses}, with everything saved {expected}"
                record["ms"] = 1e3 * statistics.median(run["step_s"][1:])
            yield record


def main(options):
    print("| workload | budget MiB | arena MiB | of the budget | recomputed operations | ms/step | of the first | compile s |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|")
    for workload in options.only or workloads.DIMS:
        first = None
        for record in measure(workload, workloads.dims_of(workload, options.set), options.count, options.steps):
            milliseconds = record.get("ms")
            first = first or milliseconds
            times = f"{milliseconds:.0f} | {milliseconds / first:.2f}" if milliseconds else "| "
            print(f"| {workload} | {record['budget'] / 2**20:.1f} | {record['bytes'] / 2**20:.1f} "
                  f"| {record['bytes'] / record['budget']:.3f} | {record['recomputed']} | {times} | {record['compile_s']:.1f} |",
                  flush=True)

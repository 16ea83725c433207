#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a training program under every policy, eager and deferred, runs a few steps of each, and prints one table.

    policies.py MODEL.mlir [--steps N] [--policies P ...] [--target "cuda emulate"]

`none` is the model without regions. Bytes are the compiler's exact figures; `peak` is all that the step needs, and the
columns after it add up to it. Times are medians of a few steps. Every variant has to come to the same losses, bit by
bit. Run it where the model's data file is.

With --target "cuda emulate" the kernels for CUDA run on the host, and launches of kernels and libraries are shown in
place of times; with --target cuda they run on a GPU. The losses of the CPU are printed beside, whose sums have another
order.
"""
import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from remat.testing import training  # noqa: E402  (needs the path above)

POLICIES = ["none", "everything_saveable", "dots_saveable", "nothing_saveable"]
COLUMNS = ["policy", "update", "peak", "parameters", "optimizer", "residuals", "gradients", "recomputed", "temporaries",
           "other"]
# The last columns, by target.
MEASURED = {"cpu": ["ms/step"], "cuda": ["ms/step", "launches"], "cuda emulate": ["launches"]}


def named_values(text):
    return sorted(set(re.findall(r'remat\.name "([^"]+)"', text)))


def compile_program(model, policy, update, folder, target):
    """Returns the program's file and the memory report of its step."""
    program, report = Path(folder, "program.mlir"), Path(folder, "report.json")
    options = f"target={target} policy={policy} mode={update} report={report}"
    step = re.search(r"remat\.train_step @(\w+)", model.read_text())[1]
    return program, training.compile_model(model, program, report, [f"--remat-train={options}"], step)


def count_launches(run):
    figures = run["device"]
    return round(figures["launches per step"] + figures["library calls per step"])


def measure(model, policy, update, steps, target):
    """Returns a row of the table, and the losses."""
    with tempfile.TemporaryDirectory() as folder:
        program, memory = compile_program(model, policy, update, folder, target)
        losses, run = training.run_program(program, folder, {"STEPS": steps, "CHECKPOINT": ""}, target=target)
    arguments, peak = memory["arguments"], memory["peak"]
    shown = [arguments["parameters"], arguments["optimizer_state"], peak["residuals"], peak["gradients"],
             peak["recomputed"], peak["workspaces"] + peak["temporaries"]]
    total = memory["arena"] + sum(arguments.values())
    measured = {"ms/step": lambda: f"{1e3 * run['median_step_s']:.1f}", "launches": lambda: count_launches(run)}
    row = [policy, update, total, *shown, total - sum(shown), *(measured[name]() for name in MEASURED[target]),
           memory["recomputed_ops"]]
    return row, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--policies", nargs="+",
                        help="default: all without arguments, and one for each name in the model")
    parser.add_argument("--target", default="cpu", choices=training.LIBRARIES)
    options = parser.parse_args()
    columns = [*COLUMNS, *MEASURED[options.target], "recomputed ops"]
    names = named_values(options.model.read_text())
    policies = options.policies or POLICIES + [f'save_only_names<"{name}">' for name in names]
    widths = [max(map(len, policies)), 8] + [max(12, len(c)) for c in columns[2:]]

    def print_row(cells):
        print("  ".join(str(c).ljust(w) if i < 2 else str(c).rjust(w) for i, (c, w) in enumerate(zip(cells, widths))),
              flush=True)

    print_row(columns)
    expected = None
    for policy in policies:
        for update in "deferred", "eager":
            row, losses = measure(options.model, policy, update, options.steps, options.target)
            print_row(row)
            expected = expected or losses
            if losses != expected:
                sys.exit(f"{policy}, {update}: the losses are {losses} instead of {expected}")
    print("The losses are the same in all of them, bit by bit.")
    if options.target != "cpu":
        _, losses = measure(options.model, policies[0], "eager", options.steps, "cpu")
        for target, values in (options.target, expected), ("cpu", losses):
            print(f"losses, {target}:".ljust(22), *(f"{float(loss):.5f}" for loss in values))


if __name__ == "__main__":
    sys.exit(main())

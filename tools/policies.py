#!/usr/bin/env python3
"""Compiles a training program under every policy, eager and deferred, runs a few steps of each, and prints one table.

    policies.py MODEL.mlir [--steps N] [--policies P ...]

`none` is the model without regions. Bytes are the compiler's exact figures; `peak` is all that the step needs, and the
columns behind it add up to it. Times are medians of a few steps. Every variant has to come to the same losses, bit by
bit. Run it where the model's data file is.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
LIBRARIES = [BUILD / "lib/libremat_runtime.so", LLVM / "lib/libmlir_c_runner_utils.so", LLVM / "lib/libomp.so"]
POLICIES = ["none", "everything_saveable", "dots_saveable", "nothing_saveable"]
COLUMNS = ["policy", "update", "peak", "parameters", "optimizer", "residuals", "gradients", "temporaries", "other",
           "ms/step", "recomputed ops"]


def named_values(text):
    return sorted(set(re.findall(r'remat\.name "([^"]+)"', text)))


def compile_program(model, policy, update, folder):
    """Returns the program's file and the memory report of its step."""
    program, report = Path(folder, "program.mlir"), Path(folder, "report.json")
    options = f"target=cpu policy={policy} mode={update} report={report}"
    subprocess.run([BUILD / "bin/remat-opt", model, f"--remat-train={options}", "-o", program], check=True)
    functions = {f["name"]: f for f in json.loads(report.read_text())["functions"]}
    return program, functions[re.search(r"remat\.train_step @(\w+)", model.read_text())[1]]


def run_program(program, folder, **environment):
    """Runs it silently and returns the runtime's report and the losses with all digits."""
    report, log = Path(folder, "run.json"), Path(folder, "losses")
    environment |= {"REMAT_REPORT": str(report), "REMAT_LOG": str(log), "REMAT_LOG_EVERY": "1"}
    subprocess.run([LLVM / "bin/mlir-runner", program, "-O3", "-e", "main", "-entry-point-result=void",
                    "--shared-libs=" + ",".join(map(str, LIBRARIES))],
                   check=True, stdout=subprocess.DEVNULL, env=os.environ | environment)
    return json.loads(report.read_text()), log.read_text()


def measure(model, policy, update, steps):
    """Returns a row of the table, and the losses."""
    with tempfile.TemporaryDirectory() as folder:
        program, memory = compile_program(model, policy, update, folder)
        run, losses = run_program(program, folder, REMAT_STEPS=str(steps), REMAT_CHECKPOINT="")
    arguments, peak = memory["arguments"], memory["peak"]
    shown = [arguments["parameters"], arguments["optimizer_state"], peak["residuals"], peak["gradients"],
             peak["temporaries"]]
    total = memory["arena"] + sum(arguments.values())
    row = [policy, update, total, *shown, total - sum(shown), f"{1e3 * run['median_step_s']:.1f}",
           memory["recomputed_ops"]]
    return row, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--policies", nargs="+",
                        help="default: all without arguments, and one for each name in the model")
    options = parser.parse_args()
    names = named_values(options.model.read_text())
    policies = options.policies or POLICIES + [f'save_only_names<"{name}">' for name in names]
    widths = [max(map(len, policies)), 8] + [max(12, len(c)) for c in COLUMNS[2:]]

    def print_row(cells):
        print("  ".join(str(c).ljust(w) if i < 2 else str(c).rjust(w) for i, (c, w) in enumerate(zip(cells, widths))),
              flush=True)

    print_row(COLUMNS)
    expected = None
    for policy in policies:
        for update in "deferred", "eager":
            row, losses = measure(options.model, policy, update, options.steps)
            print_row(row)
            expected = expected or losses
            if losses != expected:
                sys.exit(f"{policy}, {update}: the losses are\n{losses}instead of\n{expected}")
    print("The losses are the same in all of them, bit by bit.")


if __name__ == "__main__":
    sys.exit(main())

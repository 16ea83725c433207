# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts passes that could undo a plan between two of ours, from differentiation to bufferization: what the step saves and
recomputes stays the same, and its arena does not grow, compared with the pipeline as it is.

    undo.py TARGET FOLDER [--each] MODEL ...

Each pass at all boundaries at once, and the module printed and read back at all of them, as text without locations and as
bytecode; with --each, all passes at one boundary after the other, too. A MODEL with a NAME.json beside it is imported, and is one
region that saves nothing. Reports go to FOLDER.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from pipeline import opt, read_pipeline
from remat.testing.models import MOMENTUM, Recorded

TARGET = sys.argv[1]
REPORT = Path(sys.argv[2]) / "report.json"
UNDOERS = ["cse", "canonicalize", "loop-invariant-code-motion", "sccp", "strip-debuginfo"]
SAVES_ALL = "remat-override{policy=everything_saveable}"
ONE_SHOT = "one-shot-bufferize"


def read_passes():
    """The passes up to the one that reports, and the boundaries that are looked at: after which of them a pass may be put."""
    passes = read_pipeline(target=TARGET, pipeline="remat-train", clean_up=True)
    names = [name.split("{")[0] for name in passes]
    last = names.index("remat-pack-memory")
    passes = passes[:last + 1]
    passes[last] = re.sub(r"report=\s*", f"report={REPORT} ", passes[last], count=1)
    return passes, range(names.index("remat-differentiate"), names.index(ONE_SHOT))


PASSES, BOUNDARIES = read_passes()


def read_model(path):
    """A model with a training step."""
    if not path.with_suffix(".json").is_file():
        return path.read_text()
    importing = f"{Recorded(path).importing()} optimizer={MOMENTUM}"
    return subprocess.run(["remat-opt", path, importing, "--remat-annotate=whole policy=nothing_saveable"],
                          capture_output=True, text=True, check=True).stdout


def figures():
    functions = json.loads(REPORT.read_text())["functions"]
    (step,) = [f for f in functions if f["name"] == "step"]
    return {key: step[key] for key in ("arena", "residuals", "recomputed_ops")}


def compile_with(text, undoers, boundaries):
    """The figures of the step with `undoers` after the passes of these numbers."""
    passes = []
    for index, name in enumerate(PASSES):
        passes += [name, *(undoers if index in boundaries else [])]
    opt(text, *passes)
    return figures()


def compile_in_parts(text, options):
    """The figures of the step if the module is printed, with `options`, and read back at each boundary."""
    module, start = text.encode(), 0
    for end in [*(boundary + 1 for boundary in BOUNDARIES), len(PASSES)]:
        passes = f"--pass-pipeline=builtin.module({','.join(PASSES[start:end])})"
        module = subprocess.run(["remat-opt", passes, *options], input=module, capture_output=True, check=True).stdout
        start = end
    return figures()


def compare(where, expected, actual):
    """One line with what is worse, in a list, or none."""
    worse = [key for key in expected if actual[key] != expected[key] and (key != "arena" or actual[key] > expected[key])]
    changes = ", ".join(f"{key}: {expected[key]} -> {actual[key]}" for key in worse)
    return [f"{where}: {changes}"] if worse else []


def check(path, each):
    text = read_model(path)
    expected = compile_with(text, [], [])
    saved = compile_with(opt(text, SAVES_ALL), [], [])
    problems = []
    if expected["recomputed_ops"] <= saved["recomputed_ops"] or expected["residuals"] >= saved["residuals"]:
        problems.append(f"{path.name} has no plan to undo: {expected}, everything saved: {saved}")
    for undoer in UNDOERS:
        problems += compare(f"{path.name}, -{undoer}", expected, compile_with(text, [undoer], BOUNDARIES))
    problems += compare(f"{path.name}, as text", expected, compile_in_parts(text, []))
    problems += compare(f"{path.name}, as bytecode", expected, compile_in_parts(text, ["--emit-bytecode"]))
    for boundary in BOUNDARIES if each else []:
        actual = compile_with(text, [*UNDOERS, "cse"], [boundary])
        problems += compare(f"{path.name}, after {PASSES[boundary]}", expected, actual)
    return problems


paths = [Path(argument) for argument in sys.argv[3:] if argument != "--each"]
failures = [line for path in paths for line in check(path, each="--each" in sys.argv)]
print("\n".join(failures) or f"{len(paths)} models, nothing is undone")
sys.exit(bool(failures))

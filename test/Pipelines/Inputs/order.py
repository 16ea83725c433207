# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the table of reasons for the order of passes with the pipelines: order.py TABLE.md."""

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

TARGETS = "target=cpu", "target=cuda", "target=cuda emulate", "target=cpu budget=0.5", "target=cuda budget=0.5"


def read_pipelines(options):
    """Names of the passes of `remat-train`, and of each pipeline in it; (2) after one that runs for the second time."""
    dump = subprocess.run(["remat-opt", f"--remat-train={options}", "--dump-pass-pipeline"], input="",
                          capture_output=True, text=True, check=True).stderr
    while (shorter := re.sub(r"\{[^{}]*\}", "", dump)) != dump:
        dump = shorter
    found, around = [], []
    for name, mark in re.findall(r"([a-z][\w.-]*)?\s*([(,)\n])", dump):
        if mark == "(":
            around.append([])
            found.append(around[-1])
        elif name and around:
            passes = around[-1]
            count = sum(known.split(" ")[0] == name for known in passes) + 1
            passes.append(f"{name} ({count})" if count > 1 else name)
        if mark == ")":
            around.pop()
    return found


def read_rows(path):
    for line in Path(path).read_text().splitlines():
        if line.startswith("| `"):
            yield from product(*(re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")[:2]))


def check(path):
    pipelines = [(target, passes) for target in TARGETS for passes in read_pipelines(target)]
    rows = list(read_rows(path))
    explained = {name.split(" ")[0] for row in rows for name in row}
    run = {name.split(" ")[0] for _, passes in pipelines for name in passes}
    errors = [f"there is no row for {name}" for name in sorted(run - explained)]
    for first, second in rows:
        found = [(target, passes) for target, passes in pipelines if first in passes and second in passes]
        if not found:
            errors.append(f"no pipeline has {first} and {second}")
        errors += [f"{first} is after {second} ({target})" for target, passes in found
                   if passes.index(first) > passes.index(second)]
    print("\n".join(f"error: {error}" for error in errors) or f"{len(rows)} reasons hold")
    return bool(errors)


sys.exit(check(sys.argv[1]))

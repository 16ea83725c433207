# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drops every `remat.phase` between two of our passes, at one boundary after the other and then at all of them, with the pass in
PLUGIN: phases.py PLUGIN TARGET MODEL ... The program stays the same, to the letter: phases are for reports."""

import sys
from pathlib import Path

from pipeline import opt, read_pipeline

PLUGIN, TARGET = sys.argv[1:3]
PASSES = read_pipeline(clean_up=True, target=TARGET, pipeline="remat-train")
FIRST = next(index for index, name in enumerate(PASSES) if name.startswith("remat-differentiate"))
DROP = "remat-test-strip-phases"


def compile_model(text, boundaries):
    passes = []
    for index, name in enumerate(PASSES):
        passes += [name] + [DROP] * (index in boundaries)
    return opt(text, *passes, plugin=PLUGIN)


failures = []
for model in sys.argv[3:]:
    text = Path(model).read_text()
    expected = compile_model(text, [])
    behind = range(FIRST, len(PASSES) - 1)  # before differentiation there is no phase
    for boundaries in [[i] for i in behind] + [behind]:
        if compile_model(text, boundaries) != expected:
            failures.append(f"{model}: another program without phases after {[PASSES[i] for i in boundaries]}")
print("\n".join(failures) or "nothing changes")
sys.exit(bool(failures))

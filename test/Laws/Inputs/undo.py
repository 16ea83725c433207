# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts passes that could undo a plan between two of ours, at one boundary after the other and then at all of them:
undo.py TARGET FOLDER MODEL ... The step's memory report (peak, residuals, recomputed operations) stays the same, and far from
that of the model that may save everything."""

import json
import sys
from pathlib import Path

from pipeline import CLEAN_UP, opt, read_pipeline

TARGET = sys.argv[1]
PASSES = read_pipeline(target=TARGET)
FIRST = next(index for index, name in enumerate(PASSES) if name.startswith("remat-differentiate"))
UNDOERS = ["cse", "canonicalize", "loop-invariant-code-motion", "sccp", "cse"]


def report(text, folder, boundaries):
    passes = []
    for index, name in enumerate(PASSES):
        # The same clean-up at every boundary, so that only what is put there makes a difference.
        passes += [name, *CLEAN_UP] + UNDOERS * (index in boundaries)
    file = folder / "report.json"
    opt(text, *passes, f"remat-bufferize{{target={TARGET} report={file}}}")
    functions = json.loads(file.read_text())["functions"]
    (step,) = [f for f in functions if f["name"] == "step"]
    return step


folder = Path(sys.argv[2])
failures = []
for model in sys.argv[3:]:
    text = Path(model).read_text()
    expected = report(text, folder, [])
    saved = report(opt(text, "remat-override{policy=everything_saveable}"), folder, [])
    if not (expected["recomputed_ops"] > saved["recomputed_ops"]
            and expected["residuals"] < 0.8 * saved["residuals"]):
        failures.append(f"{model}: nothing is left of its plan: {expected}, everything saved: {saved}")
    behind = range(FIRST, len(PASSES) - 1)  # before differentiation there is no plan
    places = [[i] for i in behind] + [behind]
    for boundaries in places:
        actual = report(text, folder, boundaries)
        changed = [f"{key}: {expected[key]} -> {actual[key]}" for key in expected if actual[key] != expected[key]]
        if changed:
            failures.append(f"{model}, after {[PASSES[i] for i in boundaries]}: {', '.join(changed)}")
print("\n".join(failures) or "nothing is undone")
sys.exit(bool(failures))

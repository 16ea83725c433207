# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""preserved.py PLUGIN TARGET MODEL...: compiles the models with the pass in PLUGIN after each pass, which fails if that one said
that all analyses are preserved, but changed the program."""

import subprocess
import sys
from pathlib import Path

from pipeline import opt, read_pipeline

PLUGIN, TARGET, *MODELS = sys.argv[1:]
PASSES = read_pipeline(clean_up=True, target=TARGET, pipeline="remat-train")
CHECKED = []
for name in PASSES:
    CHECKED += [name, "remat-test-check-preserved{after=" + name.split("{")[0].split("(")[0] + "}"]
for model in MODELS:
    try:
        opt(Path(model).read_text(), *CHECKED, plugin=PLUGIN)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{model}: {error.stderr}")
print(len(MODELS), "models,", len(PASSES), "passes")

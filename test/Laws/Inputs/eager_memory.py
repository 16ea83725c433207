# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""eager_memory.py SOURCE REPORT: compiles every example, exported model and benchmark under several policies, with eager and
with deferred updates, and compares the arenas of their steps."""

import json
import re
import subprocess
import sys
from pathlib import Path

source, report = map(Path, sys.argv[1:])
sys.path.insert(0, str(source / "benchmarks"))
import models  # noqa: E402  (needs the path above)
import workloads  # noqa: E402
from remat.testing.models import has_layers  # noqa: E402

POLICIES = "none", "everything_saveable", "dots_saveable", "nothing_saveable"
SMALL = {"gpt": ["L=3", "T=32", "d=64", "B=2"], "resnet18": ["B=4"], "mlp": ["L=4", "B=32"], "rnn": ["T=32"],
         "llama": ["L=2", "d=64", "ffn=96", "T=32", "B=2", "V=512"], "convnext": ["B=2", "image=64", "width=8"]}


def arena(text, *options):
    done = subprocess.run(["remat-opt", *options, f"--remat-bufferize=report={report}", "-o", "/dev/null"], input=text,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"remat-opt {' '.join(options)}: {done.stderr}")
    (step,) = [f for f in json.loads(report.read_text())["functions"] if f["name"] == "step"]
    return step["arena"]


def annotated_models():
    """(name, text, policies)"""
    for path in sorted(source.glob("examples/*.mlir")):
        text = path.read_text()
        names = sorted(set(re.findall(r'remat\.name "([^"]+)"', text)))
        yield path.stem, text, [*POLICIES, *(f'save_only_names<"{name}">' for name in names)]
    for path in sorted(source.glob("test/Laws/Inputs/eager/*.mlir")):
        yield path.stem, path.read_text(), POLICIES[:1]
    for workload, dims in SMALL.items():
        yield workload, models.mlir(workload, workloads.dims_of(workload, dims)), POLICIES


def pairs():
    """(name, arena with eager updates, arena with deferred ones)"""
    for name, text, policies in annotated_models():
        for policy in policies:
            yield f"{name} {policy}", *(arena(text, f"--remat-train-to-tensors=policy={policy} mode={mode}")
                                        for mode in ("eager", "deferred"))
    for path in sorted(source.glob("test/Models/Inputs/*.mlir")):
        text, importing = path.read_text(), f"--remat-import=spec={path.with_suffix('.json')}"
        parts = "blocks" if has_layers(path, [importing]) else "whole"
        for policy in POLICIES:
            annotate = [] if policy == "none" else [f"--remat-annotate={parts} policy=#remat.{policy}"]
            yield f"{path.stem} {policy}", *(
                arena(text, f"{importing} optimizer=#opt.sgd<lr=0.01,momentum=0.9> mode={mode}", *annotate,
                      "--remat-train-to-tensors") for mode in ("eager", "deferred"))


# The order of operations is chosen by the bytes that are alive, before packing, which loses some to gaps.
GAPS = 1 / 512

found = list(pairs())
worse = [pair for pair in found if pair[1] > pair[2] * (1 + GAPS)]
for name, eager, deferred in worse:
    print(f"{name}: {eager} bytes eager, {deferred} deferred")
print(f"{len(found)} pairs, {len(worse)} in which eager updates need more than gaps explain")

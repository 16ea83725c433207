# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of `remat-train` on tensors, pass by pass: what the tests of single boundaries put things between."""

import re
import subprocess

CLEAN_UP = ["canonicalize", "cse"]


def read_pipeline(tool="remat-opt", clean_up=False, target="cpu", pipeline="remat-train-to-tensors"):
    """The passes of `pipeline` with their options, but for the clean-up between them if it is not asked for."""
    dump = subprocess.run([tool, f"--{pipeline}=target={target}", "--dump-pass-pipeline"], input="",
                          capture_output=True, text=True, check=True).stderr
    (passes,) = re.findall(r"builtin\.module\(\n(.*)\n\)\n", dump, re.DOTALL)
    lines = [" ".join(line.split()) for line in re.split(r",\n(?=  \S)", passes)]
    return [line for line in lines if clean_up or line.split("{")[0] not in [*CLEAN_UP, "remat-canonicalize"]]


def opt(text, *passes, plugin=None):
    """The module after `passes`, some of which may be in `plugin`."""
    load = [f"--load-pass-plugin={plugin}"] if plugin else []
    return subprocess.run(["remat-opt", *load, f"--pass-pipeline=builtin.module({','.join(passes)})"], input=text,
                          capture_output=True, text=True, check=True).stdout

"""The part of `remat-train` on tensors, pass by pass: what the tests of single boundaries put things between."""

import re
import subprocess

CLEAN_UP = ["canonicalize", "cse"]


def read_pipeline(tool="remat-opt", clean_up=False, target="cpu"):
    """The passes of `remat-train-to-tensors` with their options, but for the clean-up between them if it is not asked for."""
    dump = subprocess.run([tool, f"--remat-train-to-tensors=target={target}", "--dump-pass-pipeline"], input="",
                          capture_output=True, text=True, check=True).stderr
    (passes,) = re.findall(r"builtin\.module\(\n(.*)\n\)\n", dump, re.DOTALL)
    lines = [line.strip() for line in passes.split(",\n")]
    return [line for line in lines if clean_up or line.split("{")[0] not in CLEAN_UP]


def opt(text, *passes):
    """The module after `passes`."""
    return subprocess.run(["remat-opt", f"--pass-pipeline=builtin.module({','.join(passes)})"], input=text,
                          capture_output=True, text=True, check=True).stdout

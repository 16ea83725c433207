"""The part of `remat-train` on tensors, pass by pass: what the tests of single boundaries put things between."""

import subprocess

PASSES = ["remat-thread-rng", "remat-lower-random", "remat-fuse-padding", "remat-fuse", "remat-differentiate",
          "remat-materialize", "remat-inline-regions", "convert-linalg-aggregates-to-structured", "remat-fuse",
          "remat-insert-steps{drop-loss}", "opt-lower-steps", "remat-lower-tapes", "remat-split-destinations",
          "remat-schedule"]


def opt(text, *passes):
    """The module after `passes`."""
    pipeline = ",".join(passes).replace("convert-linalg-aggregates-to-structured",
                                        "func.func(convert-linalg-aggregates-to-structured)")
    return subprocess.run(["remat-opt", f"--pass-pipeline=builtin.module({pipeline})"], input=text,
                          capture_output=True, text=True, check=True).stdout


def read(file):
    """The model, in one function."""
    with open(file) as stream:
        return opt(stream.read(), "inline", "symbol-dce")

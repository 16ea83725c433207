# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains all of a model of 7.5 billion parameters on the processors of a machine with 24 GiB of memory.

    llama7b.py [--steps N] [--layers L] [--width D] [--heads H] [--ffn F] [--vocabulary V] [--length T]

A LLaMA of benchmarks/models.py, in bf16, whose layers are all rematerialized, with APOLLO-Mini and stochastic rounding: beside the
weights there are next to no states, no gradient of more than one parameter, and no copy in f32 of any of them. Text is Python's
reference manual, a character at a time. It says what it needs and stops where that is not there. Writes to the current folder: the
model, its data, the compiled program, and `run.npz`, from which a run that was interrupted goes on; at the end it compares the
memory of the process with what the compiler predicted.

Environment: BUILD_DIR, LLVM_PREFIX.
"""
import argparse
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "examples", "python")]
import chargpt_data  # noqa: E402  (needs the path above)
import models  # noqa: E402
import workloads  # noqa: E402
from remat.testing import training  # noqa: E402

GIB = 2**30
RULE = "#opt.apollo<lr = 4.0e-5, rank = 1, scale = 128, scaling = tensor, rounding = stochastic>"
# The process: the interpreter of the program, LLVM, the code and what threads pack.
PROCESS = GIB // 2
CHECKPOINT_EVERY = 5


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--steps", type=int, default=10)
    for name, size in (("layers", 36), ("width", 4096), ("heads", 32), ("ffn", 11008), ("vocabulary", 32000), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=size)
    return parser.parse_args()


def write_model(dims):
    settings = (f'{{eager, shuffle = false, log_every = 1, data = "data.npz", checkpoint = "run.npz", '
                f"checkpoint_every = {CHECKPOINT_EVERY}}}")
    Path("model.mlir").write_text(models.mlir("llama", dims, "bf16", "bf16", RULE, settings))


def write_data(dims):
    stream = chargpt_data.tokens()
    if stream.max() >= dims["V"]:
        raise SystemExit(f"llama7b.py: error: a vocabulary of {dims['V']} has no {stream.max() + 1} characters")
    count = (len(stream) - 1) // dims["T"]
    rows = np.stack([stream[i * dims["T"]:(i + 1) * dims["T"] + 1] for i in range(count)])
    np.savez("data.npz", tokens=rows[:, :-1], targets=rows[:, 1:])


def compile_model():
    """The bytes of the arena."""
    report = Path("report.json")
    step = training.compile_model("model.mlir", "compiled.mlir", report, [f"--remat-train=policy=nothing_saveable report={report}"])
    if Path("program.mlir").exists() and Path("program.mlir").read_bytes() == Path("compiled.mlir").read_bytes():
        return step["arena"]
    # A checkpoint belongs to the program that made it.
    for old in ("run.npz", "train.log"):
        Path(old).unlink(missing_ok=True)
    Path("compiled.mlir").rename("program.mlir")
    return step["arena"]


def available():
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) * 1024


def check_room(needed, weights):
    memory, disk = available(), shutil.disk_usage(".").free
    # While a checkpoint is written, the one before it is there, too.
    files = 2 * weights
    print(f"needs {needed / GIB:.2f} GiB of memory, of which {memory / GIB:.2f} are available, and {files / GIB:.2f} GiB of disk, of "
          f"which {disk / GIB:.2f} are free", flush=True)
    for what, there, wanted in (("memory", memory, needed), ("disk", disk, files)):
        if there < wanted:
            raise SystemExit(f"llama7b.py: error: there is too little {what}; try --layers with a smaller number")


def train(steps):
    command = [training.LLVM / "bin/mlir-runner", "program.mlir", "-O3", "-e", "main", "-entry-point-result=void",
               f"--shared-libs={','.join(map(str, training.LIBRARIES['cpu']))}"]
    environment = dict(os.environ, REMAT_REPORT="run.json", REMAT_STEPS=str(steps))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process, open("train.log", "a") as log:
        for line in process.stdout:
            print(line, end="", flush=True)
            log.write(line)
            log.flush()
    if process.returncode:
        raise SystemExit(process.returncode)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main():
    arguments = parse()
    dims = {"L": arguments.layers, "d": arguments.width, "heads": arguments.heads, "shared": 1, "ffn": arguments.ffn,
            "T": arguments.length, "B": 1, "V": arguments.vocabulary}
    count = sum(math.prod(initial.shape) for initial in workloads.initials("llama", dims).values())
    weights = 2 * count
    print(f"{count / 1e9:.2f} billion parameters, {weights / GIB:.2f} GiB", flush=True)
    write_model(dims)
    write_data(dims)
    predicted = weights + compile_model() + PROCESS
    check_room(predicted, weights)
    peak = train(arguments.steps)
    report = json.loads(Path("run.json").read_text())
    losses = [float(loss) for loss in re.findall(r"^step .* loss (\S+)", Path("train.log").read_text(), re.MULTILINE)]
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    if len(losses) > 1 and losses[-1] >= losses[0]:
        raise SystemExit("llama7b.py: error: the loss has not fallen")
    print(f"peak of the step {report['peak_bytes'] / GIB:.3f} GiB, of the process {peak / GIB:.3f} GiB ({predicted / GIB:.3f} "
          f"predicted): {peak / weights:.3f} of the weights")
    if peak > predicted:
        raise SystemExit("llama7b.py: error: that is more than was predicted")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each barrier of each kernel of a program is left out in turn: the emulator reports every such program.

    barriers.py FOLDER MODEL.mlir ...

CUDA_LIBRARIES names what mlir-runner loads. One compiled program has all mutants: a barrier whose site is named in
REMAT_SKIPPED_BARRIER is not called.
"""
import re
import subprocess
import sys
from pathlib import Path

import native
import numpy as np

folder = Path(sys.argv[1])
CALL = re.compile(r"^( *)llvm\.call @remat_emu_barrier\((%\w+), (%\w+)\).*$", re.M)
# `getenv` and `atoi` of the C library: the number of the barrier that is left out.
SKIPPED = """
  llvm.func @getenv(!llvm.ptr) -> !llvm.ptr
  llvm.func @atoi(!llvm.ptr) -> i32
  llvm.mlir.global internal constant @skipped_name("SKIPPED_BARRIER\\00") {addr_space = 0 : i32}
  llvm.func internal @barrier_unless(%thread: !llvm.ptr, %site: !llvm.ptr, %number: i32) attributes {no_inline} {
    %name = llvm.mlir.addressof @skipped_name : !llvm.ptr
    %text = llvm.call @getenv(%name) : (!llvm.ptr) -> !llvm.ptr
    %skipped = llvm.call @atoi(%text) : (!llvm.ptr) -> i32
    %same = llvm.icmp "eq" %skipped, %number : i32
    llvm.cond_br %same, ^end, ^call
  ^call:
    llvm.call @remat_emu_barrier(%thread, %site) : (!llvm.ptr, !llvm.ptr) -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
"""


def add_training(text):
    """An exported model with its parameters and data named."""
    def annotate(match):
        name, shape, kind = match.groups()
        attribute = f'opt.param = "{name}", opt.init = "normal(0.1)"' if kind[0] == "f" else f'remat.data = "{name}"'
        return f"%{name}: tensor<{shape}{kind}> {{{attribute}}}"
    head, rest = text.split(") -> tensor<f32> {", 1)
    head = re.sub(r"%(arg\d+): tensor<((?:\d+x)*)(\w+)>", annotate, head)
    start = head.index("func.func @loss")
    return (head[:start] + "opt.optimizer @sgd = #opt.sgd<lr = 0.1>\n  remat.train_step @step for @loss optimizer(@sgd) {eager}\n  " +
            head[start:] + ") -> tensor<f32> {" + rest)


def compile_mutants(model):
    """The number of barriers."""
    source, program = folder / model.name, folder / f"{model.stem}.program.mlir"
    text = re.sub(r"\bMODE\b", "eager", model.read_text())
    source.write_text(text if "train_step" in text else add_training(text))
    subprocess.run(["remat-opt", source, "--inline", "--remat-train=target=cuda emulate check block-size=64", "-o", program],
                   check=True, stderr=subprocess.DEVNULL)
    text, count = program.read_text(), 0

    def replace(match):
        nonlocal count
        count += 1
        indent, thread, site = match.groups()
        return (f"{indent}%skip{count} = llvm.mlir.constant({count} : i32) : i32\n"
                f"{indent}llvm.call @barrier_unless({thread}, {site}, %skip{count}) : (!llvm.ptr, !llvm.ptr, i32) -> ()")
    text = CALL.sub(replace, text)
    end = text.rindex("}")
    native.compile_library(text[:end] + SKIPPED + text[end:], folder / f"{model.stem}.so")
    return count


def run(model, number):
    options = {"data": folder / "data.npz", "steps": 1, "shuffle": 0, "log_every": 1, "checkpoint": ""}
    environment = {f"REMAT_{k.upper()}": str(v) for k, v in options.items()} | {"SKIPPED_BARRIER": str(number)}
    return native.run(folder / f"{model.stem}.so", environment)


rng = np.random.default_rng(0)
np.savez(folder / "data.npz", x=rng.standard_normal((2, 70, 8)).astype("f4"), tokens=rng.integers(0, 9, (12, 20)), y=rng.standard_normal(12).astype("f4"),
         rows=rng.standard_normal((3, 2000)).astype("f4"), arg28=rng.integers(0, 32, (8, 12)).astype("i4"), arg29=rng.integers(0, 32, (8, 12)).astype("i4"))
for model in map(Path, sys.argv[2:]):
    count = compile_mutants(model)
    whole = run(model, 0)
    assert whole.returncode == 0, whole.stderr
    missed = []
    for number in range(1, count + 1):
        done = run(model, number)
        if done.returncode != 1 or not any(line.startswith("remat: error: emulator: ") for line in done.stderr.splitlines()):
            missed.append(number)
    print(f"{model.stem}: {count} barriers, {len(missed)} missed {missed}", flush=True)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes text with a trained chargpt, whose `@predict` is called from Python.

    chargpt_sample.py CHECKPOINT.npz [--start S] [--texts N] [--length N] [--temperature T]

chargpt.mlir without its `remat.train_step` is not a program but a library: `remat-opt` compiles `@predict`, and clang
links it with the runtime (needs clang-22 and mlir-translate).
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from chargpt_data import CHARACTERS, LENGTH, decode, encode

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples/chargpt.mlir"
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
BATCH = 16  # Texts that @predict continues at once.


def compile_predict(folder):
    """Returns `@predict` as a C function, and the size of the arena that it needs."""
    model, program, ir, library, report = (Path(folder, name) for name in (
        "model.mlir", "program.mlir", "program.ll", "program.so", "report.json"))
    model.write_text(re.sub(r"^remat\.train_step [^{]*\{[^}]*\}$", "", MODEL.read_text(), flags=re.M))
    # Without a training step nothing needs the loss.
    subprocess.run([BUILD / "bin/remat-opt", model, "--inline", "--symbol-privatize=exclude=predict", "--symbol-dce",
                    f"--remat-train=target=cpu report={report}", "-o", program], check=True)
    subprocess.run([LLVM / "bin/mlir-translate", "--mlir-to-llvmir", program, "-o", ir], check=True)
    linked = [BUILD / "lib/libremat_runtime.so", LLVM / "lib/libmlir_c_runner_utils.so"]
    subprocess.run([LLVM / "bin/clang", "-O2", "-march=native", "-Wno-override-module", "-shared", "-fPIC", ir, *linked,
                    "-lm", *(f"-Wl,-rpath,{path.parent}" for path in linked), "-o", library], check=True)
    function, = json.loads(report.read_text())["functions"]
    return ctypes.CDLL(str(library))._mlir_ciface_predict, function["arena"]


def memref(array):
    rank = array.ndim

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]

    strides = [s // array.itemsize for s in array.strides]
    address = array.ctypes.data
    return MemRef(address, address, 0, (ctypes.c_int64 * rank)(*array.shape), (ctypes.c_int64 * rank)(*strides))


def parameter_names():
    return re.findall(r'opt\.param = "([^"]+)"', MODEL.read_text())


def aligned_bytes(count):
    store = np.zeros(count + 64, np.uint8)
    start = -store.ctypes.data % 64
    return store[start:start + count]


class Model:
    def __init__(self, checkpoint, folder):
        self.predict, arena = compile_predict(folder)
        with np.load(checkpoint) as arrays:
            parameters = [np.ascontiguousarray(arrays[name]) for name in parameter_names()]
        self.tokens = np.zeros((BATCH, LENGTH), np.int32)
        self.scores = np.zeros((BATCH, LENGTH, len(CHARACTERS)), np.float32)
        self.arrays = [self.tokens, *parameters, self.scores, aligned_bytes(arena)]
        self.memrefs = [memref(array) for array in self.arrays]

    def next_scores(self, texts):
        """Returns scores of the character after each of the texts."""
        known = min(texts.shape[1], LENGTH)
        self.tokens[:, :known] = texts[:, -known:]
        self.predict(*map(ctypes.byref, self.memrefs))
        return self.scores[:, known - 1]


def sample(model, start, length, temperature, seed=0):
    rng = np.random.default_rng(seed)
    texts = np.tile(encode(start), (BATCH, 1))
    for _ in range(length):
        scores = model.next_scores(texts) / temperature
        # The largest of scores with Gumbel noise is a draw from their softmax.
        drawn = (scores + rng.gumbel(size=scores.shape)).argmax(-1)
        texts = np.concatenate([texts, drawn[:, None].astype(np.int32)], 1)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--start", default="The statement ")
    parser.add_argument("--texts", type=int, default=3, choices=range(1, BATCH + 1), metavar="N")
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--temperature", type=float, default=0.7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Model(options.checkpoint, folder)
        texts = sample(model, options.start, options.length, options.temperature)
        print("\n---\n".join(map(decode, texts[:options.texts])))


if __name__ == "__main__":
    main()

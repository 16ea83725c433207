"""Writes text with a trained chargpt, whose `@predict` is called from Python.

    chargpt_sample.py PROGRAM.mlir REPORT.json CHECKPOINT.npz [--length N] [--temperature T]

PROGRAM.mlir and REPORT.json are what `remat-opt --remat-train="report=REPORT.json"` made of chargpt.mlir. The program is
compiled to a shared library, which clang links with the runtime (needs clang-22 and mlir-translate).
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
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
TEXTS = 16


def shared_library(program, folder):
    ir, library = Path(folder, "program.ll"), Path(folder, "program.so")
    subprocess.run([LLVM / "bin/mlir-translate", "--mlir-to-llvmir", program, "-o", ir], check=True)
    linked = [BUILD / "lib/libremat_runtime.so", LLVM / "lib/libmlir_c_runner_utils.so", LLVM / "lib/libomp.so"]
    subprocess.run([LLVM / "bin/clang", "-O2", "-march=native", "-Wno-override-module", "-shared", "-fPIC", ir, *linked,
                    "-lm", *(f"-Wl,-rpath,{path.parent}" for path in linked), "-o", library], check=True)
    return ctypes.CDLL(str(library))


def memref(array):
    rank = array.ndim

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]

    strides = [s // array.itemsize for s in array.strides]
    address = array.ctypes.data
    return MemRef(address, address, 0, (ctypes.c_int64 * rank)(*array.shape), (ctypes.c_int64 * rank)(*strides))


def parameter_names():
    text = (ROOT / "examples/chargpt.mlir").read_text()
    return re.findall(r'opt\.param = "([^"]+)"', text)


def aligned_bytes(count):
    store = np.zeros(count + 64, np.uint8)
    start = -store.ctypes.data % 64
    return store[start:start + count]


class Model:
    def __init__(self, program, report, checkpoint, folder):
        functions = {f["name"]: f for f in json.loads(Path(report).read_text())["functions"]}
        with np.load(checkpoint) as arrays:
            parameters = [np.ascontiguousarray(arrays[name]) for name in parameter_names()]
        self.tokens = np.zeros((TEXTS, LENGTH), np.int32)
        self.scores = np.zeros((TEXTS, LENGTH, len(CHARACTERS)), np.float32)
        self.arrays = [self.tokens, *parameters, self.scores, aligned_bytes(functions["predict"]["arena"])]
        self.memrefs = [memref(array) for array in self.arrays]
        self.predict = shared_library(program, folder)._mlir_ciface_predict

    def next_scores(self, texts):
        """Scores of the character behind each of the texts."""
        known = min(texts.shape[1], LENGTH)
        self.tokens[:, :known] = texts[:, -known:]
        self.predict(*map(ctypes.byref, self.memrefs))
        return self.scores[:, known - 1]


def sample(model, start, length, temperature, seed=0):
    rng = np.random.default_rng(seed)
    texts = np.tile(encode(start), (TEXTS, 1))
    for _ in range(length):
        scores = model.next_scores(texts) / temperature
        # The largest of scores with Gumbel noise is a draw from their softmax.
        drawn = (scores + rng.gumbel(size=scores.shape)).argmax(-1)
        texts = np.concatenate([texts, drawn[:, None].astype(np.int32)], 1)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("report")
    parser.add_argument("checkpoint")
    parser.add_argument("--length", type=int, default=400)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--start", default="The statement ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Model(options.program, options.report, options.checkpoint, folder)
        print(decode(sample(model, options.start, options.length, options.temperature)[0]))


if __name__ == "__main__":
    main()

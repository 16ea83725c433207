"""Compile functions on tensors and call them from Python: for tests that compare numbers.

    library = Library(text, passes="remat-differentiate", work=folder)
    loss, gradient = library.call("loss_grad", [weights, data], [("f64", 0), ("f64", 2)])

The lowering here is the plainest one there is (upstream's loops, no vectors, no threads), so that what
is tested is the pass before it. Needs `remat-opt`, `mlir-translate` and `clang` on the PATH or in
REMAT_BIN and LLVM_BIN.
"""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

LOWERING = """convert-linalg-aggregates-to-structured, canonicalize, cse,
  one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops
                     function-boundary-type-conversion=identity-layout-map},
  func.func(convert-linalg-to-loops, llvm-request-c-wrappers),
  expand-strided-metadata, lower-affine, convert-scf-to-cf,
  math-expand-ops{ops=fpowi}, arith-expand, memref-expand,
  convert-math-to-llvm, convert-math-to-libm, convert-to-llvm, reconcile-unrealized-casts"""

NUMPY_TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2",
               "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "i1": "?"}


def tool(name, folder_variable):
    folder = os.environ.get(folder_variable)
    found = shutil.which(name, path=folder) if folder else None
    found = found or shutil.which(name) or shutil.which(f"{name}-22")
    if not found:
        raise RuntimeError(f"{name} was not found; put it on the PATH or set {folder_variable}")
    return found


def run(command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **kwargs)
    if done.returncode:
        raise RuntimeError(f"{Path(str(command[0])).name}: {done.stderr.strip()[:4000]}")
    return done.stdout


def descriptor_type(rank):
    """The C struct of a ranked memref: two pointers, an offset, sizes and strides."""
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Memref{rank}", (ctypes.Structure,), {"_fields_": fields})


def to_descriptor(array):
    memref = descriptor_type(array.ndim)()
    memref.allocated = memref.aligned = array.ctypes.data
    if array.ndim:
        memref.sizes[:] = array.shape
        memref.strides[:] = [s // array.itemsize for s in array.strides]
    return memref


def from_descriptor(memref, dtype):
    """A copy of what the memref holds."""
    rank = len(getattr(memref, "sizes", ()))
    shape, strides = (list(memref.sizes), list(memref.strides)) if rank else ([], [])
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.empty(shape, dtype)
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    start = memref.aligned + memref.offset * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * (extent * dtype.itemsize)).from_address(start), dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, [s * dtype.itemsize for s in strides]).copy()


class Library:
    """A module, run through `passes` and compiled to a shared object in the folder `work`."""

    def __init__(self, text, work, passes="", name="module"):
        work = Path(work)
        source, passed, lowered, ir, library = (
            work / f"{name}.{end}" for end in ("mlir", "passed.mlir", "llvm.mlir", "ll", "so"))
        source.write_text(text)
        opt = tool("remat-opt", "REMAT_BIN")
        run([opt, source, f"--pass-pipeline=builtin.module({passes})", "-o", passed])
        run([opt, passed, f"--pass-pipeline=builtin.module({LOWERING})", "-o", lowered])
        self.text = passed.read_text()
        translate = tool("mlir-translate", "LLVM_BIN")
        run([translate, "--mlir-to-llvmir", lowered, "-o", ir])
        runtime = Path(translate).resolve().parent / "../lib/libmlir_c_runner_utils.so"  # memrefCopy
        run([tool("clang", "LLVM_BIN"), "-O1", "-Wno-override-module", "-shared", "-fPIC", ir,
             runtime.resolve(), "-lm", f"-Wl,-rpath,{runtime.resolve().parent}", "-o", library])
        self.library = ctypes.CDLL(str(library))

    def gradients_of(self, name):
        """The argument indices that the gradients among the results of @name belong to."""
        signature = re.search(rf"func.func @{name}\(.*", self.text).group()
        return [int(i) for i in re.findall(r"remat.gradient_of = (\d+)", signature)]

    def call(self, name, arrays, results):
        """Calls @name. `results` lists (element type, rank) of its tensors."""
        entry = getattr(self.library, f"_mlir_ciface_{name}")
        arrays = [np.array(a, order="C") for a in arrays]  # the callee may write into its arguments
        fields = [(f"r{i}", descriptor_type(rank)) for i, (_, rank) in enumerate(results)]
        returned = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        arguments = [to_descriptor(a) for a in arrays]
        entry(*[ctypes.byref(x) for x in [returned] + arguments])
        return [from_descriptor(getattr(returned, f"r{i}"), NUMPY_TYPES[kind])
                for i, (kind, _) in enumerate(results)]

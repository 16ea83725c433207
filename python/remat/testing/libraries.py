# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile functions on tensors and call them from Python: for tests that compare numbers.

    library = Library(text, passes="remat-differentiate", work=folder)
    loss, gradient = library.call("loss_grad", [weights, data], [("f64", 0), ("f64", 2)])

The lowering here is the plainest one there is (upstream's loops, no vectors, no threads), so that what
is tested is the pass before it; `TrainedLibrary` takes the real one, by remat-train. Needs `remat-opt`,
`mlir-translate` and `clang` on the PATH or in REMAT_BIN and LLVM_BIN, and the runtime in REMAT_LIB.
"""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

LOWERING = """remat-lower-tapes, convert-linalg-aggregates-to-structured, canonicalize, cse,
  one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops
                     function-boundary-type-conversion=identity-layout-map},
  convert-scatter-add-to-loops, func.func(convert-linalg-to-loops, llvm-request-c-wrappers),
  expand-strided-metadata, lower-affine, convert-scf-to-cf,
  remat-approximate-math, arith-expand, memref-expand,
  convert-math-to-funcs{min-width-of-fpowi-exponent=65}, convert-math-to-llvm, convert-math-to-libm, convert-to-llvm, reconcile-unrealized-casts"""

WEIGHTED_SUM = """  %{n}zero = arith.constant 0.0 : f64
  %{n}empty = tensor.empty() : tensor<f64>
  %{n}filled = linalg.fill ins(%{n}zero : f64) outs(%{n}empty : tensor<f64>) -> tensor<f64>
"""

NUMPY_TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2",
               "i64": "i8", "index": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "i1": "?"}

ARENA_ALIGNMENT, ARENA_GUARD, ARENA_FILL = 64, 4096, 0x55


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
        message = done.stderr[max(0, done.stderr.find("error:") - 200):]  # not the warnings before it
        raise RuntimeError(f"{Path(str(command[0])).name}: {message.strip()[:4000]}")
    return done.stdout


def descriptor_type(rank):
    """The C struct of a ranked memref: two pointers, an offset, sizes and strides."""
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Memref{rank}", (ctypes.Structure,), {"_fields_": fields})


def to_descriptor(array, address=None):
    """Returns the memref descriptor of the array, which lives as long as the descriptor, or of a copy of it at `address`."""
    memref = descriptor_type(array.ndim)()
    memref.allocated = memref.aligned = array.ctypes.data if address is None else address
    if array.ndim:
        memref.sizes[:] = array.shape
        memref.strides[:] = [s // array.itemsize for s in array.strides]
    memref.array = array
    return memref


def make_arena(size):
    """Returns an aligned arena of `size` bytes and ARENA_GUARD more, which must not be written."""
    memory = np.full(size + ARENA_GUARD + ARENA_ALIGNMENT, ARENA_FILL, "i1")  # what lies there must not matter
    start = -memory.ctypes.data % ARENA_ALIGNMENT
    return memory[start:start + size + ARENA_GUARD]


def from_descriptor(memref, dtype):
    """Returns a copy of the elements of the memref."""
    rank = len(getattr(memref, "sizes", ()))
    shape, strides = (list(memref.sizes), list(memref.strides)) if rank else ([], [])
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.empty(shape, dtype)
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    start = memref.aligned + memref.offset * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * (extent * dtype.itemsize)).from_address(start), dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, [s * dtype.itemsize for s in strides]).copy()


def add_weighted_sum(value, kind, number):
    """Returns lines that sum the elements of `value`, a tensor or a scalar, with weights that differ; and the sum."""
    n = f"sum{number}_"
    match = re.fullmatch(r"tensor<((?:[0-9?]+x)*)(\w+)>", kind)
    rank, element = (match.group(1).count("x"), match.group(2)) if match else (0, kind)
    dims = ", ".join(f"d{i}" for i in range(rank))
    lines = [f"%{n}phase{0} = arith.constant {0.7 + number} : f64"]
    for i in range(rank):
        lines += [f"%{n}i{i} = linalg.index {i} : index", f"%{n}j{i} = arith.index_cast %{n}i{i} : index to i64",
                  f"%{n}f{i} = arith.sitofp %{n}j{i} : i64 to f64", f"%{n}c{i} = arith.constant {1.3 + 0.9 * i} : f64",
                  f"%{n}p{i} = arith.mulf %{n}f{i}, %{n}c{i} : f64",
                  f"%{n}phase{i + 1} = arith.addf %{n}phase{i}, %{n}p{i} : f64"]
    lines.append(f"%{n}w = math.cos %{n}phase{rank} : f64")
    wide = f"%{n}x" if element == "f64" else f"%{n}wide"
    if element != "f64":
        lines.append(f"{wide} = arith.extf %{n}x : {element} to f64")
    lines += [f"%{n}t = arith.mulf {wide}, %{n}w : f64", f"%{n}s = arith.addf %{n}o, %{n}t : f64",
              f"linalg.yield %{n}s : f64"]
    iterators = ", ".join(['"reduction"'] * rank)
    return (WEIGHTED_SUM.replace("{n}", n) +
            f"  %{n}loss = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ()>],"
            f" iterator_types = [{iterators}]}} ins({value} : {kind}) outs(%{n}filled : tensor<f64>) {{\n"
            f"  ^bb0(%{n}x: {element}, %{n}o: f64):\n    " + "\n    ".join(lines) + "\n  } -> tensor<f64>\n"), f"%{n}loss"


def complete_losses(text):
    """Makes every public function of `text` return tensor<f64>: a weighted sum of the values that it returned."""
    def complete(match):
        head, body, values, kinds = match.groups()
        added, total = "", None
        for i, (value, kind) in enumerate(zip(values.split(", "), kinds.split(", "))):
            lines, loss = add_weighted_sum(value, kind, i)
            added += lines
            if total:
                added += f"  %total{i} = arith.addf {total}, {loss} : tensor<f64>\n"
            total = f"%total{i}" if total else loss
        return f"{head} -> tensor<f64> {{\n{body}{added}  return {total} : tensor<f64>\n}}"
    return re.sub(r"^(func\.func @.*?\)) -> [^{\n]*\{\n(.*?)^  return (.*?) : (.*?)\n\}", complete, text, flags=re.M | re.S)


class Library:
    """A module, run through `passes` and compiled to a shared object in the folder `work`."""

    lowering, optimization = LOWERING, ["-O1"]
    calls_runtime = False

    def __init__(self, text, work, passes="", name="module"):
        work = Path(work)
        source, passed, lowered, ir, library = (
            work / f"{name}.{end}" for end in ("mlir", "passed.mlir", "llvm.mlir", "ll", "so"))
        source.write_text(text)
        opt = tool("remat-opt", "REMAT_BIN")
        run([opt, source, f"--pass-pipeline=builtin.module({passes})", "-o", passed])
        run([opt, passed, f"--pass-pipeline=builtin.module({self.lowering})", "-o", lowered])
        self.text = passed.read_text()
        translate = tool("mlir-translate", "LLVM_BIN")
        run([translate, "--mlir-to-llvmir", lowered, "-o", ir])
        llvm = Path(translate).resolve().parent.parent / "lib"
        libraries = [llvm / "libmlir_c_runner_utils.so"]  # memrefCopy
        if self.calls_runtime:
            libraries.append(Path(os.environ["REMAT_LIB"]) / "libremat_runtime.so")
        run([tool("clang", "LLVM_BIN"), *self.optimization, "-Wno-override-module", "-shared", "-fPIC", ir,
             *libraries, "-lm", *(f"-Wl,-rpath,{x.parent}" for x in libraries), "-o", library])
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


class TrainedLibrary(Library):
    """A module of losses, compiled as `remat-train` does it: kernels, the library, memory packed."""

    lowering = "remat-lower-to-cpu, remat-strip-annotations"
    optimization = ["-O1", "-march=native", "-ffp-contract=off"]
    calls_runtime = True

    def __init__(self, text, work, name="module"):
        super().__init__(text, work, "func.func(llvm-request-c-wrappers), remat-train-to-tensors, remat-bufferize", name)

    def call(self, name, arrays, results, dynamic=(), plain=None):
        """Calls @name. `results` lists (element type, shape) of its tensors; those named in `dynamic` have dynamic types,
        and come back as memrefs of their own. A gradient that is one of the arguments comes back in no memory: what it
        is takes `plain`, the results of another library."""
        entry = getattr(self.library, f"_mlir_ciface_{name}")
        signature = re.search(rf"func.func @{name}\(.*", self.text).group()
        written = {int(i) for i in re.findall(r"remat.result = (\d+)", signature)}
        arena = re.search(r"memref<(\d+)xi8> \{[^}]*remat\.arena", signature)
        arenas = [make_arena(int(arena[1]))] if arena else []
        arrays = [np.array(a, order="C") for a in arrays]
        outs = {i: np.empty(shape, NUMPY_TYPES[kind]) for i, (kind, shape) in enumerate(results) if i in written}
        fields = [(f"r{i}", descriptor_type(len(results[i][1]))) for i in dynamic]
        returned = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        pointers = [ctypes.byref(to_descriptor(a)) for a in arrays + list(outs.values()) + arenas]
        entry(*([ctypes.byref(returned)] if dynamic else []), *pointers)
        if any((memory[-ARENA_GUARD:] != ARENA_FILL).any() for memory in arenas):
            raise RuntimeError(f"@{name} writes behind its arena of {arena[1]} bytes")

        def result(i, kind):
            if i in outs:
                return outs[i]
            if i in dynamic:
                return from_descriptor(getattr(returned, f"r{i}"), NUMPY_TYPES[kind])
            value = plain[i] if plain and i else None  # the loss is no argument
            if value is None or not any(a.size == value.size and np.array_equal(a.ravel(), value.ravel()) for a in arrays):
                raise RuntimeError(f"result {i} of @{name} is lost")
            return value

        return [result(i, kind) for i, (kind, _) in enumerate(results)]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes per second of kernels that are not products, over what a loop of the same bytes reaches (STREAM): elementwise ones, sums
of rows and columns, normalizations and their gradients. A row counts each operand and the result once, so that a kernel that
reads an array twice has a half at most. On two threads, which tools/benchmark sets.

The functions are compiled as those of a model are, by remat-opt, and by clang instead of the JIT."""
import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import models
import ours
from kernels import describe, seconds_in_turns
from mlir_text import Printer, Value, scalar_body

BUILD, LLVM = ours.training.BUILD, ours.training.LLVM
SHAPES = {"from memory": (16384, 1024), "in cache": (2048, 384)}
ARENA = 256 << 20
PASSES = ("--convert-linalg-aggregates-to-structured", "--remat-fix-orders", "--remat-fuse", "--canonicalize", "--remat-bufferize",
          "--remat-lower-to-cpu")
STREAM = """
typedef void Body(void *, long, long);
void remat_parallel_for(long count, Body *body, void *context);
struct arrays { float *a; const float *b, *c; };

static void scale_part(void *context, long begin, long end) {
  struct arrays v = *(struct arrays *)context;
  for (long i = begin; i < end; ++i) v.a[i] = 3.0f * v.b[i];
}
static void triad_part(void *context, long begin, long end) {
  struct arrays v = *(struct arrays *)context;
  for (long i = begin; i < end; ++i) v.a[i] = v.b[i] + 3.0f * v.c[i];
}
static void sum_part(void *context, long begin, long end) {
  struct arrays v = *(struct arrays *)context;
  float s = 0;
  for (long i = begin; i < end; ++i) s += v.a[i];
  v.a[begin] = s / (end - begin);
}
void scale(float *a, const float *b, long n) { remat_parallel_for(n, scale_part, &(struct arrays){a, b}); }
void triad(float *a, const float *b, const float *c, long n) { remat_parallel_for(n, triad_part, &(struct arrays){a, b, c}); }
void sum(float *a, long n) { remat_parallel_for(n, sum_part, &(struct arrays){a}); }
"""


def elementwise(body):
    def build(p, *inputs):
        maps = ["d0 d1" if len(v.shape) == 2 else "d1" for v in inputs]
        return p.generic(list(zip(inputs, maps)), inputs[0].shape, scalar_body(body))
    return build


def row_sum(p, inputs, body):
    return p.generic([(v, "d0 d1") for v in inputs], inputs[0].shape[:1], scalar_body(body), reduced=(1,))


def column_sum(p, x):
    return p.generic([(x, "d0 d1")], x.shape[1:], scalar_body("addf acc a0"), reduced=(0,))


def transpose(p, x):
    return p.generic([(x, "d1 d0")], x.shape[::-1], lambda a, _: ([], a))


def softmax_gradient(p, dy, y):
    dots = row_sum(p, (dy, y), "mulf a0 a1\naddf acc b0")
    return p.generic([(dy, "d0 d1"), (y, "d0 d1"), (dots, "d0")], y.shape, scalar_body("subf a0 a2\nmulf b0 a1"))


def norm_gradient(p, dy, normalized):
    """Of a layer norm without weights, by its result; its scale is left out."""
    total = row_sum(p, (dy,), "addf acc a0")
    dots = row_sum(p, (dy, normalized), "mulf a0 a1\naddf acc b0")
    n = p.scalar(f"{dy.shape[1]}.0")
    return p.generic([(dy, "d0 d1"), (normalized, "d0 d1"), (total, "d0"), (dots, "d0")], dy.shape,
                     scalar_body(f"divf a2 {n}\ndivf a3 {n}\nmulf a1 b1\nsubf a0 b0\nsubf b3 b2"))


# How a function is built, the dimensions of its operands (r, c), and the loop that it is compared with.
KERNELS = {
    "sum of two": (elementwise("addf a0 a1"), ("rc", "rc"), "triad"),
    "bias": (elementwise("addf a0 a1"), ("rc", "c"), "scale"),
    "tanh": (elementwise("math.tanh a0"), ("rc",), "scale"),
    "gelu": (models.gelu, ("rc",), "scale"),
    "transpose": (transpose, ("rc",), "scale"),
    "sums of rows": (lambda p, x: row_sum(p, (x,), "addf acc a0"), ("rc",), "sum"),
    "sums of columns": (column_sum, ("rc",), "sum"),
    "layer norm": (models.layer_norm, ("rc", "c", "c"), "scale"),
    "its gradient (layer norm)": (norm_gradient, ("rc", "rc"), "triad"),
    "RMS norm": (models.rms_norm, ("rc", "c"), "scale"),
    "softmax": (lambda p, x: models.softmax(p, x, 1), ("rc",), "scale"),
    "its gradient (softmax)": (softmax_gradient, ("rc", "rc"), "triad"),
}


def run(*command):
    subprocess.run([*map(str, command)], check=True)


def load(folder, name, source, *libraries):
    library = Path(folder, f"{name}.so")
    run(LLVM / "bin/clang", "-O3", "-march=native", "-Wno-override-module", "-shared", "-fPIC", source, "-o", library,
        f"-L{BUILD}/lib", f"-L{LLVM}/lib", *libraries, "-lm", f"-Wl,-rpath,{BUILD}/lib:{LLVM}/lib")
    return ctypes.CDLL(str(library))


def compile_kernel(folder, name, build, shapes):
    """The function, the shape of its result, and whether it takes an arena."""
    p = Printer()
    inputs = [Value(f"%x{i}", shape) for i, shape in enumerate(shapes)]
    y = build(p, *inputs)
    source, lowered, code = (Path(folder, name + suffix) for suffix in (".mlir", ".llvm.mlir", ".ll"))
    arguments, body = ", ".join(f"{v}: {v.type}" for v in inputs), "\n".join(p.lines)
    source.write_text(f"func.func @f({arguments}) -> {y.type} attributes {{llvm.emit_c_interface}} {{\n{body}\n"
                      f"    return {y} : {y.type}\n}}\n")
    run(BUILD / "bin/remat-opt", *PASSES, source, "-o", lowered)
    run(LLVM / "bin/mlir-translate", "--mlir-to-llvmir", lowered, "-o", code)
    library = load(folder, name, code, "-lremat_runtime")
    return library._mlir_ciface_f, y.shape, "remat.arena" in lowered.read_text()


def align(array):
    """Returns a copy at the start of a cache line, where the buffers of a program are; NumPy's are 16 bytes after one."""
    memory = np.empty(array.nbytes + 64, np.int8)
    start = -memory.ctypes.data % 64
    aligned = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def loops_of(stream, shape):
    """A call of each loop on arrays of this shape, and these arrays."""
    arrays = [align(np.ones(shape, np.float32)) for _ in range(3)]
    n = ctypes.c_long(arrays[0].size)

    def loop(name, count):
        pointers = [ctypes.c_void_p(v.ctypes.data) for v in arrays[:count]]
        return lambda: getattr(stream, name)(*pointers, n), arrays[:count]
    return {name: loop(name, count) for name, count in (("scale", 2), ("triad", 3), ("sum", 1))}


def compare():
    random, arena = np.random.default_rng(0), align(np.zeros(ARENA, np.int8))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "stream.c")
        source.write_text(STREAM)
        stream = load(folder, "stream", source, "-ffast-math", "-lremat_runtime")
        for where, (r, c) in SHAPES.items():
            loops, ratios = loops_of(stream, (r, c)), {}
            print(f"| f32, {r} x {c}, {where} | GB/s | loop (STREAM) | ratio |\n|---|---:|---:|---:|")
            for name, (build, dims, loop) in KERNELS.items():
                shapes = [{"rc": (r, c), "c": (c,)}[d] for d in dims]
                function, shape, has_arena = compile_kernel(folder, f"{name.replace(' ', '_')}_{r}", build, shapes)
                arrays = [align(random.standard_normal(s, np.float32)) for s in shapes] + [align(np.zeros(shape, np.float32))]
                descriptors = [describe(v) for v in [*arrays, *[arena] * has_arena]]
                call, operands = loops[loop]
                # In turns: what the machine does in one second, it may not do in the next.
                ours, limit = seconds_in_turns(lambda: function(*descriptors), call)
                speed, limit = sum(v.nbytes for v in arrays) / ours, sum(v.nbytes for v in operands) / limit
                ratios[name] = speed / limit
                print(f"| {name} | {speed / 1e9:.1f} | {limit / 1e9:.1f} ({loop}) | {ratios[name]:.2f} |", flush=True)
            worst = min(ratios, key=ratios.get)
            print(f"{where}: worst {ratios[worst]:.2f} ({worst})")


if __name__ == "__main__":
    compare()

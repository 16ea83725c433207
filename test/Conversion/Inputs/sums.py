# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long sums against NumPy in float64, and bit by bit for 1, 2 and 3 threads and with a producer fused or not: sums.py RUNTIME."""
import sys

import numpy as np

import compile as compiler
from compile import runtime

random = np.random.default_rng(0)
# Shape, the dimensions that are added up, the type and what may be off. In one chain, a million squares are off by 5e-4.
SUMS = [((4096, 300), (0, 1), "f4", 2e-7), ((1 << 21,), (0,), "f4", 2e-7), ((70001, 16), (0,), "f4", 6e-7),
        ((9, 100, 93, 5), (0, 1, 2), "f4", 6e-7), ((5, 263167), (1,), "f4", 2e-7), ((3, 9000, 2), (1,), "f4", 6e-7),
        ((8209, 3, 7), (0, 2), "f4", 3e-7), ((4096, 33), (0,), "f4", 5e-6), ((600, 4000), (0, 1), "f8", 1e-15)]
PASSES = "--linalg-fuse-elementwise-ops", "--remat-fix-orders", "--remat-fuse", "--remat-bufferize", "--remat-lower-to-cpu"


def write(number, shape, dims, kind, is_fused):
    """The sum of x * x, and of x, over `dims`, from initial values; and the squares, where these are kept."""
    element = {"f4": "f32", "f8": "f64"}[kind]
    names = [f"d{i}" for i in range(len(shape))]
    kept = [i for i in range(len(shape)) if i not in dims]
    x, y = ("x".join([*map(str, sizes), element]) for sizes in (shape, [shape[i] for i in kept]))
    loops, results = ", ".join(names), ", ".join(names[i] for i in kept)
    all_of, some_of = f"affine_map<({loops}) -> ({loops})>", f"affine_map<({loops}) -> ({results})>"
    parallel = ", ".join(['"parallel"'] * len(shape))
    kinds = ", ".join('"reduction"' if i in dims else '"parallel"' for i in range(len(shape)))
    squares = f"""%e = tensor.empty() : tensor<{x}>
      %q = linalg.generic {{indexing_maps = [{all_of}, {all_of}], iterator_types = [{parallel}]}} ins(%x : tensor<{x}>)
          outs(%e : tensor<{x}>) {{
      ^bb0(%a: {element}, %o: {element}):
        %p = arith.mulf %a, %a : {element}
        linalg.yield %p : {element}
      }} -> tensor<{x}>"""

    def add(result, value, initial):
        return f"""%{result} = linalg.generic {{indexing_maps = [{all_of}, {some_of}], iterator_types = [{kinds}]}}
          ins(%{value} : tensor<{x}>) outs(%{initial} : tensor<{y}>) {{
      ^bb0(%a: {element}, %o: {element}):
        %p = arith.addf %o, %a : {element}
        linalg.yield %p : {element}
      }} -> tensor<{y}>"""
    returned = f"%s, %t : tensor<{y}>, tensor<{y}>" if is_fused else f"%s, %t, %q : tensor<{y}>, tensor<{y}>, tensor<{x}>"
    types = f"tensor<{y}>, tensor<{y}>" + ("" if is_fused else f", tensor<{x}>")
    return f"""func.func @sum_{number}_{is_fused}(%x: tensor<{x}>, %i: tensor<{y}>, %j: tensor<{y}>) -> ({types})
          attributes {{llvm.emit_c_interface}} {{
      {squares}
      {add("s", "q", "i")}
      {add("t", "x", "j")}
      return {returned}
    }}"""


library = compiler.compile("\n".join(write(n, *case[:3], is_fused) for n, case in enumerate(SUMS) for is_fused in (False, True)),
                           sys.argv[1], PASSES)
for number, (shape, dims, kind, tolerance) in enumerate(SUMS):
    x = random.standard_normal(shape).astype(kind) + np.array(0.5, kind)
    rest = [n for i, n in enumerate(shape) if i not in dims]
    initial = [random.standard_normal(rest).astype(kind) for _ in range(2)]
    wide = x.astype(np.longdouble)
    want = [(wide * wide).sum(dims) + initial[0], wide.sum(dims) + initial[1]]
    bits = set()
    for threads in (1, 2, 3):
        runtime.set_threads(threads)
        for is_fused in (False, True):
            got = [np.zeros(rest, kind), np.zeros(rest, kind)] + [np.zeros(shape, kind)] * (not is_fused)
            arena = np.zeros(1 << 24, np.int8)
            runtime.call(library, f"sum_{number}_{is_fused}", x, *initial, *got, arena)
            bits.add(b"".join(value.tobytes() for value in got[:2]))
            for value, exact in zip(got, want):
                error = float(np.max(np.abs(value - exact)) / np.max(np.abs(exact)))
                assert error <= tolerance, (shape, dims, error)
    assert len(bits) == 1, (shape, dims)
print("sums: ok", len(SUMS))

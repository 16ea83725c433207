# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that bypass the cache: the bits are NumPy's, or those of the loop that does not, wherever memory begins and on any number
of threads, and nothing beside them is written."""
import sys

import numpy as np

import compile as compiler
from compile import runtime

random = np.random.default_rng(0)
M, N = 16384, 1040
SHAPE = f"memref<{M}x{N}xf32>"

TEXT = f"""
func.func @bias(%x : {SHAPE}, %b : memref<{N}xf32>, %y : {SHAPE}) attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}} ins(%x, %b : {SHAPE}, memref<{N}xf32>) outs(%y : {SHAPE}) {{
  ^bb0(%a : f32, %c : f32, %o : f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  }}
  return
}}
func.func @transpose(%x : memref<{N}x{M}xf32>, %y : {SHAPE}) attributes {{llvm.emit_c_interface}} {{
  linalg.transpose ins(%x : memref<{N}x{M}xf32>) outs(%y : {SHAPE}) permutation = [1, 0]
  return
}}
func.func @centered(%x : {SHAPE}, %m : memref<{M}xf32>, %y : {SHAPE}) attributes {{llvm.emit_c_interface}} {{
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%m : memref<{M}xf32>)
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}} ins(%x : {SHAPE}) outs(%m : memref<{M}xf32>) {{
  ^bb0(%a : f32, %o : f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  }}
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}} ins(%x, %m : {SHAPE}, memref<{M}xf32>) outs(%y : {SHAPE}) {{
  ^bb0(%a : f32, %c : f32, %o : f32):
    %s = arith.subf %a, %c : f32
    linalg.yield %s : f32
  }}
  return
}}
func.func @halves(%x : memref<{2 * M}x{N}xbf16>, %y : memref<{2 * M}x{N}xbf16>) attributes {{llvm.emit_c_interface}} {{
  linalg.negf ins(%x : memref<{2 * M}x{N}xbf16>) outs(%y : memref<{2 * M}x{N}xbf16>)
  return
}}
func.func @doubles(%x : memref<{M // 2}x{N}xf64>, %y : memref<{M // 2}x{N}xf64>) attributes {{llvm.emit_c_interface}} {{
  linalg.negf ins(%x : memref<{M // 2}x{N}xf64>) outs(%y : memref<{M // 2}x{N}xf64>)
  return
}}
"""


def allocate(shape, dtype, offset):
    """Returns an array that begins `offset` bytes after the start of a cache line, the memory around it, and where it is there."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 256, 77, np.uint8)
    start = -memory.ctypes.data % 64 + 64 + offset
    return memory[start:start + size].view(dtype).reshape(shape), memory, start


x, b = random.standard_normal((M, N), np.float32), random.standard_normal(N, np.float32)
halves = random.integers(0, 1 << 16, (2 * M, N), np.uint16)
doubles = random.standard_normal((M // 2, N))
CASES = {
    "bias": ([x, b], x + b),
    "transpose": ([np.ascontiguousarray(x.T)], x),
    "centered": ([x, np.zeros(M, np.float32)], x - np.maximum(x.max(1), 0)[:, None]),
    "halves": ([halves], halves ^ np.uint16(0x8000)),
    "doubles": ([doubles], -doubles),
}

library = compiler.compile(TEXT, sys.argv[1])
for name, (inputs, want) in CASES.items():
    for threads, offset in ((1, 0), (2, 0), (3, 0), (2, 16), (2, 4 if want.itemsize == 4 else 32)):
        runtime.set_threads(threads)
        got, memory, start = allocate(want.shape, want.dtype, offset)
        runtime.call(library, name, *inputs, got)
        assert got.tobytes() == want.tobytes(), (name, threads, offset)
        assert (memory[:start] == 77).all() and (memory[start + got.nbytes:] == 77).all(), (name, threads, offset)
print("streamed: ok")

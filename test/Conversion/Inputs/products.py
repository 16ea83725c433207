# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as einsums over NumPy views, against NumPy in float64, through library calls and kernels."""
import sys

import numpy as np

import compile as compiler
from compile import runtime

random = np.random.default_rng(0)
functions, checks = [], []


def memref(array, dynamic):
    shape = "".join(("?" if dynamic else str(n)) + "x" for n in array.shape)
    if array.flags.c_contiguous:
        return f"memref<{shape}f32>"
    strides = [s // 4 for s in array.strides]
    strides = ", ".join("?" if dynamic and i < array.ndim - 1 else str(s) for i, s in enumerate(strides))
    return f"memref<{shape}f32, strided<[{strides}]>>"


def check(einsum, a, b, zero=False):
    """One generic for the einsum; `outs` is random, or filled with zero in the same function."""
    ins, out = einsum.split("->")
    sides = ins.split(",")
    loops = "".join(dict.fromkeys(out + "".join(sides)))
    want = np.einsum(einsum, a.astype("f8"), b.astype("f8"))
    c = random.standard_normal(want.shape).astype("f4")
    maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(side)})>" for side in (*sides, out))
    kinds = ", ".join('"parallel"' if i in out else '"reduction"' for i in loops)
    for dynamic in (False, True):
        types = [memref(x, dynamic) for x in (a, b, c)]
        symbol = f"product_{len(checks)}"
        fill = f"%zero = arith.constant 0.0 : f32\n linalg.fill ins(%zero : f32) outs(%c : {types[2]})" if zero else ""
        functions.append(f"""
func.func @{symbol}(%a : {types[0]}, %b : {types[1]}, %c : {types[2]}) attributes {{llvm.emit_c_interface}} {{
  {fill}
  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
  ^bb0(%x : f32, %y : f32, %acc : f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }}
  return
}}""")
        checks.append((f"{symbol} {einsum} {a.shape} {b.shape} {dynamic}", a, b, c, want + (0 if zero else c)))


def normal(*shape):
    return random.standard_normal(shape).astype("f4")


for zero in (False, True):
    check("mk,kn->mn", normal(33, 17), normal(17, 40), zero)
    check("mk,nk->mn", normal(33, 17), normal(40, 17), zero)
    check("km,kn->nm", normal(17, 33), normal(17, 40), zero)
    check("btd,de->bte", normal(4, 16, 24), normal(24, 56), zero)          # rows merge
    check("btd,bte->de", normal(4, 16, 24), normal(4, 16, 56), zero)       # reductions merge
    check("bthd,bshd->bhts", normal(2, 9, 3, 8), normal(2, 11, 3, 8), zero)  # heads in place
    check("bhts,bshd->bthd", normal(2, 3, 9, 11), normal(2, 11, 3, 8), zero)
    check("xbthd,bshd->xbhts", normal(2, 2, 9, 3, 8), normal(2, 11, 3, 8), zero)
    check("aikj,abjk->aib", normal(2, 5, 6, 7), normal(2, 4, 7, 6), zero)  # reductions in two orders
    check("mk,kn->mn", normal(40, 60)[::2, :30], normal(60, 50)[:30, 7:30], zero)
    check("mk,kn->mn", normal(40, 60)[:, ::2], normal(30, 20), zero)       # no unit stride: a kernel
    check("mk,kn->mn", normal(1, 60), normal(60, 1), zero)
    check("mk,kn->mn", normal(300, 1), normal(1, 200), zero)
    check("mk,kn->mn", normal(700, 300), normal(300, 520), zero)

library = compiler.compile("\n".join(functions), sys.argv[1])
for index, (name, a, b, c, want) in enumerate(checks):
    results = set()
    for threads in (1, 2, 3):
        runtime.set_threads(threads)
        got = c.copy()
        runtime.call(library, f"product_{index}", a, b, got)
        error = np.abs(got - want).max() / max(1, np.abs(want).max())
        assert error < 3e-6, (name, error)
        results.add(got.tobytes())
    assert len(results) == 1, name
print("products: ok", len(checks))

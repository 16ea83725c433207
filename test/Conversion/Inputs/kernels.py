# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels against NumPy in float64, and bit by bit for 1, 2 and 3 threads and for fused and unfused reductions."""
import sys

import numpy as np

import compile as compiler
from compile import runtime

random = np.random.default_rng(0)
TYPES = {np.dtype("f4"): "f32", np.dtype("f8"): "f64", np.dtype("i8"): "i64", np.dtype("i4"): "i32",
         np.dtype("?"): "i1"}
functions, checks = [], []


def memref(array, dynamic):
    """The type for an array: identity if contiguous, otherwise strided."""
    if array.flags.c_contiguous:
        return f"memref<{''.join(('?' if dynamic else str(n)) + 'x' for n in array.shape)}{TYPES[array.dtype]}>"
    strides = ", ".join("?" if dynamic else str(s // array.itemsize) for s in array.strides)
    shape = "".join(("?" if dynamic else str(n)) + "x" for n in array.shape)
    return f"memref<{shape}{TYPES[array.dtype]}, strided<[{strides}]>>"


def check(name, body, inputs, output, want, maps, kinds, tolerance=2e-6):
    """A generic with `inputs` and the initial `output`; `want` is computed from them in float64."""
    for dynamic in (False, True):
        types = [memref(a, dynamic) for a in (*inputs, output)]
        symbol = f"{name}_{'dynamic' if dynamic else 'static'}"
        names = [f"%a{i}" for i in range(len(inputs))]
        arguments = ", ".join(f"{n} : {t}" for n, t in zip(names + ["%o"], types))
        elements = ", ".join(f"%x{i} : {TYPES[a.dtype]}" for i, a in enumerate((*inputs, output)))
        elements = elements.replace(f"%x{len(inputs)} ", "%acc ")
        ins = f"ins({', '.join(names)} : {', '.join(types[:-1])})" if inputs else ""
        kind = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
        functions.append(f"""
func.func @{symbol}({arguments}) attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}], iterator_types = [{kind}]}}
    {ins} outs(%o : {types[-1]}) {{
  ^bb0({elements}):
    {body}
  }}
  return
}}""")
        checks.append((symbol, inputs, output, want, tolerance))


def normal(*shape, dtype="f4"):
    return random.standard_normal(shape).astype(dtype)


ADD = "%s = arith.addf %acc, %x0 : f32\n linalg.yield %s : f32"
ID2, ROW2, COL2 = "(i, j) -> (i, j)", "(i, j) -> (i)", "(i, j) -> (j)"

for m, n in ((1, 1), (3, 5), (17, 16), (64, 100), (300, 257), (2, 100000), (1000, 3), (70, 1040), (37, 2051)):
    x, y, b = normal(m, n), normal(m, n), normal(n)
    check(f"axpy_{m}_{n}", """%p = arith.mulf %x0, %x1 : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32""", [x, b], y, np.float64(x) * b + y, [ID2, COL2, ID2], "pp")
    check(f"rows_{m}_{n}", ADD, [x], normal(m), None, [ID2, ROW2], "pr", 1e-5)
    check(f"columns_{m}_{n}", ADD, [x], normal(n), None, ["(i, j) -> (i, j)", COL2], "rp", 1e-5)
    check(f"all_{m}_{n}", ADD, [x], np.array(1, "f4"), None, [ID2, "(i, j) -> ()"], "rr", 1e-5)
    check(f"transpose_{m}_{n}", "linalg.yield %x0 : f32", [x], np.zeros((n, m), "f4"), x.T,
          ["(i, j) -> (j, i)", "(i, j) -> (i, j)"], "pp")
    check(f"compare_{m}_{n}", "%c = arith.cmpf ogt, %x0, %x1 : f32\n linalg.yield %c : i1", [x, y],
          np.zeros((m, n), "?"), x > y, [ID2, ID2, ID2], "pp")
    check(f"select_{m}_{n}", "%c = arith.select %x0, %x1, %acc : f32\n linalg.yield %c : f32", [x > 0, y],
          x.copy(), np.where(x > 0, y, x), [ID2, ID2, ID2], "pp")
    check(f"maximum_{m}_{n}", "%c = arith.maximumf %x0, %acc : f32\n linalg.yield %c : f32", [x],
          np.full(m, -np.inf, "f4"), x.max(1), [ID2, ROW2], "pr")

for name in [s for s in checks]:
    if name[3] is None:
        symbol, (x,), out, _, tolerance = name
        axes = {"rows": 1, "columns": 0, "all": (0, 1)}[symbol.split("_")[0]]
        checks[checks.index(name)] = (symbol, [x], out, out + np.sum(x, axes, dtype="f8"), tolerance)

wide = normal(40, 90)
check("strided", "%d = arith.addf %x0, %x0 : f32\n linalg.yield %d : f32", [wide[::2, ::3]], np.zeros((20, 30), "f4"),
      2 * wide[::2, ::3], [ID2, ID2], "pp")
images = normal(2, 9, 9, 20)
windows = np.zeros((3, 3), "f4")
pooled = np.max([images[:, i:i + 7, j:j + 7] for i in range(3) for j in range(3)], axis=0)
check("pool", "%c = arith.maximumf %acc, %x0 : f32\n linalg.yield %c : f32", [images, windows],
      np.full((2, 7, 7, 20), -np.inf, "f4"), pooled,
      ["(n, h, w, c, i, j) -> (n, h + i, w + j, c)", "(n, h, w, c, i, j) -> (i, j)",
       "(n, h, w, c, i, j) -> (n, h, w, c)"], "pppprr")
table, tokens = normal(50, 33), random.integers(0, 50, 200)
check("iota", """%i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %l = arith.index_cast %k : index to i64
    linalg.yield %l : i64""", [], np.zeros((12, 37), "i8"), np.arange(12)[:, None] * np.arange(37),
      [ID2], "pp")
check("scan", ADD.replace("%acc", "%acc"), [normal(4, 20)], np.zeros(4, "f4"), None, [ID2, ROW2], "pr", 1e-5)
symbol, (x,), out, _, t = checks[-1]
checks[-2:] = [(s, [x], out, np.sum(x, 1, dtype="f8"), t) for s in ("scan_static", "scan_dynamic")]
double = normal(31, 45, dtype="f8")
check("double", "%s = arith.addf %acc, %x0 : f64\n linalg.yield %s : f64", [double], np.zeros(31),
      double.sum(1), [ID2, ROW2], "pr", 1e-14)

# Blocks that are transposed: of several types, with what lies along the rows beside them, and in the result.
SWAPPED = "(b, i, j) -> (b, j, i)"
ID3 = "(b, i, j) -> (b, i, j)"
for m, n in ((16, 16), (33, 300), (290, 50)):
    x, y = normal(3, n, m), normal(3, m, n)
    check(f"swapped_{m}_{n}", """%s = arith.addf %x0, %x1 : f32
    linalg.yield %s : f32""", [x, y], np.zeros((3, m, n), "f4"), x.transpose(0, 2, 1) + y, [SWAPPED, ID3, ID3], "ppp")
    check(f"swapped_result_{m}_{n}", """%s = arith.mulf %x0, %x1 : f32
    %t = arith.subf %acc, %s : f32
    linalg.yield %t : f32""", [y, y + 1], x, x - (np.float64(y) * (y + 1)).transpose(0, 2, 1), [ID3, ID3, SWAPPED], "ppp")
    check(f"swapped_double_{m}_{n}", "linalg.yield %x0 : f64", [x.astype("f8")], np.zeros((3, m, n)),
          x.transpose(0, 2, 1), [SWAPPED, ID3], "ppp", 0)
    check(f"swapped_boolean_{m}_{n}", "linalg.yield %x0 : i1", [x > 0], np.zeros((3, m, n), "?"),
          (x > 0).transpose(0, 2, 1), [SWAPPED, ID3], "ppp", 0)
    check(f"swapped_index_{m}_{n}", """%i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %k = arith.muli %i, %j : index
    %l = arith.index_cast %k : index to i64
    %s = arith.addi %x0, %l : i64
    linalg.yield %s : i64""", [np.int64(100 * x)], np.zeros((3, m, n), "i8"),
          np.int64(100 * x).transpose(0, 2, 1) + np.arange(m)[:, None] * np.arange(n), [SWAPPED, ID3], "ppp", 0)

# Long rows, of images and one batch after the other; static sizes go over them in other pieces than dynamic ones.
x, gain = normal(3, 5, 19, 1100), normal(1100)
check("channels", """%p = arith.mulf %x0, %x1 : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32""", [x, gain], normal(1100), None, ["(n, h, w, c) -> (n, h, w, c)", "(n, h, w, c) -> (c)",
      "(n, h, w, c) -> (c)"], "rrrp", 1e-5)
checks[-2:] = [(s, i, out, out + np.sum(np.float64(x) * gain, (0, 1, 2)), t) for s, i, out, _, t in checks[-2:]]
check("each_batch", ADD, [normal(3, 40, 1500)], np.zeros((3, 1500), "f4"), None,
      ["(n, i, j) -> (n, i, j)", "(n, i, j) -> (n, j)"], "prp", 1e-5)
checks[-2:] = [(s, i, out, np.sum(i[0], 1, dtype="f8"), t) for s, i, out, _, t in checks[-2:]]

# The same reduction with its producer fused and apart.
x, scale = normal(100, 200), normal(100)
scaled = (x * scale[:, None]).astype("f4")
check("fused", """%p = arith.mulf %x0, %x1 : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32""", [x, scale], np.zeros(100, "f4"), scaled.sum(1, dtype="f8"), [ID2, ROW2, ROW2], "pr", 1e-4)
check("apart", ADD, [scaled], np.zeros(100, "f4"), scaled.sum(1, dtype="f8"), [ID2, ROW2], "pr", 1e-4)

functions.append("""
func.func @embed(%table : memref<50x33xf32>, %tokens : memref<200xi64>, %o : memref<200x33xf32>)
    attributes {llvm.emit_c_interface} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
    ins(%tokens : memref<200xi64>) outs(%o : memref<200x33xf32>) {
  ^bb0(%t : i64, %out : f32):
    %r = arith.index_cast %t : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %table[%r, %j] : memref<50x33xf32>
    linalg.yield %v : f32
  }
  return
}
func.func @pick(%table : memref<50x33xf32>, %tokens : memref<200xi64>, %o : memref<200xf32>)
    attributes {llvm.emit_c_interface} {
  %c3 = arith.constant 3 : index
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%tokens : memref<200xi64>) outs(%o : memref<200xf32>) {
  ^bb0(%t : i64, %out : f32):
    %r = arith.index_cast %t : i64 to index
    %v = memref.load %table[%r, %c3] : memref<50x33xf32>
    linalg.yield %v : f32
  }
  return
}""")
checks.append(("embed", [table, tokens], np.zeros((200, 33), "f4"), table[tokens], 0))
checks.append(("pick", [table, tokens], np.zeros(200, "f4"), table[tokens, 3], 0))

library = compiler.compile("\n".join(functions), sys.argv[1])
bits = {}
for symbol, inputs, output, want, tolerance in checks:
    for threads in (1, 2, 3):
        runtime.set_threads(threads)
        got = output.copy()
        runtime.call(library, symbol, *inputs, got)
        scale = max(1, np.abs(want[np.isfinite(want)]).max(initial=0)) if want.dtype != bool else 1
        error = np.abs(got.astype("f8") - want).max(initial=0) / scale
        assert error <= tolerance, (symbol, error)
        # Dynamic shapes give the same bits as static ones.
        key = symbol.removesuffix("_static").removesuffix("_dynamic")
        assert bits.setdefault(key, got.tobytes()) == got.tobytes(), (symbol, threads)
assert bits["fused"] == bits["apart"]
print("kernels: ok", len(checks))

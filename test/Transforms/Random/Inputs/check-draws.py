# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws of every kind, shape and type, compiled and run, against NumPy, in bits.

usage: check-draws.py RUNNER_LIBRARIES LOWERING PASS...
LOWERING is "loops" (plain scalar code) or "cpu" (vectorized, threaded kernels);
passes run between lowering the random operations and bufferization.
"""

import itertools
import re
import subprocess
import sys
import tempfile

import numpy as np
from remat.testing import philox

SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (129,), (70, 65)]
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
DTYPE = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
LOWERINGS = {
    "loops": "-convert-philox-to-arith -convert-linalg-to-loops -convert-scf-to-cf -convert-vector-to-llvm"
    " -expand-strided-metadata -lower-affine -convert-math-to-llvm -arith-expand -convert-arith-to-llvm"
    " -finalize-memref-to-llvm -convert-func-to-llvm -convert-cf-to-llvm -convert-index-to-llvm -reconcile-unrealized-casts".split(),
    "cpu": ["-remat-lower-to-cpu"],
}
SEED, DATA = 0x0123456789ABCDEF, -3

draws = [("bits", f"i{width}", {}) for width in (8, 16, 32, 64)]
draws += [("bernoulli", "i1", {"p": p}) for p in (0.0, 0.1, 0.5, 1.0)]
for element in WIDTH:
    draws += [("uniform", element, {}), ("uniform", element, {"low": -1.1, "high": 2.3})]
    draws += [("normal", element, {}), ("normal", element, {"mean": 1.5, "stddev": 0.02})]


def expected(kind, element, options, state, shape):
    if kind == "bits":
        return philox.bits(state, shape, int(element[1:]))
    if kind == "bernoulli":
        return philox.bernoulli(state, shape, **options)
    return getattr(philox, kind)(state, shape, dtype=DTYPE[element], **options)


def draw_function(index, kind, element, options, shape, dynamic):
    """One draw, printed as a flat list of integers, and the key that follows."""
    sizes = ["?" if dynamic else str(size) for size in shape]
    type = f"tensor<{''.join(size + 'x' for size in sizes)}{element}>"
    flat = f"tensor<{''.join(size + 'x' for size in sizes)}i64>"
    constants = "".join(f"  %s{i} = arith.constant {size} : index\n" for i, size in enumerate(shape))
    names = ", ".join(f"%s{i}" for i in range(len(shape)))
    brackets = f"[{names}]" if dynamic else ""
    attributes = ", ".join(f"{key} = {value!r} : f64" for key, value in options.items())
    attributes = f" {{{attributes}}}" if attributes else ""
    width = WIDTH.get(element, 0) or int(element[1:])
    convert = ""
    scalar = "%in"
    if element in WIDTH:
        convert += f"    %raw = arith.bitcast %in : {element} to i{width}\n"
        scalar = "%raw"
    if width < 64:
        convert += f"    %wide = arith.extui {scalar} : i{width} to i64\n"
        scalar = "%wide"
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    identity = f"affine_map<({dims}) -> ({dims})>"
    iterators = ", ".join(['"parallel"'] * len(shape))
    return f"""
func.func @draw{index}(%rng: !remat.rng) {{
{constants}
  %v, %next = remat.random_{kind} %rng{brackets}{attributes} : {type}
  %e = tensor.empty({names if dynamic else ""}) : {flat}
  %bits = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{iterators}]}}
      ins(%v : {type}) outs(%e : {flat}) {{
  ^bb0(%in: {element}, %out: i64):
{convert}    linalg.yield {scalar} : i64
  }} -> {flat}
  %cast = tensor.cast %bits : {flat} to tensor<*xi64>
  call @printMemrefI64(%cast) : (tensor<*xi64>) -> ()
  // The next state, seen through the first number that it gives.
  %one, %after = remat.random_bits %next : tensor<1xi64>
  %one_cast = tensor.cast %one : tensor<1xi64> to tensor<*xi64>
  call @printMemrefI64(%one_cast) : (tensor<*xi64>) -> ()
  return
}}"""


def main():
    libraries, lowering, passes = sys.argv[1], sys.argv[2], sys.argv[3:]
    cases = list(itertools.product(draws, SHAPES, (False, True)))
    cases = [case for case in cases if case[1] or not case[2]]
    # Only part of the product, spread evenly: each kind meets each shape.
    cases = [case for i, case in enumerate(cases) if i % 3 == 0]
    module = "".join(draw_function(i, *draw, shape, dynamic) for i, (draw, shape, dynamic) in enumerate(cases))
    calls = "".join(f"  call @draw{i}(%r{i % 2}) : (!remat.rng) -> ()\n" for i in range(len(cases)))
    module += f"""
func.func @main() {{
  %seed = arith.constant {SEED} : i64
  %data = arith.constant {DATA} : i64
  %r0 = remat.rng_init %seed
  %r1 = remat.rng_fold_in %r0, %data
{calls}  return
}}
func.func private @printMemrefI64(%ptr: tensor<*xi64>) attributes {{llvm.emit_c_interface}}
"""
    pipeline = ["-remat-lower-random", *passes, "-one-shot-bufferize=bufferize-function-boundaries", *LOWERINGS[lowering]]
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(module)
        file.flush()
        lowered = subprocess.run(["remat-opt", file.name, *pipeline], check=True, stdout=subprocess.PIPE)
    printed = subprocess.run(
        ["mlir-runner", "-e", "main", "-entry-point-result=void", f"-shared-libs={libraries}"],
        input=lowered.stdout, check=True, stdout=subprocess.PIPE,
    ).stdout.decode()
    found = [
        np.array([int(number) for number in re.findall(r"-?\d+", data)], np.int64)
        for data in re.findall(r"data =\s*([^U]*)", printed)
    ]
    assert len(found) == 2 * len(cases), f"{len(found)} results for {len(cases)} draws"
    states = [philox.init(SEED), philox.fold_in(philox.init(SEED), DATA)]
    for index, (draw, shape, dynamic) in enumerate(cases):
        values, state = expected(*draw, states[index % 2], shape)
        values = np.ascontiguousarray(values)
        raw = values.view(f"uint{8 * values.itemsize}").astype(np.uint64).view(np.int64).reshape(-1)
        after = philox.bits(state, (1,), 64)[0].view(np.int64)
        for name, want, got in (("values", raw, found[2 * index]), ("next state", after, found[2 * index + 1])):
            if not np.array_equal(want, got):
                sys.exit(f"{name} differ: {draw} {shape} dynamic={dynamic}\nNumPy:    {want}\ncompiled: {got}")
    print(f"{len(cases)} draws equal")


main()

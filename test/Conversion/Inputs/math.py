# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the approximated functions in units in the last place, against NumPy and the C library in float64."""
import math
import sys

import numpy as np

import compile as compiler
from compile import runtime

BOUNDS = dict(exp=2, expm1=4, log=2, log1p=4, log2=4, tanh=5, erf=2, sin=1, cos=1, sqrt=0.5, rsqrt=1.5,
              square=0.5, cube=1.5, inverse=1.5)
REFERENCES = dict(exp=np.exp, expm1=np.expm1, log=np.log, log1p=np.log1p, log2=np.log2, tanh=np.tanh,
                  erf=np.vectorize(math.erf, otypes=["f8"]), sin=np.sin, cos=np.cos, sqrt=np.sqrt,
                  rsqrt=lambda x: 1 / np.sqrt(x), square=np.square, cube=lambda x: x**3, inverse=lambda x: 1 / x)
POWERS = dict(square=2, cube=3, inverse=-1)
SIZE = 100003
random = np.random.default_rng(0)
magnitudes = np.exp2(random.uniform(-30, 12, SIZE)).astype("f4")
ordinary = random.uniform(-12, 12, SIZE).astype("f4")
special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 88.7, 89, -87.3, -88, -103, -104, -200, 1e-38, 1e-42,
                    -1e-42, 3e38, -3e38], "f4")


def function(name, size):
    operation = f"math.{name} %a : f32"
    if name in POWERS:
        operation = "math.fpowi %a, %n : f32, i64"
    return f"""
func.func @{name}_{size}(%x : memref<{size}xf32>, %y : memref<{size}xf32>) attributes {{llvm.emit_c_interface}} {{
  %n = arith.constant {POWERS.get(name, 0)} : i64
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : memref<{size}xf32>) outs(%y : memref<{size}xf32>) {{
  ^bb0(%a : f32, %o : f32):
    %r = {operation}
    linalg.yield %r : f32
  }}
  return
}}"""


def measure(bounds, form="", pipeline=("--remat-lower-to-cpu",)):
    """Returns true if an error is above its bound."""
    library = compiler.compile("\n".join(function(n, s) for n in bounds for s in (SIZE, 1)), sys.argv[1], pipeline)
    failed = False
    for name, bound in bounds.items():
        worst, where = 0, 0
        for sample in (magnitudes, -magnitudes, ordinary, np.resize(special, SIZE)):
            got = np.empty_like(sample)
            runtime.call(library, f"{name}_{SIZE}", sample, got)
            with np.errstate(all="ignore"):
                want = REFERENCES[name](sample.astype("f8"))
                single = want.astype("f4")
                # Denormal results are measured in the smallest normal number's units.
                unit = np.spacing(np.maximum(np.abs(single), np.finfo("f4").tiny))
                error = np.abs(got - want) / unit
            exact = (got == single) | (np.isnan(got) & np.isnan(want))
            error = np.where(exact, np.minimum(np.nan_to_num(error), 0.5), np.where(np.isfinite(error), error, np.inf))
            if error.max() > worst:
                worst, where = error.max(), sample[error.argmax()]
            # One element alone has the bits that it has in a vector.
            for i in range(0, 40):
                alone = np.empty(1, "f4")
                runtime.call(library, f"{name}_1", sample[i:i + 1].copy(), alone)
                assert alone.tobytes() == got[i:i + 1].tobytes(), (name, sample[i])
        print(f"{name}{form}: {worst:.2f} ulp at {where!r}" + ("" if worst <= bound else f", more than {bound}"))
        failed |= worst > bound
    return failed


failed = measure(BOUNDS)
# By the C library's power of two here, which is not the chip's: the rest of the formula.
failed |= measure(dict(exp=2, erf=2), " by powers of two", ("--remat-approximate-math=fast-powers", "--remat-lower-to-cpu"))


# Quotients by constants are those of the processor; where their remainders are denormal, they may be its neighbours.
DIVISORS = {"f32": (768, -3, 0.3, 49, 1e9), "f64": (768, -0.1)}
TYPES = {"f32": ("f4", "u4", 2.0**-102), "f64": ("f8", "u8", 2.0**-969)}


def quotient(kind, number, divisor):
    return f"""
func.func @by_{kind}_{number}(%x : memref<{SIZE}x{kind}>, %y : memref<{SIZE}x{kind}>) attributes {{llvm.emit_c_interface}} {{
  %c = arith.constant {float(divisor)} : {kind}
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : memref<{SIZE}x{kind}>) outs(%y : memref<{SIZE}x{kind}>) {{
  ^bb0(%a : {kind}, %o : {kind}):
    %r = arith.divf %a, %c : {kind}
    linalg.yield %r : {kind}
  }}
  return
}}"""


library = compiler.compile("\n".join(quotient(k, n, d) for k, divisors in DIVISORS.items() for n, d in enumerate(divisors)), sys.argv[1])
for kind, divisors in DIVISORS.items():
    dtype, bits, ordinary_from = TYPES[kind]
    every = random.integers(0, 1 << (8 * np.dtype(bits).itemsize), SIZE, dtype=bits).view(dtype)
    small = np.where(np.isfinite(every), every, 1) * np.dtype(dtype).type(1e-30)
    for number, divisor in enumerate(divisors):
        off = 0
        for sample in (magnitudes.astype(dtype), every, small, np.resize(special, SIZE).astype(dtype)):
            got = np.empty_like(sample)
            runtime.call(library, f"by_{kind}_{number}", sample, got)
            with np.errstate(all="ignore"):
                want = sample / np.dtype(dtype).type(divisor)
                isTiny = np.abs(sample) < ordinary_from
            same = (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))
            near = isTiny & (np.abs(got.view(bits).astype("i8") - want.view(bits).astype("i8")) <= 1)
            off += np.count_nonzero(~same & ~near)
        print(f"{kind} by {divisor}: {off} are wrong")
        failed |= off > 0


def wide_or_narrow(name, kind):
    """On f64 (against the C library), and on f16, which computes in f32 and rounds once."""
    return f"""
func.func @{name}_{kind}(%x : memref<{SIZE}x{kind}>, %y : memref<{SIZE}x{kind}>) attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : memref<{SIZE}x{kind}>) outs(%y : memref<{SIZE}x{kind}>) {{
  ^bb0(%a : {kind}, %o : {kind}):
    %r = math.{name} %a : {kind}
    linalg.yield %r : {kind}
  }}
  return
}}"""


WIDENED = "expm1", "log1p", "erf"
KINDS = {"f64": ("f8", 4), "f16": ("f2", 0.51)}
library = compiler.compile("\n".join(wide_or_narrow(n, k) for n in WIDENED for k in KINDS), sys.argv[1])
for name in WIDENED:
    for kind, (dtype, bound) in KINDS.items():
        worst = 0
        for sample in (magnitudes, -magnitudes, ordinary, np.resize(special, SIZE)):
            with np.errstate(all="ignore"):
                sample = (sample if kind == "f16" else sample * np.float64(1 + 2.0**-30)).astype(dtype)
                got = np.empty_like(sample)
                runtime.call(library, f"{name}_{kind}", sample, got)
                want = REFERENCES[name](sample.astype("f8"))
                unit = np.spacing(np.maximum(np.abs(want.astype(dtype)), np.finfo(dtype).tiny)).astype("f8")
                error = np.abs(got.astype("f8") - want) / unit
            same = (got == want.astype(dtype)) | (np.isnan(got) & np.isnan(want))
            error = np.where(same, 0, np.where(np.isfinite(error), error, np.inf))
            worst = max(worst, error.max())
        print(f"{name} on {kind}: {worst:.2f} ulp" + ("" if worst <= bound else f", more than {bound}"))
        failed |= worst > bound

def integer_power(kind, size):
    """At any length: whole vectors, and what is left over."""
    return f"""
func.func @ipowi_{kind}_{size}(%x : memref<{size}x{kind}>, %n : memref<{size}x{kind}>, %y : memref<{size}x{kind}>)
    attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x, %n : memref<{size}x{kind}>, memref<{size}x{kind}>) outs(%y : memref<{size}x{kind}>) {{
  ^bb0(%a : {kind}, %b : {kind}, %o : {kind}):
    %r = math.ipowi %a, %b : {kind}
    linalg.yield %r : {kind}
  }}
  return
}}"""


def exact_power(base, exponent, bits):
    """Python's, as a two's complement number; 1 / base^n cut off for a negative exponent."""
    if exponent < 0:
        return int(1 / base**-exponent) if abs(base) == 1 else 0
    return (base**exponent + 2**(bits - 1)) % 2**bits - 2**(bits - 1)


WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
library = compiler.compile("\n".join(integer_power(k, s) for k in WIDTHS for s in (1009, 1)), sys.argv[1])
for kind, bits in WIDTHS.items():
    ends = [-2**(bits - 1), -2**(bits - 1) + 1, 2**(bits - 1) - 1, -1, 1, 2]
    bases = np.resize([b for b in [*range(-15, 16), *ends] if b], 1009).astype(f"i{bits // 8}")
    exponents = random.permutation(np.resize([*range(-5, 70), 127, -128], 1009)).astype(bases.dtype)
    for size in 1009, 1:
        got = np.empty(size, bases.dtype)
        runtime.call(library, f"ipowi_{kind}_{size}", bases[:size].copy(), exponents[:size].copy(), got)
        want = [exact_power(int(b), int(n), bits) for b, n in zip(bases[:size], exponents)]
        wrong = [i for i in range(size) if got[i] != want[i]]
        for i in wrong[:1]:
            print(f"ipowi on {kind}: {bases[i]} to the {exponents[i]} is {want[i]}, not {got[i]}")
        failed |= bool(wrong)
print("math: FAILED" if failed else "math: ok")

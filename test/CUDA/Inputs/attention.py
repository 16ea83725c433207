# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of attention on the emulated device against NumPy in float64, and their bits in several orders of blocks and threads.

    attention.py CUDA_RUNTIME CUDA_EMULATOR             all of it
    attention.py ... NAME FOLDER                        one run, in a process of its own
    attention.py --print FILE                           only writes the functions, but for those without rows or keys
"""
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from device import Device, compile_module, element, memref, to_bf16

random = np.random.default_rng(0)
# The error of a gradient or result that is accepted, relative to the largest element, by the type that it is rounded to.
TOLERANCE = {"f8": 1e-13, "f4": 2e-6, "f2": 1e-3, "u2": 4e-3}
# Sums of f32 by tensor cores: their factors of bf16 are scores in two parts, of 16 bits together.
TOLERANCE_OF_PARTS = 2 ** -17
# Factors of f32 that are rounded to 11 bits, in products one after the other.
TOLERANCE_OF_TF32 = 2 ** -8
# The number that masks: the lowest of f32.
LOW = -3.4028234663852886e38


def narrow(x, dtype):
    return to_bf16(x.astype("f4")) if dtype == "u2" else np.ascontiguousarray(x, dtype)


def widen(x):
    return ((x.astype("u4") << 16).view("f4") if x.dtype == "u2" else x).astype("f8")


@dataclasses.dataclass
class Case:
    """Queries (b, h, g, m, d) that g heads share keys (b, h, n, d) with, values (b, h, n, v), in the order `layout` in memory."""
    name: str
    b: int = 1
    h: int = 1
    g: int = 1
    m: int = 33
    n: int = 33
    d: int = 8
    v: int = 8
    dtype: str = "f4"
    layout: str = "bhgmd"
    mask: str = ""      # causal, window, boolean, rows (the first ones see nothing), low (they see a large number everywhere)
    bias: str = ""      # loops of an additive operand
    cap: float = 0.0
    learned: bool = False  # it has a gradient
    keep: float = 1.0   # of the probabilities, the others drawn out
    rounded: bool = False  # result, cotangent and gradients have the type of the operands
    same: bool = False     # the cotangent has
    dynamic: bool = False  # numbers of positions are not known while compiling
    nan: bool = False  # a number of the first query is one, with all bits of mantissa set, as a GPU's are
    slow: bool = False  # left out where each access is looked at

    def shape(self, loops):
        sizes = dict(b=self.b, h=self.h, g=self.g, m=self.m, n=self.n, d=self.d, v=self.v)
        return tuple(sizes[l] for l in loops)

    def order(self, loops):
        """Those of `loops` that are an operand's, as in memory."""
        places = self.layout.replace("m", "mn").replace("d", "dv")
        return "".join(l for l in places if l in loops)

    @property
    def maps(self):
        operands = [self.order("bhgmd"), self.order("bhnd"), self.order("bhnv")]
        if self.bias:
            operands.append(self.bias)
        if self.mask == "boolean":
            operands.append("bmn")
        if self.keep < 1:
            operands.append("bhgmn")
        return operands + [self.order("bhgmv"), self.order("bhgm")]

    def arrays(self):
        """Operands of the forward but for the results; the cotangent."""
        def normal(loops, dtype=self.dtype):
            return narrow(random.standard_normal(self.shape(loops)), dtype)
        maps, arrays = self.maps, []
        for loops in maps[:3]:
            arrays.append(normal(loops))
        if self.nan:
            arrays[0].view("u4").flat[0] = 0x7fffffff
        if self.bias:
            arrays.append(normal(self.bias, self.sums if self.learned else self.dtype))
        if self.mask == "boolean":
            mask = random.random(self.shape("bmn")) < 0.6
            mask[:, :3] = False  # rows that see nothing
            arrays.append(mask)
        if self.keep < 1:
            arrays.append(random.random(self.shape("bhgmn")) < self.keep)
        return arrays, normal(maps[-2], self.dtype if self.same else self.out)

    @property
    def sums(self):
        return "f8" if self.dtype == "f8" else "f4"

    @property
    def out(self):
        return self.dtype if self.rounded else self.sums

    # The function in NumPy, its derivative by hand.

    def reference(self, arrays, cotangent):
        wide = [widen(a) for a in arrays]
        maps = self.maps
        q, k, v = wide[:3]
        full, more = "bhgmn", list(zip(wide[3:], maps[3:-2]))
        spread = lambda x, loops: np.einsum(f"{loops},{full}->{full}", x, np.ones(self.shape(full)))  # noqa: E731
        scale = self.d ** -0.5
        t = scale * np.einsum(f"{maps[0]},{maps[1]}->{full}", q, k)
        slope = np.full_like(t, scale)
        if self.cap:
            t = self.cap * np.tanh(t / self.cap)
            slope *= 1 - (t / self.cap) ** 2
        seen, factor = np.ones(self.shape(full), bool), 1.0
        m, n = np.arange(self.m)[:, None], np.arange(self.n)
        if self.bias:
            t = t + spread(*more.pop(0))
        if self.mask == "boolean":
            seen &= spread(*more.pop(0)) > 0
        if self.mask in ("causal", "window"):
            seen &= n <= m
        if self.mask == "window":
            seen &= m - n < 10
        if self.mask in ("rows", "low"):
            seen &= np.broadcast_to(m >= 5, (self.m, self.n))
        if self.keep < 1:
            factor = spread(*more.pop(0)) / self.keep
        t = np.where(seen, t, LOW if self.mask == "low" else -np.inf)
        with np.errstate(all="ignore"):
            largest = t.max(-1, keepdims=True, initial=-np.inf)
            power = np.exp(t - largest)
            total = power.sum(-1, keepdims=True)
            p = power / total
            # NaN also where there is no key at all.
            log = np.log(np.where(total == 0, np.nan, total))
            log_sum = np.where((largest == LOW), 2.0**60 * (1 + log), largest + log)[..., 0]
            result = np.einsum(f"{full},{maps[2]}->bhgmv", power * factor, v) / total
        cot = np.einsum(f"{maps[-2]}->bhgmv", widen(cotangent))
        delta = np.where(np.isnan(result), 0, result * cot).sum(-1)
        gs = np.einsum(f"bhgmv,{maps[2]}->{full}", cot, v)
        p = np.where(t == -np.inf, 0, p)
        ds = np.where(seen, p * (factor * gs - delta[..., None]) * slope, 0)
        return {"result": np.einsum(f"bhgmv->{maps[-2]}", result), "log_sum": np.einsum(f"bhgm->{maps[-1]}", log_sum),
                "delta": np.einsum(f"bhgm->{maps[-1]}", delta),
                "queries": np.einsum(f"{full},{maps[1]}->{maps[0]}", ds, k), "keys": np.einsum(f"{full},{maps[0]}->{maps[1]}", ds, q),
                "values": np.einsum(f"{full},bhgmv->{maps[2]}", p * factor, cot),
                "bias": np.einsum(f"{full}->{self.bias}", ds / slope) if self.learned else None}

    # The same in MLIR.

    def text(self, arrays):
        e = "f64" if self.sums == "f8" else "f32"
        maps = self.maps
        affine = [f"affine_map<(b, h, g, m, n, d, v) -> ({', '.join(l)})>" for l in maps]
        types = [self.type(a) for a in arrays]
        cotangent = self.type(np.empty(self.shape(maps[-2]), self.dtype if self.same else self.out))
        out, row = self.type(np.empty(self.shape(maps[-2]), self.out)), self.type(np.empty(self.shape(maps[-1]), self.sums))
        names = [f"%a{i}" for i in range(len(arrays))]
        scores = f"scores({', '.join(names[3:])} : {', '.join(types[3:])})" if names[3:] else ""
        elements = "".join(f", %x{i}: {element(a)}" for i, a in enumerate(arrays[3:]))
        scale = self.d ** -0.5
        body = [f"%scale = arith.constant {scale:.17e} : {e}", f"%low = arith.constant {'0xFFF0000000000000' if e == 'f64' else '0xFF800000'} : {e}",
                f"%zero = arith.constant 0.0 : {e}", f"%one = arith.constant 1.0 : {e}", "%c5 = arith.constant 5 : index",
                "%c9 = arith.constant 9 : index", f"%t0 = arith.mulf %s, %scale : {e}"]
        slope, t, operand, factor = "%scale", "%t0", 0, None
        if self.cap:
            body += [f"%cap = arith.constant {self.cap:e} : {e}", f"%u = arith.divf %t0, %cap : {e}", f"%h1 = math.tanh %u : {e}",
                     f"%t1 = arith.mulf %h1, %cap : {e}", f"%h2 = arith.mulf %h1, %h1 : {e}", f"%h3 = arith.subf %one, %h2 : {e}",
                     f"%slope = arith.mulf %scale, %h3 : {e}"]
            slope, t = "%slope", "%t1"
        if self.bias:
            bias = "%x0"
            if element(arrays[3]) != e:
                body += [f"%w = arith.extf %x0 : {element(arrays[3])} to {e}"]
                bias = "%w"
            body += [f"%t2 = arith.addf {t}, {bias} : {e}"]
            t, operand = "%t2", 1
        conditions = []
        if self.mask == "boolean":
            conditions.append(f"%x{operand}")
            operand += 1
        if self.mask in ("causal", "window"):
            body += ["%seen = arith.cmpi ule, %n, %m : index"]
            conditions.append("%seen")
        if self.mask == "window":
            body += ["%last = arith.addi %n, %c9 : index", "%near = arith.cmpi ule, %m, %last : index"]
            conditions.append("%near")
        if self.mask in ("rows", "low"):
            body += ["%seen = arith.cmpi uge, %m, %c5 : index"]
            conditions.append("%seen")
        number = "%low"
        if self.mask == "low":
            body += [f"%number = arith.constant {LOW:.17e} : {e}"]
            number = "%number"
        for i, condition in enumerate(conditions):
            body += [f"%masked{i} = arith.select {condition}, {t}, {number} : {e}"]
            t = f"%masked{i}"
        if self.keep < 1:
            body += [f"%inverse = arith.constant {1 / self.keep:.17e} : {e}", f"%f = arith.select %x{operand}, %inverse, %zero : {e}"]
            factor = "%f"
        indices = "%b: index, %h: index, %g: index, %m: index, %n: index"
        lines = "\n      ".join(body)
        yielded = f"{t}, {factor} : {e}, {e}" if factor else f"{t} : {e}"
        ins = f"ins({', '.join(names[:3])} : {', '.join(types[:3])}) {scores}"
        # Of a number that masks there is no derivative.
        masked = "arith.select %seen, %dt, %zero" if self.mask == "low" else "arith.addf %dt, %zero"
        w, weighted = ("%w1", f"%w1 = arith.mulf %p, %f : {e}\n      %v1 = arith.mulf %f, %gv : {e}") if factor else ("%p", f"%v1 = arith.addf %gv, %zero : {e}")
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
        gradients = {n: self.type(np.empty(a.shape, self.sums if n == "db" else self.out)) for n, a in zip(("dq", "dk", "dv", "db"), arrays[:4 if self.learned else 3])}
        return f"""
  func.func @{self.name}_forward({arguments}, %o: {out}, %l: {row}) attributes {{llvm.emit_c_interface}} {{
    remat.attention {ins} outs(%o, %l : {out}, {row}) attributes {{indexing_maps = [{', '.join(affine)}]}} {{
    ^bb0({indices}, %s: {e}{elements}):
      {lines}
      remat.yield {yielded}
    }}
    return
  }}
  func.func @{self.name}_backward({arguments}, %ct: {cotangent}, %l: {row}, %delta: {row}, %dq: {gradients["dq"]},
      {", ".join(f"%{n}: {t}" for n, t in list(gradients.items())[1:])}) attributes {{llvm.emit_c_interface}} {{
    remat.attention_backward {ins} cotangent(%ct, %l, %delta : {cotangent}, {row}, {row})
      outs({", ".join("%" + n for n in gradients)} : {", ".join(gradients.values())})
      attributes {{indexing_maps = [{', '.join(affine)}], differentiated = array<i64{": 0" if self.learned else ""}>}} {{
    ^bb0({indices}, %s: {e}{elements}, %sum: {e}, %de: {e}, %gv: {e}):
      {lines}
      %isMasked = arith.cmpf oeq, {t}, %low : {e}
      %base = arith.constant {2.0**60:e} : {e}
      %unit = arith.constant {2.0**-60:.17e} : {e}
      %isBeyond = arith.cmpf oge, %sum, %base : {e}
      %rest = arith.subf %base, %sum : {e}
      %decoded = arith.mulf %rest, %unit : {e}
      %difference = arith.subf {t}, %sum : {e}
      %exponent = arith.select %isBeyond, %decoded, %difference : {e}
      %power = math.exp %exponent : {e}
      %p = arith.select %isMasked, %zero, %power : {e}
      {weighted}
      %change = arith.subf %v1, %de : {e}
      %dt = arith.mulf %p, %change : {e}
      %du = {masked} : {e}
      %ds = arith.mulf %du, {slope} : {e}
      remat.yield %ds, {w}{", %dt" if self.learned else ""} : {e}, {e}{", " + e if self.learned else ""}
    }}
    return
  }}"""

    def type(self, array):
        return memref(array, (self.m, self.n) if self.dynamic else ())


CASES = [
    Case("plain", b=2, h=2, m=70, n=70, d=16, v=16),
    Case("one", m=1, n=1, d=1, v=1),
    Case("cross", b=2, m=17, n=101, d=5, v=7),
    Case("causal", h=2, m=131, n=131, d=64, v=64, mask="causal", slow=True),
    Case("short", h=2, m=67, n=67, d=32, v=32, mask="causal"),
    Case("window", h=2, m=97, n=97, d=12, v=12, mask="window"),
    Case("boolean", b=2, h=2, m=40, n=50, d=8, v=8, mask="boolean"),
    Case("rows", m=37, n=19, d=8, v=8, mask="rows"),
    Case("low", m=37, n=40, d=8, v=8, mask="low"),
    Case("additive", b=2, h=2, m=35, n=70, d=8, v=8, bias="bmn"),
    Case("positional", h=2, m=33, n=65, d=8, v=8, bias="hmn", dtype="f2"),
    Case("learned", b=3, h=2, m=40, n=33, d=8, v=8, bias="hmn", learned=True, mask="causal"),
    Case("learned_once", h=2, m=33, n=40, d=8, v=8, bias="bhgmn", learned=True),
    Case("capped", h=2, m=33, n=40, d=8, v=8, cap=2.0, mask="causal"),
    Case("dropped", b=2, h=2, m=34, n=70, d=8, v=8, keep=0.8),
    Case("grouped", b=2, h=2, g=3, m=40, n=40, d=8, v=8, mask="causal"),
    Case("grouped_short", h=2, g=3, m=9, n=20, d=8, v=8),
    Case("side_by_side", b=2, h=3, m=66, n=66, d=16, v=16, layout="bmhgd", mask="causal"),
    Case("last", h=2, m=40, n=70, d=8, v=8, layout="bhgdm"),
    Case("bf16", b=1, h=2, m=70, n=70, d=64, v=64, dtype="u2", layout="bmhgd", mask="causal", slow=True),
    Case("f16", h=2, m=33, n=65, d=24, v=16, dtype="f2"),
    Case("bf16_rounded", h=2, m=40, n=70, d=24, v=16, dtype="u2", mask="causal", rounded=True),
    Case("f16_rounded", h=2, m=33, n=33, d=7, v=5, dtype="f2", rounded=True),
    # By tensor cores, but for the backward in f16 with gradients in f32.
    Case("matrices", b=2, h=2, m=70, n=135, d=32, v=32, dtype="u2", same=True),
    Case("matrices_one", m=1, n=1, d=1, v=1, dtype="u2", same=True),
    Case("matrices_64", h=2, m=131, n=131, d=64, v=64, dtype="u2", mask="causal", same=True, slow=True),
    Case("matrices_128", m=70, n=70, d=128, v=128, dtype="u2", mask="window", same=True, slow=True),
    Case("matrices_176", m=20, n=70, d=176, v=176, dtype="u2", same=True, slow=True),
    Case("matrices_prime", m=61, n=59, d=37, v=29, dtype="u2", same=True, keep=0.8),
    Case("matrices_layout", b=2, h=2, g=2, m=66, n=66, d=24, v=40, dtype="u2", layout="bmhgd", mask="causal", rounded=True),
    Case("matrices_last", m=40, n=70, d=8, v=8, dtype="u2", layout="bhgdm", mask="boolean", same=True),
    Case("matrices_rows", m=37, n=19, d=16, v=16, dtype="u2", mask="rows", same=True, cap=2.0),
    Case("matrices_low", m=70, n=59, d=16, v=16, dtype="u2", mask="low", same=True),
    Case("matrices_low_rounded", m=70, n=59, d=16, v=16, dtype="u2", mask="low", rounded=True),
    Case("matrices_rows_rounded", m=70, n=70, d=16, v=16, dtype="u2", mask="rows", rounded=True),
    Case("matrices_window", h=2, m=131, n=131, d=16, v=16, dtype="u2", mask="window", rounded=True),
    Case("matrices_learned", b=2, m=70, n=33, d=16, v=16, dtype="u2", bias="hmn", learned=True, same=True),
    Case("matrices_dynamic", h=2, m=45, n=70, d=8, v=8, dtype="u2", mask="causal", bias="bmn", same=True, dynamic=True),
    Case("matrices_f16", h=2, m=70, n=70, d=64, v=64, dtype="f2", mask="causal", same=True, slow=True),
    Case("matrices_f16_rounded", h=2, m=70, n=70, d=64, v=64, dtype="f2", mask="causal", rounded=True, slow=True),
    # Blocks of 128 keys, of which two have many; heads in two sections, of 16 and 5.
    Case("matrices_many", b=11, h=12, m=40, n=150, d=16, v=16, dtype="u2", mask="causal", rounded=True),
    Case("matrices_many_64", b=66, h=2, m=19, n=131, d=64, v=64, dtype="u2", mask="causal", rounded=True, slow=True),
    Case("sections", b=3, h=7, m=70, n=70, d=128, v=128, mask="causal", dynamic=True, slow=True),
    Case("f64", h=2, m=40, n=70, d=16, v=24, dtype="f8", mask="causal"),
    Case("f64_large", m=33, n=33, d=64, v=64, dtype="f8", slow=True),
    Case("large", m=40, n=40, d=128, v=128, mask="causal", slow=True),
    Case("wide", m=20, n=40, d=80, v=96, slow=True),
    Case("prime", m=61, n=59, d=37, v=29),
    Case("dynamic", b=2, h=2, m=45, n=70, d=8, v=8, mask="causal", bias="bmn", dynamic=True),
    Case("nan", m=33, n=40, d=16, v=16, nan=True),
    Case("no_keys", m=5, n=0, d=4, v=4),
    Case("no_rows", m=0, n=5, d=4, v=4),
]


def measure_error(got, want):
    nan = np.isnan(want)
    inf = np.isinf(want)
    if not np.array_equal(nan, np.isnan(got)) or not np.array_equal(want[inf], got[inf]):
        return np.inf
    rest = ~(nan | inf)
    return np.abs(got[rest] - want[rest]).max(initial=0) / max(np.abs(want[rest]).max(initial=0), 1e-6)


def select():
    names = os.environ.get("ATTENTION_CASES")
    return [c for c in CASES if not names or c.name in names.split(",")]


def run(folder, name, runtime, emulator):
    device = Device(f"{folder}/{name}.so", runtime, emulator)
    bits, wrong, count, largest, rounds = {}, 0, 0, 0.0, name == "tf32"
    for case in CASES:
        arrays, cotangent = case.arrays()
        if case not in select() or (name == "check" and case.slow) or (rounds and case.dtype != "f4"):
            continue
        count += 1
        want = case.reference(arrays, cotangent)
        empty = [narrow(np.full(want[key].shape, 7.0), t) for key, t in (("result", case.out), ("log_sum", case.sums))]
        got = dict(zip(("result", "log_sum"), device.call(f"{case.name}_forward", arrays + empty)[-2:]))
        # Gradients are added to what there is.
        names = ("queries", "keys", "values", "bias")[:4 if case.learned else 3]
        before = [narrow(np.full(a.shape, 0.25), case.sums if n == "bias" else case.out) for n, a in zip(names, arrays)]
        inputs = arrays + [cotangent, got["log_sum"], narrow(want["delta"], case.sums), *before]
        got |= dict(zip(names, device.call(f"{case.name}_backward", inputs)[-len(names):]))
        for key, array in got.items():
            expected = want[key] + (0.25 if key in names else 0)
            error = measure_error(widen(array), expected)
            tolerance = TOLERANCE[array.dtype.str[1:]]
            if case.dtype == "u2":
                tolerance = max(tolerance, TOLERANCE_OF_PARTS)
            if rounds:
                tolerance, largest = TOLERANCE_OF_TF32, max(largest, error)
            if error > tolerance:
                wrong += 1
                print(f"{case.name}: {key} is off by {error:.1e}", flush=True)
            bits[f"{case.name}:{key}"] = array
    if rounds and count and largest < 10 * TOLERANCE["f4"]:
        wrong += 1
        print(f"no factor was rounded: all is within {largest:.1e}")
    path = Path(folder, "bits.tf32.npz" if rounds else "bits.npz")
    if path.exists():
        for key, array in np.load(path).items():
            if key in bits and bits[key].tobytes() != array.tobytes():
                wrong += 1
                print(f"{key} has other bits in this order", flush=True)
    else:
        np.savez(path, **bits)
    print(f"{name} {os.environ.get('REMAT_EMULATOR_ORDER', '')}: {count} forms, {wrong} wrong")
    return wrong


def write(path, cases):
    texts = [case.text(case.arrays()[0]) for case in cases]
    Path(path).write_text("\n".join(texts))
    return len(texts)


def main():
    runtime, emulator = sys.argv[1:3]
    if runtime == "--print":
        return write(emulator, [case for case in select() if case.m and case.n])
    if len(sys.argv) > 3:
        return sys.exit(run(sys.argv[4], sys.argv[3], runtime, emulator) != 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "attention.mlir")
        count = write(path, select())
        for name, options in {"64": "emulate block-size=64", "check": "emulate check", "tf32": "emulate tf32"}.items():
            compile_module(path, f"{folder}/{name}.so", f"--remat-lower-to-cuda={options}")
        wrong = 0
        for name, order in (("64", "forward"), ("64", "backward"), ("check", "random"), ("tf32", "forward"), ("tf32", "backward")):
            done = subprocess.run([sys.executable, __file__, *sys.argv[1:3], name, folder], env=os.environ | {"REMAT_EMULATOR_ORDER": order})
            wrong += done.returncode != 0
        print(f"{count} forms, {wrong} runs wrong")
    return sys.exit(wrong != 0)


main()

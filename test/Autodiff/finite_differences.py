#!/usr/bin/env python3
"""Compare remat-differentiate with finite differences on random linalg programs in f64.

    finite_differences.py [--count N] [--seed S] [--family NAME ...] [--keep FOLDER]

Every program is one structured operation (with what it needs around it) followed by a weighted sum, so
that its cotangent is random. All programs of a run are compiled as one module. Each gradient element is
compared with a fourth-order central difference; elements where two step sizes disagree lie on a kink
and are passed over. Prints one line for each wrong gradient, and a summary; the exit status says
whether all agree.
"""

import argparse
import itertools
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing import Library  # noqa: E402

TOLERANCE = 1e-6


def tensor(shape, kind="f64"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{kind}>"


def affine(dims, results):
    return f"affine_map<({', '.join(f'd{i}' for i in range(dims))}) -> ({', '.join(str(r) for r in results)})>"


class Program:
    """A function under construction: arguments with their values, and lines of its body."""

    def __init__(self, rng, name, family):
        self.rng, self.name, self.family = rng, name, family
        self.arguments, self.lines, self.counter = [], [], itertools.count()
        self.numpy = np.random.default_rng(rng.getrandbits(32))

    def fresh(self):
        return f"%v{next(self.counter)}"

    def emit(self, text):
        value = self.fresh()
        self.lines.append(f"{value} = {text}")
        return value

    def parameter(self, shape, low=-1.2, high=1.2):
        return self.argument(self.numpy.uniform(low, high, shape), "f64", True)

    def data(self, array, kind):
        return self.argument(np.asarray(array), kind, False)

    def argument(self, array, kind, trained):
        self.arguments.append((array, tensor(array.shape, kind), trained))
        return f"%a{len(self.arguments) - 1}"

    def scalar(self):
        return self.emit(f"tensor.extract {self.parameter([])}[] : tensor<f64>")

    def filled(self, shape, value):
        constant = self.emit(f"arith.constant {value} : f64")
        empty = self.emit(f"tensor.empty() : {tensor(shape)}")
        return self.emit(f"linalg.fill ins({constant} : f64) outs({empty} : {tensor(shape)}) -> {tensor(shape)}")

    def empty(self, shape, kind="f64"):
        return self.emit(f"tensor.empty() : {tensor(shape, kind)}")

    def generic(self, iterators, ins, outs, body):
        """`ins`: (value, type, map); `outs`: (value, type, map); `body(arguments) -> (lines, yields)`."""
        names = [f"%x{i}" for i in range(len(ins) + len(outs))]
        kinds = [t.rsplit("x", 1)[-1].rsplit("<", 1)[-1].rstrip(">") for _, t, _ in ins + outs]
        lines, yields = body(names)
        maps = ", ".join(m for _, _, m in ins + outs)
        kinds_text = ", ".join(f'"{i}"' for i in iterators)
        text = f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds_text}]}} "
        if ins:
            text += f"ins({', '.join(v for v, _, _ in ins)} : {', '.join(t for _, t, _ in ins)}) "
        text += f"outs({', '.join(v for v, _, _ in outs)} : {', '.join(t for _, t, _ in outs)}) {{\n"
        text += f"  ^bb0({', '.join(f'{n}: {k}' for n, k in zip(names, kinds))}):\n"
        text += "".join(f"    {line}\n" for line in lines)
        out_kinds = ", ".join(kinds[len(ins):])
        text += f"    linalg.yield {', '.join(yields)} : {out_kinds}\n  }} -> "
        types = ", ".join(t for _, t, _ in outs)
        text += f"({types})" if len(outs) > 1 else types
        if len(outs) == 1:
            return self.emit(text)
        value = self.fresh()
        self.lines.append(f"{value}:{len(outs)} = {text}")
        return [f"{value}#{i}" for i in range(len(outs))]

    def weighted_sum(self, value, shape, total=None):
        weights = self.data(self.numpy.uniform(-1, 1, shape), "f64")
        total = total or self.filled([], 0.0)
        dims = len(shape)
        identity, scalar = affine(dims, [f"d{i}" for i in range(dims)]), affine(dims, [])
        return self.generic(
            ["reduction"] * dims, [(value, tensor(shape), identity), (weights, tensor(shape), identity)],
            [(total, "tensor<f64>", scalar)],
            lambda x: ([f"%p = arith.mulf {x[0]}, {x[1]} : f64", f"%s = arith.addf {x[2]}, %p : f64"], ["%s"]))

    def text(self, loss):
        arguments = ", ".join(f"%a{i}: {kind}{' {opt.param}' if trained else ''}"
                              for i, (_, kind, trained) in enumerate(self.arguments))
        body = "\n".join(f"  {line}" for line in self.lines)
        return f"func.func @{self.name}({arguments}) -> tensor<f64> {{\n{body}\n  return {loss} : tensor<f64>\n}}\n"


class Body:
    """A random scalar body that stays inside the domains of its operations."""

    UNARY = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan",
             "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc", "absf",
             "floor", "round", "negf", "sigmoid", "relu", "leaky", "casts", "fpowi"]
    BINARY = ["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf", "select", "remf",
              "powf", "atan2", "copysign"]
    TERNARY = ["fma", "select"]  # math.clampf has no correct lowering in MLIR 22 (docs/kinks.md)
    POSITIVE = {"log", "log2", "log10", "sqrt", "rsqrt", "cbrt", "log1p"}

    def __init__(self, rng):
        self.rng, self.lines, self.counter = rng, [], itertools.count()

    def emit(self, text):
        value = f"%t{next(self.counter)}"
        self.lines.append(f"{value} = {text}")
        return value

    def constant(self, value):
        return self.emit(f"arith.constant {float(value)!r} : f64")

    def op(self, name, *operands):
        return self.emit(f"{name} {', '.join(operands)} : f64")

    def positive(self, x, least=0.5):
        return self.op("arith.addf", self.op("arith.mulf", x, x), self.constant(least))

    def small(self, x, size=0.8):
        return self.op("arith.mulf", self.op("math.tanh", x), self.constant(size))

    def compare(self, predicate, x, y):
        return self.emit(f"arith.cmpf {predicate}, {x}, {y} : f64")

    def select(self, condition, x, y):
        return self.emit(f"arith.select {condition}, {x}, {y} : f64")

    def unary(self, name, x):
        if name == "negf":
            return self.op("arith.negf", x)
        if name == "sigmoid":
            one, exp = self.constant(1), self.op("math.exp", self.op("arith.negf", x))
            return self.op("arith.divf", one, self.op("arith.addf", exp, one))
        if name in ("relu", "leaky"):
            zero = self.constant(0)
            other = zero if name == "relu" else self.op("arith.mulf", x, self.constant(0.1))
            return self.select(self.compare(self.rng.choice(["ogt", "ugt", "oge"]), x, zero), x, other)
        if name == "casts":  # the narrow type is wide enough for finite differences only upwards
            wide = self.emit(f"arith.extf {x} : f64 to f128")
            return self.emit(f"arith.truncf {wide} : f128 to f64")
        if name == "fpowi":
            n = self.emit(f"arith.constant {self.rng.choice([0, 1, 2, 3, -1])} : i32")
            return self.emit(f"math.fpowi {self.positive(x)}, {n} : f64, i32")
        if name in self.POSITIVE:
            x = self.positive(x)
        elif name == "acosh":
            x = self.positive(x, 1.5)
        elif name in ("asin", "acos", "atanh", "tan", "exp", "sinh", "cosh", "expm1", "exp2"):
            x = self.small(x)
        return self.op(f"math.{name}", x)

    def binary(self, name, x, y):
        if name == "select":
            return self.select(self.compare(self.rng.choice(["ogt", "olt", "ule"]), x, y), self.op("math.sin", x), y)
        if name in ("divf", "remf"):
            y = self.positive(y)
        if name == "powf":
            x = self.positive(x)
            if self.rng.random() < 0.3:
                y = self.constant(self.rng.choice([0.0, 1.0, 2.0, 3.0, 0.5]))
        if name == "atan2":
            y = self.positive(y)
        dialect = "math" if name in ("powf", "atan2", "copysign") else "arith"
        return self.op(f"{dialect}.{name}", x, y)

    def ternary(self, name, x, y, z):
        if name == "select":
            return self.select(self.compare("olt", x, self.constant(0.1)), y, z)
        return self.op("math.fma", x, y, z)

    def chain(self, values, steps, forced=()):
        """`steps` random operations on `values`; returns the last value."""
        values, forced = list(values), list(forced)
        for step in range(steps):
            name = forced.pop(0) if forced else self.rng.choice(self.UNARY + 2 * self.BINARY + self.TERNARY)
            pick = lambda: self.rng.choice(values[-4:])
            if name in self.UNARY:
                result = self.unary(name, pick())
            elif name in self.BINARY and not (name == "select" and self.rng.random() < 0.5):
                result = self.binary(name, pick(), pick())
            else:
                result = self.ternary(name, pick(), pick(), pick())
            values.append(result)
        return values[-1]


def random_map(rng, sizes, windows=False):
    """A map that reads an operand over loops of `sizes`, and the operand's shape."""
    dims = list(range(len(sizes)))
    rng.shuffle(dims)
    kept = dims if rng.random() < 0.4 else dims[:rng.randint(0, len(dims))]
    results, shape = [f"d{d}" for d in kept], [sizes[d] for d in kept]
    if rng.random() < 0.3:  # a broadcast dimension as front ends write it
        at = rng.randint(0, len(results))
        results.insert(at, "0")
        shape.insert(at, 1 if rng.random() < 0.8 else 2)
    if windows and len(kept) >= 1 and rng.random() < 0.3:  # a diagonal
        results.append(results[0] if results[0] != "0" else f"d{kept[0]}")
        shape.append(shape[0] if results[0] != "0" else sizes[kept[0]])
    return affine(len(sizes), results), shape


def elementwise(p):
    rng = p.rng
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(0, 3))]
    dims = len(sizes)
    identity = affine(dims, [f"d{i}" for i in range(dims)])
    ins = []
    for i in range(rng.randint(1, 3)):
        text, shape = (identity, sizes) if i == 0 or rng.random() < 0.3 else random_map(rng, sizes, windows=True)
        ins.append((p.parameter(shape), tensor(shape), text))
    order = list(range(dims))
    rng.shuffle(order)
    out_map, out_shape = affine(dims, [f"d{i}" for i in order]), [sizes[i] for i in order]
    count = 2 if rng.random() < 0.3 else 1
    outs = [(p.empty(out_shape), tensor(out_shape), out_map) for _ in range(count)]
    if rng.random() < 0.3:
        outs[0] = (p.parameter(out_shape), outs[0][1], outs[0][2])
        reads_out = True
    else:
        reads_out = False
    forced = [p.focus] if p.focus else []

    def body(x):
        b = Body(rng)
        values = list(x[:len(ins)]) + ([x[len(ins)]] if reads_out else [])
        if dims and rng.random() < 0.3:
            index = b.emit(f"linalg.index {rng.randrange(dims)} : index")
            integer = b.emit(f"arith.index_cast {index} : index to i64")
            values.append(b.op("arith.mulf", b.emit(f"arith.sitofp {integer} : i64 to f64"), b.constant(0.3)))
        steps = rng.randint(1, 5)
        yields = [b.chain(values, steps, forced if steps == 1 or rng.random() < 0.5 else
                          [rng.choice(Body.UNARY)] * (steps - 1) + forced) for _ in range(count)]
        return b.lines, yields

    results = p.generic(["parallel"] * dims, ins, outs, body)
    total = None
    for value in results if count > 1 else [results]:
        total = p.weighted_sum(value, out_shape, total)
    return total


def contraction(p):
    rng = p.rng
    batch, m, n, k = (rng.randint(1, 4) for _ in range(4))
    named = {
        "matmul": ([m, k], [k, n], [m, n]), "batch_matmul": ([batch, m, k], [batch, k, n], [batch, m, n]),
        "matvec": ([m, k], [k], [m]), "vecmat": ([k], [k, n], [n]), "dot": ([k], [k], []),
        "batch_matvec": ([batch, m, k], [batch, k], [batch, m]), "batch_vecmat": ([batch, k], [batch, k, n], [batch, n]),
        "mmt4d": ([m, k, 2, 3], [n, k, 2, 3], [m, n, 2, 2]),
        "batch_reduce_matmul": ([batch, m, k], [batch, k, n], [m, n]),
    }
    kind = rng.choice(list(named) + ["generic"] * 4 + ["transposed"] * 2)
    if kind in named:
        a, b, c = named[kind]
        attributes = ""
    elif kind == "transposed":
        ta, tb = rng.random() < 0.5, rng.random() < 0.5
        a, b, c = [k, m] if ta else [m, k], [n, k] if tb else [k, n], [m, n]
        maps = [affine(3, ["d2", "d0"] if ta else ["d0", "d2"]), affine(3, ["d1", "d2"] if tb else ["d2", "d1"]),
                affine(3, ["d0", "d1"])]
        attributes = f" indexing_maps = [{', '.join(maps)}]"
        kind = "matmul"
    if kind != "generic":
        x, w, init = p.parameter(a), p.parameter(b), p.parameter(c)
        y = p.emit(f"linalg.{kind}{attributes} ins({x}, {w} : {tensor(a)}, {tensor(b)}) "
                   f"outs({init} : {tensor(c)}) -> {tensor(c)}")
        return p.weighted_sum(y, c)
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(2, 5))]
    reduced = [i for i in range(len(sizes)) if rng.random() < 0.5]
    kept = [i for i in range(len(sizes)) if i not in reduced]
    rng.shuffle(kept)
    out_shape = [sizes[i] for i in kept]

    def operand(must):
        dims = [i for i in range(len(sizes)) if i in must or rng.random() < 0.6]
        rng.shuffle(dims)
        return dims

    left = operand([])
    right = operand([i for i in range(len(sizes)) if i not in left])
    operands = [(p.parameter([sizes[i] for i in d]), tensor([sizes[i] for i in d]),
                 affine(len(sizes), [f"d{i}" for i in d])) for d in (left, right)]
    out = (p.filled(out_shape, 0.0), tensor(out_shape), affine(len(sizes), [f"d{i}" for i in kept]))
    y = p.generic(["reduction" if i in reduced else "parallel" for i in range(len(sizes))], operands, [out],
                  lambda x: ([f"%p = arith.mulf {x[0]}, {x[1]} : f64", f"%s = arith.addf {x[2]}, %p : f64"], ["%s"])
                  if reduced else ([f"%p = arith.mulf {x[0]}, {x[1]} : f64"], ["%p"]))
    return p.weighted_sum(y, out_shape)


# Name: (image, filter, output) with N, C, F, G, M sizes, I/O spatial sizes of input and output, K window.
CONVOLUTIONS = {
    "conv_1d": ("I", "K", "O"), "conv_2d": ("II", "KK", "OO"), "conv_3d": ("III", "KKK", "OOO"),
    "conv_1d_nwc_wcf": ("NIC", "KCF", "NOF"), "conv_1d_ncw_fcw": ("NCI", "FCK", "NFO"),
    "conv_2d_nhwc_hwcf": ("NIIC", "KKCF", "NOOF"), "conv_2d_nhwc_fhwc": ("NIIC", "FKKC", "NOOF"),
    "conv_2d_nchw_fchw": ("NCII", "FCKK", "NFOO"), "conv_2d_ngchw_fgchw": ("NGCII", "FGCKK", "NGFOO"),
    "conv_2d_ngchw_gfchw": ("NGCII", "GFCKK", "NGFOO"), "conv_2d_nhwgc_gfhwc": ("NIIGC", "GFKKC", "NOOGF"),
    "conv_3d_ndhwc_dhwcf": ("NIIIC", "KKKCF", "NOOOF"), "conv_3d_ncdhw_fcdhw": ("NCIII", "FCKKK", "NFOOO"),
    "depthwise_conv_1d_nwc_wc": ("NIC", "KC", "NOC"), "depthwise_conv_1d_ncw_cw": ("NCI", "CK", "NCO"),
    "depthwise_conv_1d_nwc_wcm": ("NIC", "KCM", "NOCM"), "depthwise_conv_2d_nhwc_hwc": ("NIIC", "KKC", "NOOC"),
    "depthwise_conv_2d_nchw_chw": ("NCII", "CKK", "NCOO"), "depthwise_conv_2d_nhwc_hwcm": ("NIIC", "KKCM", "NOOCM"),
    "pooling_nhwc_sum": ("NIIC", "KK", "NOOC"), "pooling_nchw_sum": ("NCII", "KK", "NCOO"),
    "pooling_nhwc_max": ("NIIC", "KK", "NOOC"), "pooling_nchw_max": ("NCII", "KK", "NCOO"),
    "pooling_nhwc_min": ("NIIC", "KK", "NOOC"), "pooling_nwc_sum": ("NIC", "K", "NOC"),
    "pooling_ncw_max": ("NCI", "K", "NCO"), "pooling_nwc_min": ("NIC", "K", "NOC"),
    "pooling_ndhwc_sum": ("NIIIC", "KKK", "NOOOC"), "pooling_ndhwc_max": ("NIIIC", "KKK", "NOOOC"),
}


def convolution(p):
    rng = p.rng
    name = rng.choice(list(CONVOLUTIONS))
    image, window, output = CONVOLUTIONS[name]
    rank = image.count("I")
    large = rank < 3
    sizes = {d: [rng.randint(1, 2)] for d in "NCFGM"}
    strides = [rng.randint(1, 2 + large) for _ in range(rank)]
    dilations = [rng.randint(1, 2) for _ in range(rank)]
    sizes["K"] = [rng.randint(1, 2 + large) for _ in range(rank)]
    sizes["O"] = [rng.randint(1, 2 + large) for _ in range(rank)]
    sizes["I"] = [(o - 1) * s + (k - 1) * d + 1 + rng.randint(0, 1)
                  for o, s, k, d in zip(sizes["O"], strides, sizes["K"], dilations)]

    def shape(letters):
        spatial = {d: iter(sizes[d]) for d in "IKO"}
        return [next(spatial[d]) if d in "IKO" else sizes[d][0] for d in letters]

    a, b, c = shape(image), shape(window), shape(output)
    x = p.parameter(a)
    pooling = name.startswith("pooling")
    w = p.empty(b) if pooling else p.parameter(b)
    start = 0.0
    if name.endswith("max"):
        start = -10.0
    if name.endswith("min"):
        start = 10.0
    init = p.parameter(c) if rng.random() < 0.3 else p.filled(c, start)
    attributes = "" if rank == len(image) else \
        (f" {{strides = dense<{strides}> : tensor<{rank}xi64>, dilations = dense<{dilations}> : tensor<{rank}xi64>}}")
    if not attributes:  # conv_1d and its kin have neither
        a = [o + k - 1 for o, k in zip(sizes["O"], sizes["K"])]
        p.arguments[0] = (p.numpy.uniform(-1, 1, a), tensor(a), True)
    y = p.emit(f"linalg.{name}{attributes} ins({x}, {w} : {tensor(a)}, {tensor(b)}) "
               f"outs({init} : {tensor(c)}) -> {tensor(c)}")
    return p.weighted_sum(y, c)


def reduction(p):
    rng = p.rng
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    reduced = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
    kept = [i for i in range(len(sizes)) if i not in reduced]
    kind = rng.choice(["addf", "mulf", "mulf", "maximumf", "minimumf", "maxnumf", "select", "argmax", "logsumexp",
                       "welford", "squares", "masked", "affine"])
    x = p.parameter(sizes)
    shape = [sizes[i] for i in kept]
    start = {"addf": 0.0, "mulf": 1.0, "maximumf": -9.0, "maxnumf": -9.0, "minimumf": 9.0, "select": -9.0}
    if kind in ("addf", "mulf", "maximumf", "minimumf", "maxnumf") and rng.random() < 0.5:
        init = p.parameter(shape) if rng.random() < 0.4 else p.filled(shape, start[kind])
        y = p.emit(f"linalg.reduce {{ arith.{kind} }} ins({x} : {tensor(sizes)}) outs({init} : {tensor(shape)}) "
                   f"dimensions = {reduced}")
        return p.weighted_sum(y, shape)
    dims = len(sizes)
    rng.shuffle(kept)
    shape = [sizes[i] for i in kept]
    iterators = ["reduction" if i in reduced else "parallel" for i in range(dims)]
    identity, out_map = affine(dims, [f"d{i}" for i in range(dims)]), affine(dims, [f"d{i}" for i in kept])
    ins = [(x, tensor(sizes), identity)]
    if rng.random() < 0.5:
        text, second = random_map(rng, sizes)
        ins.append((p.parameter(second), tensor(second), text))
    out = lambda value: (p.filled(shape, value), tensor(shape), out_map)

    def term(b, x):
        return x[0] if len(ins) == 1 else b.op("arith.addf", x[0], b.op("math.sin", x[1]))

    def simple(combine):
        def body(x):
            b = Body(rng)
            return b.lines, [combine(b, x[len(ins)], term(b, x))]
        return body

    if kind in ("addf", "mulf", "maximumf", "minimumf", "maxnumf"):
        y = p.generic(iterators, ins, [out(start[kind])], simple(lambda b, s, t: b.op(f"arith.{kind}", s, t)))
    elif kind == "select":
        y = p.generic(iterators, ins, [out(-9.0)],
                      simple(lambda b, s, t: b.select(b.compare("ogt", t, s), t, s)))
    elif kind == "squares":
        y = p.generic(iterators, ins, [out(0.5)],
                      simple(lambda b, s, t: b.op("arith.addf", b.op("arith.mulf", t, t), s)))
    elif kind == "masked":
        y = p.generic(iterators, ins, [out(0.5)], simple(
            lambda b, s, t: b.select(b.compare("ogt", t, b.constant(0)), b.op("arith.subf", s, t), s)))
    elif kind == "affine":  # s' = 0.9 s + t: a recurrence
        y = p.generic(iterators, ins, [out(0.5)], simple(
            lambda b, s, t: b.op("arith.addf", b.op("arith.mulf", s, b.constant(0.9)), b.op("math.exp", t))))
    elif kind == "argmax":
        indices = (p.empty(shape, "i64"), tensor(shape, "i64"), out_map)
        dim = rng.choice(reduced)

        def body(x):
            b = Body(rng)
            t, best, at = term(b, x), x[len(ins)], x[len(ins) + 1]
            index = b.emit(f"arith.index_cast {b.emit(f'linalg.index {dim} : index')} : index to i64")
            larger = b.compare("ogt", t, best)
            chosen = b.emit(f"arith.select {larger}, {index}, {at} : i64")
            return b.lines, [b.select(larger, t, best), chosen]

        y = p.generic(iterators, ins, [out(-9.0), indices], body)[0]
    else:
        def body(x):  # the running maximum and the sum of exponentials below it, or mean and moment
            b = Body(rng)
            t, first, second = term(b, x), x[len(ins)], x[len(ins) + 1]
            if kind == "logsumexp":
                top = b.op("arith.maximumf", first, t)
                old = b.op("arith.mulf", second, b.op("math.exp", b.op("arith.subf", first, top)))
                return b.lines, [top, b.op("arith.addf", old, b.op("math.exp", b.op("arith.subf", t, top)))]
            gap = b.op("arith.subf", t, first)
            mean = b.op("arith.addf", first, b.op("arith.mulf", gap, b.constant(0.25)))
            rest = b.op("arith.mulf", gap, b.op("arith.subf", t, mean))
            return b.lines, [mean, b.op("arith.addf", second, rest)]

        ys = p.generic(iterators, ins, [out(-3.0), out(0.0)], body)
        return p.weighted_sum(ys[1], shape, p.weighted_sum(ys[0], shape))
    return p.weighted_sum(y, shape)


def gather(p):
    rng = p.rng
    vocabulary, width = rng.randint(2, 4), rng.randint(1, 4)
    outer = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
    form = rng.choice(["rows", "columns", "elements", "shift", "bag", "two"])
    table_shape = [width, vocabulary] if form == "columns" else [vocabulary, width]
    table = p.parameter(table_shape)
    dims = len(outer) + 1
    loops = [f"d{i}" for i in range(dims)]
    kind = rng.choice(["i32", "i64"])
    # Repeated positions have to add up.
    at = p.data(p.numpy.integers(0, vocabulary, outer).astype("i4" if kind == "i32" else "i8"), kind)
    ins = [(at, tensor(outer, kind), affine(dims, loops[:-1]))]
    scale = p.parameter([width])
    ins.append((scale, tensor([width]), affine(dims, [loops[-1]])))
    shape = outer + [width]
    bag = form == "bag"
    if form == "elements":
        columns = p.data(p.numpy.integers(0, width, shape), "i64")
        ins.append((columns, tensor(shape, "i64"), affine(dims, loops)))
    out_loops, out_shape = (loops[1:], shape[1:]) if bag else (loops, shape)
    out = (p.filled(out_shape, 0.0), tensor(out_shape), affine(dims, out_loops))

    def body(x):
        b = Body(rng)
        row = b.emit(f"arith.index_cast {x[0]} : {kind} to index")
        column = b.emit(f"linalg.index {dims - 1} : index")
        if form == "elements":
            column = b.emit(f"arith.index_cast {x[2]} : i64 to index")
        if form == "shift":
            last = b.emit(f"arith.constant {width - 1} : index")
            column = b.emit(f"arith.subi {last}, {column} : index")
        indices = f"{column}, {row}" if form == "columns" else f"{row}, {column}"
        value = b.emit(f"tensor.extract {table}[{indices}] : {tensor(table_shape)}")
        if form == "two":
            zero = b.emit("arith.constant 0 : index")
            other = b.emit(f"tensor.extract {table}[{zero}, {column}] : {tensor(table_shape)}")
            value = b.op("arith.mulf", value, other)
        if rng.random() < 0.5:
            value = b.op("arith.mulf", b.op("math.sin", value), x[1])
        if rng.random() < 0.3:
            value = b.select(b.compare("ogt", x[1], b.constant(0)), value, b.constant(0))
        return b.lines, [b.op("arith.addf", x[-1], value) if bag else value]

    iterators = ["reduction" if bag and i == 0 else "parallel" for i in range(dims)]
    return p.weighted_sum(p.generic(iterators, ins, [out], body), out_shape)


def softmax(p):
    rng = p.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    x = p.parameter(shape)
    y = p.emit(f"linalg.softmax dimension({rng.randrange(len(shape))}) ins({x} : {tensor(shape)}) "
               f"outs({p.empty(shape)} : {tensor(shape)}) -> {tensor(shape)}")
    return p.weighted_sum(y, shape)


def named(p):
    rng = p.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    rank = len(shape)
    kind = rng.choice(["transpose", "broadcast", "copy", "map", "unary", "binary", "select", "elementwise"])
    x = p.parameter(shape, 0.3, 1.4)
    type_ = tensor(shape)
    out = p.empty(shape)
    if kind == "transpose":
        order = list(range(rank))
        rng.shuffle(order)
        shape = [shape[i] for i in order]
        y = p.emit(f"linalg.transpose ins({x} : {type_}) outs({p.empty(shape)} : {tensor(shape)}) permutation = {order}")
    elif kind == "broadcast":
        at = rng.randint(0, rank)
        shape = shape[:at] + [3] + shape[at:]
        y = p.emit(f"linalg.broadcast ins({x} : {type_}) outs({p.empty(shape)} : {tensor(shape)}) dimensions = [{at}]")
    elif kind == "map":
        z = p.parameter(shape)
        y = p.emit(f"linalg.map {{ arith.mulf }} ins({x}, {z} : {type_}, {type_}) outs({out} : {type_})")
    elif kind in ("unary", "copy"):
        name = "copy" if kind == "copy" else rng.choice(
            ["exp", "log", "abs", "negf", "reciprocal", "sqrt", "rsqrt", "square", "tanh", "erf", "floor"])
        y = p.emit(f"linalg.{name} ins({x} : {type_}) outs({out} : {type_}) -> {type_}")
    elif kind == "binary":
        z = p.parameter(shape, 0.3, 1.4)
        name = rng.choice(["add", "sub", "mul", "div", "max", "min", "powf"])
        if rng.random() < 0.3:
            z = x
        y = p.emit(f"linalg.{name} ins({x}, {z} : {type_}, {type_}) outs({out} : {type_}) -> {type_}")
    elif kind == "select":
        mask, z = p.data(p.numpy.random(shape) < 0.5, "i1"), p.parameter(shape)
        y = p.emit(f"linalg.select ins({mask}, {x}, {z} : {tensor(shape, 'i1')}, {type_}, {type_}) "
                   f"outs({out} : {type_}) -> {type_}")
    elif kind == "elementwise":
        name = rng.choice(["exp", "log", "sqrt", "square", "tanh"])
        y = p.emit(f"linalg.elementwise kind=#linalg.elementwise_kind<{name}> ins({x} : {type_}) "
                   f"outs({out} : {type_}) -> {type_}")
    else:  # a scalar operand
        identity = affine(rank, [f"d{i}" for i in range(rank)])
        scalar = p.scalar()
        y = p.generic(["parallel"] * rank, [(x, type_, identity), (scalar, "f64", affine(rank, []))],
                      [(out, type_, identity)], lambda a: ([f"%p = arith.mulf {a[0]}, {a[1]} : f64"], ["%p"]))
    return p.weighted_sum(y, shape)


FAMILIES = {f.__name__: f for f in (elementwise, contraction, convolution, reduction, gather, softmax, named)}


def make_programs(count, seed, families):
    programs = []
    focus = itertools.cycle(Body.UNARY + Body.BINARY + ["fma"])
    turns = itertools.cycle(f for name in families for f in [name] * (3 if name == "elementwise" else 1))
    for i in range(count):
        family = next(turns)
        rng = random.Random(f"{seed}/{i}")
        program = Program(rng, f"p{i}", family)
        program.focus = next(focus) if family == "elementwise" else None
        loss = FAMILIES[family](program)
        programs.append((program, program.text(loss)))
    return programs


def difference(loss, arrays, position, element, h):
    """Fourth-order central difference."""
    def at(step):
        moved = [a.copy() if i == position else a for i, a in enumerate(arrays)]
        moved[position][element] += step
        return loss(moved)
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check(program, library):
    """Returns a list of complaints and the number of elements compared."""
    arrays = [a for a, _, _ in program.arguments]
    trained = [i for i, (_, _, t) in enumerate(program.arguments) if t]
    given = library.gradients_of(f"{program.name}_grad")
    results = [("f64", 0)] + [("f64", arrays[i].ndim) for i in given]
    call = lambda values: library.call(f"{program.name}_grad", values, results)
    loss = lambda values: float(call(values)[0])
    found = dict(zip(given, call(arrays)[1:]))
    gradients = [found.get(i, np.zeros(arrays[i].shape)) for i in trained]
    complaints, compared = [], 0
    scale = max([1e-3] + [float(np.max(np.abs(g), initial=0)) for g in gradients])
    for i, gradient in zip(trained, gradients):
        for element in np.ndindex(arrays[i].shape):
            expected = difference(loss, arrays, i, element, 1e-3)
            finer = difference(loss, arrays, i, element, 4e-4)
            if abs(expected - finer) > TOLERANCE * scale / 4:
                continue  # a kink within a step
            compared += 1
            if not abs(gradient[element] - finer) <= TOLERANCE * scale:
                complaints.append(f"{program.name} ({program.family}): argument {i} at {element}: "
                                  f"{gradient[element]:.9g}, but the difference quotient is {finer:.9g}")
    return complaints, compared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--family", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--passes", default="remat-differentiate")
    options = parser.parse_args()
    programs = make_programs(options.count, options.seed, options.family)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        library = Library("".join(text for _, text in programs), folder, options.passes)
        failed = total = 0
        for program, text in programs:
            complaints, compared = check(program, library)
            total += compared
            if complaints:
                failed += 1
                print("\n".join(complaints[:3]))
                print(text)
    print(f"{len(programs) - failed} of {len(programs)} programs agree, {total} derivatives compared")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random linalg programs in f64: the function under construction, scalar bodies, indexing maps.

What the programs compute is in `random_families`; `make_programs` there is the entry.
"""

import itertools

import numpy as np


def tensor(shape, kind="f64"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{kind}>"


def affine(dims, results):
    return f"affine_map<({', '.join(f'd{i}' for i in range(dims))}) -> ({', '.join(str(r) for r in results)})>"


class Program:
    """A function under construction: arguments with their values, and lines of its body."""

    def __init__(self, rng, name, family):
        self.rng, self.name, self.family = rng, name, family
        self.arguments, self.lines, self.counter = [], [], itertools.count()
        self.functions = ""  # what the function calls
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
        return f"{self.functions}func.func @{self.name}({arguments}) -> tensor<f64> {{\n{body}\n  return {loss} : tensor<f64>\n}}\n"


class Body:
    """A random scalar body that stays inside the domains of its operations."""

    UNARY = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan",
             "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc", "absf",
             "floor", "round", "negf", "sigmoid", "relu", "leaky", "casts", "fpowi", "sincos"]
    BINARY = ["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf", "select", "remf",
              "powf", "atan2", "copysign"]
    TERNARY = ["fma", "select", "clampf"]
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
        if name == "sincos":
            pair = f"%t{next(self.counter)}"
            self.lines.append(f"{pair}:2 = math.sincos {x} : f64")
            return self.op("arith.subf", f"{pair}#0", f"{pair}#1")
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
        if name == "clampf":
            margin = self.constant(0.1)  # x may be y and z: no difference quotient is right at a bound
            low = self.op("arith.subf", self.op("arith.minimumf", y, z), margin)
            high = self.op("arith.addf", self.op("arith.maximumf", y, z), margin)
            return self.emit(f"math.clampf {x} to [{low}, {high}] : f64")
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

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of docs/kinks.md, computed.

    kinks.py [--jax]   compares with what the table says; with --jax, what the table says with JAX
"""

import re
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import Library  # noqa: E402

NAN, INF = float("nan"), float("inf")

# (what, scalar body in %x and %y, x, y, expected derivatives, the same in JAX; no JAX where the choice is ours)
SCALAR = [
    ("max against a constant", "%c = arith.constant 1.0 : f64\n%r = arith.maximumf %x, %c : f64", 1, 0, (0, 0), None),
    ("min against a constant", "%c = arith.constant 1.0 : f64\n%r = arith.minimumf %c, %x : f64", 1, 0, (0, 0), None),
    ("relu", "%c = arith.constant 0.0 : f64\n%r = arith.maximumf %x, %c : f64", 0, 0, (0, 0), "jax.nn.relu(x)"),
    ("relu by select", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ugt, %x, %c : f64\n"
     "%r = arith.select %p, %x, %c : f64", 0, 0, (0, 0), "jnp.where(x > 0, x, 0.)"),
    ("select with >=", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf oge, %x, %c : f64\n"
     "%r = arith.select %p, %x, %c : f64", 0, 0, (1, 0), "jnp.where(x >= 0, x, 0.)"),
    ("maximum of equals", "%r = arith.maximumf %x, %y : f64", 2, 2, (0.5, 0.5), "jnp.maximum(x, y)"),
    ("minimum of equals", "%r = arith.minimumf %x, %y : f64", 2, 2, (0.5, 0.5), "jnp.minimum(x, y)"),
    ("maximum beside NaN", "%r = arith.maximumf %x, %y : f64", 2, NAN, (0, 0), "jnp.maximum(x, y)"),
    ("maxnum of equals", "%r = arith.maxnumf %x, %y : f64", 2, 2, (0.5, 0.5), None),
    ("maxnum beside NaN", "%r = arith.maxnumf %x, %y : f64", 2, NAN, (1, 0), "jnp.fmax(x, y)"),
    ("clamp at its lower bound", "%m = arith.negf %y : f64\n%r = math.clampf %x to [%m, %y] : f64", -2, 2, (0, 0),
     "jax.lax.clamp(-y, x, y)"),
    ("clamp beyond its upper bound", "%m = arith.negf %y : f64\n%r = math.clampf %x to [%m, %y] : f64", 3, 2, (0, 1),
     "jax.lax.clamp(-y, x, y)"),
    ("absf", "%r = math.absf %x : f64", 0, 0, (0, 0), None),
    ("softplus", "%c = arith.constant 0.0 : f64\n%m = arith.maximumf %x, %c : f64\n%s = math.absf %x : f64\n"
     "%n = arith.negf %s : f64\n%ex = math.exp %n : f64\n%l = math.log1p %ex : f64\n%r = arith.addf %m, %l : f64",
     0, 0, (0.5, 0), "jax.nn.softplus(x)"),
    ("log_sigmoid", "%c = arith.constant 0.0 : f64\n%m = arith.minimumf %c, %x : f64\n%t = arith.negf %x : f64\n"
     "%s = math.absf %t : f64\n%n = arith.negf %s : f64\n%ex = math.exp %n : f64\n%l = math.log1p %ex : f64\n"
     "%r = arith.subf %m, %l : f64", 0, 0, (0.5, 0), "jax.nn.log_sigmoid(x)"),
    ("logaddexp of equals", "%m = arith.maximumf %x, %y : f64\n%d = arith.subf %x, %y : f64\n%s = math.absf %d : f64\n"
     "%n = arith.negf %s : f64\n%ex = math.exp %n : f64\n%l = math.log1p %ex : f64\n%r = arith.addf %m, %l : f64",
     1, 1, (0.5, 0.5), "jnp.logaddexp(x, y)"),
    ("celu", "%c = arith.constant 0.0 : f64\n%m = arith.maximumf %x, %c : f64\n%n = arith.minimumf %x, %c : f64\n"
     "%ex = math.expm1 %n : f64\n%r = arith.addf %m, %ex : f64", 0, 0, (1, 0), "jax.nn.celu(x)"),
    ("hypot of equals", "%c = arith.constant 1.0 : f64\n%m = arith.maximumf %x, %c : f64\n%n = arith.minimumf %c, %x : f64\n"
     "%q = arith.divf %n, %m : f64\n%s = arith.mulf %q, %q : f64\n%t = arith.addf %s, %c : f64\n%u = math.sqrt %t : f64\n"
     "%r = arith.mulf %m, %u : f64", 1, 0, (0.5**0.5, 0), "jnp.hypot(x, 1.)"),
    ("relu beside a size", "%c = arith.constant 0.0 : f64\n%m = arith.maximumf %x, %c : f64\n%s = math.absf %x : f64\n"
     "%t = arith.mulf %m, %s : f64\n%r = arith.addf %t, %m : f64", 0, 0, (0, 0), None),
    ("floor", "%r = math.floor %x : f64", 0.5, 0, (0, 0), "jnp.floor(x)"),
    ("ceil", "%r = math.ceil %x : f64", 1, 0, (0, 0), "jnp.ceil(x)"),
    ("round", "%r = math.round %x : f64", 0.5, 0, (0, 0), "jax.lax.round(x)"),
    ("roundeven", "%r = math.roundeven %x : f64", 0.5, 0, (0, 0), "jnp.round(x)"),
    ("trunc", "%r = math.trunc %x : f64", 1, 0, (0, 0), "jnp.trunc(x)"),
    ("remf", "%r = arith.remf %x, %y : f64", 7.5, 2, (1, -3), "jax.lax.rem(x, y)"),
    ("sqrt at 0", "%r = math.sqrt %x : f64", 0, 0, (INF, 0), "jnp.sqrt(x)"),
    ("0 * sqrt at 0", "%s = math.sqrt %x : f64\n%r = arith.mulf %s, %y : f64", 0, 0, (0, 0), None),
    ("rsqrt at 0", "%r = math.rsqrt %x : f64", 0, 0, (-INF, 0), "jax.lax.rsqrt(x)"),
    ("cbrt at 0", "%r = math.cbrt %x : f64", 0, 0, (INF, 0), "jnp.cbrt(x)"),
    ("log at 0", "%r = math.log %x : f64", 0, 0, (INF, 0), "jnp.log(x)"),
    ("log1p at -1", "%r = math.log1p %x : f64", -1, 0, (INF, 0), "jnp.log1p(x)"),
    ("division by 0", "%r = arith.divf %x, %y : f64", 1, 0, (INF, -INF), "x / y"),
    ("0 / 0", "%r = arith.divf %x, %y : f64", 0, 0, (INF, NAN), "x / y"),
    ("asin at 1", "%r = math.asin %x : f64", 1, 0, (INF, 0), "jnp.arcsin(x)"),
    ("acos at -1", "%r = math.acos %x : f64", -1, 0, (-INF, 0), "jnp.arccos(x)"),
    ("acosh at 1", "%r = math.acosh %x : f64", 1, 0, (INF, 0), "jnp.arccosh(x)"),
    ("atanh at 1", "%r = math.atanh %x : f64", 1, 0, (INF, 0), "jnp.arctanh(x)"),
    ("atan2 at the origin", "%r = math.atan2 %x, %y : f64", 0, 0, (NAN, NAN), "jnp.arctan2(x, y)"),
    ("x^0 at 0", "%r = math.powf %x, %y : f64", 0, 0, (0, 0), None),
    ("0^y", "%r = math.powf %x, %y : f64", 0, 2, (0, 0), "x ** y"),
    ("x^0.5 at 0", "%c = arith.constant 0.5 : f64\n%r = math.powf %x, %c : f64", 0, 0, (INF, 0), "x ** 0.5"),
    ("power of a negative number", "%r = math.powf %x, %y : f64", -2, 3, (12, NAN), "x ** y"),
    ("integer power at 0", "%n = arith.constant -1 : i32\n%r = math.fpowi %x, %n : f64, i32", 0, 0, (-INF, 0),
     "jax.lax.integer_pow(x, -1)"),
    ("copysign", "%r = math.copysign %x, %y : f64", -2, 3, (-1, 0), "jnp.copysign(x, y)"),
    ("overflow of exp", "%r = math.exp %x : f64", 1000, 0, (INF, 0), "jnp.exp(x)"),
    ("NaN behind a mask", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ogt, %x, %c : f64\n%l = math.log %x : f64\n"
     "%r = arith.select %p, %l, %y : f64", -1, 3, (-0.0, 1), "jnp.where(x > 0, jnp.log(x), y)"),
    ("infinite slope behind a mask", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ogt, %x, %c : f64\n"
     "%l = math.sqrt %x : f64\n%r = arith.select %p, %l, %y : f64", 0, 3, (0, 1), None),
    ("logaddexp of infinities", "%m = arith.maximumf %x, %y : f64\n%d = arith.subf %x, %y : f64\n"
     "%q = arith.cmpf une, %d, %d : f64\n%v = arith.addf %x, %y : f64\n%s = math.absf %d : f64\n"
     "%n = arith.negf %s : f64\n%ex = math.exp %n : f64\n%l = math.log1p %ex : f64\n%u = arith.addf %m, %l : f64\n"
     "%r = arith.select %q, %v, %u : f64", INF, INF, (1, 1), "jnp.logaddexp(x, y)"),
    ("infinity times x behind a mask", "%c = arith.constant 0.0 : f64\n%inf = arith.constant 0x7FF0000000000000 : f64\n"
     "%p = arith.cmpf ogt, %x, %c : f64\n%m = arith.mulf %x, %inf : f64\n%r = arith.select %p, %m, %y : f64",
     -1, 3, (0, 1), None),
    ("a safe argument before the mask", "%c = arith.constant 0.0 : f64\n%one = arith.constant 1.0 : f64\n"
     "%p = arith.cmpf ogt, %x, %c : f64\n%s = arith.select %p, %x, %one : f64\n%l = math.sqrt %s : f64\n"
     "%r = arith.select %p, %l, %y : f64", 0, 3, (0, 1), "jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.)), y)"),
]

# Those that are written with an operation on tensors for each of their lines as well.
PARTED = "relu", "maximum of equals", "absf", "softplus", "log_sigmoid", "celu", "hypot of equals", "relu beside a size"

# (what, combiner of a reduction over four elements, start, elements, expected gradient, the same in JAX)
REDUCTION = [
    ("equal maxima", "maximumf", -INF, [1, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3], "jnp.max(x)"),
    ("equal minima", "minimumf", INF, [1, 3, 1, 3], [0.5, 0, 0.5, 0], "jnp.min(x)"),
    ("product with one zero", "mulf", 1.0, [2, 0, 3, 4], [0, 24, 0, 0], "jnp.prod(x)"),
    ("product with two zeros", "mulf", 1.0, [2, 0, 0, 4], [0, 0, 0, 0], "jnp.prod(x)"),
]


def constant(value):
    return {INF: "0x7FF0000000000000", -INF: "0xFFF0000000000000"}.get(value, repr(float(value)))


def scalar_function(name, body):
    body = body.replace("\n", "\n    ")
    return f"""
func.func @{name}(%a: tensor<f64> {{opt.param}}, %b: tensor<f64> {{opt.param}}) -> tensor<f64> {{
  %e = tensor.empty() : tensor<f64>
  %l = linalg.generic {{indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>],
      iterator_types = []}} ins(%a, %b : tensor<f64>, tensor<f64>) outs(%e : tensor<f64>) {{
  ^bb0(%x: f64, %y: f64, %o: f64):
    %zero = arith.constant 0.0 : f64
    {body}
    linalg.yield %r : f64
  }} -> tensor<f64>
  return %l : tensor<f64>
}}"""


def parted_function(name, body):
    """The same on tensors, an operation for each line, as exporters write it."""
    scalar = "linalg.generic {{indexing_maps = [{maps}], iterator_types = []}} ins({ins} : {types}) outs(%e : tensor<f64>)"
    lines = []
    for line in body.splitlines():
        result, op, operands = re.fullmatch(r"(%\w+) = (\S+) (.*) : f64", line).groups()
        if op == "arith.constant":
            lines.append(line)
            continue
        tensors = [t for t in operands.split(", ") if t != "%c"]
        head = scalar.format(maps=", ".join(["affine_map<() -> ()>"] * (len(tensors) + 1)), ins=", ".join(tensors),
                             types=", ".join(["tensor<f64>"] * len(tensors)))
        arguments = ", ".join(f"%in{i}: f64" for i in range(len(tensors)))
        inner = ", ".join("%c" if t == "%c" else f"%in{tensors.index(t)}" for t in operands.split(", "))
        text = f"{head} {{\n  ^bb0({arguments}, %o: f64):\n    %v = {op} {inner} : f64\n    linalg.yield %v : f64\n  }} -> tensor<f64>"
        lines.append(f"{result} = {text}")
    return "\n  ".join([
        f"func.func @{name}(%x: tensor<f64> {{opt.param}}, %y: tensor<f64> {{opt.param}}) -> tensor<f64> {{",
        "%e = tensor.empty() : tensor<f64>", *lines, "return %r : tensor<f64>\n}\n"])


def reduction_function(name, combiner, start):
    return f"""
func.func @{name}(%a: tensor<4xf64> {{opt.param}}) -> tensor<f64> {{
  %c = arith.constant {constant(start)} : f64
  %e = tensor.empty() : tensor<f64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {{ arith.{combiner} }} ins(%a : tensor<4xf64>) outs(%z : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}}"""


POOLING = """
func.func @pooling(%a: tensor<1x4x1xf64> {opt.param}, %g: tensor<1x2x1xf64>) -> tensor<f64> {
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %low = arith.constant -9.0 : f64
  %ye = tensor.empty() : tensor<1x2x1xf64>
  %yz = linalg.fill ins(%low : f64) outs(%ye : tensor<1x2x1xf64>) -> tensor<1x2x1xf64>
  %window = tensor.empty() : tensor<3xf64>
  %y = linalg.pooling_nwc_max ins(%a, %window : tensor<1x4x1xf64>, tensor<3xf64>) outs(%yz : tensor<1x2x1xf64>)
      -> tensor<1x2x1xf64>
  %p = linalg.mul ins(%y, %g : tensor<1x2x1xf64>, tensor<1x2x1xf64>) outs(%ye : tensor<1x2x1xf64>)
      -> tensor<1x2x1xf64>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<1x2x1xf64>) outs(%z : tensor<f64>) dimensions = [0, 1, 2]
  return %l : tensor<f64>
}"""


# A softmax with a row that is masked as a whole, in one operation and in its parts; a vector over max(its norm, 0.5).
MAPS = "#masked_id = affine_map<(i, j) -> (i, j)>\n#masked_row = affine_map<(i, j) -> (i)>\n"
MASKED = """
func.func @masked_%(name)s(%%x: tensor<2x3xf64> {opt.param}, %%mask: tensor<2x3xi1>, %%w: tensor<2x3xf64>) -> tensor<f64> {
  %%c = arith.constant 0.0 : f64
  %%inf = arith.constant 0xFFF0000000000000 : f64
  %%false = arith.constant false
  %%e = tensor.empty() : tensor<2x3xf64>
  %%er = tensor.empty() : tensor<2xf64>
  %%eb = tensor.empty() : tensor<2xi1>
  %%es = tensor.empty() : tensor<f64>
  %%zeros = linalg.fill ins(%%c : f64) outs(%%er : tensor<2xf64>) -> tensor<2xf64>
  %%lows = linalg.fill ins(%%inf : f64) outs(%%er : tensor<2xf64>) -> tensor<2xf64>
  %%none = linalg.fill ins(%%false : i1) outs(%%eb : tensor<2xi1>) -> tensor<2xi1>
  %%z = linalg.fill ins(%%c : f64) outs(%%es : tensor<f64>) -> tensor<f64>
  %%s = linalg.generic {indexing_maps = [#masked_id, #masked_id, #masked_id], iterator_types = ["parallel", "parallel"]}
      ins(%%x, %%mask : tensor<2x3xf64>, tensor<2x3xi1>) outs(%%e : tensor<2x3xf64>) {
  ^bb0(%%v: f64, %%m: i1, %%o: f64):
    %%r = arith.select %%m, %%v, %%inf : f64
    linalg.yield %%r : f64
  } -> tensor<2x3xf64>
  %(softmax)s
  %%any = linalg.reduce { arith.ori } ins(%%mask : tensor<2x3xi1>) outs(%%none : tensor<2xi1>) dimensions = [1]
  %%safe = linalg.generic {indexing_maps = [#masked_row, #masked_id, #masked_id, #masked_id], iterator_types = ["parallel", "parallel"]}
      ins(%%any, %%y, %%w : tensor<2xi1>, tensor<2x3xf64>, tensor<2x3xf64>) outs(%%e : tensor<2x3xf64>) {
  ^bb0(%%m: i1, %%v: f64, %%u: f64, %%o: f64):
    %%r = arith.select %%m, %%v, %%c : f64
    %%p = arith.mulf %%r, %%u : f64
    linalg.yield %%p : f64
  } -> tensor<2x3xf64>
  %%l = linalg.reduce { arith.addf } ins(%%safe : tensor<2x3xf64>) outs(%%z : tensor<f64>) dimensions = [0, 1]
  return %%l : tensor<f64>
}"""
WHOLE = "%y = linalg.softmax dimension(1) ins(%s : tensor<2x3xf64>) outs(%e : tensor<2x3xf64>) -> tensor<2x3xf64>"
PARTS = """%max = linalg.reduce { arith.maximumf } ins(%s : tensor<2x3xf64>) outs(%lows : tensor<2xf64>) dimensions = [1]
  %exp = linalg.generic {indexing_maps = [#masked_id, #masked_row, #masked_id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : tensor<2x3xf64>, tensor<2xf64>) outs(%e : tensor<2x3xf64>) {
  ^bb0(%v: f64, %m: f64, %o: f64):
    %d = arith.subf %v, %m : f64
    %r = math.exp %d : f64
    linalg.yield %r : f64
  } -> tensor<2x3xf64>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<2x3xf64>) outs(%zeros : tensor<2xf64>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [#masked_id, #masked_row, #masked_id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<2x3xf64>, tensor<2xf64>) outs(%e : tensor<2x3xf64>) {
  ^bb0(%v: f64, %m: f64, %o: f64):
    %r = arith.divf %v, %m : f64
    linalg.yield %r : f64
  } -> tensor<2x3xf64>"""
NORMALIZED = """
func.func @normalized(%a: tensor<3xf64> {opt.param}) -> tensor<f64> {
  %c = arith.constant 0.0 : f64
  %low = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<f64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %square = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<3xf64>) outs(%z : tensor<f64>) {
  ^bb0(%v: f64, %s: f64):
    %p = arith.mulf %v, %v : f64
    %n = arith.addf %s, %p : f64
    linalg.yield %n : f64
  } -> tensor<f64>
  %l = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%square, %a : tensor<f64>, tensor<3xf64>) outs(%z : tensor<f64>) {
  ^bb0(%q: f64, %v: f64, %s: f64):
    %n = math.sqrt %q : f64
    %m = arith.maximumf %n, %low : f64
    %d = arith.divf %v, %m : f64
    %t = arith.addf %s, %d : f64
    linalg.yield %t : f64
  } -> tensor<f64>
  return %l : tensor<f64>
}"""


def masked_softmax_gradient(x, mask, w):
    y = np.exp(x) * mask / np.maximum((np.exp(x) * mask).sum(1, keepdims=True), 1e-300)
    return (y * (w - (w * y).sum(1, keepdims=True))).ravel()


def gradients(library, name, arrays):
    given = library.gradients_of(f"{name}_grad")
    results = library.call(f"{name}_grad", arrays, [("f64", 0)] + [("f64", arrays[i].ndim) for i in given])
    found = dict(zip(given, results[1:]))
    return [found.get(i, np.zeros(a.shape)) for i, a in enumerate(arrays)]


def compute():
    """(what, derivatives, what the table says) of every row."""
    functions = [scalar_function(f"s{i}", row[1]) for i, row in enumerate(SCALAR)]
    parted = [(i, row) for i, row in enumerate(SCALAR) if row[0] in PARTED]
    functions += [parted_function(f"p{i}", row[1]) for i, row in parted]
    functions += [reduction_function(f"r{i}", row[1], row[2]) for i, row in enumerate(REDUCTION)]
    with tempfile.TemporaryDirectory() as folder:
        masked = [MASKED % {"name": name, "softmax": text} for name, text in (("whole", WHOLE), ("parts", PARTS))]
        library = Library(MAPS + "\n".join(functions + masked) + POOLING + NORMALIZED, folder, "remat-differentiate")
        for i, row in enumerate(SCALAR):
            yield row[0], gradients(library, f"s{i}", [np.array(float(v)) for v in row[2:4]]), row[4]
        for i, row in parted:
            yield f"{row[0]} in parts", gradients(library, f"p{i}", [np.array(float(v)) for v in row[2:4]]), row[4]
        for i, row in enumerate(REDUCTION):
            yield row[0], gradients(library, f"r{i}", [np.array(row[3], "f8")])[0], row[4]
        image, weights = np.array([1., 5., 5., 5.]).reshape(1, 4, 1), np.array([2., 3.]).reshape(1, 2, 1)
        yield "equal maxima of windows", gradients(library, "pooling", [image, weights])[0].ravel(), [0, 5, 0, 0]
        x, w = np.arange(6.).reshape(2, 3), np.array([[1., 2., 4.], [3., 5., 6.]])
        mask = np.array([[1, 1, 0], [0, 0, 0]], "?")
        for name in ("whole", "parts"):
            found = gradients(library, f"masked_{name}", [x, mask, w])[0].ravel()
            yield f"softmax of a masked row ({name})", found, masked_softmax_gradient(x, mask, w)
        yield "a vector of zeros over its norm", gradients(library, "normalized", [np.zeros(3)])[0], [2, 2, 2]


def ask_jax():
    """(what, JAX's derivatives, what the table says) of every row that is JAX's choice."""
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    names = {"jax": jax, "jnp": jnp}
    for what, _, x, y, expected, text in SCALAR:
        if text:
            yield what, jax.grad(eval(f"lambda x, y: {text}", names), (0, 1))(float(x), float(y)), expected
    for what, _, _, x, expected, text in REDUCTION:
        yield what, jax.grad(eval(f"lambda x: {text}", names))(jnp.array(x, float)), expected


def main():
    wrong = 0
    for what, computed, expected in ask_jax() if "--jax" in sys.argv else compute():
        computed = np.array([float(v) for v in computed])
        good = np.allclose(computed, np.array(expected, "f8"), rtol=1e-12, atol=0, equal_nan=True)
        wrong += not good
        print(f"{what}: {computed.tolist()}" + ("" if good else f", expected {list(expected)}"))
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

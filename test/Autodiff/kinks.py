"""The rows of docs/kinks.md, computed."""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing import Library  # noqa: E402

NAN, INF = float("nan"), float("inf")

# (what, scalar body in %x and %y, x, y, expected derivatives)
SCALAR = [
    ("max against a constant", "%c = arith.constant 1.0 : f64\n%r = arith.maximumf %x, %c : f64", 1, 0, (0, 0)),
    ("min against a constant", "%c = arith.constant 1.0 : f64\n%r = arith.minimumf %c, %x : f64", 1, 0, (0, 0)),
    ("relu by select", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ugt, %x, %c : f64\n"
     "%r = arith.select %p, %x, %c : f64", 0, 0, (0, 0)),
    ("select with >=", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf oge, %x, %c : f64\n"
     "%r = arith.select %p, %x, %c : f64", 0, 0, (1, 0)),
    ("maximum of equals", "%r = arith.maximumf %x, %y : f64", 2, 2, (0.5, 0.5)),
    ("minimum of equals", "%r = arith.minimumf %x, %y : f64", 2, 2, (0.5, 0.5)),
    ("maxnum of equals", "%r = arith.maxnumf %x, %y : f64", 2, 2, (0.5, 0.5)),
    ("maxnum beside NaN", "%r = arith.maxnumf %x, %y : f64", 2, NAN, (1, 0)),
    ("absf", "%r = math.absf %x : f64", 0, 0, (0, 0)),
    ("floor", "%r = math.floor %x : f64", 0.5, 0, (0, 0)),
    ("remf", "%r = arith.remf %x, %y : f64", 7.5, 2, (1, -3)),
    ("sqrt at 0", "%r = math.sqrt %x : f64", 0, 0, (INF, 0)),
    ("0 * sqrt at 0", "%s = math.sqrt %x : f64\n%r = arith.mulf %s, %y : f64", 0, 0, (NAN, 0)),
    ("x^0 at 0", "%r = math.powf %x, %y : f64", 0, 0, (0, 0)),
    ("0^y", "%r = math.powf %x, %y : f64", 0, 2, (0, 0)),
    ("copysign", "%r = math.copysign %x, %y : f64", -2, 3, (-1, 0)),
    ("NaN behind a mask", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ogt, %x, %c : f64\n%l = math.log %x : f64\n"
     "%r = arith.select %p, %l, %y : f64", -1, 3, (-0.0, 1)),
    ("infinite slope behind a mask", "%c = arith.constant 0.0 : f64\n%p = arith.cmpf ogt, %x, %c : f64\n"
     "%l = math.sqrt %x : f64\n%r = arith.select %p, %l, %y : f64", 0, 3, (NAN, 1)),
]

# (what, combiner of a reduction over four elements, start, elements, expected gradient)
REDUCTION = [
    ("equal maxima", "maximumf", -INF, [1, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3]),
    ("equal minima", "minimumf", INF, [1, 3, 1, 3], [0.5, 0, 0.5, 0]),
    ("product with one zero", "mulf", 1.0, [2, 0, 3, 4], [0, 24, 0, 0]),
    ("product with two zeros", "mulf", 1.0, [2, 0, 0, 4], [0, 0, 0, 0]),
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


def gradients(library, name, arrays):
    given = library.gradients_of(f"{name}_grad")
    results = library.call(f"{name}_grad", arrays, [("f64", 0)] + [("f64", arrays[i].ndim) for i in given])
    found = dict(zip(given, results[1:]))
    return [found.get(i, np.zeros(a.shape)) for i, a in enumerate(arrays)]


def main():
    functions = [scalar_function(f"s{i}", row[1]) for i, row in enumerate(SCALAR)]
    functions += [reduction_function(f"r{i}", row[1], row[2]) for i, row in enumerate(REDUCTION)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        library = Library("\n".join(functions) + POOLING, folder, "remat-differentiate")
        cases = [(row[0], gradients(library, f"s{i}", [np.array(float(v)) for v in row[2:4]]), row[4])
                 for i, row in enumerate(SCALAR)]
        cases += [(row[0], gradients(library, f"r{i}", [np.array(row[3], "f8")])[0], row[4])
                  for i, row in enumerate(REDUCTION)]
        image, weights = np.array([1., 5., 5., 5.]).reshape(1, 4, 1), np.array([2., 3.]).reshape(1, 2, 1)
        cases.append(("equal maxima of windows", gradients(library, "pooling", [image, weights])[0].ravel(),
                      [0, 5, 0, 0]))
    for what, computed, expected in cases:
        computed = np.array([float(v) for v in computed])
        good = np.array_equal(computed, np.array(expected, "f8"), equal_nan=True)
        wrong += not good
        print(f"{what}: {computed.tolist()}" + ("" if good else f", expected {list(expected)}"))
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

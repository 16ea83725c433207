#!/usr/bin/env python3
"""Compare the joint functions of the losses in FILE with finite differences in f64.

    check_gradients.py FILE.mlir [--passes PIPELINE]

Every public function of FILE that takes tensors and returns the loss as tensor<f64> first is a program; its arguments get
random values (integers: small ones). Prints a line for each wrong gradient; the exit status says
whether all agree.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing import Library  # noqa: E402

PASSES = ("remat-differentiate, canonicalize, cse, remat-inline-regions, remat-lower-tapes, "
          "func.func(convert-elementwise-to-linalg)")
STEP, TOLERANCE = 1e-3, 1e-7


def programs(text):
    """(name, [(shape, element type, is parameter)]) of every public function."""
    for name, arguments in re.findall(r"^func\.func @(\w+)\((.*?)\) ->", text, re.M):
        found = re.findall(r"tensor<((?:[0-9?]+x)*)(\w+)>\s*(\{opt\.param[^}]*\})?", arguments)
        yield name, [(tuple(3 if n == "?" else int(n) for n in dims.split("x")[:-1]), kind, bool(param))
                     for dims, kind, param in found]


def finite_difference(loss, arrays, which):
    """Fourth-order central differences of loss with respect to arrays[which]."""
    gradient = np.zeros_like(arrays[which])
    for index in np.ndindex(gradient.shape):
        def at(offset):
            moved = [a.copy() for a in arrays]
            moved[which][index] += offset
            return loss(moved)
        gradient[index] = (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
    return gradient


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--passes", default=PASSES)
    arguments = parser.parse_args()
    text = arguments.file.read_text()
    rng = np.random.default_rng(7)
    checked = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        library = Library(text, folder, passes=arguments.passes)
        for name, types in programs(text):
            arrays = [rng.uniform(-1.2, 1.2, shape) if kind == "f64" else rng.integers(0, 3, shape)
                      for shape, kind, _ in types]
            wanted = [i for i, (_, _, is_parameter) in enumerate(types) if is_parameter]
            results = [("f64", 0)] + [("f64", len(types[i][0])) for i in wanted]
            value, *gradients = library.call(f"{name}_grad", arrays, results)

            def loss(moved):
                return float(library.call(name, moved, [("f64", 0)])[0])

            if not np.array_equal(value, loss(arrays)):
                wrong += 1
                print(f"{name}: the joint function's loss is {value}, not {loss(arrays)}")
            for which, gradient in zip(wanted, gradients):
                expected = finite_difference(loss, arrays, which)
                error = np.max(np.abs(gradient - expected), initial=0) / (1 + np.max(np.abs(expected), initial=0))
                checked += 1
                if not error < TOLERANCE:
                    wrong += 1
                    print(f"{name}: gradient {which} is off by {error:.1e}\n{gradient}\nexpected\n{expected}")
    print(f"{checked} gradients, {wrong} wrong")
    return wrong != 0 or checked == 0


if __name__ == "__main__":
    sys.exit(main())

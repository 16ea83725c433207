#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the joint functions of the losses in FILE with finite differences in f64, and the real lowering with the plain one.

    check_gradients.py FILE.mlir ... [--only NAME ...] [--passes PIPELINE] [--type T] [--snapshots N] [--each] [--plain]

Every public function of FILE that takes tensors is a program; what it returns becomes the loss by a weighted sum.
Arguments get random values (integers: 0, 1, 2; dynamic sizes: 3). Prints a line for each wrong gradient; the exit status
says whether all agree. --type writes f32, bf16 or f16 for f64, and compares with the gradients in f64.
--snapshots keeps N states of each loop that is in no other one, and leaves out programs without loops.
--each compiles the programs one by one, so that each shows its own errors; --plain leaves the real lowering out.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import NUMPY_TYPES, Library, TrainedLibrary, complete_losses, run, tool  # noqa: E402

PASSES = ("remat-differentiate, canonicalize, cse, remat-inline-regions, remat-inline-custom-vjp, symbol-dce, "
          "remat-lower-tapes, func.func(remat-fuse)")
STEP, TOLERANCE = 1e-3, 1e-7
INFINITY = {"f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}
MINUS_INFINITY = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80"}
TOLERANCES = {"f32": 2e-5, "f16": 2e-2, "bf16": 1e-1}


def split(text):
    """Public functions by name, and the text that they share."""
    functions = dict((m.group(1), m.group()) for m in re.finditer(r"^func\.func @(\w+)\(.*?^\}\n", text, re.M | re.S))
    shared = text
    for function in functions.values():
        shared = shared.replace(function, "")
    return functions, shared


def narrow(text, kind):
    """`text` with `kind` in place of f64, infinities included."""
    for wide, bits in (("0x7FF0000000000000", INFINITY), ("0xFFF0000000000000", MINUS_INFINITY)):
        if kind in bits:
            text = text.replace(f"{wide} : f64", f"{bits[kind]} : f64")
    return text.replace("f64", kind)


def arguments_of(function):
    """(shape, element type, is parameter, has dynamic sizes) of every argument."""
    head = re.match(r"func\.func @\w+\((.*?)\) ->", function, re.S).group(1)
    found = re.findall(r"tensor<((?:[0-9?]+x)*)(\w+)>\s*(\{opt\.param[^}]*\})?", head)
    return [(tuple(3 if n == "?" else int(n) for n in dims.split("x")[:-1]), kind, bool(param), "?" in dims)
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


def with_snapshots(text, count):
    """The program with a region around each loop that is in no region, and this policy of all regions otherwise; None if
    there is no loop."""
    policy = f"policy=snapshots<{count}>"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.mlir"
        source.write_text(text)
        for option in (f"--remat-annotate=ops=scf.for {policy}", f"--remat-override={policy}"):
            try:
                found = run([tool("remat-opt", "REMAT_BIN"), source, option])
            except RuntimeError:
                continue
            if "remat.snapshots" in found and "scf.for" in found:
                return found
    return None


def difference(found, expected):
    """Relative to the largest element, or to 1."""
    return np.max(np.abs(found - expected), initial=0) / (1 + np.max(np.abs(expected), initial=0))


def round_to(array, kind):
    """`array` with elements of type `kind`, as NumPy has them."""
    if kind != "bf16":
        return array.astype(NUMPY_TYPES[kind])
    bits = array.astype("f4").view("u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("u2").reshape(array.shape)


def widen(array, kind):
    return (array.astype("u4") << 16).view("f4").astype("f8") if kind == "bf16" else array.astype("f8")


def check_narrow(name, function, kind, libraries, reference):
    """Complaints about the gradients in `kind`, in comparison with those in f64 at the same arguments."""
    types, rng = arguments_of(function), np.random.default_rng(7)
    arrays = [round_to(rng.uniform(-1.2, 1.2, shape), kind) if t == kind else
              rng.integers(0, 2 if t == "i1" else 3, shape).astype(NUMPY_TYPES[t]) for shape, t, *_ in types]
    wide = [widen(a, kind) if t[1] == kind else a for a, t in zip(arrays, types)]
    wanted = reference.gradients_of(f"{name}_grad")
    expected = reference.call(f"{name}_grad", wide, [("f64", 0)] + [("f64", len(types[i][0])) for i in wanted])[1:]
    plain, trained = libraries
    simple = plain.call(f"{name}_grad", arrays, [("f64", 0)] + [(kind, len(types[i][0])) for i in wanted])
    results = [("plain", simple)]
    if trained:
        dynamic = [1 + k for k, i in enumerate(wanted) if types[i][3]]
        results.append(("by remat-train", trained.call(f"{name}_grad", arrays, [("f64", ())] +
                                                       [(kind, types[i][0]) for i in wanted], dynamic, simple)))
    complaints = []
    for what, found in results:
        for i, got, wanted_value in zip(wanted, found[1:], expected):
            if not difference(widen(got, kind), wanted_value) < TOLERANCES[kind]:
                complaints.append(f"{name}: gradient {i} {what} is\n{widen(got, kind)}\nexpected\n{wanted_value}")
    return complaints, len(wanted)


def check(name, function, plain, trained):
    """Complaints, and the number of gradients compared."""
    types, rng = arguments_of(function), np.random.default_rng(7)
    arrays = [rng.uniform(-1.2, 1.2, shape) if kind == "f64" else
              rng.integers(0, 2 if kind == "i1" else 3, shape).astype(NUMPY_TYPES[kind]) for shape, kind, *_ in types]
    wanted = plain.gradients_of(f"{name}_grad")
    complaints = [f"parameter {i} has no gradient" for i, t in enumerate(types) if t[2] and i not in wanted]
    value, *gradients = plain.call(f"{name}_grad", arrays, [("f64", 0)] + [("f64", len(types[i][0])) for i in wanted])

    def loss(moved):
        return float(plain.call(name, moved, [("f64", 0)])[0])

    if not np.array_equal(value, loss(arrays)):
        complaints.append(f"the joint function's loss is {value}, not {loss(arrays)}")
    for which, gradient in zip(wanted, gradients):
        expected = finite_difference(loss, arrays, which)
        error = difference(gradient, expected)
        if not error < TOLERANCE:
            complaints.append(f"gradient {which} is off by {error:.1e}\n{gradient}\nexpected\n{expected}")
    if trained:
        results = trained.call(f"{name}_grad", arrays, [("f64", ())] + [("f64", types[i][0]) for i in wanted],
                               [1 + k for k, i in enumerate(wanted) if types[i][3]], [value] + gradients)
        for what, real, simple in zip(["loss"] + [f"gradient {i}" for i in wanted], results, [value] + gradients):
            if not difference(real, simple) < 1e-11:
                complaints.append(f"{what} by remat-train is off by {difference(real, simple):.1e}\n{real}\n"
                                  f"expected\n{simple}")
    return [f"{name}: {complaint}" for complaint in complaints], len(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--passes", default=PASSES)
    parser.add_argument("--type", default="f64", choices=["f64", *TOLERANCES])
    parser.add_argument("--snapshots", type=int, default=0)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    checked = wrong = 0
    for file in options.files:
        source = file.read_text()
        functions, shared = split(complete_losses(narrow(source, options.type)))
        wide, _ = split(complete_losses(source))
        functions = {k: v for k, v in functions.items() if not options.only or k in options.only}
        if options.type != "f64":
            functions = {k: v for k, v in functions.items() if "bitcast" not in v}
        for names in [[k] for k in functions] if options.each or options.snapshots else [list(functions)]:
            text = shared + "".join(functions[k] for k in names)
            if options.snapshots:
                text = with_snapshots(text, options.snapshots)
                if text is None:
                    continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    plain = Library(text, folder, options.passes, "plain")
                    trained = None if options.plain else TrainedLibrary(text, folder, "trained")
                except RuntimeError as error:
                    wrong += 1
                    print(f"{', '.join(names)}: {str(error)[:1000]}", flush=True)
                    continue
                if options.type != "f64":
                    reference = Library(shared + "".join(wide[k] for k in names), folder, options.passes, "wide")
                for name in names:
                    try:
                        if options.type == "f64":
                            complaints, count = check(name, functions[name], plain, trained)
                        else:
                            complaints, count = check_narrow(name, functions[name], options.type, (plain, trained), reference)
                    except RuntimeError as error:
                        complaints, count = [f"{name}: {error}"], 0
                    checked += count
                    wrong += len(complaints)
                    if complaints:
                        print("\n".join(complaints), flush=True)
    print(f"{checked} gradients, {wrong} wrong")
    return wrong != 0 or checked == 0


if __name__ == "__main__":
    sys.exit(main())

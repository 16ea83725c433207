#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare remat-differentiate with finite differences on random linalg programs in f64.

    finite_differences.py [--count N] [--seed S] [--family NAME ...] [--trained N] [--keep FOLDER]

Every program is one structured operation (with what it needs around it) followed by a weighted sum, so
that its cotangent is random. All programs of a run are compiled as one module. Each gradient element is
compared with a fourth-order central difference; elements where two step sizes disagree lie on a kink
and are passed over. The first programs (--trained) are compiled by remat-train, too, and give the same
numbers. Prints one line for each wrong gradient, and a summary; the exit status says
whether all agree.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import Library, TrainedLibrary  # noqa: E402
from remat.testing.random_families import FAMILIES, make_programs  # noqa: E402

# One-shot bufferization by itself refuses a selection of one of two tensors of which a branch is a slice.
CANONICALIZE = 'canonicalize{disable-patterns={"(anonymous namespace)::ConvertTrivialIfToSelect"}}'
TOLERANCE = 1e-6


def difference(loss, arrays, position, element, h):
    """Fourth-order central difference."""
    def at(step):
        moved = [a.copy() if i == position else a for i, a in enumerate(arrays)]
        moved[position][element] += step
        return loss(moved)
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check_trained(program, plain, trained):
    """Complaints about the real lowering, in comparison with the plain one."""
    arrays = [a for a, _, _ in program.arguments]
    given = plain.gradients_of(f"{program.name}_grad")
    shapes = [()] + [arrays[i].shape for i in given]
    expected = plain.call(f"{program.name}_grad", arrays, [("f64", len(s)) for s in shapes])
    found = trained.call(f"{program.name}_grad", arrays, [("f64", s) for s in shapes], plain=expected)
    return [f"{program.name} ({program.family}): {what} is {a.tolist()} by remat-train, {b.tolist()} otherwise"
            for what, a, b in zip(["loss"] + [f"gradient {i}" for i in given], found, expected)
            if not np.allclose(a, b, rtol=1e-11, atol=1e-11, equal_nan=True)]


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


def compiled(programs, folder, passes):
    """Each program with its library: one for all of them, or where that fails one for each, or what is wrong."""
    try:
        library = Library("".join(p.source for p in programs), folder, passes)
        yield from ((program, library) for program in programs)
    except RuntimeError:
        for program in programs:
            try:
                yield program, Library(program.source, folder, passes, name=program.name)
            except RuntimeError as error:
                yield program, f"{program.name} ({program.family}): {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--family", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--trained", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--passes", default=f"remat-differentiate, {CANONICALIZE}, remat-plan, remat-materialize, remat-inline-regions, "
                        f"{CANONICALIZE}, cse, remat-lower-tapes, remat-prepare-bufferization")
    options = parser.parse_args()
    programs = make_programs(options.count, options.seed, options.family)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        trained = programs[:options.trained]
        if trained:
            real = TrainedLibrary("".join(p.source for p in trained), folder, name="trained")
        failed = total = 0
        for program, library in compiled(programs, folder, options.passes):
            try:
                complaints, compared = ([library], 0) if isinstance(library, str) else check(program, library)
                if program in trained and not isinstance(library, str):
                    complaints += check_trained(program, library, real)
            except Exception as error:  # the rest is checked all the same
                complaints, compared = [f"{program.name} ({program.family}): {error!r}"], 0
            total += compared
            if complaints:
                failed += 1
                print(f"seed {options.seed}:", "\n".join(complaints[:3]))
                print(program.source)
    print(f"{len(programs) - failed} of {len(programs)} programs agree, {total} derivatives compared")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains each function of cases.mlir for both targets: the numbers of the CPU, the same bits in all variants, the predicted arena.

    cases.py FOLDER cases.mlir [NAME ...]

LIBRARIES and CUDA_LIBRARIES name what mlir-runner loads.
"""
import concurrent.futures
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Laws/Inputs"))
from programs import Failure, Program  # noqa: E402
from remat.testing.libraries import NUMPY_TYPES, complete_losses  # noqa: E402

HEAD = """opt.optimizer @sgd = #opt.sgd<lr = 0.05, momentum = 0.9>
remat.train_step @step for @loss optimizer(@sgd) {eager}
"""
# Policy, mode, options of the target, settings of the run.
VARIANTS = [("none", "eager", "", {}),
            ("nothing_saveable", "deferred", "check block-size=64", {"cuda_graphs": 0, "emulator_order": "random"}),
            ("", "eager", "block-size=1024", {"emulator_order": "backward"})]
STEPS = 3
# A dimension for which checks of the emulator take too long.
LARGE = 10_000
# Of a norm, relative: kernels and loops add up in other orders.
TOLERANCE = {"f64": 1e-10, "f32": 1e-4, "f16": 1e-2, "bf16": 5e-2}


def drawn(text):
    """Data for every argument that is some."""
    rng, arrays = np.random.default_rng(0), {}
    for dims, kind, name in re.findall(r'tensor<((?:\d+x)*)(\w+)> \{remat\.data = "(\w+)"', text):
        shape = [int(n) for n in dims.split("x")[:-1]]
        shape[0] *= STEPS
        if kind == "i1":
            arrays[name] = rng.random(shape) < 0.5
        elif kind[0] == "i":
            arrays[name] = rng.integers(1, 4, shape).astype(NUMPY_TYPES[kind])
        else:
            values = rng.standard_normal(shape)
            arrays[name] = narrow(values) if kind == "bf16" else values.astype(NUMPY_TYPES[kind])
    return arrays


def narrow(values):
    """Values of f32, cut off, as files have bf16: two bytes without a type."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")


def widened(array):
    if array.dtype.kind == "V":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def check_numbers(kind, found, expected):
    (losses, arrays), (cpu_losses, cpu_arrays) = found, expected
    tolerance = TOLERANCE[kind]
    if not np.allclose(np.array(losses, float), np.array(cpu_losses, float), rtol=tolerance, atol=tolerance * 1e-2):
        raise Failure(f"losses {losses}, on the CPU {cpu_losses}")
    for name, array in cpu_arrays.items():
        if name.startswith("remat."):
            continue
        a, b = widened(arrays[name]), widened(array)
        if not np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b) + 1e-12:
            raise Failure(f"{name} is off by {np.linalg.norm(a - b):.1e} of {np.linalg.norm(b):.1e}")


def check(folder, name, function):
    folder = folder / name
    folder.mkdir()
    path, kind = folder / "model.mlir", name if name in TOLERANCE else "f32"
    path.write_text(HEAD + complete_losses(function.replace(f"@{name}(", "@loss(")))
    np.savez(folder / "data.npz", **drawn(function))
    *expected, _ = Program(folder, path).train(STEPS, level=0)
    first = None
    large = max(int(n) for n in re.findall(r"(\d+)x", function)) >= LARGE
    for policy, mode, options, settings in VARIANTS[:2] if large else VARIANTS:
        options = options.replace("check ", "") if large else options
        program = Program(folder, path, policy, mode, target=f"target=cuda emulate {options}")
        *found, report = program.train(STEPS, level=0, **settings)
        predicted, measured = program.memory()["arena"], report["peak_bytes_by_class"]["arena"]
        if predicted != measured:
            raise Failure(f"{program.name}: predicts an arena of {predicted} bytes, measured {measured}")
        check_numbers(kind, found, expected)
        first = first or found
        if found[0] != first[0] or any(found[1][k].tobytes() != a.tobytes() for k, a in first[1].items()):
            raise Failure(f"{program.name}: other bits than the first variant")


def main():
    folder, wanted = Path(sys.argv[1]), sys.argv[3:]
    functions = Path(sys.argv[2]).read_text().split("// -----\n")
    cases = {re.search(r"func\.func @(\w+)", text)[1]: text for text in functions}
    wrong = 0

    def failure_of(name):
        try:
            check(folder, name, cases[name])
        except Failure as failure:
            return str(failure)
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = wanted or list(cases)
        for name, failure in zip(names, pool.map(failure_of, names)):
            wrong += failure is not None
            print(f"{name}: {failure or 'ok'}", flush=True)
    print(f"{len(names)} cases, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())

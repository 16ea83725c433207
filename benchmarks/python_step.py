# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of calling a step from Python, and the same step under mlir-runner.

    benchmarks/python_step.py [MODEL.mlir ...] [--calls N] [--rounds N]

For each model (one with a `remat.train_step`; by default the examples and a net so small that its step takes no time), with
random data: the time of `step(*batch)`, that of the compiled step alone in the same process, their difference, and the
step's median time as mlir-runner's report has it; then seconds to compile. Needs a built tree and NumPy.
Environment: BUILD_DIR, LLVM_PREFIX.
"""
import argparse
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import remat  # noqa: E402
from remat.testing import training  # noqa: E402
from remat.arrays import locate  # noqa: E402

SMALL = """
opt.optimizer @o = #opt.sgd<lr = 1.0e-6>
remat.train_step @step for @loss optimizer(@o) {eager}
func.func @loss(%x: tensor<8xf32> {remat.data = "x"}, %y: tensor<8xf32> {remat.data = "y"},
                %w: tensor<8xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %p = linalg.mul ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%p, %y : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
"""


def random_batch(step):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(a.shape) if a.dtype.kind == "f" else rng.integers(0, 2, a.shape)).astype(a.dtype)
            for a in step.data]


def median_time(call, calls, rounds):
    """Seconds of one call: the median of rounds, each the mean of some calls."""
    def measure():
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls
    measure()
    return statistics.median(measure() for _ in range(rounds))


def program_time(text, step, batch, steps):
    """The median step of the program under mlir-runner, on the same batch."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "model.mlir").write_text(text)
        report, program, data = folder / "memory.json", folder / "program.mlir", folder / "data.npz"
        name = re.search(r"remat\.train_step @(\w+)", text)[1]
        training.compile_model(folder / "model.mlir", program, report, [f"--remat-train=report={report}"], name)
        # Several times, since an evaluation may take more at once.
        np.savez(data, **{a.name: np.concatenate([value] * 8) for a, value in zip(step.data, batch)})
        _, run = training.run_program(program, folder, {"DATA": data, "EVAL_DATA": data, "STEPS": steps, "SHUFFLE": 0,
                                                        "CHECKPOINT": ""})
        return run["median_step_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.mlir")
    parser.add_argument("--calls", type=int, default=0, help="calls of a round (default: about 0.2 s of them)")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    models = options.models or [ROOT / "examples" / "digits.mlir", ROOT / "examples" / "chargpt.mlir"]
    texts = {} if options.models else {"small": SMALL}
    texts |= {path.stem: path.read_text() for path in models}
    print(f"{'model':<12}{'step(*batch)':>14}{'compiled':>12}{'overhead':>12}{'mlir-runner':>14}{'compile':>10}")
    for name, text in texts.items():
        start = time.perf_counter()
        step = remat.mlir.train_step(text, file_name=f"{name}.mlir")
        compile_time = time.perf_counter() - start
        batch = random_batch(step)
        once = median_time(lambda: step(*batch), 3, 3)
        calls = options.calls or max(2, int(0.2 / once))
        addresses = [locate(argument, value, "")[0] for argument, value in zip(step.data, batch)]
        whole = median_time(lambda: step(*batch), calls, options.rounds)
        compiled = median_time(lambda: step._native.run(addresses), calls, options.rounds)
        program = program_time(text, step, batch, steps=max(20, min(2000, calls)))
        print(f"{name:<12}{whole * 1e6:>11.1f} us{compiled * 1e6:>9.1f} us{(whole - compiled) * 1e6:>9.1f} us"
              f"{program * 1e6:>11.1f} us{compile_time:>8.2f} s")


main()

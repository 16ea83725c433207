# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Goes on from checkpoints whose states are stored in another way than the program's.

    states.py FOLDER LIBRARIES
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

FOLDER, LIBRARIES = Path(sys.argv[1]), sys.argv[2]
SHAPE = 64, 66
KINDS = "f32", "bf16", "int8", "int4"
MODEL = """
opt.optimizer @o = #opt.adamw<lr = 0.01, eps = 0.01, states = KIND>
remat.train_step @step for @loss optimizer(@o) {eager, shuffle = false, log_every = 0, seed = 3, data = "data.npz"}
func.func @loss(%w: tensor<64x66xf32> {opt.param = "w", opt.init = "normal(1.0)"}, %x: tensor<1x64x66xf32> {remat.data = "x"}) -> tensor<f32> {
  %g = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x64x66xf32> into tensor<64x66xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]} ins(%w, %g : tensor<64x66xf32>, tensor<64x66xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %t = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %t : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
"""


def run(program, checkpoint, steps):
    done = subprocess.run(["mlir-runner", f"{program}.program.mlir", "-e", "main", "-entry-point-result=void",
                           f"--shared-libs={LIBRARIES}"], capture_output=True, text=True, cwd=FOLDER,
                          env=os.environ | {"REMAT_STEPS": str(steps), "REMAT_CHECKPOINT": checkpoint})
    if done.returncode:
        return done.stderr.strip()
    return next((line for line in done.stdout.splitlines() if line.startswith("converted")), "as it is")


def main():
    rng = np.random.default_rng(0)
    np.savez(FOLDER / "data.npz", x=rng.normal(size=(4, *SHAPE)).astype("f4"))
    for kind in KINDS:
        (FOLDER / f"{kind}.mlir").write_text(MODEL.replace("KIND", kind))
        subprocess.run(["remat-opt", f"{kind}.mlir", "--remat-train", "-o", f"{kind}.program.mlir"], check=True, cwd=FOLDER)
        run(kind, f"{kind}.npz", 2)
        run(kind, f"{kind}.whole.npz", 4)
    for kind in KINDS:
        for other in KINDS:
            shutil.copy(FOLDER / f"{kind}.npz", FOLDER / "run.npz")
            print(f"{kind}, then {other}: {run(other, 'run.npz', 4)}")
            with np.load(FOLDER / "run.npz") as found, np.load(FOLDER / f"{kind}.whole.npz") as whole:
                if kind == other:
                    assert all(found[name].tobytes() == whole[name].tobytes() for name in whole.files), kind
                # Of two steps, which are 0.01 each with moments of f32.
                assert np.abs(found["w"] - whole["w"]).max() < (0.03 if "int4" in (kind, other) else 0.005), (kind, other)
                assert ("remat.stored" in found.files) == (other in ("int8", "int4"))
    for text in "w.m\tmany", "w.m\t8\t256\tsigned\t9999", "w.m\t4\t512\tsigned\t4224":
        with np.load(FOLDER / "int8.npz") as arrays:
            arrays = dict(arrays) | {"remat.stored": np.frombuffer(text.encode(), np.uint8)}
        np.savez(FOLDER / "run.npz", **arrays)
        print(run("f32", "run.npz", 4))


main()

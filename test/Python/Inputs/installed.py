# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with the package in the folder that is named, and says where its libraries were loaded from."""
import sys
from pathlib import Path

import numpy as np
import remat

folder = Path(sys.argv[1]).resolve()
MODEL = """
func.func @loss(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 2.44140625e-04 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = tensor.empty() : tensor<f32>
  %s = linalg.fill ins(%zero : f32) outs(%r : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                       iterator_types = ["reduction", "reduction"]} ins(%p : tensor<64x64xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %b = arith.mulf %a, %scale : f32
    %c = arith.addf %sum, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
"""
for options in ({}, {"target": "cuda", "options": "emulate"}):
    try:
        step = remat.mlir.train_step(MODEL, optimizer=remat.SGD(16.0), **options)
    except remat.CompileError as error:
        print("error:", error)
        continue
    losses = [step(np.ones((64, 64), "f4")) for _ in range(3)]
    print(f"trains on {step.device.name}" if losses == [64, 48, 32] else losses)
loaded = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
for path in sorted((p for p in loaded if "remat" in p.name.lower() or p.name.startswith("_native")), key=lambda p: p.name.lower()):
    print(path.name, "is of the installation" if folder in path.resolve().parents else f"is of {path.parent}")

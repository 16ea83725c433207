"""Trains with the package in the folder that is named, and says where its libraries were loaded from."""
import sys
from pathlib import Path

import numpy as np
import remat

folder = Path(sys.argv[1]).resolve()
step = remat.mlir.train_step("""
func.func @loss(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
""", optimizer=remat.SGD(0.5))
losses = [step(np.ones(4, "f4")) for _ in range(3)]
print("trains" if losses == [4, 2, 0] else losses)
loaded = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
for path in sorted((p for p in loaded if "remat" in p.name.lower() or p.name.startswith("_native")), key=lambda p: p.name.lower()):
    print(path.name, "is of the installation" if folder in path.resolve().parents else f"is of {path.parent}")

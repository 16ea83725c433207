# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zygote PR 1541, `eager_update!`: parameters are updated during the backward, so that there are never all gradients at once."""
import sys
from pathlib import Path

import numpy as np
import remat

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import models  # noqa: E402  (LLaMA, as examples/llama7b.py has it)

# A weight that is used twice, which an update after its first gradient would get wrong, and an update rule of one's own.
TEXT = """
func.func private @momentum(%p: f32, %g: f32, %m: f32, %step: i64, %lr: f32) -> (f32, f32) {
  %half = arith.constant 0.5 : f32
  %old = arith.mulf %m, %half : f32
  %new = arith.addf %old, %g : f32
  %change = arith.mulf %lr, %new : f32
  %q = arith.subf %p, %change : f32
  return %q, %new : f32, f32
}
func.func @loss(%x: tensor<4x8xf32> {remat.data = "x"}, %w: tensor<8x8xf32> {opt.param = "tied", opt.init = "normal(0.2)"},
                %b: tensor<4x8xf32> {opt.param = "bias", opt.init = "zeros"}) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : tensor<4x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = linalg.mul ins(%y, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = linalg.reduce { arith.addf } ins(%q : tensor<4x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}"""
# The first group that matches wins: the last one is the catch-all, for what no other one names.
groups = [remat.Group("bias", rule=remat.SGD(0.01)), remat.Group("*", rule=remat.Custom("@momentum", states=1, lr=1e-3))]
step = remat.mlir.train_step(TEXT, optimizer=remat.SGD(0.01, groups=groups))
w, b = (step.parameters[name].astype("f8") for name in ("tied", "bias"))
m, x = np.zeros_like(w), np.random.default_rng(0).standard_normal((4, 8)).astype("f4")
for _ in range(5):
    step(x)
    h = x @ w + b
    dy = 2 * (h @ w + b)
    m = m / 2 + h.T @ dy + x.T @ (dy @ w.T)  # both uses
    w, b = w - 1e-3 * m, b - 0.01 * (dy + dy @ w.T)
assert np.allclose(step.parameters["tied"], w, rtol=1e-4, atol=1e-6) and np.allclose(step.parameters["bias"], b, rtol=1e-4, atol=1e-6)
print("a tied weight and an update rule of one's own: as in NumPy")

DIMS = {"L": 36, "d": 4096, "heads": 32, "shared": 1, "ffn": 11008, "T": 128, "B": 1, "V": 32000}
RULES = {"SGD": "#opt.sgd<lr = 1.0e-3>", "AdamW": "#opt.adamw<lr = 3.0e-4>",
         "APOLLO": "#opt.apollo<lr = 4.0e-5, rank = 1, scale = 128, scaling = tensor>"}
print(f"{'GiB for LLaMA, bf16':20}  weights  moments  gradients, eager  gradients, deferred  peak, eager")
for name, rule in RULES.items():
    eager, deferred = (remat.mlir.memory(models.mlir("llama", DIMS, "bf16", "bf16", rule, f"{{{mode}}}"), policy="nothing_saveable")
                       for mode in ("eager", "deferred"))
    sizes = eager.parameters, eager.optimizer_state, eager.gradients, deferred.gradients, eager.peak
    print(f"{name:20}" + "".join(f"{size / 2**30:{width}.2f}" for size, width in zip(sizes, (9, 9, 18, 21, 13))))

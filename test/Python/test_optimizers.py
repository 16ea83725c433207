# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Update rules beside the packages that they come from, in float64: parameters after each of some steps."""
import sys

import numpy as np
import pytest

import remat
from conftest import ROOT

sys.path.append(str(ROOT / "test" / "Transforms" / "InsertSteps" / "Inputs"))
from keys import key_of, philox  # noqa: E402  (needs the path above)

STEPS, SEED = 6, 11


def model(shape):
    """The sum of the products of a parameter and data, which are its gradient."""
    dims = "".join(f"{size}x" for size in shape)
    loops = ", ".join(f"d{i}" for i in range(len(shape)))
    reductions = ", ".join(['"reduction"'] * len(shape))
    return f"""
func.func @loss(%w: tensor<{dims}f64> {{opt.param = "w"}}, %x: tensor<{dims}f64> {{remat.data = "x"}}) -> tensor<f64> {{
  %zero = arith.constant dense<0.0> : tensor<f64>
  %loss = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({loops})>,
                                           affine_map<({loops}) -> ()>], iterator_types = [{reductions}]}}
      ins(%w, %x : tensor<{dims}f64>, tensor<{dims}f64>) outs(%zero : tensor<f64>) {{
  ^bb0(%a: f64, %b: f64, %s: f64):
    %0 = arith.mulf %a, %b : f64
    %1 = arith.addf %s, %0 : f64
    linalg.yield %1 : f64
  }} -> tensor<f64>
  return %loss : tensor<f64>
}}"""


def compare(optimizer, make_theirs, shape, rtol=1e-11):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    start, gradients = random.normal(size=shape), random.normal(size=(STEPS, *shape))
    step = remat.mlir.train_step(model(shape), optimizer=optimizer, seed=SEED)
    step.load_state_dict({"w": start}, strict=False)
    w = torch.nn.Parameter(torch.tensor(start))
    theirs = make_theirs(torch, w)
    for gradient in gradients:
        step(gradient)
        w.grad = torch.tensor(gradient)
        theirs.step()
        np.testing.assert_allclose(step.state_dict()["w"], w.detach().numpy(), rtol, rtol)


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7), (8,)])
@pytest.mark.parametrize("settings", [dict(rank=2), dict(rank=3, weight_decay=0.1, refresh=2),
                                      dict(rank=1, scale=128.0, scaling="tensor")])
def test_apollo(monkeypatch, shape, settings):
    apollo = pytest.importorskip("apollo_torch")
    from apollo_torch import random_projector

    def projection(self, weights, rank, type, seed):
        """The reference's is normal: ours in its place, renewed as it renews it."""
        calls.append(seed)
        low, high = key_of("w", SEED)
        size = min(shape)
        i, j = np.meshgrid(np.arange(rank), np.arange(size), indexing="ij")
        words = philox((i, j, 0 * i + len(calls) - 1, 0 * i), (low ^ 0x7369676E, high))
        signs = weights.new_tensor(np.where(words >> 31, -1.0, 1.0) / np.sqrt(rank))
        return signs if type == "right" else signs.T

    calls = []
    monkeypatch.setattr(random_projector.GradientProjector, "get_orthogonal_matrix", projection)
    options = {"rank": settings["rank"], "proj": "random", "scale_type": settings.get("scaling", "channel"),
               "scale": settings.get("scale", 1.0), "update_proj_gap": settings.get("refresh", 200), "proj_type": "std"}

    def make(torch, w):
        group = {"params": [w], **(options if len(shape) == 2 else {})}
        return apollo.APOLLOAdamW([group], lr=0.05, weight_decay=settings.get("weight_decay", 0.0))

    compare(remat.APOLLO(0.05, **settings), make, shape)


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7)])
@pytest.mark.parametrize("settings", [{}, dict(momentum=0.8, nesterov=False, weight_decay=0.0), dict(adjust="match_rms_adamw")])
def test_muon(monkeypatch, shape, settings):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this version of PyTorch has no Muon")
    # It orthogonalizes in bf16.
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())
    theirs = {"adjust_lr_fn" if name == "adjust" else name: value for name, value in settings.items()}
    compare(remat.Muon(0.05, **settings), lambda torch, w: torch.optim.Muon([w], lr=0.05, **theirs), shape)

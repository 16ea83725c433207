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


EMA = 0.9
AVERAGED = [remat.SGD(0.1, momentum=0.9, ema=EMA), remat.AdamW(0.01, ema=EMA), remat.Muon(0.01, ema=EMA)]


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("optimizer", AVERAGED, ids=lambda optimizer: type(optimizer).__name__)
def test_averages_are_those_of_torch(optimizer, eager):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    module = torch.nn.Module()
    module.w = torch.nn.Parameter(torch.tensor(random.normal(size=(6, 9))))
    theirs = torch.optim.swa_utils.AveragedModel(module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(EMA))
    step = remat.mlir.train_step(model((6, 9)), optimizer=optimizer, eager=eager)
    step.load_state_dict({"w": module.w.detach().numpy()}, strict=False)
    for _ in range(STEPS):
        step(random.normal(size=(6, 9)))
        # Parameters are compared by other tests.
        module.w.data.copy_(torch.tensor(step.state_dict()["w"]))
        theirs.update_parameters(module)
        np.testing.assert_allclose(step.state_dict()["w.average"], theirs.module.w.detach().numpy(), 1e-13, 1e-13)


def average_of_parameters(kind, optimizer):
    """A step on parameters of type `kind`, whose loss is their sum times data; evaluations return the same."""
    wide = model((6, 9)).replace("f64", "f32")
    text = wide if kind == "f32" else wide.replace(
        f'%w: tensor<6x9xf32> {{opt.param = "w"}}', f'%narrow: tensor<6x9x{kind}> {{opt.param = "w"}}').replace(
        "  %zero", f"  %w = arith.extf %narrow : tensor<6x9x{kind}> to tensor<6x9xf32>\n  %zero", 1)
    check = text[text.index("func.func"):].replace("@loss", "@check")
    step = remat.mlir.train_step(text + check, optimizer=optimizer, function="loss", eval_function="check")
    step.load_state_dict({"w": np.ones((6, 9), step.parameters["w"].dtype)}, strict=False)
    return step


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
def test_an_evaluation_may_use_averages(kind):
    step = average_of_parameters(kind, remat.SGD(0.5, ema=EMA))
    random = np.random.default_rng(0)
    x = random.normal(size=(6, 9)).astype("f4")
    with step.averaged():  # there are none yet
        start = step.eval(x)
    assert start == step.eval(x)
    for _ in range(STEPS):
        step(random.normal(size=(6, 9)).astype("f4"))
    before = {name: np.array(value) for name, value in step.state_dict().items()}
    assert before["w.average"].dtype == np.float32  # 0.1 of a change would be lost in fewer bits
    averages = before["w.average"].astype(before["w"].dtype)
    own = step.eval(x)
    with step.averaged():
        np.testing.assert_array_equal(step.parameters["w"], averages)
        averaged = step.eval(x)
        with pytest.raises(remat.StepError, match="outside of"):
            step(x)
        with pytest.raises(remat.StepError, match="already"):
            with step.averaged():
                pass
    np.testing.assert_allclose(averaged, np.sum(averages.astype("f8") * x), 1e-5)
    assert own != averaged and step.eval(x) == own
    for name, value in step.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_averages_go_on_from_a_file(tmp_path):
    pytest.importorskip("safetensors")
    random = np.random.default_rng(0)
    batches = random.normal(size=(4, 6, 9)).astype("f4")
    whole, first, second = (average_of_parameters("f32", remat.SGD(0.5, ema=EMA)) for _ in range(3))
    for x in batches:
        whole(x)
    for x in batches[:2]:
        first(x)
    first.save(tmp_path / "run.safetensors")
    second.load(tmp_path / "run.safetensors")
    for x in batches[2:]:
        second(x)
    for name, value in whole.state_dict().items():
        np.testing.assert_array_equal(value, second.state_dict()[name])
    with pytest.raises(TypeError, match="ema=0.999"):
        with average_of_parameters("f32", remat.SGD(0.5)).averaged():
            pass


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_quantized_moments_are_those_of_torchao(monkeypatch, kind):
    """Update by update, from the same states: parameters to rounding, moments to one unit of their maps."""
    torch = pytest.importorskip("torch")
    low_bit = pytest.importorskip("torchao.optim")
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    random, shape = np.random.default_rng(0), (64, 66 if kind == "int4" else 68)
    w = torch.nn.Parameter(torch.tensor(random.normal(size=shape), dtype=torch.float32))
    block = {"int8": 256, "int4": 128}[kind]
    make = {"int8": low_bit.AdamW8bit, "int4": low_bit.AdamW4bit}[kind]
    theirs = make([w], lr=0.01, weight_decay=0.1, eps=1e-6, block_size=block)
    step = remat.mlir.train_step(model(shape).replace("f64", "f32"),
                                  optimizer=remat.AdamW(0.01, weight_decay=0.1, eps=1e-6, states=kind))
    step.load_state_dict({"w": w.detach().numpy()}, strict=False)
    for _ in range(STEPS):
        gradient = (random.normal(size=shape) * 10.0**random.uniform(-3, 1, size=shape)).astype("f4")
        before = w.detach().numpy().copy()
        step(gradient)
        w.grad = torch.tensor(gradient)
        theirs.step()
        ours = step.state_dict()
        # Theirs has 1 - 0.999**step in f32, whose rounding is 3e-5 of it in the first step, and half of that after the root.
        bound = 2e-5 * np.abs(ours["w"] - before) + 5e-7 * np.abs(before)
        assert (np.abs(ours["w"] - w.detach().numpy()) <= bound).all()
        w.data.copy_(torch.tensor(ours["w"]))
        for name, moment in (("w.m", theirs.state[w]["exp_avg"]), ("w.v", theirs.state[w]["exp_avg_sq"])):
            blocks = remat.stored.Blocks(bits=int(kind[3:]), size=block, signed=name == "w.m", count=w.numel())
            numbers = remat.stored.dequantize(ours[name], ours[f"{name}.scale"], blocks).reshape(-1, block)
            scale, map_ = ours[f"{name}.scale"][:, None], moment.qmap.numpy()
            np.testing.assert_allclose(scale[:, 0], moment.scale.numpy(), 1e-6)
            codes = np.abs((numbers / scale)[..., None] - map_).argmin(-1)
            np.testing.assert_allclose(map_[codes] * scale, numbers, 2e-6)
            packed = moment.codes.numpy()
            flat = (packed if kind == "int8" else np.stack([packed >> 4, packed & 15], -1)).reshape(codes.shape)
            other = np.abs(flat.astype(int) - codes)
            assert other.max() <= 1 and (other > 0).mean() < 1e-3
            codes = codes.reshape(-1) if kind == "int8" else (codes.reshape(-1, 2) << [4, 0]).sum(-1)
            moment.codes.copy_(torch.tensor(codes.reshape(packed.shape), dtype=torch.uint8))
            moment.scale.copy_(torch.tensor(scale[:, 0]))

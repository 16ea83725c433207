# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of other sizes, by PyTorch's functions: their values, their gradients, and what they keep."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import remat
import remat.export
import remat.torch
from remat.torch import resample

MODES = {"nearest": "nearest", "nearest_exact": "nearest-exact", "linear": "bilinear", "cubic": "bicubic", "antialiased_linear": "bilinear",
         "antialiased_cubic": "bicubic", "antialiased_lanczos": "lanczos"}


class Scaled(nn.Module):
    def __init__(self, shape, function, kind=torch.float32):
        super().__init__()
        torch.manual_seed(0)
        self.image, self.function = nn.Parameter(torch.randn(shape, dtype=kind)), function

    def forward(self, factor):
        results = self.function(self.image * factor)
        result = torch.cat([r.flatten() for r in results]) if isinstance(results, list) else results.flatten()
        return (result ** 2 * torch.linspace(0.5, 1.5, len(result), dtype=result.dtype)).sum()


def train(model, factor, **options):
    return remat.torch.train_step(model, None, (factor,), optimizer=remat.SGD(0.1), **options)


def check_gradient(shape, function, kind=torch.float32, tolerance=1e-5, oracle=None, **options):
    """Beside PyTorch of the same type, which decides how positions are rounded, or of `oracle`."""
    model, factor = Scaled(shape, function, kind), torch.tensor(1.5, dtype=kind)
    theirs = copy.deepcopy(model).to(oracle or kind)
    loss = theirs(factor.to(oracle or kind))
    loss.backward()
    start, gradient = theirs.image.detach().numpy().copy(), theirs.image.grad.numpy()
    step = train(model, factor, **options)
    np.testing.assert_allclose(step(factor), loss.item(), tolerance)
    np.testing.assert_allclose(step.parameters["image"], start - 0.1 * gradient, tolerance, tolerance)
    return step


def resize(x, kind, size, factor, has_corners):
    if kind == "mean":
        return F.adaptive_avg_pool2d(x, (2, size))
    options = {"align_corners": has_corners} if kind in ("linear", "cubic") else {}
    where = {"scale_factor": (1.0, factor)} if factor else {"size": (2, size)}
    return F.interpolate(x, mode=MODES[kind], antialias=kind.startswith("antialiased"), **where, **options)


@pytest.mark.parametrize("kind", resample.FILTERS)
def test_tables_are_those_of_pytorch(kind):
    """Of many sizes. Positions are rounded as PyTorch's, which matters for hundreds of elements."""
    rng = random.Random(1)
    for _ in range(150):
        n, factor = rng.choice((rng.randint(1, 40), rng.randint(50, 700))), rng.choice((None, rng.uniform(0.1, 4)))
        factor = None if kind == "mean" else factor
        size, has_corners = int(n * factor) if factor else rng.randint(1, 900), kind in ("linear", "cubic") and rng.random() < 0.4
        if size:
            x = torch.randn(1, 1, 2, n)
            made = torch.ops.remat.resample(x, 3, size, resample.FILTERS.index(kind), int(has_corners), resample.encode(factor or 0.0), 0)
            np.testing.assert_allclose(made, resize(x, kind, size, factor, has_corners), 0, 1e-5, err_msg=str((n, size, factor, has_corners)))


@pytest.mark.parametrize("kind", resample.FILTERS)
@pytest.mark.parametrize("n, m", [(1, 1), (1, 5), (7, 1), (9, 4), (4, 9), (3, 40), (40, 3)])
def test_transposed_tables(kind, n, m):
    def make_matrix(taps, columns):
        places, weights = taps
        matrix = np.zeros((places.shape[1], columns))
        np.add.at(matrix, (np.broadcast_to(np.arange(len(matrix)), places.shape), places), weights)
        return matrix

    taps = resample.find_taps(kind, False, n, m, 0.0, np.float64)
    np.testing.assert_array_equal(make_matrix(resample.transpose_taps(taps, n), m), make_matrix(taps, n).T)


@pytest.mark.parametrize("shape, mode", [((2, 3, 9), "linear"), ((2, 3, 6, 9), "bilinear"), ((2, 3, 4, 6, 5), "trilinear"), ((2, 3, 6, 9), "bicubic")])
@pytest.mark.parametrize("has_corners", [False, True])
def test_neighbours(shape, mode, has_corners):
    count = len(shape) - 2
    check_gradient(shape, lambda x: [F.interpolate(x, mode=mode, align_corners=has_corners, **options) for options in (
        {"scale_factor": 2}, {"size": (4, 11, 13)[:count]}, {"scale_factor": 0.6}, {"size": (1,) * count}, {"scale_factor": (7, 5.5, 3)[:count]},
        {"scale_factor": 2.3, "recompute_scale_factor": True}, {"size": shape[2:]})])


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("options", [{"size": (3, 20)}, {"scale_factor": 0.3}, {"scale_factor": 1.7}])
def test_antialiased(kind, mode, options):
    check_gradient((2, 3, 6, 9), lambda x: F.interpolate(x, mode=mode, antialias=True, **options), kind, 1e-5 if kind == torch.float32 else 1e-12)


@pytest.mark.parametrize("shape, function", [
    ((2, 3, 6, 9), lambda x: F.adaptive_avg_pool2d(x, (4, 11))), ((3, 6, 9), lambda x: F.adaptive_avg_pool2d(x, (None, 5))),
    ((2, 3, 9), lambda x: F.adaptive_avg_pool1d(x, 4)), ((2, 4, 5, 6), lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1))),
    ((2, 3, 6, 90), lambda x: F.interpolate(x, size=(4, 7), mode="area"))])
def test_means(shape, function):
    check_gradient(shape, function)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("has_corners", [False, True])
def test_grid_samples(mode, padding, has_corners):
    """At positions of which some are outside, that are computed or data."""
    grid = torch.rand(2, 5, 4, 2, generator=torch.Generator().manual_seed(1)) * 2.6 - 1.3
    check_gradient((2, 3, 6, 9), lambda x: [F.grid_sample(x, at.to(x.dtype), mode, padding, has_corners) for at in (
        torch.tanh(x[:, :2].permute(0, 2, 3, 1)) * 1.3, grid)], tolerance=2e-5, oracle=torch.float64)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_samples_of_volumes(mode, padding):
    check_gradient((2, 3, 4, 5, 6), lambda x: F.grid_sample(x, torch.tanh(x.permute(0, 2, 3, 4, 1)) * 1.3, mode, padding, False))


@pytest.mark.parametrize("policy", ["nothing_saveable", "dots_saveable"])
def test_policies_keep_the_bits(policy):
    def compute(x):
        return torch.sin(F.interpolate(torch.sin(x), scale_factor=2, mode="bilinear"))

    images = []
    for chosen in (None, policy):
        step = train(Scaled((2, 3, 6, 9), compute), torch.tensor(1.5), policy=chosen)
        for _ in range(2):
            step(torch.tensor(1.5))
        images.append(np.array(step.parameters["image"]))
    np.testing.assert_array_equal(*images)


@pytest.mark.parametrize("function, most", [
    (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), 16 * 32 * 32),  # the result, for its square
    (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), 16 * 32 * 32),
    (lambda x: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)), align_corners=False), 10 * 16 * 16 * 16)])
def test_what_is_kept(function, most):
    """The four neighbours of each element, their places and weights for each channel would be more."""
    step = train(Scaled((1, 16, 16, 16), function), torch.tensor(1.5))
    assert step.memory.residuals <= 4 * most


def test_what_is_not_finite_stays_where_it_is():
    """A weight of 0 in a table that others need longer is no product with infinity."""
    model = Scaled((1, 1, 2, 8), lambda x: F.interpolate(x, size=(2, 3), mode="bicubic")[..., 1:])
    with torch.no_grad():
        model.image[0, 0, 0, 0] = torch.inf
    step = train(model, torch.tensor(1.5))
    assert np.isfinite(float(step(torch.tensor(1.5)))) == np.isfinite(model(torch.tensor(1.5)).item())


@pytest.mark.parametrize("compute", [
    *(lambda x, mode=mode: F.interpolate(x, size=(5, 13), mode=mode) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")),
    lambda x: F.adaptive_avg_pool2d(x, (4, 3)), lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x[0], (2, 4), divisor_override=5),
    lambda x: F.avg_pool2d(x, 4, 3, 1, ceil_mode=True, count_include_pad=False)])
def test_derivatives_in_forward(compute):
    """As a penalty on the gradient has them."""
    check_gradient((2, 3, 6, 9), lambda x: torch.func.grad(lambda y: (compute(y) ** 3).sum())(x), tolerance=1e-4)


def test_infinite_gradients_stay_where_they_are():
    """Where a table is as long as others need, a weight of 0 stands for nothing, and is no product with infinity."""
    model = Scaled((1, 1, 2, 8), lambda x: F.interpolate(x, size=(2, 3), mode="bilinear"))
    with torch.no_grad():
        model.image[0, 0, 0, 0] = torch.inf
    start = model.image.detach().numpy().copy()
    step = train(model, torch.tensor(1.5))
    step(torch.tensor(1.5))
    image = np.array(step.parameters["image"])
    assert not np.isfinite(image[0, 0, 0, 0])
    np.testing.assert_array_equal(image[..., [2, 5]], start[..., [2, 5]])  # which no result reads


@pytest.mark.parametrize("function, sizes", [
    (lambda x: F.interpolate(x[..., :0], size=(2, 3), mode="bicubic"), r"\(6, 0\) to \(2, 3\)"),
    (lambda x: F.interpolate(x, scale_factor=0.1), r"\(6, 9\) to \(0, 0\)")])
def test_images_of_nothing(function, sizes):
    with pytest.raises(remat.export.ExportError, match=rf"test_torch_resample.py:\d+ \(root\): it interpolates images of sizes {sizes}, but all"):
        train(Scaled((2, 3, 6, 9), function), torch.tensor(1.5))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_images_of_any_size(mode):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.zeros(3, 1, 1))

        def forward(self, x):
            return (F.interpolate(x + self.bias, scale_factor=2, mode=mode) ** 2).mean()

    exported = remat.export.from_torch(Model(), {"x": torch.randn(2, 3, 8, 10)}, dynamic={"x": {2: "h", 3: "w"}})
    assert "tensor<2x3x?x2x?x2xf32>" in exported.text


def test_images_of_any_number():
    class Model(Scaled):
        def forward(self, factors):
            return (F.interpolate(self.image[:1] * factors, scale_factor=2, mode="bilinear") ** 2).mean()

    model = Model((2, 3, 6, 9), None)
    step = train(model, torch.ones(2, 1, 1, 1), dynamic=True)
    for count in (1, 5):
        factors = torch.linspace(1, 2, count).reshape(-1, 1, 1, 1)
        want = model(factors).item()
        np.testing.assert_allclose(step(factors), want, 1e-5)
        model.load_state_dict({"image": torch.from_numpy(np.array(step.parameters["image"]))})

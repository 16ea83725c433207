# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions, and convolutions of one to three dimensions, as PyTorch and JAX write them: gradients in float64."""
import numpy as np
import pytest

import remat


# The kind and its arguments; the shape of images.
TORCH = {
    "1-d": ("ConvTranspose1d", (4, 6, 5, 3, 2, 1), {}, (2, 4, 7)),
    "1-d, groups": ("ConvTranspose1d", (4, 6, 3, 2), dict(groups=2), (2, 4, 7)),
    "2-d": ("ConvTranspose2d", (4, 6, (3, 4), (2, 3), (1, 0), (1, 2)), {}, (2, 4, 5, 6)),
    "no bias": ("ConvTranspose2d", (4, 6, 4, 2, 1), dict(bias=False), (2, 4, 5, 6)),
    "groups": ("ConvTranspose2d", (4, 6, 3, 2, 1, 1), dict(groups=2), (2, 4, 5, 6)),
    "dilation": ("ConvTranspose2d", (4, 6, 3, 2, 1, 1), dict(dilation=(2, 1)), (2, 4, 5, 6)),
    "stride 1": ("ConvTranspose2d", (4, 6, 3, 1, 1), {}, (2, 4, 5, 6)),
    "one position": ("ConvTranspose2d", (4, 6, 4, 1, 0), {}, (2, 4, 1, 1)),
    "padding beyond the filter": ("ConvTranspose2d", (4, 6, 3, 2, 3), {}, (2, 4, 8, 8)),
    "3-d": ("ConvTranspose3d", (4, 6, 2, 2), {}, (2, 4, 3, 4, 5)),
    "3-d, padding": ("ConvTranspose3d", (4, 6, 3, (2, 1, 2), 1, (1, 0, 1)), {}, (2, 4, 3, 4, 5)),
    "3-d, groups": ("ConvTranspose3d", (4, 6, 3, 2, 1, 1), dict(groups=2), (2, 4, 3, 4, 5)),
    "convolution, 3-d": ("Conv3d", (4, 6, 3, (1, 2, 1), 1), {}, (2, 4, 5, 6, 4)),
    "convolution, 3-d, dilation": ("Conv3d", (4, 6, (2, 3, 1), 1, (1, 2, 0)), dict(dilation=(1, 2, 1)), (2, 4, 5, 6, 4)),
    "convolution, 3-d, groups": ("Conv3d", (4, 6, 3), dict(groups=2), (2, 4, 5, 5, 5)),
}


@pytest.mark.parametrize("name", TORCH)
def test_torch(name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")

    class Model(torch.nn.Module):
        def __init__(self, net):
            super().__init__()
            self.before, self.net = torch.nn.Parameter(torch.ones(())), net

        def forward(self, x):
            return (self.net(x * self.before) ** 2).mean()

    torch.manual_seed(0)
    kind, arguments, options, shape = TORCH[name]
    model, x = Model(getattr(torch.nn, kind)(*arguments, **options)).double(), torch.randn(shape, dtype=torch.float64)
    loss = model(x)
    loss.backward()
    start = {n: p.detach().numpy().copy() for n, p in model.named_parameters()}
    gradients = {n: p.grad.numpy() for n, p in model.named_parameters()}
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(1.0))
    np.testing.assert_allclose(step(x), loss.item(), 1e-12)
    for n, gradient in gradients.items():
        np.testing.assert_allclose(start[n] - step.parameters[n], gradient, 1e-9, 1e-10, err_msg=n)


# Shapes of images and filters; options of lax.conv_general_dilated, with strides of 1 if there are none.
JAX = {
    "1-d": ((2, 5, 4), (3, 4, 6), dict(padding=[(1, 2)], lhs_dilation=(2,))),
    "2-d": ((2, 5, 6, 4), (3, 2, 4, 6), dict(padding=[(1, 2), (0, 1)], lhs_dilation=(2, 3))),
    "channels first": ((2, 4, 5, 6), (6, 4, 3, 3), dict(padding=[(1, 2), (2, 1)], lhs_dilation=(2, 2),
                                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))),
    "dilation": ((2, 5, 6, 4), (3, 3, 4, 6), dict(padding=[(1, 2), (2, 1)], lhs_dilation=(2, 3), rhs_dilation=(2, 1))),
    "groups": ((2, 5, 6, 4), (3, 3, 2, 6), dict(padding=[(1, 2), (2, 1)], lhs_dilation=(2, 2), feature_group_count=2)),
    "depthwise": ((2, 5, 6, 4), (3, 3, 1, 4), dict(padding=[(1, 2), (2, 1)], lhs_dilation=(2, 2), feature_group_count=4)),
    "cut": ((2, 5, 6, 4), (3, 3, 4, 6), dict(padding=[(-1, 2), (2, -1)], lhs_dilation=(2, 3))),
    "far": ((2, 5, 6, 4), (2, 2, 4, 6), dict(padding=[(3, 4), (0, 5)], lhs_dilation=(2, 2))),
    "strides on both sides": ((2, 5, 6, 4), (3, 3, 4, 6), dict(window_strides=(2, 2), padding=[(1, 2), (2, 1)], lhs_dilation=(3, 3))),
    "3-d": ((2, 3, 5, 4, 4), (2, 3, 2, 4, 6), dict(padding=[(1, 1), (2, 0), (0, 1)], lhs_dilation=(2, 2, 2))),
    "convolution, 3-d": ((2, 5, 6, 5, 4), (3, 3, 2, 4, 6), dict(padding=[(1, 1), (2, 0), (0, 1)], rhs_dilation=(1, 2, 1))),
    "convolution, 3-d, channels first": ((2, 4, 5, 6, 5), (6, 4, 3, 3, 3), dict(window_strides=(2, 2, 2), padding=[(1, 1)] * 3,
                                                                                dimension_numbers=("NCDHW", "OIDHW", "NCDHW"))),
    "convolution, 3-d, depthwise": ((2, 5, 6, 5, 4), (3, 3, 3, 1, 4), dict(padding=[(1, 1)] * 3, feature_group_count=4)),
    "convolution, 3-d, groups": ((2, 5, 6, 5, 4), (3, 3, 3, 2, 6), dict(padding=[(1, 1)] * 3, feature_group_count=2)),
}
LAST = {3: ("NWC", "WIO", "NWC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NDHWC", "DHWIO", "NDHWC")}


@pytest.mark.parametrize("name", JAX)
def test_jax(name):
    jax = pytest.importorskip("jax")
    pytest.importorskip("iree.compiler")
    image, filters, options = JAX[name]
    rank = len(image)
    options = {"window_strides": (1,) * (rank - 2), "dimension_numbers": LAST[rank], **options}

    def loss(params, x):
        return (jax.lax.conv_general_dilated(x * params["before"], params["filters"], **options) ** 2).mean()

    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        params, x = {"before": np.ones(()), "filters": random.standard_normal(filters)}, random.standard_normal(image)
        value, gradients = jax.value_and_grad(loss)(params, x)
        step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(1.0))
        np.testing.assert_allclose(step(x), value, 1e-12)
        for n, gradient in gradients.items():
            np.testing.assert_allclose(params[n] - np.asarray(step.params[n]), gradient, 1e-9, 1e-10, err_msg=n)

"""Padded convolutions of both layouts with a bias, from linalg through differentiation to library calls, against JAX in
float64."""
import re
import tempfile

import jax
import numpy as np

from remat.testing import TrainedLibrary

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(0)


def types(shapes):
    return ["tensor<" + "".join(f"{n}x" for n in shape) + "f64>" for shape in shapes]


def program(name, layout, x, w, y, pads, strides, dilations):
    height = layout.index("h", 1)
    low, high = ([0] * 4 for _ in range(2))
    for i in (0, 1):
        low[height + i], high[height + i] = pads[2 * i:2 * i + 2]
    padded = [a + b + c for a, b, c in zip(x, low, high)]
    op = {"nhwc": "linalg.conv_2d_nhwc_hwcf", "nchw": "linalg.conv_2d_nchw_fchw"}[layout]
    channel = layout.index("c")
    tx, tw, ty, tp, tb = types([x, w, y, padded, [y[channel]]])
    return f"""
func.func @{name}(%x: {tx} {{opt.param}}, %w: {tw} {{opt.param}}, %b: {tb} {{opt.param}}, %r: {ty}) -> tensor<f64> {{
  %zero = arith.constant 0.0 : f64
  %p = tensor.pad %x low{low} high{high} {{
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f64
  }} : {tx} to {tp}
  %e = tensor.empty() : {ty}
  %init = linalg.broadcast ins(%b : {tb}) outs(%e : {ty}) dimensions = {[i for i in range(4) if i != channel]}
  %y = {op} {{dilations = dense<{list(dilations)}> : tensor<2xi64>, strides = dense<{list(strides)}> : tensor<2xi64>}}
      ins(%p, %w : {tp}, {tw}) outs(%init : {ty}) -> {ty}
  %e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %loss = linalg.generic {{indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>,
      affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}}
      ins(%y, %r : {ty}, {ty}) outs(%f0 : tensor<f64>) {{
  ^bb0(%u: f64, %v: f64, %acc: f64):
    %0 = arith.mulf %u, %v : f64
    %1 = arith.addf %acc, %0 : f64
    linalg.yield %1 : f64
  }} -> tensor<f64>
  return %loss : tensor<f64>
}}"""


def expected(layout, x, w, b, r, pads, strides, dilations):
    numbers = {"nhwc": ("NHWC", "HWIO", "NHWC"), "nchw": ("NCHW", "OIHW", "NCHW")}[layout]
    shape = [1] * 4
    shape[layout.index("c")] = -1

    def loss(x, w, b):
        y = jax.lax.conv_general_dilated(x, w, strides, [pads[:2], pads[2:]], rhs_dilation=dilations,
                                         dimension_numbers=numbers)
        y = y[tuple(slice(size) for size in r.shape)]
        return ((y + b.reshape(shape)) * r).sum()
    value, gradients = jax.value_and_grad(loss, argnums=(0, 1, 2))(x, w, b)
    return [np.asarray(v) for v in (value, *gradients)]


CASES = [  # batch, image, channels, kernel, filters, pads (y, y, x, x), strides, dilations, positions left out
    (2, (9, 8), 3, (3, 3), 5, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (9, 8), 3, (3, 2), 5, (0, 1, 2, 0), (2, 1), (1, 2), (0, 0)),
    (3, (6, 6), 8, (1, 1), 4, (0, 0, 0, 0), (2, 2), (1, 1), (0, 0)),
    (1, (20, 20), 70, (3, 3), 40, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (9, 8), 3, (3, 2), 5, (1, 1, 0, 0), (2, 1), (1, 1), (1, 2)),
    (0, (6, 6), 3, (3, 3), 4, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (6, 6), 0, (3, 3), 4, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (6, 6), 3, (3, 3), 0, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
]
texts, checks = [], []
for layout in ("nhwc", "nchw"):
    for n, image, c, kernel, f, pads, strides, dilations, less in CASES:
        size = [(image[i] + sum(pads[2 * i:2 * i + 2]) - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 - less[i]
                for i in (0, 1)]
        x, w, y = ((n, *image, c), (*kernel, c, f), (n, *size, f)) if layout == "nhwc" else \
            ((n, c, *image), (f, c, *kernel), (n, f, *size))
        name = f"f{len(checks)}"
        texts.append(program(name, layout, x, w, y, pads, strides, dilations))
        arrays = [random.standard_normal(shape).astype("f8") for shape in (x, w, (f,), y)]
        checks.append((name, arrays, expected(layout, *arrays, pads, strides, dilations)))

with tempfile.TemporaryDirectory() as folder:
    library = TrainedLibrary("".join(texts), folder)
for name, arrays, want in checks:
    function = library.text.partition(f"func.func @{name}_grad(")[2].partition("func.func")[0]
    called = sorted(re.findall(r"call @remat_conv_2d_(?:channels_first_)?(\w*)f64\(", function))
    assert called == ["", "backward_data_", "backward_filter_"], (name, called)
    results = library.call(f"{name}_grad", arrays, [("f64", v.shape) for v in want])
    for result, value in zip(results, want, strict=True):
        error = np.abs(result - value).max(initial=0) / (np.abs(value).max(initial=0) or 1)
        assert error < 1e-11, (name, value.shape, error)
print("convolutions: ok")

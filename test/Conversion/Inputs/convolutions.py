# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padded and transposed convolutions of both layouts with a bias, from linalg through differentiation to library calls, and
the derivatives of their gradients, against JAX in float64."""
import re
import tempfile

import jax
import numpy as np

from remat.testing.libraries import TrainedLibrary

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(0)
OPS = {"nhwc": "conv_2d_nhwc_hwcf", "nchw": "conv_2d_nchw_fchw",
       "ndhwc": "conv_3d_ndhwc_dhwcf", "ncdhw": "conv_3d_ncdhw_fcdhw"}
NUMBERS = {"nhwc": ("NHWC", "HWIO", "NHWC"), "nchw": ("NCHW", "OIHW", "NCHW"),
           "ndhwc": ("NDHWC", "DHWIO", "NDHWC"), "ncdhw": ("NCDHW", "OIDHW", "NCDHW")}


def types(shapes):
    return ["tensor<" + "".join(f"{n}x" for n in shape) + "f64>" for shape in shapes]


def spread(layout, values, other):
    """`values` in the dimensions in space, `other` elsewhere."""
    values = iter(values)
    return [other if d in "nc" else next(values) for d in layout]


def loss_of(ty, rank):
    """The sum of products of %y and %r, as %loss."""
    dims = ", ".join("abcde"[:rank])
    return f"""%e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %loss = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({dims})>,
      affine_map<({dims}) -> ()>], iterator_types = [{', '.join(['"reduction"'] * rank)}]}}
      ins(%y, %r : {ty}, {ty}) outs(%f0 : tensor<f64>) {{
  ^bb0(%u: f64, %v: f64, %acc: f64):
    %0 = arith.mulf %u, %v : f64
    %1 = arith.addf %acc, %0 : f64
    linalg.yield %1 : f64
  }} -> tensor<f64>
  return %loss : tensor<f64>"""


def program(name, layout, x, w, y, pads, strides, dilations, steps):
    """A convolution of images of shape x, `steps` apart between zeros."""
    rank, channel = len(x), layout.index("c")
    low, high = (spread(layout, pads[i::2], 0) for i in (0, 1))
    padded = [a + (n - 1) * s + 1 + b for a, n, s, b in zip(low, x, spread(layout, steps, 1), high)]
    tx, tw, ty, tp, tb = types([x, w, y, padded, [y[channel]]])
    if max(steps) == 1:
        arguments = ", ".join(f"%i{i}: index" for i in range(rank))
        pad = f"""%p = tensor.pad %x low{low} high{high} {{
  ^bb0({arguments}):
    tensor.yield %zero : f64
  }} : {tx} to {tp}"""
    else:
        pad = f"""%s = tensor.empty() : {tp}
  %z = linalg.fill ins(%zero : f64) outs(%s : {tp}) -> {tp}
  %p = tensor.insert_slice %x into %z{low} {list(x)} {spread(layout, steps, 1)} : {tx} into {tp}"""
    return f"""
func.func @{name}(%x: {tx} {{opt.param}}, %w: {tw} {{opt.param}}, %b: {tb} {{opt.param}}, %r: {ty}) -> tensor<f64> {{
  %zero = arith.constant 0.0 : f64
  {pad}
  %e = tensor.empty() : {ty}
  %init = linalg.broadcast ins(%b : {tb}) outs(%e : {ty}) dimensions = {[i for i in range(rank) if i != channel]}
  %y = linalg.{OPS[layout]} {{dilations = dense<{list(dilations)}> : tensor<{rank - 2}xi64>,
      strides = dense<{list(strides)}> : tensor<{rank - 2}xi64>}} ins(%p, %w : {tp}, {tw}) outs(%init : {ty}) -> {ty}
  {loss_of(ty, rank)}
}}"""


def convolve(layout, x, w, pads, strides, dilations, steps=None, groups=1):
    return jax.lax.conv_general_dilated(x, w, strides, list(zip(pads[::2], pads[1::2])), steps, dilations, NUMBERS[layout], groups)


def expected(layout, x, w, b, r, *window):
    shape = [1] * x.ndim
    shape[layout.index("c")] = -1

    def loss(x, w, b):
        y = convolve(layout, x, w, *window)
        y = y[tuple(slice(size) for size in r.shape)]
        return ((y + b.reshape(shape)) * r).sum()
    value, gradients = jax.value_and_grad(loss, argnums=(0, 1, 2))(x, w, b)
    return [np.asarray(v) for v in (value, *gradients)]


def gradient_program(name, kind, layout, operands, y, pads, strides, dilations):
    """A gradient of a convolution by its operation."""
    ta, tb, ty = types([*operands, y])
    window = {"strides": strides, "dilations": dilations, "padding": pads}
    attributes = ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in window.items())
    first = "channels_first, " if layout[1] == "c" else ""
    return f"""
func.func @{name}(%a: {ta} {{opt.param}}, %b: {tb} {{opt.param}}, %r: {ty}) -> tensor<f64> {{
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : {ty}
  %y = remat.conv_{kind} ins(%a, %b : {ta}, {tb}) outs(%e : {ty}) {{{first}{attributes}}} -> {ty}
  {loss_of(ty, len(y))}
}}"""


def expected_of_gradient(kind, layout, like, a, b, r, *window):
    def loss(a, b):
        if kind == "backward_data":
            _, vjp = jax.vjp(lambda x: convolve(layout, x, b, *window), like)
            return (vjp(a)[0] * r).sum()
        _, vjp = jax.vjp(lambda w: convolve(layout, a, w, *window), like)
        return (vjp(b)[0] * r).sum()
    value, gradients = jax.value_and_grad(loss, argnums=(0, 1))(a, b)
    return [np.asarray(v) for v in (value, *gradients)]


CASES = [  # batch, image, channels, kernel, filters, pads (y, y, x, x), strides, dilations, positions left out, image's steps
    (2, (9, 8), 3, (3, 3), 5, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (9, 8), 3, (3, 2), 5, (0, 1, 2, 0), (2, 1), (1, 2), (0, 0)),
    (3, (6, 6), 8, (1, 1), 4, (0, 0, 0, 0), (2, 2), (1, 1), (0, 0)),
    (1, (20, 20), 70, (3, 3), 40, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (9, 8), 3, (3, 2), 5, (1, 1, 0, 0), (2, 1), (1, 1), (1, 2)),
    (0, (6, 6), 3, (3, 3), 4, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (6, 6), 0, (3, 3), 4, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    (2, (6, 6), 3, (3, 3), 0, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
    # Transposed: positions that no element reaches in between and at the end, dilations, elements that are left out.
    (2, (4, 5), 3, (4, 4), 5, (2, 2, 2, 2), (1, 1), (1, 1), (0, 0), (2, 2)),
    (2, (4, 5), 3, (2, 2), 5, (1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (2, 3)),
    (2, (4, 5), 3, (3, 2), 5, (1, 4, 0, 3), (1, 1), (1, 1), (0, 0), (3, 2)),
    (2, (4, 5), 3, (3, 2), 5, (4, 0, 1, 2), (1, 1), (2, 3), (0, 0), (2, 1)),
    (2, (6, 5), 3, (3, 3), 5, (0, 0, 1, 1), (1, 1), (1, 1), (3, 2), (2, 2)),
    (3, (1, 1), 20, (4, 4), 30, (3, 3, 3, 3), (1, 1), (1, 1), (0, 0), (2, 2)),
    # Of three dimensions.
    (2, (5, 6, 4), 3, (3, 3, 3), 5, (1, 1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (2, (5, 6, 4), 3, (3, 2, 1), 5, (0, 1, 2, 0, 0, 0), (2, 1, 1), (1, 2, 1), (0, 1, 1)),
    (0, (5, 6, 4), 3, (3, 3, 3), 5, (1, 1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (2, (3, 4, 5), 3, (2, 2, 2), 5, (1, 1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), (2, 2, 2)),
    (2, (3, 4, 2), 3, (3, 2, 3), 5, (4, 0, 1, 2, 1, 4), (1, 1, 1), (2, 3, 1), (0, 0, 0), (2, 1, 3)),
]
GRADIENTS = [  # batch, image, channels, kernel, filters, pads, strides, dilations
    (2, (9, 8), 3, (3, 3), 5, (1, 1, 1, 1), (1, 1), (1, 1)),
    (2, (9, 8), 3, (3, 2), 5, (0, 1, 2, 0), (2, 3), (1, 2)),
    (0, (9, 8), 3, (3, 3), 5, (1, 1, 1, 1), (1, 1), (1, 1)),
    (2, (5, 6, 4), 3, (3, 2, 2), 5, (0, 1, 2, 0, 1, 1), (2, 3, 1), (1, 2, 1)),
]


def size_of(image, kernel, pads, strides, dilations, steps):
    return [((n - 1) * step + 1 + sum(pads[2 * i:2 * i + 2]) - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
            for i, (n, step) in enumerate(zip(image, steps))]


def shapes_of(layout, n, image, c, kernel, f, size):
    if layout[1] == "c":
        return (n, c, *image), (f, c, *kernel), (n, f, *size)
    return (n, *image, c), (*kernel, c, f), (n, *size, f)


texts, checks = [], []
for layout in OPS:
    for n, image, c, kernel, f, pads, strides, dilations, less, *rest in CASES:
        if len(image) != len(layout) - 2:
            continue
        steps = rest[0] if rest else (1,) * len(image)
        size = [a - b for a, b in zip(size_of(image, kernel, pads, strides, dilations, steps), less)]
        x, w, y = shapes_of(layout, n, image, c, kernel, f, size)
        name, window = f"f{len(checks)}", (pads, strides, dilations, steps)
        texts.append(program(name, layout, x, w, y, *window))
        arrays = [random.standard_normal(shape).astype("f8") for shape in (x, w, (f,), y)]
        checks.append((name, arrays, expected(layout, *arrays, *window)))
    for kind in ("backward_data", "backward_filter"):
        for n, image, c, kernel, f, *window in GRADIENTS:
            if len(image) != len(layout) - 2:
                continue
            size = size_of(image, kernel, *window, (1,) * len(image))
            x, w, y = shapes_of(layout, n, image, c, kernel, f, size)
            a, b, like = (y, w, x) if kind == "backward_data" else (x, y, w)
            name = f"f{len(checks)}"
            texts.append(gradient_program(name, kind, layout, (a, b), like, *window))
            arrays = [random.standard_normal(shape).astype("f8") for shape in (a, b, like)]
            checks.append((name, arrays, expected_of_gradient(kind, layout, np.zeros(like), *arrays, *window)))

with tempfile.TemporaryDirectory() as folder:
    library = TrainedLibrary("".join(texts), folder)
for name, arrays, want in checks:
    function = library.text.partition(f"func.func @{name}_grad(")[2].partition("func.func")[0]
    called = sorted(re.findall(r"call @remat_conv_\dd_(?:channels_first_)?(\w*)f64\(", function))
    assert called == ["", "backward_data_", "backward_filter_"], (name, called)
    results = library.call(f"{name}_grad", arrays, [("f64", v.shape) for v in want])
    for result, value in zip(results, want, strict=True):
        error = np.abs(result - value).max(initial=0) / (np.abs(value).max(initial=0) or 1)
        assert error < 1e-11, (name, value.shape, error)
print("convolutions: ok")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of bf16 and f16 values that many terms add up to: summed in f32 and rounded once.

In the narrow type, bf16 would stop at 256 and f16 at 2048.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import Library, TrainedLibrary  # noqa: E402

COUNT = 3000
PROGRAM = """
func.func @table(%ix: tensor<{n}xi64>, %t: tensor<2x8x{kind}> {{opt.param}}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %e = tensor.empty() : tensor<{n}x8xi1>
  %l = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}} ins(%ix, %e : tensor<{n}xi64>, tensor<{n}x8xi1>) outs(%z : tensor<f32>) {{
  ^bb0(%n: i64, %shape: i1, %acc: f32):
    %i = arith.index_cast %n : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<2x8x{kind}>
    %w = arith.extf %v : {kind} to f32
    %s = arith.addf %acc, %w : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  return %l : tensor<f32>
}}
func.func @pooling(%x: tensor<1x{m}x1x{kind}> {{opt.param}}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %low = arith.constant -1.0 : {kind}
  %e = tensor.empty() : tensor<1x{n}x1x{kind}>
  %f = linalg.fill ins(%low : {kind}) outs(%e : tensor<1x{n}x1x{kind}>) -> tensor<1x{n}x1x{kind}>
  %k = tensor.empty() : tensor<{n}x{kind}>
  %g = linalg.pooling_nwc_max ins(%x, %k : tensor<1x{m}x1x{kind}>, tensor<{n}x{kind}>)
      outs(%f : tensor<1x{n}x1x{kind}>) -> tensor<1x{n}x1x{kind}>
  %l = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction"]}} ins(%g : tensor<1x{n}x1x{kind}>) outs(%z : tensor<f32>) {{
  ^bb0(%a: {kind}, %acc: f32):
    %w = arith.extf %a : {kind} to f32
    %s = arith.addf %acc, %w : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  return %l : tensor<f32>
}}
func.func @splat(%x: tensor<{kind}> {{opt.param}}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %v = tensor.extract %x[] : tensor<{kind}>
  %g = tensor.splat %v : tensor<{n}x{kind}>
  %l = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}}
      ins(%g : tensor<{n}x{kind}>) outs(%z : tensor<f32>) {{
  ^bb0(%a: {kind}, %acc: f32):
    %w = arith.extf %a : {kind} to f32
    %s = arith.addf %acc, %w : f32
    linalg.yield %s : f32
  }} -> tensor<f32>
  return %l : tensor<f32>
}}
"""
PRODUCT = """
func.func @product(%x: tensor<1x{n}x{kind}> {{opt.param}}, %w: tensor<{n}x4x{kind}>) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x{n}x{kind}>, tensor<{n}x4x{kind}>) outs(%z : tensor<1x4xf32>) -> tensor<1x4xf32>
  %r = arith.truncf %y : tensor<1x4xf32> to tensor<1x4x{kind}>
  %s0 = tensor.empty() : tensor<f32>
  %s = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}}
      ins(%r : tensor<1x4x{kind}>) outs(%s : tensor<f32>) {{
  ^bb0(%a: {kind}, %acc: f32):
    %v = arith.extf %a : {kind} to f32
    %t = arith.addf %acc, %v : f32
    linalg.yield %t : f32
  }} -> tensor<f32>
  return %l : tensor<f32>
}}
"""


def main():
    # COUNT rounded once.
    expected = {"bf16": np.float32(3008).view("u4") >> 16, "f16": np.float16(COUNT).view("u2")}
    for kind, bits in expected.items():
        with tempfile.TemporaryDirectory() as folder:
            library = Library(PROGRAM.format(n=COUNT, m=2 * COUNT - 1, kind=kind), folder, "remat-differentiate")
            image = np.zeros((1, 2 * COUNT - 1, 1), "u2")
            image[0, COUNT - 1] = 0x3F80 if kind == "bf16" else 0x3C00
            table = library.call("table_grad", [np.zeros(COUNT, "i8"), np.zeros((2, 8), "u2")], [("f32", 0), (kind, 2)])
            pooling = library.call("pooling_grad", [image], [("f32", 0), (kind, 3)])
            splat = library.call("splat_grad", [np.array(0, "u2")], [("f32", 0), (kind, 0)])
            ones = np.full((1, COUNT), 0x3F80 if kind == "bf16" else 0x3C00, "u2")
            library = TrainedLibrary(PRODUCT.format(n=COUNT, kind=kind), folder, name="product")
            sums, _ = library.call("product_grad", [ones, np.repeat(ones.T, 4, 1)], [("f32", ()), (kind, (1, COUNT))])
        for name, (_, gradient), right in (("table", table, np.repeat([bits, 0], 8)), ("splat", splat, [bits]),
                                           ("pooling", pooling, np.where(image.ravel() > 0, bits, 0))):
            same = np.array_equal(np.asarray(gradient).view("u2").ravel(), np.asarray(right, "u2"))
            print(f"{kind} {name}: {'rounded once' if same else np.asarray(gradient).ravel()[:9]}")
        right = 4 * (3008 if kind == "bf16" else COUNT)
        print(f"{kind} product: {'rounded once' if float(sums) == right else float(sums)}")


main()

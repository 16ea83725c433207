//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_COMPLEX_PASSES_TD
#define REMAT_TRANSFORMS_COMPLEX_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitComplexPass : Pass<"remat-split-complex"> {
  let summary = "complex tensors as two real ones";
  let description = [{
    Replaces a complex tensor by the tensors of its real and its imaginary parts: through
    kernels, views, constants, loops, branches and regions. A product of two complex
    matrices becomes four of real ones, and operations on complex numbers are expanded
    (`-convert-complex-to-standard`), so that later passes see real numbers only,
    differentiate them and find products for a library. The absolute value has the
    derivative 0 at 0.

    Arguments and results of functions stay complex: arguments are split after the
    function's entry, results are put together before its return. There is no gradient of
    an argument that is complex; a parameter has to be two tensors.

    Run it after `remat-decompose` and inlining, which leave fewer functions and
    loops.

    Example:

    ```mlir
    %z = linalg.generic {...} ins(%a, %b : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
    ^bb0(%x: complex<f32>, %y: complex<f32>, %out: complex<f32>):
      %s = complex.add %x, %y : complex<f32>
      linalg.yield %s : complex<f32>
    } -> tensor<4xcomplex<f32>>
    // becomes
    %z:2 = linalg.generic {...} ins(%a0, %a1, %b0, %b1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%e0, %e1 : tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%xr: f32, %xi: f32, %yr: f32, %yi: f32, %out0: f32, %out1: f32):
      %sr = arith.addf %xr, %yr : f32
      %si = arith.addf %xi, %yi : f32
      linalg.yield %sr, %si : f32, f32
    } -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_COMPLEX_PASSES_TD

// A run starts from the values in the module; those of a file go before them, and a resumed run keeps its own.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: remat-opt %s -remat-import="optimizer=#opt.sgd<lr=1.0>" -remat-train -o program.mlir
// RUN: env REMAT_STEPS=1 REMAT_CHECKPOINT=start.npz mlir-runner program.mlir -e main -entry-point-result=void --shared-libs=%runtime,%mlir_c_runner_utils
// RUN: %python %S/Inputs/show.py start.npz | FileCheck %s --check-prefix=START
// RUN: env REMAT_STEPS=2 REMAT_CHECKPOINT=run.npz mlir-runner program.mlir -e main -entry-point-result=void --shared-libs=%runtime,%mlir_c_runner_utils
// RUN: %python %S/Inputs/show.py run.npz | FileCheck %s --check-prefix=TWO
// RUN: env REMAT_STEPS=3 REMAT_CHECKPOINT=run.npz mlir-runner program.mlir -e main -entry-point-result=void --shared-libs=%runtime,%mlir_c_runner_utils
// RUN: %python %S/Inputs/show.py run.npz | FileCheck %s --check-prefix=RESUMED
// RUN: %python -c "import numpy; numpy.savez('init.npz', w=numpy.float32([9, 9]))"
// RUN: env REMAT_STEPS=1 REMAT_INIT=init.npz REMAT_CHECKPOINT=init.ckpt mlir-runner program.mlir -e main -entry-point-result=void --shared-libs=%runtime,%mlir_c_runner_utils
// RUN: %python %S/Inputs/show.py init.ckpt | FileCheck %s --check-prefix=INIT

// START: b [-0.5, -1.5] count 6 half [0.5, -3.0] w [0.0, 1.0]
// TWO: b [-1.5, -2.5] count 7 half [-0.5, -4.0] w [-1.0, 0.0]
// RESUMED: b [-2.5, -3.5] count 8 half [-1.5, -5.0] w [-2.0, -1.0]
// INIT: b [-0.5, -1.5] count 6 half [0.5, -3.0] w [8.0, 8.0]
#v = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
ml_program.global private mutable @count(dense<5> : tensor<i64>) : tensor<i64>
func.func @loss() -> tensor<f32> {
  %one = arith.constant dense<1> : tensor<i64>
  %old = ml_program.global_load @count : tensor<i64>
  %new = arith.addi %old, %one : tensor<i64>
  ml_program.global_store @count = %new : tensor<i64>
  %w = arith.constant dense_resource<w> : tensor<2xf32>
  %half = arith.constant dense_resource<half> : tensor<2xbf16>
  %b = arith.constant dense<[0.5, -0.5]> : tensor<2xf32> loc("b")
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [#v, #v, #v, #s], iterator_types = ["reduction"]}
      ins(%w, %b, %half : tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %h: bf16, %acc: f32):
    %e = arith.extf %h : bf16 to f32
    %r = arith.addf %p, %q : f32
    %t = arith.addf %r, %e : f32
    %u = arith.addf %acc, %t : f32
    linalg.yield %u : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040",
      half: "0x02000000C03F00C0"
    }
  }
#-}

// A step for CUDA: the host launches kernels of one image; it touches no memory of the device itself.
// RUN: remat-opt %s --remat-train="target=cuda emulate" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --implicit-check-not=gpu.module --implicit-check-not=memref
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=KERNEL

// CHECK-LABEL: llvm.func internal @step
// CHECK: llvm.call @remat_cuda_launch
// CHECK-NOT: @remat_cuda_read
// CHECK: llvm.return
// The image is loaded first: it says which driver runs the program.
// CHECK-LABEL: llvm.func @main()
// CHECK: %[[IMAGE:.*]] = llvm.mlir.addressof @kernels_image
// CHECK-NOT: llvm.call
// CHECK: llvm.call @remat_cuda_module(%[[IMAGE]])
// CHECK: llvm.call @remat_rt_train_begin
// The loss stays where it is until it is logged.
// CHECK: llvm.call @remat_rt_train_done_at
// KERNEL-DAG: llvm.mlir.global internal constant @kernels_image
// KERNEL-DAG: llvm.func internal @kernels_generic

// Two sizes of blocks, the same arena.
// RUN: remat-opt %s --remat-train="target=cuda emulate block-size=64 report=%t.64.json" -o /dev/null
// RUN: remat-opt %s --remat-train="target=cuda emulate report=%t.json" -o /dev/null
// RUN: diff %t.64.json %t.json

// RUN: not remat-opt %s --remat-train="target=cuda emulate block-size=48" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BLOCK
// BLOCK: error: 'block-size' must be a power of two from 32 to 1024, but got 48

#id = affine_map<(i) -> (i)>
opt.optimizer @adam = #opt.adamw<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@adam) {data = "data.npz", steps = 2 : i64, eager}
func.func @loss(%x: tensor<200xf32> {remat.data = "x"}, %w: tensor<200xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %w : tensor<200xf32>, tensor<200xf32>) outs(%start : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %d = arith.subf %p, %q : f32
    %s = arith.mulf %d, %d : f32
    %r = arith.addf %acc, %s : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// Loops that have more iterations together than 64 bits count are not merged.
// RUN: remat-opt %s -convert-linalg-to-kernels | FileCheck %s

#id = affine_map<(i, j, k) -> (i, j, k)>
// CHECK-LABEL: func.func @more_iterations_than_64_bits_count(
// CHECK-NOT: sizes: [581896768]
// CHECK: func.func private @kernel_generic(%{{.*}}: memref<3037000500x12148002000xf32
// CHECK: scf.parallel
func.func @more_iterations_than_64_bits_count(%x: memref<3037000500x3037000500x4xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%x : memref<3037000500x3037000500x4xf32>) {
  ^bb0(%a: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Lanes follow from the shape: neither the block size nor the layout of an operand changes a sum.
// RUN: remat-opt %s --convert-linalg-to-gpu-kernels=block-size=32 --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s --convert-linalg-to-gpu-kernels=block-size=1024 --canonicalize --cse | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK: gpu.func @[[STRIDED:[a-z_0-9]+]](
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1000 step %c256
// CHECK: gpu.func @[[DENSE:[a-z_0-9]+]](
// CHECK: scf.for %{{.*}} = %{{.*}} to %c250 step %c64 iter_args(%{{.*}}) -> (vector<4xf32>)
func.func @lanes_depend_on_the_shape_only(%x: memref<600x1000xf32>, %y: memref<600xf32>, %z: memref<600x1000xf32, strided<[1, 600]>>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<600x1000xf32>) outs(%y : memref<600xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%z : memref<600x1000xf32, strided<[1, 600]>>) outs(%y : memref<600xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// RUN: remat-opt %s --convert-linalg-to-gpu-kernels --canonicalize --cse | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Eight threads side by side fill a sector of 32 bytes: with two results of bf16 each. Lanes stay what they are.
// CHECK: gpu.func {{.*}} workgroup(%{{.*}} : memref<1024xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1000 step %c128 iter_args({{.*}}) -> (f32)
// CHECK: gpu.func {{.*}} workgroup(%{{.*}} : memref<2048xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1000 step %c128 iter_args({{.*}}) -> (vector<2xf32>)
// CHECK: vector.load {{.*}} vector<2xbf16>
// CHECK: vector.store {{.*}} : memref<2048xf32, #gpu.address_space<workgroup>>, vector<2xf32>
func.func @narrow_results_are_computed_in_pairs(%x: memref<1000x600xbf16>, %y: memref<600xf32>, %odd: memref<1000x601xbf16>, %z: memref<601xf32>) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1000x600xbf16>) outs(%y : memref<600xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %0 = arith.addf %o, %w : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%odd : memref<1000x601xbf16>) outs(%z : memref<601xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %0 = arith.addf %o, %w : f32
    linalg.yield %0 : f32
  }
  return
}

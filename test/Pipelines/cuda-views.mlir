// RUN: remat-opt %s --remat-lower-to-cuda="emulate" | FileCheck %s

// The second kernel reads what the first one stores, by another view of the same memory: they become one.
// CHECK-LABEL: llvm.func @f(
// CHECK: llvm.call @remat_cuda_launch
// CHECK-NOT: llvm.call @remat_cuda_launch
#id = affine_map<(i) -> (i)>
func.func @f(%arena: memref<8388608xi8>, %x: memref<1048576xf32>, %y: memref<1048576xf32>) {
  %offset = arith.constant 4194304 : index
  %same = arith.constant 4194304 : index
  %a = memref.view %arena[%offset][] : memref<8388608xi8> to memref<1048576xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<1048576xf32>) outs(%a : memref<1048576xf32>) {
  ^bb0(%e: f32, %o: f32):
    %r = arith.addf %e, %e : f32
    linalg.yield %r : f32
  }
  %b = memref.view %arena[%same][] : memref<8388608xi8> to memref<1048576xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : memref<1048576xf32>) outs(%y : memref<1048576xf32>) {
  ^bb0(%e: f32, %o: f32):
    %r = arith.mulf %e, %e : f32
    linalg.yield %r : f32
  }
  return
}

// The pipeline leaves nothing but LLVM, and the stock runner executes it.
// RUN: remat-opt %s --remat-lower-to-cpu | mlir-runner -O3 -e main -entry-point-result=void --shared-libs=%mlir_runner_utils,%mlir_c_runner_utils,%runtime | FileCheck %s

// CHECK: data =
// CHECK-NEXT: [5, 5, 5]
// CHECK-NEXT: [9, 9, 9]
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %c = memref.alloc() : memref<2x3xf32>
  %a = memref.alloc() : memref<2x2xf32>
  %b = memref.alloc() : memref<2x3xf32>
  linalg.fill ins(%one : f32) outs(%c : memref<2x3xf32>)
  linalg.fill ins(%two : f32) outs(%b : memref<2x3xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%a : memref<2x2xf32>) {
  ^bb0(%out : f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %i, %j : index
    %l = arith.index_cast %k : index to i32
    %f = arith.sitofp %l : i32 to f32
    %p = arith.addf %f, %one : f32
    linalg.yield %p : f32
  }
  linalg.matmul ins(%a, %b : memref<2x2xf32>, memref<2x3xf32>) outs(%c : memref<2x3xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<2x3xf32>) {
  ^bb0(%out : f32):
    %m = arith.subf %out, %two : f32
    linalg.yield %m : f32
  }
  %u = memref.cast %c : memref<2x3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %a : memref<2x2xf32>
  memref.dealloc %b : memref<2x3xf32>
  memref.dealloc %c : memref<2x3xf32>
  return
}

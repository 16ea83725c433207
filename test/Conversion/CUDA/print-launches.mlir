// RUN: remat-opt %s --convert-linalg-to-gpu-kernels=traffic --remat-print-launches="function=twice_and_a_product" -o /dev/null | FileCheck %s
// RUN: remat-opt %s --convert-linalg-to-gpu-kernels=traffic --remat-print-launches="function=as_often_as_it_is_told" -o /dev/null | FileCheck %s --check-prefix=OFTEN
// RUN: not remat-opt %s --remat-print-launches="function=absent" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ABSENT

// ABSENT: error: no function 'absent' to print

#id = affine_map<(i) -> (i)>

func.func private @remat_gemm_f32(i64, memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)

// CHECK: "function": "twice_and_a_product"
// CHECK: "kernels": 1
// CHECK: "kind": "kernel"
// CHECK: "phase": "backward"
// CHECK-NEXT: "times": 3
// CHECK: "access": "read"
// CHECK-NEXT: "bytes": 4096
// CHECK-NEXT: "accessed": 4096
// CHECK-NEXT: "moved": 4096
// CHECK: "access": "write"
// CHECK-NEXT: "bytes": 4096
// CHECK: "kind": "product"
// CHECK-NEXT: "name": "remat_gemm_f32"
// CHECK: "phase": ""
// CHECK-NEXT: "times": 1
// CHECK: "access": "read"
// CHECK-NEXT: "bytes": 128
// CHECK: "access": "read"
// CHECK-NEXT: "bytes": 256
// CHECK: "access": "read_write"
// CHECK-NEXT: "bytes": 128
func.func @twice_and_a_product(%x: memref<1024xf32>, %y: memref<1024xf32>, %a: memref<4x8xf32>, %b: memref<8x8xf32>, %c: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %accumulates = arith.constant 1 : i64
  scf.for %i = %c0 to %c3 step %c1 {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<1024xf32>) outs(%y : memref<1024xf32>) attrs = {remat.phase = "backward"} {
    ^bb0(%e: f32, %o: f32):
      %n = arith.negf %e : f32
      linalg.yield %n : f32
    }
  }
  %p = memref.cast %a : memref<4x8xf32> to memref<?x?xf32>
  %q = memref.cast %b : memref<8x8xf32> to memref<?x?xf32>
  %r = memref.cast %c : memref<4x8xf32> to memref<?x?xf32>
  call @remat_gemm_f32(%accumulates, %p, %q, %r) : (i64, memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  return
}

// OFTEN: "function": "as_often_as_it_is_told"
// OFTEN: "name": "remat_gemm_f32"
// OFTEN: "times": null
// OFTEN: "access": "write"
func.func @as_often_as_it_is_told(%n: index, %a: memref<4x8xf32>, %b: memref<8x8xf32>, %c: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %anew = arith.constant 0 : i64
  %p = memref.cast %a : memref<4x8xf32> to memref<?x?xf32>
  %q = memref.cast %b : memref<8x8xf32> to memref<?x?xf32>
  %r = memref.cast %c : memref<4x8xf32> to memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @remat_gemm_f32(%anew, %p, %q, %r) : (i64, memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  }
  return
}

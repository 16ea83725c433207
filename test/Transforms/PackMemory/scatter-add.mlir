// RUN: remat-opt %s -remat-pack-memory -split-input-file | FileCheck %s

// The updates end where the table begins, and have its shape: they are read at
// other positions than those that are written.
// CHECK-LABEL: func.func @updates_are_not_taken_over(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @updates_are_not_taken_over(%x: memref<16xf32>, %rows: memref<16xindex>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %u = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%u : memref<16xf32>)
  %t = memref.alloc() : memref<16xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16xf32>)
  remat.scatter_add ins(%u : memref<16xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<16xindex>
    remat.yield %row : index
  }
  linalg.copy ins(%t : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// Indices live until the body has read them: what begins before gets other
// memory, what begins afterwards the same.
// CHECK-LABEL: func.func @what_the_body_reads_is_alive(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @what_the_body_reads_is_alive(%x: memref<8xi64>, %u: memref<8xf32>, %y: memref<16xf32>, %z: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %rows = memref.alloc() : memref<8xi64>
  linalg.copy ins(%x : memref<8xi64>) outs(%rows : memref<8xi64>)
  %t = memref.alloc() : memref<16xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16xf32>)
  remat.scatter_add ins(%u : memref<8xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<8xi64>
    %at = arith.index_cast %row : i64 to index
    remat.yield %at : index
  }
  linalg.exp ins(%t : memref<16xf32>) outs(%y : memref<16xf32>)
  %after = memref.alloc() : memref<16xf32>
  linalg.fill ins(%zero : f32) outs(%after : memref<16xf32>)
  linalg.add ins(%after, %t : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  return
}

// -----

// A sum of an elementwise op may take the table's place once it is complete.
// CHECK-LABEL: func.func @a_dying_table_is_taken_over(
// CHECK-SAME: memref<64xi8> {remat.arena}
func.func @a_dying_table_is_taken_over(%u: memref<8xf32>, %rows: memref<8xindex>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16xf32>)
  remat.scatter_add ins(%u : memref<8xf32>) outs(%t : memref<16xf32>) {
  ^bb0(%i: index):
    %row = memref.load %rows[%i] : memref<8xindex>
    remat.yield %row : index
  }
  %e = memref.alloc() : memref<16xf32>
  linalg.exp ins(%t : memref<16xf32>) outs(%e : memref<16xf32>)
  linalg.copy ins(%e : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

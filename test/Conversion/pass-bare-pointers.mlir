// RUN: remat-opt %s -remat-pass-bare-pointers -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-pass-bare-pointers -convert-to-llvm -reconcile-unrealized-casts -split-input-file | FileCheck %s --check-prefix=LLVM

// CHECK: func.func private @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: index) {
// LLVM: llvm.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64)
func.func private @kernel(%a: memref<8x4xf32>, %b: memref<64xf32, strided<[2], offset: 4>>, %n: index) {
  return
}
// CHECK: func.func private @unknown_size_keeps_its_descriptor(%{{.*}}: memref<?xf32>) {
func.func private @unknown_size_keeps_its_descriptor(%a: memref<?xf32>) {
  return
}
// CHECK: func.func private @unknown_offset_keeps_its_descriptor({{.*}}) {
func.func private @unknown_offset_keeps_its_descriptor(%a: memref<4xf32, strided<[1], offset: ?>>) {
  return
}
// CHECK: func.func private @returned_memref_keeps_its_descriptor({{.*}}) -> memref<4xf32> {
func.func private @returned_memref_keeps_its_descriptor(%a: memref<4xf32>) -> memref<4xf32> {
  return %a : memref<4xf32>
}
// CHECK: func.func private @used_as_value({{.*}}) {
func.func private @used_as_value(%a: memref<4xf32>) {
  return
}
// CHECK: func.func @public_without_interface(%{{.*}}: memref<4xf32>) {
func.func @public_without_interface(%a: memref<4xf32>) {
  %f = constant @used_as_value : (memref<4xf32>) -> ()
  return
}
// CHECK: func.func private @unranked(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @unranked(memref<*xf32>) attributes {llvm.emit_c_interface}
// CHECK: func.func private @without_a_memref(i64)
func.func private @without_a_memref(i64)

// -----

// CHECK: func.func @one_result(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> f32 {
// CHECK: func.func @_mlir_ciface_one_result(%[[D:.*]]: !llvm.ptr, %[[N:.*]]: i64) -> f32
// CHECK:   %[[S:.*]] = llvm.load %[[D]] : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK:   %[[M:.*]] = llvm.extractvalue %[[S]][1]
// CHECK:   %[[R:.*]] = call @one_result(%[[M]], %[[N]])
// CHECK:   return %[[R]] : f32
// LLVM: llvm.func @one_result(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> f32
func.func @one_result(%a: memref<4xf32>, %n: i64) -> f32 attributes {llvm.emit_c_interface} {
  %0 = arith.constant 1.0 : f32
  return %0 : f32
}
// CHECK: func.func @_mlir_ciface_several_results(%[[R:.*]]: !llvm.ptr, %[[D:.*]]: !llvm.ptr) {
// CHECK:   %[[V:.*]]:2 = call @several_results
// CHECK:   %[[P0:.*]] = llvm.getelementptr %[[R]][0, 0]
// CHECK:   llvm.store %{{.*}}, %[[P0]] : i64, !llvm.ptr
// CHECK:   %[[P1:.*]] = llvm.getelementptr %[[R]][0, 1]
// CHECK:   llvm.store %[[V]]#1, %[[P1]] : vector<2xi64>, !llvm.ptr
func.func @several_results(%a: memref<4xf32>) -> (index, vector<2xi64>) attributes {llvm.emit_c_interface} {
  %0 = arith.constant 1 : index
  %1 = arith.constant dense<1> : vector<2xi64>
  return %0, %1 : index, vector<2xi64>
}

// -----

// With a main, a step has no other callers, so no interface is left.
// CHECK: func.func @step(%{{.*}}: !llvm.ptr) {
// CHECK-NOT: _mlir_ciface_step
// CHECK: func.func @main()
func.func @step(%a: memref<4xf32>) attributes {llvm.emit_c_interface} {
  return
}
func.func @main() {
  %a = memref.alloca() : memref<4xf32>
  call @step(%a) : (memref<4xf32>) -> ()
  return
}

// -----

// CHECK: llvm.func private @product(
// CHECK: llvm.func @_mlir_ciface_product(!llvm.ptr, !llvm.ptr, i64)
func.func private @product(memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<4xf32>, index) attributes {llvm.emit_c_interface}
func.func private @kernel(%a: memref<4xf32, strided<[1]>>) {
  return
}
// CHECK-LABEL: func.func private @what_defines_a_memref_says_what_its_descriptor_has(
// CHECK-SAME: %[[ARENA:.*]]: !llvm.ptr, %[[N:.*]]: index)
// CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : index)
// CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : index)
// CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : index)
// CHECK-DAG: %[[C64:.*]] = llvm.mlir.constant(64 : index)
// CHECK-NOT: memref
// CHECK: %[[V:.*]] = llvm.getelementptr %[[ARENA]][%[[C64]]]
// CHECK-NOT: getelementptr
// CHECK: call @kernel(%[[V]])
// CHECK-DAG: %[[SIZE:.*]] = builtin.unrealized_conversion_cast %[[N]] : index to i64
// CHECK-DAG: %[[COUNT:.*]] = builtin.unrealized_conversion_cast %[[N]] : index to i64
// CHECK: llvm.call @product(%[[ARENA]], %[[V]], %[[C1]], %{{.*}}, %[[C1]], %[[C4]], %[[C1]], %[[ARENA]], %[[V]], %[[C0]], %[[C4]], %[[C1]], %{{.*}})
// CHECK-NEXT: return
func.func private @what_defines_a_memref_says_what_its_descriptor_has(%arena: memref<128xi8>, %n: index) {
  %c64 = arith.constant 64 : index
  %v = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>
  %r = memref.reinterpret_cast %v to offset: [0], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1]>>
  call @kernel(%r) : (memref<4xf32, strided<[1]>>) -> ()
  %s = memref.reinterpret_cast %v to offset: [1], sizes: [%n, 1], strides: [4, 1] : memref<4xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  call @product(%s, %v, %n) : (memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<4xf32>, index) -> ()
  return
}
// CHECK-LABEL: func.func private @what_else_reads_it_has_the_same_pointers(
// CHECK-SAME: %[[ARENA:.*]]: !llvm.ptr, %[[I:.*]]: index)
// CHECK: %[[V:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK: %[[S0:.*]] = llvm.insertvalue %[[ARENA]], %{{.*}}[0]
// CHECK: llvm.insertvalue %[[V]], %[[S0]][1]
// CHECK: %[[M:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4xf32>
// CHECK: call @kernel(%[[V]])
// CHECK: memref.load %[[M]][%[[I]]]
func.func private @what_else_reads_it_has_the_same_pointers(%arena: memref<128xi8>, %i: index) -> f32 {
  %c64 = arith.constant 64 : index
  %v = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>
  %r = memref.reinterpret_cast %v to offset: [0], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1]>>
  call @kernel(%r) : (memref<4xf32, strided<[1]>>) -> ()
  %x = memref.load %v[%i] : memref<4xf32>
  return %x : f32
}
// CHECK-LABEL: func.func private @a_view_of_the_start_is_the_same_pointer(
// CHECK-SAME: %[[ARENA:.*]]: !llvm.ptr)
// CHECK-NOT: getelementptr
// CHECK: call @kernel(%[[ARENA]])
func.func private @a_view_of_the_start_is_the_same_pointer(%arena: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %v = memref.view %arena[%c0][] : memref<128xi8> to memref<4xf32>
  %r = memref.reinterpret_cast %v to offset: [0], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1]>>
  call @kernel(%r) : (memref<4xf32, strided<[1]>>) -> ()
  return
}
// CHECK-LABEL: func.func @an_unknown_memref_is_taken_apart_where_it_is_passed(
// CHECK: %[[D:.*]] = builtin.unrealized_conversion_cast %{{.*}} : memref<?x?xf32, strided<[?, ?], offset: ?>> to !llvm.struct
// CHECK: %[[P:.*]] = llvm.extractvalue %[[D]][0]
// CHECK: llvm.call @product(%[[P]],
func.func @an_unknown_memref_is_taken_apart_where_it_is_passed(%a: memref<?x?xf32, strided<[?, ?], offset: ?>>, %n: index) {
  %b = memref.alloca() : memref<4xf32>
  call @product(%a, %b, %n) : (memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<4xf32>, index) -> ()
  return
}

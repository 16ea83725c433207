// RUN: remat-opt %s -remat-pass-bare-pointers -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-pass-bare-pointers -convert-to-llvm -reconcile-unrealized-casts -split-input-file | FileCheck %s --check-prefix=LLVM

// CHECK: func.func private @kernel({{.*}}) attributes {llvm.bareptr}
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
// CHECK: func.func private @external(memref<4xf32>) attributes {llvm.emit_c_interface}
func.func private @external(memref<4xf32>) attributes {llvm.emit_c_interface}

// -----

// CHECK: func.func @one_result(%{{.*}}: memref<4xf32>, %{{.*}}: i64) -> f32 attributes {llvm.bareptr} {
// CHECK: func.func @_mlir_ciface_one_result(%[[D:.*]]: !llvm.ptr, %[[N:.*]]: i64) -> f32
// CHECK:   %[[S:.*]] = llvm.load %[[D]] : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK:   %[[M:.*]] = builtin.unrealized_conversion_cast %[[S]] : {{.*}} to memref<4xf32>
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

// Beside a main nobody else calls a step, so no interface is left.
// CHECK: func.func @step(%{{.*}}: memref<4xf32>) attributes {llvm.bareptr} {
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
